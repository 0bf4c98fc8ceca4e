"""`show`: everything about one entry, value, memory, error or cluster."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from rich.text import Text

from learning_memory_server.cli.access.lookup import find_by_id
from learning_memory_server.cli.access.reading import open_settings
from learning_memory_server.cli.options import folders_here
from learning_memory_server.cli.terminal import (
    coloured,
    date_and_time,
    identity,
    output,
    show_facts,
    show_json,
    text_lines,
)
from learning_memory_server.cli.values import status_of
from learning_memory_server.model.cluster import ClusterId
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.lines import one_line
from learning_memory_server.model.memory import Memory
from learning_memory_server.server.views import entry_views, failure_views, memory_views, value_views

if TYPE_CHECKING:
    from learning_memory_server.learning.values.standing import Standing
    from learning_memory_server.model.failure import Failure
    from learning_memory_server.server.settings import Settings

    Fact = tuple[str, str | Text]


async def show(name: str, *, as_json: bool) -> None:
    """Print everything about one thing. Only a cluster needs the model.

    Args:
        name: Its id, or the beginning of it.
        as_json: Print a `ShownDocument`.

    Raises:
        InvalidInputError: If several ids begin so.
        NotFoundError: If none does.
        JournalUnavailableError: If the journal cannot be read.
        LearningMemoryError: For a cluster, see `show_clusters`.
    """
    settings = open_settings()
    found = find_by_id(name, settings)
    kind: str
    display: Callable[[dict[str, Any]], None]
    if isinstance(found, ClusterId):
        from learning_memory_server.cli.clusters import read_cluster, show_members  # noqa: PLC0415 - the connection

        kind, view, display = "cluster", await read_cluster(found), show_members
    elif isinstance(found, Ghap):
        kind, view, display = "entry", entry_views.whole_entry(found), _show_entry
    elif isinstance(found, Memory):
        kind, view, display = "memory", memory_views.memory(found), _show_memory
    elif isinstance(found, list):
        kind, view, display = "error", _error(found, settings), _show_error
    else:
        kind, view, display = "value", _whole_value(found), _show_value
    if as_json:
        show_json({"kind": kind, kind: view})
    else:
        display(view)


def _error(known: list[Failure], settings: Settings) -> dict[str, Any]:
    return failure_views.repeated_error(known, folders_here(settings).get(known[-1].project))


def _whole_value(standing: Standing) -> dict[str, Any]:
    """Return a value with all ids; listings name five of each at most."""
    view = value_views.value(standing)
    view["evidence"]["member_ids"] = list(standing.value.evidence.member_ids)
    return {
        **view,
        "supported_by": list(standing.supporting),
        "contradicted_by": list(standing.contradicting),
    }


def _show_entry(entry: dict[str, Any]) -> None:
    facts: list[Fact] = [
        ("entry", identity(entry["id"])),
        ("outcome", coloured(entry.get("outcome_status", "open"))),
    ]
    if "confidence_tier" in entry:
        facts.append(("tier", coloured(entry["confidence_tier"])))
    facts += [(name, one_line(entry[name])) for name in ("domain", "strategy", "project")]
    facts += [(label, _moment(entry[name])) for label, name in _TIMES if name in entry]
    cause, lesson = entry.get("root_cause"), entry.get("lesson", {})
    facts += [(label, f"{entry[name]:g}") for label, name in _CONFIDENCES if name in entry]
    story = {
        "goal": entry["goal"],
        "hypothesis": entry["hypothesis"],
        "action": entry["action"],
        "prediction": entry["prediction"],
        "result": entry.get("outcome_result"),
        "surprise": entry.get("surprise"),
        "root cause": cause and f"{cause['category']}: {cause['description']}",
        "worked": lesson.get("what_worked"),
        "takeaway": lesson.get("takeaway"),
    }
    facts += [(name, text_lines(text)) for name, text in story.items() if text]
    facts += [("note", text_lines(note)) for note in entry.get("notes", ())]
    facts += [("run", one_line(run)) for run in entry.get("runs", ())]
    for earlier in entry.get("history", ()):
        facts.append(("until", _moment(earlier["at"])))
        facts += [(f"  {name}", text_lines(earlier[name])) for name in ("hypothesis", "action", "prediction")]
    show_facts(facts)


def _show_value(value: dict[str, Any]) -> None:
    support, evidence = value["support"], value["evidence"]
    facts: list[Fact] = [
        ("value", identity(value["id"])),
        ("text", text_lines(value["text"])),
        ("status", status_of(value)),
        ("cluster", f"{value['cluster_id']}, of {value['cluster_size']} experiences when it was accepted"),
        ("project", one_line(value["project"])),
        ("created", _moment(value["created_at"])),
        ("distance", f"{evidence['centroid_distance']} to the centroid; at most {evidence['threshold']}"),
        ("similarity", f"{evidence['similarity']}"),
        ("support", "{:.2f} to {:.2f} (95 % interval)".format(*support["interval"])),
        ("for", _ids(value["supported_by"])),
        ("against", _ids(value["contradicted_by"])),
        ("members", _ids(evidence["member_ids"])),
    ]
    facts += [
        (label, identity(value[name]))
        for label, name in (("supersedes", "supersedes"), ("superseded", "superseded_by"))
        if name in value
    ]
    show_facts(facts)


def _show_memory(memory: dict[str, Any]) -> None:
    metadata = dict(memory["metadata"])
    tags = metadata.pop("tags", None)
    facts: list[Fact] = [
        ("memory", identity(memory["id"])),
        *((name, one_line(str(metadata.pop(name)))) for name in ("title", "source") if name in metadata),
        *([("tags", one_line(", ".join(map(str, tags))))] if isinstance(tags, list) and tags else []),
        ("project", one_line(memory["project"])),
        ("date", _moment(memory["date"])),
        ("added", _moment(memory["created_at"])),
        ("characters", f"{memory['characters']:,}"),
    ]
    metadata.pop("timestamp", None)
    facts += [
        (one_line(name), one_line(json.dumps(value, ensure_ascii=False))) for name, value in metadata.items()
    ]
    show_facts(facts)
    output().print()
    output().print(Text(text_lines(memory["text"])))


def _show_error(error: dict[str, Any]) -> None:
    facts: list[Fact] = [
        ("error", identity(error["id"])),
        ("signature", one_line(error["signature"])),
        ("project", one_line(error["project"])),
        ("times", f"{error['times']:,}"),
        ("shown next", one_line(error.get("remedy", "nothing"))),
    ]
    for failure in error["failures"]:
        facts += [("failed", _moment(failure["at"])), ("  command", one_line(failure["command"]))]
        if "remedy" in failure:
            facts.append(("  worked", one_line(failure["remedy"])))
    show_facts(facts)


_TIMES = (("created", "created_at"), ("resolved", "resolved_at"))
_CONFIDENCES = (("first confidence", "first_confidence"), ("confidence", "confidence"))


def _moment(text: str) -> str:
    return f"{date_and_time(datetime.fromisoformat(text))} UTC"


def _ids(ids: list[str]) -> str:
    return ", ".join(map(one_line, ids)) or "none"
