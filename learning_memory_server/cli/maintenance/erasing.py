"""`forget` and `scan`: show what will be removed from the journal, the index and the backups, ask, and remove it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from learning_memory_server.cli import command, out
from learning_memory_server.cli.access import open_connection
from learning_memory_server.cli.maintenance.exporting import rewrite_backups
from learning_memory_server.cli.rules.finding import find_rule
from learning_memory_server.cli.rules.person import only_you
from learning_memory_server.errors import InvalidInputError, NotFoundError
from learning_memory_server.index.kept_files import OutdatedPoints
from learning_memory_server.journal.archive.rewriting import purge_archive, redact_archive
from learning_memory_server.journal.archive.writing import list_backups, remove_unfinished_backups
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.scanning import Finding, Scanner, scan_journal
from learning_memory_server.server.composition.backends import redaction_gate
from learning_memory_server.server.settings import Settings
from learning_memory_server.server.views import fields
from learning_memory_server.server.views.rule_views import PREFIX

_JOURNAL: Final = "journal"
_SHORT: Final = re.compile(rf"(?:{PREFIX})?[0-9a-f]*").fullmatch

commands = command.Commands()


@commands.command(json_help="Print JSON. Nothing is forgotten without --yes.", example="ghap_20260301_120000_ffffff")
async def forget(
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]...", help="Ids of entries, values, memories, errors and rules.")
    ] = None,
    project: Annotated[
        str | None,
        typer.Option("--project", metavar="NAME", help="Everything of a project; `current` is this folder's."),
    ] = None,
    purge: Annotated[
        bool, typer.Option("--purge", help="Rewrite the journal's files, leaving out everything ever forgotten.")
    ] = False,
    backups: Annotated[
        bool, typer.Option("--backups", help="With --purge: also rewrite the backups in storage_path.")
    ] = False,
    preview: Annotated[
        bool, typer.Option("--dry-run", "--preview", help="Show what would be forgotten, and change nothing.")
    ] = False,
    yes: command.YesOption = False,
) -> command.Result:
    """Delete entries, values, memories and errors for good: nothing finds them any more, and no import restores them.

    Only a person in a terminal forgets a rule, without --yes, and its counts
    go with it. `rule retire` takes a rule back and keeps the counts.

    Without --purge, their texts stay in the journal's files, marked as
    forgotten. Earlier backups have them until --purge --backups; exports, and
    backups in other folders, until you remove those.
    """
    settings = command.open_settings()
    if backups and not purge:
        raise InvalidInputError("--backups needs --purge: the journal would still have what the backups lose.")
    stored = command.Offline(settings)
    named = [_whole(stored, each) for each in ids or ()]
    if has_rules := any(each.startswith(PREFIX) for each in named):
        only_you("forget", *named, "--purge" if purge else "", "--backups" if backups else "")
    wanted: dict[str, Any] = {
        "ids": named,
        "project": command.chosen_project(project, stored),
        "purge": purge,
        "rules_too": has_rules or (out.is_a_person() and not yes),
    }
    async with open_connection(settings, "forget") as connection:
        found = await connection.run("forget", **wanted, preview=True)
        _show_found(found)
        files = f", and rewrite the journal's files{' and the backups' if backups else ''}" if purge else ""
        question = f"Forget this permanently{files}?"
        otherwise = "Nothing is forgotten without a terminal to ask on. To agree, add --yes."
        is_wanted = not preview and out.agrees(question, otherwise, yes=yes and not has_rules)
        done = await connection.run("forget", **wanted, preview=False) if is_wanted else None
    document = _forgotten(found, done)
    if done:
        document |= _look_at_backups(settings, rewrite=backups) if purge else {}
        _conclude_forgetting(document, settings)
    is_left = backups and document.get("backups") and not document["backups_rewritten"]
    return command.Result(document, preview or (is_wanted and not is_left))


def _whole(stored: command.Offline, name: str) -> str:
    """Return the id of a rule for its full or short id, as shown by `rules`; any other id unchanged."""
    logs = (stored.value_log, stored.memory_log, stored.failure_log)
    if not _SHORT(name) or any(log.find(name) for log in logs) or stored.collector.look_up([name]).found:
        return name
    try:
        return find_rule(stored, name).id
    except NotFoundError as error:
        alike = [each.id for each in stored.memory_log.all() if each.id.startswith(name)]
        if not alike:
            raise
        whole = ", ".join(alike[: out.SHOWN])
        raise NotFoundError(error.message, hint=f"Of a memory, give the whole id: {whole}.") from None


def _forgotten(found: dict[str, Any], done: dict[str, Any] | None) -> dict[str, Any]:
    """Return the result of `forget`: the items found and, if they were deleted, the outcome."""
    document: dict[str, Any] = {"forgotten": done is not None}
    document |= {name: (done or found)[name] for name in ("found", "repeating", "citing", "verdicts", "rules_kept")}
    if done:
        document |= {"indexed": done["indexed"], "elsewhere": done.get("elsewhere", [])}
        document |= {name: done[name] for name in ("removed", "doubtful") if name in done}
    return document


def _look_at_backups(settings: Settings, *, rewrite: bool) -> dict[str, Any]:
    """Find the backups with deleted items, or rewrite them. Return the number of such lines in each."""
    folder = settings.backups_directory
    forgotten = Journal(settings.journal_directory).forgotten()
    remove_unfinished_backups(folder)
    counts: dict[Path, int] = {}

    def count(path: Path) -> None:
        counts[path] = purge_archive(path, forgotten, dry_run=True)

    unreadable = out.each_file(list_backups(folder), count, "Looking into the backups")
    found, failed = [path for path, lines in counts.items() if lines], None
    if rewrite and found:
        failed = rewrite_backups(
            settings, found, lambda path, fresh, key: purge_archive(path, forgotten, fresh, key=key)
        )
        found = [path for path in found if path not in (failed or ())]
    return {
        "backups": {path.name: counts[path] for path in found},
        "backups_rewritten": failed is not None,
        "backups_removed": [path.name for path in found if not path.exists()],
        "backups_unreadable": [path.name for path in (*unreadable, *(failed or ()))],
    }


def _show_found(found: dict[str, Any]) -> None:
    rows = [[each["kind"], each["id"], each["text"]] for each in found["found"]]
    rows += [["verdict", each["ghap_id"], f"{each['stance']} {each['value_id']}"] for each in found["verdicts"]]
    if rows:
        out.table(["kind", "id", "text"], rows[: out.SHOWN])
    out.rest(len(rows))
    if not rows:
        out.say("Nothing to forget.")
    if found["rules_kept"]:
        rules = out.counted(found["rules_kept"], "rule")
        out.remark(
            f"{rules} of this project {'stays' if found['rules_kept'] == 1 else 'stay'}: you forget rules in a terminal, without --yes."
        )
    if found["repeating"]:
        names = out.one_line(", ".join(found["repeating"]))
        out.remark(f"These entries repeat its goal and hypothesis, and go, too: {names}.")
    if found["citing"]:
        names = out.one_line(", ".join(found["citing"]))
        out.remark(f"These values cite it as evidence, and stay unless you name them too: {names}.")


def _conclude_forgetting(done: dict[str, Any], settings: Settings) -> None:
    verdicts = f" and {out.counted(len(done['verdicts']), 'verdict')}" if done["verdicts"] else ""
    out.say(f"Forgotten: {out.counted(len(done['found']), 'item')}{verdicts}.")
    if not done["indexed"]:
        out.remark(
            "The index cannot be changed now. Searches leave out what is forgotten; its points are removed later."
        )
    for url in done["elsewhere"]:
        out.remark(
            f"Points of what you forgot may still be on the Qdrant server {url}, which is not in use. To remove all of "
            f"your points there, run: learning-memory-server migrate --leave {url}"
        )
    if "removed" in done:
        out.say(f"Removed from the journal's files: {out.counted(done['removed'], 'line')}.")
        out.say("To remove it from the index's files as well, run: learning-memory-server reindex")
    for path in done.get("doubtful", ()):
        out.say(f"{path} has unreadable bytes that may still contain it; check it yourself.", "yellow")
    if "backups" in done:
        _show_backups(done, settings.backups_directory)
    elif done["found"]:
        out.remark(
            "The text stays in the journal's files until `forget --purge`, and in earlier backups until that is run "
            "with --backups."
        )


def _show_backups(done: dict[str, Any], folder: Path) -> None:
    for name, count in done["backups"].items():
        what = "Removed from" if done["backups_rewritten"] else "Still in"
        if name in done["backups_removed"]:
            out.say(f"Removed: the backup {name}. The rest of it is in the fresh one.")
        else:
            out.say(f"{what} the backup {name}: {out.counted(count, 'line')}.")
    if done["backups"] and not done["backups_rewritten"]:
        out.say("To remove it from the backups as well, run: learning-memory-server forget --purge --backups")
    for name in done["backups_unreadable"]:
        out.say(f"{folder / name} cannot be read and may still hold it; remove the file yourself.", "yellow")
    if not (done["backups"] or done["backups_unreadable"]):
        out.say(f"No backup in {folder} has anything that is forgotten.")
    out.say("Exports, and backups in other folders, were not looked at.")


@dataclass(slots=True)
class _Found:
    """The locations of all findings (in the journal, and in backups by name), the backups, and the unreadable ones."""

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


@commands.command(json_help="Print JSON. Nothing is replaced without --yes.", example="--backups")
async def scan(
    backups: Annotated[
        bool, typer.Option("--backups", help="Also look at the backups in storage_path, and rewrite them.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Replace what is found, and do not ask.")] = False,
) -> command.Result:
    """Find secrets that were stored before redaction knew them, and replace them with markers.

    Shows the place and the kind of each one, never the secret itself. In a
    terminal it asks before it changes anything. It then rewrites the journal's
    files and the index; sessions may keep running. The settings
    redaction_patterns and redaction_allow say what else is a secret and what is
    not. The exit code is 1 if a secret was found and is still there.
    """
    settings = command.open_settings()
    scanner = Scanner(redaction_gate(settings).redactor)
    found = _look(settings, scanner, backups=backups)
    is_unfinished = bool(OutdatedPoints(settings.outdated_file).ids())
    _show_secrets(found, settings, backups=backups)
    wanted = bool(found.places) or is_unfinished
    if is_unfinished:
        out.notice("An earlier removal is not complete: the index may still have what it removed.")
    affected = len(found.in_backups())
    files = f"the journal and {out.counted(affected, 'backup')}" if affected else "the journal"
    question = f"Replace these secrets with markers in {files}, permanently?"
    refusal = "Nothing was changed. To replace the secrets with markers, add --yes."
    if not (wanted and out.agrees(question if found.places else "Complete it now?", refusal, yes=yes)):
        document = _scan_document(found, {}, [], backups=backups)
        return command.Result(document, not wanted and not found.unreadable)
    done = await _remove(settings, scanner, found, is_unfinished=is_unfinished)
    left = _look(settings, scanner, backups=False).in_journal()
    _conclude_scan(settings, found, done, left, backups=backups)
    return command.Result(
        _scan_document(found, done, left, backups=backups),
        bool(done["indexed"]) and not (left or done["backups_left"] or found.unreadable),
    )


def _look(settings: Settings, scanner: Scanner, *, backups: bool) -> _Found:
    found = _Found(backups=list_backups(settings.backups_directory))
    with out.working("Reading the journal") as report:
        scanned = scan_journal(
            Journal(settings.journal_directory), scanner, lambda done, total: report("Reading the journal", done, total)
        )
        found.add(_JOURNAL, dict.fromkeys(finding for _, each in scanned for finding in each.findings))
    if backups:
        found.unreadable = out.each_file(
            found.backups,
            lambda path: found.add(path.name, redact_archive(path, scanner, dry_run=True)),
            "Looking into the backups",
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
        left = rewrite_backups(
            settings, affected, lambda path, fresh, key: redact_archive(path, scanner, fresh, key=key)
        )
        left = affected if left is None else left
        done["backups"] = [path.name for path in affected if path not in left and path.exists()]
        done["backups_removed"] = [path.name for path in affected if not path.exists()]
        done["backups_left"] = [path.name for path in left]
    return done


def _show_secrets(found: _Found, settings: Settings, *, backups: bool) -> None:
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
        out.table(["what", "id", "secret", *(["in"] if backups else []), "field"], rows)
        secrets = sum(finding.count for finding in found.places)
        things = len({(finding.what, finding.id) for finding in found.places})
        out.say(f"Found {out.counted(secrets, 'secret')} in {out.counted(things, 'record')}.")
        out.remark(
            "To keep something that is not a secret, add it to the setting redaction_allow and scan again. Revoke real "
            "secrets: others may have read them."
        )
    else:
        out.say("No secret was found.")
    if found.backups and not backups:
        out.say(
            f"Not looked at: {out.counted(len(found.backups), 'backup')} in {settings.backups_directory} (--backups)."
        )
    for path in found.unreadable:
        out.say(f"{path} cannot be read and may have secrets; remove the file yourself.", "yellow")


def _named(places: list[str]) -> str:
    others = len(places) - (_JOURNAL in places)
    named = [_JOURNAL] if _JOURNAL in places else []
    return ", ".join([*named, *([out.counted(others, "backup")] if others else [])])


def _conclude_scan(
    settings: Settings, found: _Found, done: dict[str, Any], left: list[Finding], *, backups: bool
) -> None:
    if done["changed"]:
        out.say(f"Rewritten in the journal: {out.counted(done['changed'], 'record')}.")
    if done["indexed"]:
        out.say("The index is up to date, and its files have none of the earlier texts.")
    for name in done["backups"]:
        out.say(f"Rewritten: the backup {name}.")
    for name in done["backups_removed"]:
        out.say(f"Removed: the backup {name}. The rest of it is in the fresh one.")
    for name in done["backups_left"]:
        out.say(f"The backup {name} could not be rewritten and still has secrets.", "yellow")
    if left:
        names = ", ".join(dict.fromkeys(finding.id for finding in left))
        out.remark(
            f"Still there: {names}. A running hub keeps the settings that it was started with: run "
            "`learning-memory-server hub stop`, then scan again."
        )
    if found.backups and not backups:
        out.say("Backups may still have them: learning-memory-server scan --backups")
    if settings.qdrant_url is not None:
        out.say(f"Snapshots of {command.describe_engine(settings)} may still have them.")
    out.say("Exports, and backups in other folders, were not looked at.")


def _scan_document(found: _Found, done: dict[str, Any], left: list[Finding], *, backups: bool) -> dict[str, Any]:
    return {
        "findings": [
            fields(("what", "id", "field", "secret", "count"), finding) | {"in": places}
            for finding, places in found.places.items()
        ],
        "backups": len(found.backups),
        "backups_looked_at": backups,
        "backups_unreadable": [path.name for path in found.unreadable],
        "removed": bool(done) and not (left or done["backups_left"]),
        **({"indexed": done["indexed"], "left": [finding.id for finding in left]} if done else {}),
    }
