"""`scan`: shows where secrets are stored, asks, and replaces them with markers."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from learning_memory_server.cli.access.connection import open_connection
from learning_memory_server.cli.access.reading import describe_engine, open_settings
from learning_memory_server.cli.command import Commands, Result
from learning_memory_server.cli.maintenance.exporting import rewrite_backups
from learning_memory_server.cli.terminal import (
    agrees,
    counted,
    each_file,
    is_for_people,
    say,
    show_notice,
    show_remark,
    show_table,
    working,
)
from learning_memory_server.index.rebuilding import OutdatedPoints
from learning_memory_server.journal.archive.backups import list_backups, remove_unfinished_backups
from learning_memory_server.journal.archive.rewriting import redact_archive, scan_archive
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.scanning import Finding, Scanner, scan_journal
from learning_memory_server.server.composition.backends import redaction_gate
from learning_memory_server.server.settings import Settings

_JOURNAL: Final = "journal"


@dataclass(slots=True)
class _Found:
    """Where each finding is (the journal, and backups by name), the backups, and those that cannot be read."""

    places: dict[Finding, list[str]] = field(default_factory=dict)
    backups: list[Path] = field(default_factory=list)
    unreadable: list[Path] = field(default_factory=list)

    def add(self, place: str, findings: Iterable[Finding]) -> None:
        for finding in findings:
            self.places.setdefault(finding, []).append(place)

    def in_journal(self) -> list[Finding]:
        return [finding for finding, places in self.places.items() if _JOURNAL in places]

    def in_backups(self) -> list[Path]:
        named = {place for places in self.places.values() for place in places}
        return [path for path in self.backups if path.name in named]


commands = Commands()


@commands.command(json_help="Print JSON. Nothing is replaced without --yes.")
async def scan(
    backups: Annotated[
        bool, typer.Option("--backups", help="Also look at the backups in storage_path, and rewrite them.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Replace what is found, and do not ask.")] = False,
) -> Result:
    """Find secrets that were stored before redaction knew them, and replace them with markers.

    Shows where each one is and of what kind, never the secret itself. In a
    terminal it asks before it changes anything. It then rewrites the journal's
    files and the index; sessions may keep running. The settings
    redaction_patterns and redaction_allow say what else is a secret and what is
    not. The exit code is 1 if a secret was found and is still there.
    """
    settings = open_settings()
    scanner = Scanner(redaction_gate(settings).redactor)
    found = _look(settings, scanner, backups=backups)
    is_unfinished = bool(OutdatedPoints(settings.outdated_file).ids())
    _show(found, settings, backups=backups)
    wanted = bool(found.places) or is_unfinished
    if is_unfinished:
        show_notice("An earlier removal is not complete: the index may still have what it removed.")
    if not (wanted and (yes or (is_for_people() and _confirmed(found)))):
        document = _document(found, {}, [], backups=backups)
        return Result(document, not wanted and not found.unreadable)
    done = await _remove(settings, scanner, found, is_unfinished=is_unfinished)
    left = _look(settings, scanner, backups=False).in_journal()
    _conclude(settings, found, done, left, backups=backups)
    return Result(
        _document(found, done, left, backups=backups),
        bool(done["indexed"]) and not (left or done["backups_left"] or found.unreadable),
    )


def _look(settings: Settings, scanner: Scanner, *, backups: bool) -> _Found:
    found = _Found(backups=list_backups(settings.backups_directory))
    with working("Reading the journal") as report:
        scanned = scan_journal(
            Journal(settings.journal_directory), scanner, lambda done, total: report("Reading the journal", done, total)
        )
        found.add(_JOURNAL, dict.fromkeys(finding for _, each in scanned for finding in each.findings))
    if backups:
        found.unreadable = each_file(
            found.backups, lambda path: found.add(path.name, scan_archive(path, scanner)), "Looking into the backups"
        )
    return found


async def _remove(settings: Settings, scanner: Scanner, found: _Found, *, is_unfinished: bool) -> dict[str, Any]:
    done: dict[str, Any] = {"changed": 0, "indexed": True, "backups": [], "backups_removed": [], "backups_left": []}
    if (findings := found.in_journal()) or is_unfinished:
        keys = sorted({finding.key for finding in findings if finding.key})
        async with open_connection(settings, "scan") as connection:
            done |= await connection.run("redact_stored", records=[list(key) for key in keys])
    if affected := found.in_backups():
        remove_unfinished_backups(settings.backups_directory)
        left = rewrite_backups(settings, affected, lambda path, fresh: redact_archive(path, scanner, fresh))
        left = affected if left is None else left
        done["backups"] = [path.name for path in affected if path not in left and path.exists()]
        done["backups_removed"] = [path.name for path in affected if not path.exists()]
        done["backups_left"] = [path.name for path in left]
    return done


def _confirmed(found: _Found) -> bool:
    affected = found.in_backups()
    files = ["the journal", *([counted(len(affected), "backup")] if affected else [])]
    question = f"Replace these secrets with markers in {' and '.join(files)}, permanently?"
    return agrees(
        question if found.places else "Complete it now?",
        "Nothing was changed. To replace the secrets with markers, add --yes.",
    )


def _show(found: _Found, settings: Settings, *, backups: bool) -> None:
    rows = [
        [
            finding.what,
            finding.id,
            finding.secret if finding.count == 1 else f"{finding.secret} ({finding.count:,})",
            *([_named(places)] if backups else []),
            finding.field,
        ]
        for finding, places in found.places.items()
    ]
    if rows:
        show_table(["what", "id", "secret", *(["in"] if backups else []), "field"], rows)
        secrets = sum(finding.count for finding in found.places)
        things = len({(finding.what, finding.id) for finding in found.places})
        say(f"Found {counted(secrets, 'secret')} in {counted(things, 'record')}.")
        show_remark(
            "To keep something that is not a secret, add it to the setting redaction_allow and scan again. Revoke real "
            "secrets: others may have read them."
        )
    else:
        say("No secret was found.")
    if found.backups and not backups:
        say(f"Not looked at: {counted(len(found.backups), 'backup')} in {settings.backups_directory} (--backups).")
    for path in found.unreadable:
        say(f"{path} cannot be read and may have secrets; remove the file yourself.", "yellow")


def _named(places: list[str]) -> str:
    others = len(places) - (_JOURNAL in places)
    named = [_JOURNAL] if _JOURNAL in places else []
    return ", ".join([*named, *([counted(others, "backup")] if others else [])])


def _conclude(settings: Settings, found: _Found, done: dict[str, Any], left: list[Finding], *, backups: bool) -> None:
    if done["changed"]:
        say(f"Rewritten in the journal: {counted(done['changed'], 'record')}.")
    if done["indexed"]:
        say("The index is up to date, and its files have none of the earlier texts.")
    for name in done["backups"]:
        say(f"Rewritten: the backup {name}.")
    for name in done["backups_removed"]:
        say(f"Removed: the backup {name}. The rest of it is in the fresh one.")
    for name in done["backups_left"]:
        say(f"The backup {name} could not be rewritten and still has secrets.", "yellow")
    if left:
        names = ", ".join(dict.fromkeys(finding.id for finding in left))
        show_remark(
            f"Still there: {names}. A running hub keeps the settings that it was started with: run "
            "`learning-memory-server hub stop`, then scan again."
        )
    if found.backups and not backups:
        say("Backups may still have them: learning-memory-server scan --backups")
    if settings.qdrant_url is not None:
        say(f"Snapshots of {describe_engine(settings)} may still have them.")
    say("Exports, and backups in other folders, were not looked at.")


def _document(found: _Found, done: dict[str, Any], left: list[Finding], *, backups: bool) -> dict[str, Any]:
    return {
        "findings": [
            {
                "what": finding.what,
                "id": finding.id,
                "field": finding.field,
                "secret": finding.secret,
                "count": finding.count,
                "in": places,
            }
            for finding, places in found.places.items()
        ],
        "backups": len(found.backups),
        "backups_looked_at": backups,
        "backups_unreadable": [path.name for path in found.unreadable],
        "removed": bool(done) and not (left or done["backups_left"]),
        **({"indexed": done["indexed"], "left": [finding.id for finding in left]} if done else {}),
    }
