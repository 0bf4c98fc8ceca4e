"""`promote`: proposes what has proved itself as a rule that clients load, and the removal of what no longer holds."""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Annotated, Final

import typer

from learning_memory_server.cli.access.reading import Stored, open_settings
from learning_memory_server.cli.command import Commands, current_project
from learning_memory_server.cli.sharing import repository, secrets_finder
from learning_memory_server.cli.terminal import agrees, show_notice
from learning_memory_server.errors import InvalidInputError
from learning_memory_server.learning.values.log import Standing
from learning_memory_server.model.advice import Effect
from learning_memory_server.model.lines import one_line
from learning_memory_server.sharing.check import objections
from learning_memory_server.sharing.files import Kind, shared_file
from learning_memory_server.sharing.promote import LEARNED, Rule, patch, promoted, with_rules
from learning_memory_server.sharing.shared import SHARED, SharedLessons
from learning_memory_server.system import files

_CONFIRMATIONS, _SESSIONS = 3, 2
"""How often a lesson must have helped, and in how many sessions."""
_TEXT_MAX: Final = 240
_FILES: Final = (LEARNED, "AGENTS.md", "CLAUDE.md")

_PLAIN: Final = re.compile(r"[\w./-]+").fullmatch
"""A path that means itself in a glob."""

commands = Commands()


@commands.command()
def promote(
    into: Annotated[
        str, typer.Option("--into", metavar="FILE", help=f"{_FILES[0]}, {_FILES[1]} or {_FILES[2]}.")
    ] = LEARNED,
    yes: Annotated[bool, typer.Option("--yes", help="Make the change, and do not ask.")] = False,
) -> None:
    """Propose rules that clients load, as a patch for `git apply`: values in force, and lessons that proved themselves.

    A lesson has helped three times, in two sessions, and never misled. What no
    longer holds, or is about files that are gone, is proposed for removal. All
    rules together take at most 1 kB. Without a terminal, nothing is written.
    """
    settings, top = open_settings(), repository()
    if into not in _FILES:
        raise InvalidInputError(f"--into: {into} is none of {', '.join(_FILES)}.")
    path = top / into
    if path.resolve() != top.resolve() / into:
        raise InvalidInputError(f"{into} is a link, so it is not looked at.")
    before = path.read_bytes().decode("utf-8", "surrogateescape") if path.exists() else ""
    stored = Stored(settings)
    standings = stored.standings(stored.values.all())
    lessons = SharedLessons(settings.storage_path / SHARED)
    redactor = secrets_finder(settings)
    sound = {
        rule.id: rule
        for rule in _earned(current_project(settings), standings, stored, lessons)
        if not any(objections(shared_file(Kind.VALUE, "", {"Lesson": rule.text}), redactor))
        and (not rule.paths or any((top / each).exists() for each in rule.paths))
    }
    known = {each.value.id for each in standings}
    # What others have promoted is theirs to judge.
    gone = {
        name: "it no longer holds"
        for name in promoted(before)
        if name not in sound and (name in known or stored.entries.find_resolved(name) or lessons.find(name))
    }
    after = with_rules(before, list(sound.values()), gone, is_ours=into == LEARNED)
    if not (change := patch(into, before, after)):
        show_notice("There is nothing to promote, and nothing to remove.")
        return
    typer.echo(change, nl=False)
    if agrees(f"Change {into}?", yes=yes):
        if after:
            path.parent.mkdir(parents=True, exist_ok=True)
            files.replace(path, after.encode("utf-8", "surrogateescape"), mode=0o644)
        else:
            path.unlink()


def _earned(project: str, standings: list[Standing], stored: Stored, lessons: SharedLessons) -> Iterator[Rule]:
    """Yield the rules of a project: values, the best supported first, then lessons, what helped most often first."""
    own = [each for each in standings if each.value.project == project and each.is_in_force]
    for each in sorted(own, key=lambda each: -each.support.interval[0]):
        text = one_line(each.value.text)
        if len(text) <= _TEXT_MAX and not each.contradicting:
            yield Rule(each.value.id, text, f"a value, supported by {len(each.supporting)} entries")
    helped, misled = (_cited(effect, stored) for effect in (Effect.HELPED, Effect.MISLED))
    for name, by in sorted(helped.items(), key=lambda item: (-len(item[1]), item[0])):
        entry = stored.entries.find_resolved(name) or lessons.find(name)
        sessions = len(set(by.values()))
        if entry is None or entry.project != project or name in misled:
            continue
        text = one_line((entry.outcome.lesson and entry.outcome.lesson.takeaway) or "")
        if 0 < len(text) <= _TEXT_MAX and len(by) >= _CONFIRMATIONS and sessions >= _SESSIONS:
            paths = tuple(each.file for each in entry.anchors if not each.is_read and _PLAIN(each.file))
            yield Rule(name, text, f"a lesson, which helped {len(by)} times in {sessions} sessions", paths)


def _cited(effect: Effect, stored: Stored) -> dict[str, dict[str, str]]:
    """Return for each thing the entries on which it had this effect, and the sessions of these."""
    found: defaultdict[str, dict[str, str]] = defaultdict(dict)
    said = [(given.ghap_id, item.id, item.effect) for given in stored.advice.all() for item in given.items]
    said += [
        (entry.id, each.id, each.effect) for entry in stored.entries.list_resolved() for each in entry.outcome.cited
    ]
    for ghap_id, name, what in said:
        if what is effect and (entry := stored.entries.find_resolved(ghap_id)):
            found[name][entry.id] = entry.agent_session
    return found
