"""`status`, and the commands for the hub: `stop`, `logs` and `run`."""

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.text import Text

from learning_memory_server.cli import command, out
from learning_memory_server.cli.access import find_hub, stop_running_hub
from learning_memory_server.cli.given import given_last
from learning_memory_server.cli.rules import status as rules_status
from learning_memory_server.cli.rules.waiting import in_places, waiting
from learning_memory_server.errors import LearningMemoryError
from learning_memory_server.journal.kinds import without_empty
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.moment import utc_now
from learning_memory_server.model.project import name_among
from learning_memory_server.model.vocabulary import OutcomeStatus, Tier
from learning_memory_server.server.views import advice_views, entry_views, fields
from learning_memory_server.system.ipc.discovery import LOG
from learning_memory_server.system.stores import describe_other, other_stores

_SHOWN: Final = (
    *("pid", "version", "uptime_seconds", "sessions", "model", "runtime", "points", "pending", "journal"),
    *("settings_current", "notice", "error"),
)
"""The fields of a hub's state in JSON."""
_TOLD_MOST: Final = 5  # Maximum number of items shown of the last session

commands = command.Commands()
hub = command.Commands(no_args_is_help=True, help="The process that serves all sessions and owns their data.")
commands.add_typer(hub, name="hub")


@commands.command()
def hook(
    client: Annotated[
        str, typer.Argument(help="codex, copilot, cursor or gemini, which differ from Claude Code.")
    ] = "",
) -> None:
    """Answer a client's hook: JSON on stdin, and JSON or nothing on stdout.

    For programs. It passes the client's words to the hub and prints what the hub
    says, within a second. It starts a missing hub; only session starts wait.
    If anything goes wrong, it is silent and succeeds.
    """
    from learning_memory_server.hub.front.hook import main as answer

    answer(client)


@hub.command("stop")
def hub_stop() -> None:
    """Stop the hub and wait until it has ended. Open sessions start another when they need one."""
    settings = command.open_settings()
    began = time.monotonic()
    with out.working("Waiting for the hub to finish its calls"):
        pid = stop_running_hub()
    if pid is None:
        out.say(_without_hub(command.holder_of(settings)))
    else:
        out.say(f"The hub (process {pid}) ended after {time.monotonic() - began:.1f} s.")


@hub.command("logs")
def hub_logs(count: Annotated[int, typer.Option("-n", "--lines", min=0, help="How many lines to show.")] = 20) -> None:
    """Show the end of the hub's log. `tail -F` on the file that `status` names shows new lines as they come."""
    path = command.open_settings().storage_path / LOG
    # A log that grows too large is renamed; its lines come first.
    logs = [each for each in (path.with_name(f"{LOG}.1"), path) if each.exists()]
    if not logs:
        out.say(f"There is no log yet. The hub writes it to {path}.")
    for line in deque(chain.from_iterable(each.read_bytes().splitlines() for each in logs), maxlen=count):
        # Libraries write to the log, too, and a terminal would interpret control characters.
        text = line.decode("utf-8", "replace").expandtabs()
        out.write_line("".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text))


@hub.command("run")
def hub_run() -> None:
    """Run the hub in the foreground, until Ctrl-C or until it has been idle for `hub_idle_minutes`.

    Sessions start one by themselves, in the background. If a hub is already
    running, this ends immediately.
    """
    from learning_memory_server.hub.main import main as serve

    serve()


def _without_hub(who: Mapping[str, Any] | None) -> str:
    """Return a sentence about why no hub replies, given the holder of the lock."""
    if who and "socket" in who:
        return f"A hub (process {who['pid']}) is starting or ending; try again in a moment."
    return command.in_the_way(who) if who else "No hub is running; the next session starts one."


@commands.command(example="--json")
def status(
    week: Annotated[bool, typer.Option("--week", help="Only how each rule fared in the last seven days.")] = False,
) -> command.Result:
    """Show how much is stored, where, what the last session was given, and which process is using it.

    First come calls that an enforced rule of yours stopped, and calls that ran
    against one.
    """
    settings = command.open_settings()
    stored = command.Offline(settings)
    if week:
        rows = rules_status.week_of(stored, utc_now())
        rules_status.show_week(rows)
        return command.Result({"week": rows})
    project, waiting_in = command.current_project(settings), asyncio.run(waiting(stored))
    journal, values, failures = stored.journal, stored.value_log, stored.failure_log
    resolved, still_open = stored.collector.list_resolved(), journal.open_entries()[::-1]
    holder, hub = (
        _found(lambda: command.holder_of(settings)),
        _found(lambda: running.control("status") if (running := find_hub()) else None),
    )
    others = other_stores(settings.storage_path, settings.journal_directory)
    document: dict[str, Any] = {
        "journal": {"path": str(journal.path), "bytes": journal.size(), "damaged_lines": journal.count_damage()},
        "left_out": command.left_out_here(settings) or None,
        "other_stores": [str(each) for each in others],
        "index": command.describe_engine(settings),
        "locked_by": holder,
        "hub": without_empty({name: hub.get(name) for name in _SHOWN}) if hub else None,
        "entries": {
            "resolved": len(resolved),
            "open": len(still_open),
            "by_tier": _by(Tier, (entry.tier for entry in resolved)),
            "by_outcome": _by(OutcomeStatus, (entry.outcome.status for entry in resolved)),
            "by_project": dict(Counter(entry.project for entry in resolved).most_common()),
        },
        "open": [fields(entry_views.EntryKey, entry) for entry in still_open],
        "values": len(values.all()),
        "superseded": len(values.all()) - len(values.current()),
        "memories": len({record.id for record in journal.memories.read().records}),
        "failures": len(failures.all()),
        "errors": len(failures.errors()),
        "waiting": sum(waiting_in.values()),
        "waiting_in": waiting_in,
        "shown": advice_views.shown(stored.advice_log, stored.effects),
        "rules": rules_status.document_of(stored),
        "last_session": {"project": project, "shown": given_last(stored, project)},
    }
    out.facts(rules_status.alarms(stored, utc_now()))
    out.facts(_status_facts(document, still_open, hub, settings.storage_path / LOG))
    return command.Result(document)


def _status_facts(
    document: dict[str, Any], still_open: Iterable[Ghap], hub: dict[str, Any] | None, log: Path
) -> list[tuple[str, str | Text | None]]:
    journal, entries = document["journal"], document["entries"]
    by_project: dict[str, int] = entries["by_project"]
    damage = Text(
        f"{out.counted(journal['damaged_lines'], 'line')} cannot be read; run `learning-memory-server doctor` to see which",
        "red",
    )
    superseded = f", and {document['superseded']:,} superseded" if document["superseded"] else ""
    return [
        *([("here", Text(document["left_out"], "yellow"))] if document["left_out"] else ()),
        ("journal", f"{journal['path']} ({out.readable_size(journal['bytes'])})"),
        *(("second", Text(describe_other(Path(each)), "yellow")) for each in document["other_stores"]),
        ("index", document["index"]),
        ("in use by", _described(document["locked_by"], command.in_use_by)),
        ("hub", _described(hub or document["locked_by"], command.describe_hub if hub else _without_hub)),
        *([("  points", _points(hub)), ("  log", str(log))] if hub else ()),
        ("entries", f"{entries['resolved']:,} resolved"),
        *((f"  {name}s", _counts(entries[f"by_{name}"])) for name in ("tier", "outcome") if entries["resolved"]),
        ("  projects", _counts({name_among(name, by_project): count for name, count in by_project.items()})),
        ("open", out.counted(entries["open"], "entry")),
        *(
            ("", f"{out.date_and_time(entry.created_at)}  {entry.id}  {out.one_line(entry.goal)}")
            for entry in still_open
        ),
        ("values", f"{document['values'] - document['superseded']:,}{superseded}"),
        ("memories", f"{document['memories']:,}"),
        (
            "failures",
            f"{out.counted(document['errors'], 'error')} of {out.counted(document['failures'], 'failing command')}",
        ),
        *_last_session(document["last_session"]["shown"]),
        ("shown", advice_views.in_words(document["shown"])),
        ("rules", rules_status.in_words(document["rules"])),
        ("waiting", in_places(document["waiting_in"], document["last_session"]["project"])),
        ("damage", damage if journal["damaged_lines"] else "none"),
    ]


def _last_session(shown: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Return the advice of the project's last session, each with its rule."""
    lines = [
        ("", f"{each['rule']}: {out.one_line(item['text'])} ({item['id']})") for each in shown for item in each["items"]
    ]
    if not lines:
        return []
    day = out.date(shown[-1]["at"])
    return [("last given", f"{out.counted(len(lines), 'item')} in the last session here, {day}"), *lines[:_TOLD_MOST]]


def _points(hub: Mapping[str, Any]) -> Text:
    if hub.get("points") is None:
        return Text("unknown: the index is not open, or its server does not answer")
    return Text.assemble(f"{sum(hub['points'].values()):,}: ", _counts(hub["points"]))


def _found(ask: Callable[[], Mapping[str, Any] | None]) -> Any:
    try:
        return ask()
    except LearningMemoryError as error:
        return {"error": error.message}


def _described(found: Any, describe: Callable[[Any], Any]) -> Any:
    return Text(found["error"], "red") if found and "error" in found else describe(found)


def _by(kinds: type[StrEnum], found: Iterable[StrEnum]) -> dict[str, int]:
    counts = Counter(found)
    return {kind.value: counts[kind] for kind in kinds}


def _counts(counts: Mapping[str, int]) -> Text:
    parts = [
        Text.assemble((out.one_line(name), out.COLOURS.get(name, "")), f" {count:,}") for name, count in counts.items()
    ]
    return Text(", ").join(parts)
