"""Items that wait for a person's answer: suggestions for rules, and other people's lessons."""

import os
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from learning_memory_server.advice.again import came_again
from learning_memory_server.cli import out
from learning_memory_server.cli.command import Offline, current_project
from learning_memory_server.errors import LearningMemoryError
from learning_memory_server.model.caller import folder_of
from learning_memory_server.model.moment import utc_now
from learning_memory_server.model.project import name_among
from learning_memory_server.rules.suggesting.sources import Sources
from learning_memory_server.server.composition.backends import redaction_gate
from learning_memory_server.server.settings import Settings
from learning_memory_server.sharing.tree import top_of

if TYPE_CHECKING:
    from learning_memory_server.rules.past.report import PastReport
    from learning_memory_server.rules.past.sessions import Transcript


async def past_here(
    settings: Settings, stored: Offline, found: "Sequence[Transcript]" = (), **watching: Any
) -> "PastReport":
    """Return the report from transcripts and this folder's rule files."""
    from learning_memory_server.rules.past.report import past_report  # `status` needs no transcripts

    return await past_report(sources_here(settings, stored), found, **watching)


def sources_here(settings: Settings, stored: Offline) -> Sources:
    """Return the sources of suggestions for this folder's project."""
    return Sources(
        current_project(settings),
        top_of(folder_of(os.environ)),
        redaction_gate(settings),
        os.environ,
        utc_now(),
        stored.rule_log.all(),
        stored.memory_log.all(),
        stored.standings(stored.value_log.current()),
        came_again(stored.collector.list_resolved(), stored.advice_log),
    )


async def waiting(stored: Offline) -> dict[str, int]:
    """Return the number of waiting items in each project that has any, most first.

    These are lessons of all projects, and suggestions for the current one, without reading transcripts. Empty if an
    answer was written by a newer version.
    """
    with suppress(LearningMemoryError):
        projects = {*stored.projects.all(), *(each.project for each in stored.shared.joined.values())}
        found = Counter({project: len(stored.review.waiting(project, utc_now())) for project in sorted(projects)})
        found[current_project(stored.settings)] += len(await sources_here(stored.settings, stored).waiting())
        return {project: count for project, count in found.most_common() if count}
    return {}


def in_places(found: Mapping[str, int], here: str) -> str:
    """Return a sentence about the projects with waiting items, and how to answer; empty if there are none."""
    if not found:
        return ""
    places = ", ".join(f"{count:,} in {out.one_line(name_among(name, found))}" for name, count in found.items())
    others = [name for name in found if name != here]
    there = f" --project {shlex.quote(out.one_line(name_among(others[0], found)))}" if others else ""
    ways = [*(["`learning-memory-server review`"] if here in found else []), f"`learning-memory-server review{there}`"]
    return f"{places} for your yes: {', '.join(dict.fromkeys(ways))}"


async def show_waiting(stored: Offline) -> None:
    """Print one line if any items wait."""
    if out.is_for_people() and (found := await waiting(stored)):
        out.say(f"Waiting: {in_places(found, current_project(stored.settings))}", "dim")
