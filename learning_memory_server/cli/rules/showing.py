"""`rule show` and `rule test`: all details of a rule, and the text that agents see."""

import os
import shlex
from pathlib import Path
from typing import Annotated, Final

import typer

from learning_memory_server.cli import out
from learning_memory_server.cli.access import open_connection
from learning_memory_server.cli.command import Commands, Offline, current_project, open_settings
from learning_memory_server.cli.rules.finding import IdArgument, find_rule
from learning_memory_server.cli.rules.status import paused_words
from learning_memory_server.cli.showing import Fact
from learning_memory_server.errors import InvalidInputError
from learning_memory_server.model.caller import folder_of
from learning_memory_server.model.moment import utc_now
from learning_memory_server.model.rule import OriginKind, Rule, RuleCount, RuleState, Unattended
from learning_memory_server.server.settings import Settings
from learning_memory_server.server.views import rule_views

_SHOWN: Final = 5  # How much of the evidence is named
_SESSIONS: Final = 5  # How many sessions `rule show` lists, the last ones

commands = Commands()


@commands.command(example="3f2a91")
async def show(name: IdArgument) -> None:
    """Show everything about one rule: your words, where it applies, how agents kept to it, and what they see."""
    settings = open_settings()
    stored = Offline(settings)
    found = find_rule(stored, name)
    counts = stored.rule_counts.about(found.id)
    last = next((each.call for each in reversed(counts) if each.call), "")
    unattended = "stopped" if found.unattended is Unattended.STOP else "run, with a reminder"
    enforced = f"yes: you are asked before a call that breaks it; where nobody can be asked, it is {unattended}"
    seen, asks = await _seen(settings, found)
    out.facts(
        [
            *facts_of(found),
            ("state", f"{found.state}, {out.date(found.changed_at)}"),
            ("replaces", _replaced(found, stored)),
            ("enforced", enforced if found.is_enforced else None),
            ("before", rule_views.before_of(found)),
            ("since", rule_views.since_of(stored.rule_counts.fared([found])[found.id])),
            *(
                ("", f"{out.date(each.created_at)}  {_counts(each)}  {out.one_line(each.call)}")
                for each in counts[-_SESSIONS:]
            ),
            ("last", f"`{out.one_line(last)}` broke it" if last else None),
            ("you see" if asks else "agents see", seen or "nothing"),
        ]
    )


def _replaced(found: Rule, stored: Offline) -> str:
    """Return the rule that this one replaced because they contradict each other; it may be deleted by now."""
    if not found.replaces:
        return ""
    old = stored.rule_log.find(found.replaces)
    return rule_views.short_id(found.replaces) + (f', "{old.text}"' if old else "")


async def _seen(settings: Settings, found: Rule, command: str = "", file: str = "", text: str = "") -> tuple[str, bool]:
    """Return the text that hooks would show for a rule, and whether it is a question to the person."""
    folder = str(folder_of(os.environ)) if found.project == current_project(settings) else ""
    path = str(Path.cwd() / file) if file else ""
    async with open_connection(settings, "rule") as connection:
        reply = await connection.run(
            "what_agents_see", name=found.id, folder=folder, command=command, file=path, text=text
        )
    return str(reply["text"]).strip(), bool(reply["asks"])


def facts_of(found: Rule, *, is_new: bool = False) -> list[Fact]:
    """Return the facts about a rule for a person's decision: its text, origin, time and scope."""
    at = found.origin.at
    day = f", {out.date(at)}" if at else ""
    is_edited = found.origin.kind is OriginKind.ADDED and bool(found.origin.name)
    origin = f"{rule_views.whose(found.origin)}{day}"
    origin += f"; before it was edited, it was from {found.origin.name}" if is_edited else ""
    said = f" ({out.date(at)})" if at and not is_edited else ""
    return [
        ("rule", None if is_new else out.identity(found.id)),
        ("text", found.text),
        ("words", f"{found.words}{said}" if found.words else None),
        ("from", None if is_new else origin),
        ("evidence", _evidence(found)),
        ("when", rule_views.when_of(found)),
        ("where", rule_views.where_of(found)),
    ]


def _evidence(found: Rule) -> str:
    more = f" and {len(found.evidence) - _SHOWN:,} more" if len(found.evidence) > _SHOWN else ""
    return f"{', '.join(found.evidence[:_SHOWN])}{more}" if found.evidence else ""


def _counts(each: RuleCount) -> str:
    return f"{each.followed:,} followed, {each.reminded:,} reminded, {each.broken:,} broken"


@commands.command("test", example="3f2a91 git push --force", context_settings={"ignore_unknown_options": True})
async def attempt(
    name: IdArgument,
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="[COMMAND]", help="A command; in quotes if it has signs that your shell reads."),
    ] = None,
    file: Annotated[str, typer.Option("--file", metavar="PATH", help="A file that an agent would edit.")] = "",
    text: Annotated[str, typer.Option("--text", help="With --file: what the edit writes.")] = "",
) -> None:
    """Show what an agent would see of a rule before a command, or before an edit of a file. Nothing is run.

    To try a command that has --file, --text or --help itself, put the command
    in quotes.
    """
    if command and file:
        raise InvalidInputError("Give either a COMMAND or a --file.")
    if not (command or file):
        raise InvalidInputError(
            "Give the ID of a rule, then a COMMAND or a --file.", hint="`learning-memory-server rules` shows the ids."
        )
    settings = open_settings()
    found = find_rule(Offline(settings), name)
    if found.state is not RuleState.ACCEPTED:
        out.say(f"Nothing: the rule is {found.state}.")
        return
    # A single word is a quoted command; with several words, the shell has removed the quotes.
    words = command or []
    said = words[0] if len(words) == 1 else shlex.join(words)
    seen, asks = await _seen(settings, found, said, file, text)
    if asks:
        out.say("You are asked, in Claude Code:", "bold")
    out.say(seen or f"Nothing: this does not break the rule. Agents see it {rule_views.when_of(found)}.")
    if paused := paused_words(settings, utc_now()):
        out.say(paused, "yellow")
