"""Check the stored data: the journal, shared lessons, the hub that owns them, and the engine of the index."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Generator, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from learning_memory_server.cli import command, out
from learning_memory_server.cli.access import HubClient, find_hub, open_connection, stop_running_hub
from learning_memory_server.cli.command import describe_engine, describe_refusal
from learning_memory_server.cli.doctor import Finding, Repair, about, all_sound, green, red, yellow
from learning_memory_server.embedding.base import Embedder
from learning_memory_server.errors import (
    AlreadyRunningError,
    EmbeddingUnavailableError,
    ForbiddenCollectionError,
    JournalUnavailableError,
    LearningMemoryError,
    LockUnavailableError,
    StorageUnavailableError,
)
from learning_memory_server.index.document import Collection
from learning_memory_server.index.engines.base import CollectionSpec
from learning_memory_server.index.engines.owner import Owner, find_owner, new_owner, open_owner, settle_owner
from learning_memory_server.index.engines.server_log import ServerLog
from learning_memory_server.index.recipe import HOW_THEY_ARE_MADE, Blueprints
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.kinds import KINDS
from learning_memory_server.journal.log import Log
from learning_memory_server.model.server import KnownServer
from learning_memory_server.server.composition.backends import open_server
from learning_memory_server.server.settings import Settings
from learning_memory_server.sharing.shared import SHARED, SharedLessons
from learning_memory_server.system import timeouts
from learning_memory_server.system.ipc.programs import to_start
from learning_memory_server.system.locking import hold

if TYPE_CHECKING:
    from learning_memory_server.index.engines.qdrant_catalog import Examined

_MOVED: Final = "Was the storage folder moved here, so that its points stay its own?"
_COPIED: Final = "Is it a copy, which becomes an owner of its own, and whose index is built again?"
_LOST: Final = "Is there no copy of that file, so that the index is built again for a new owner?"
_NAMED: Final = 3
_LOOK_SECONDS: Final = 0.1


def check_journal(settings: Settings) -> Iterator[Finding]:
    """Read the entire journal, and find the process that has locked it."""
    journal = Journal(settings.journal_directory)
    readers: list[tuple[str, Log, Callable[[dict[str, object]], object] | None]] = [
        (each.noun or each.kind, journal.logs[each.file], each.type and each.decode) for each in KINDS.values()
    ]
    try:
        sound = []
        for noun, log, decode in readers:
            if (count := (yield from _check_log(noun, log, decode))) is not None:
                sound.append(out.counted(count, noun))
        if sound:
            yield green(f"{', '.join(sound)}: all checksums match.")
        opened = 0
        for path in journal.open_files():
            try:
                journal.read_open(path)
                opened += 1
            except JournalUnavailableError as error:
                yield red(_explained(error), topic="open")
        yield green(f"{out.counted(opened, 'open entry')}.", topic="open")
        if aside := journal.set_aside_files():
            names = ", ".join(path.name for path in aside[:_NAMED])
            yield yellow(
                f"{out.counted(len(aside), 'unfinished line')} set aside after a crash ({names}); "
                "check whether they matter, then delete them."
            )
        if retired := [*journal.retired_files(), *settings.retired_files]:
            names = ", ".join(path.name for path in retired)
            yield green(
                f"An earlier version wrote {names}, which is no longer read; "
                "to remove it, run: learning-memory-server forget --purge"
            )
        yield from _check_writable(journal, [log for _, log, _ in readers])
    except LearningMemoryError as error:
        yield red(_explained(error))
    try:
        who = command.holder_of(settings)
        yield green(
            f"The data is in use by {command.in_use_by(who)}." if who else "No process is using the data.", topic="lock"
        )
    except LockUnavailableError as error:
        yield red(error.in_doctor, topic="lock")


def _check_log(
    noun: str, log: Log, decode: Callable[[dict[str, object]], object] | None
) -> Generator[Finding, None, int | None]:
    """Report what is wrong with a log. Return its number of records if nothing is."""
    try:
        content = log.read()
    except JournalUnavailableError as error:
        # The others are still worth a look.
        yield red(_explained(error))
        return None
    foreign = []
    for record in content.records:
        try:
            if decode is not None:
                record.decoded(decode)
        except JournalUnavailableError:
            foreign.append(record.id)
    torn = [damage for damage in content.damage if damage.torn]
    lost = [damage for damage in content.damage if not damage.torn]
    if lost:
        where = "; ".join(f"{d.path.name} line {d.number}: {d.reason}" for d in lost[:_NAMED])
        yield red(
            f"{out.counted(len(lost), 'line')} cannot be read ({where}). The others are used; restore the file "
            "from a backup, or delete those lines."
        )
    if foreign:
        yield red(
            f"{out.counted(len(foreign), noun)} cannot be understood ({', '.join(map(str, foreign[:_NAMED]))}); "
            "if a newer version wrote them, update learning-memory-server."
        )
    for damage in torn:
        yield yellow(
            f"The last line of {damage.path.name} is unfinished, as after a crash; the next start sets it aside."
        )
    return None if content.damage or foreign else len({record.id for record in content.records})


def _check_writable(journal: Journal, logs: list[Log]) -> Iterator[Finding]:
    """Check the folders and the newest file of each log. Older files are no longer written."""
    for path in (*journal.folders, *(path for log in logs for path in log.segments()[-1:])):
        needed = os.W_OK | (os.X_OK if path.is_dir() else 0)
        if path.exists() and not os.access(path, needed):
            yield red(f"{path} is not writable; check its owner, or run: chmod u+rwX '{path}'")


def _explained(error: LearningMemoryError) -> str:
    """Return the error message, with the path if the operating system caused the error."""
    cause = error.__cause__
    if isinstance(cause, OSError) and cause.filename:
        return f"{error.message} Check {cause.filename}: its kind, owner and permissions."
    return error.in_doctor


def check_shared(settings: Settings) -> Iterator[Finding]:
    """Check the shared lessons of the joined repositories."""
    for joined in SharedLessons(settings.storage_path / SHARED).joined.values():
        yield green(f"{out.counted(len(joined.entries), 'lesson')} of {joined.folder} are read.")
        for name, reason in joined.left_out.items():
            yield yellow(f"{name or joined.folder} is left out: {reason}.")


def check_hub(settings: Settings) -> tuple[Finding, dict[str, Any] | None]:
    """Check the hub, and return its status if it runs and replies."""
    try:
        hub = _find_hub(settings)
        if hub is None:
            return _check_holder(settings), None
        status = hub.control("status")
    except LockUnavailableError:
        sentence = "None is running, and none can start: the lock file cannot be opened (see above)."
        return yellow(sentence), None
    except LearningMemoryError as error:
        return red(error.in_doctor), None
    sentence = f"One is running: {command.describe_hub(status).rstrip('.')}."
    if status.get("notice"):
        return yellow(sentence), status
    first = to_start(settings.storage_path)[0]
    if first["folder"] != status["build"]["folder"]:
        return yellow(f"{sentence} The next session to start one starts {command.describe_program(first)}."), status
    return green(sentence), status


def _find_hub(settings: Settings) -> HubClient | None:
    """Return the hub, or None. A hub that has just started, or lost its socket, listens within two seconds."""
    until = time.monotonic() + timeouts.DOCTOR_HUB
    while (hub := find_hub()) is None and time.monotonic() < until:
        who = command.holder_of(settings)
        if who is None or "socket" not in who:
            return None
        time.sleep(_LOOK_SECONDS)
    return hub


def _check_holder(settings: Settings) -> Finding:
    who = command.holder_of(settings)
    if who is None:
        program = command.describe_program(to_start(settings.storage_path)[0])
        return green(f"None is running; the next session starts one, of {program}.")
    if "socket" in who:
        sentence = (
            f"One (process {who.get('pid')}) has locked the data, but does not listen at {who['socket']}. If it is not "
            "ending, run: learning-memory-server hub stop"
        )
        return red(sentence)
    return yellow(command.in_the_way(who))


def check_engine(settings: Settings, load: Callable[[], Embedder]) -> Iterator[Finding]:
    """Compare the index with the journal, in the hub if one runs, otherwise by opening the engine."""
    if not settings.storage_path.exists():
        yield green("Nothing is stored yet; the first start creates it.")
        return
    is_forbidden = False
    try:
        found = asyncio.run(_operate(settings, "doctor", load, "compare"))
    except AlreadyRunningError as error:
        yield green(f"Not opened: {error.message} To check the engine, run this again when that process has ended.")
    except LearningMemoryError as error:
        is_forbidden = isinstance(error, ForbiddenCollectionError)
        yield red(error.in_doctor)
    else:
        yield green(f"{describe_engine(settings)}: {out.counted(found['points'], 'point')}.")
        yield from _compared(found, settings)
    # Last, because opening the engine creates the owner.
    yield from about("server", check_server(settings, partial(_specs, load), is_forbidden=is_forbidden))


async def _operate(
    settings: Settings, command: str, load: Callable[[], Embedder] | None, operation: str, /, **fields: object
) -> dict[str, Any]:
    async with open_connection(settings, command, load=load) as connection:
        return await connection.run(operation, **fields)


async def _specs(load: Callable[[], Embedder]) -> list[CollectionSpec]:
    from learning_memory_server.embedding.service import EmbeddingService
    from learning_memory_server.server.composition.services import ALL_SHAPES

    embeddings = EmbeddingService(load)
    try:
        blueprints = Blueprints(embeddings, ALL_SHAPES)
        return [await blueprints.spec(each) for each in Collection]
    finally:
        embeddings.close()


def _compared(found: dict[str, Any], settings: Settings) -> Iterator[Finding]:
    if failure := found["model"]:
        yield red(f"Searches are lexical: {failure}")
    if found["missing"]:
        are = "is" if found["missing"] == 1 else "are"
        when = describe_refusal(found) or "the next server start, search or import adds what is missing."
        yield yellow(
            f"{out.counted(found['missing'], 'point')} from the journal {are} not in the index yet; {when}",
            _repair(settings, "complete", "The index was completed."),
        )
    if found["superfluous"]:
        yield yellow(
            f"The index has {out.counted(found['superfluous'], 'point')} that the journal does not have. If no line of "
            "the journal is damaged, run: learning-memory-server reindex",
            # If a line is damaged, the engine is not checked: its points may be the only remaining copy.
            _repair(settings, "reindex", "The index was rebuilt.", axis=None),
        )
    if not found["missing"] and not found["superfluous"]:
        yield green("The index has everything that is in the journal.")


def _repair(settings: Settings, operation: str, done: str, **fields: object) -> Repair:
    def repair() -> str:
        asyncio.run(_operate(settings, "doctor --fix", None, operation, **fields))
        return done

    return repair


def check_server(
    settings: Settings, specs: Callable[[], Awaitable[Sequence[CollectionSpec]]], *, is_forbidden: bool = False
) -> Iterator[Finding]:
    """Check the configured Qdrant server, read-only; `is_forbidden`: missing collections were already reported."""
    if settings.qdrant_url is None or not settings.owner_file.exists():
        return
    if not (yield from all_sound(check_owner(settings))):
        return
    try:
        examined = asyncio.run(_examined(settings, settings.qdrant_url, specs))
    except LearningMemoryError as error:
        if not (is_forbidden and isinstance(error, ForbiddenCollectionError)):
            yield red(error.in_doctor)
        return
    if is_forbidden:
        examined = replace(examined, no_creating=None)
    yield from _findings(examined)


def check_owner(settings: Settings) -> Iterator[Finding]:
    """Ask about a storage folder that was moved or copied, and about a damaged owner file."""

    def settling(settle: Callable[[Path], Owner]) -> Repair:
        def repair() -> str:
            # A running hub keeps the owner that it read when it opened the index.
            stop_running_hub()
            with hold(settings.journal_directory, settings.storage_path, "doctor --fix"):
                return f"Your points on the Qdrant server have the owner {settle(settings.owner_file).name}."

        return repair

    try:
        owner = open_owner(settings.owner_file)
    except StorageUnavailableError as error:
        is_damaged = not isinstance(error.__cause__, OSError)
        yield red(error.in_doctor, answers={_LOST: settling(new_owner)} if is_damaged else {})
        return
    if not owner.is_settled:
        yield yellow(
            "The storage folder was moved or copied since the Qdrant server was used, so nothing is removed there. "
            "If it is a copy, what the other folder forgets comes back from here until you say which it is: "
            "learning-memory-server doctor --fix asks.",
            answers={_MOVED: settling(settle_owner), _COPIED: settling(new_owner)},
        )


def check_elsewhere(settings: Settings) -> Iterator[Finding]:
    """Report servers that still have points, and those with an owner unknown to this folder. Contacts no server."""
    servers = ServerLog(Journal(settings.journal_directory).servers)
    owner = find_owner(settings.owner_file)
    try:
        known = servers.known()
        elsewhere = servers.elsewhere(settings.qdrant_url, owner)
    except LearningMemoryError:
        return  # Already reported by the check of the journal
    if known and not settings.owner_file.exists():
        yield yellow(
            f"{settings.owner_file} is missing: it says which points are yours on {_named(known)}. Restore it from a "
            "copy of the storage folder. Without it, the index is built again for a new owner, and the earlier points "
            "stay there."
        )
        return
    for each in elsewhere if owner else ():
        url = ",".join(each.urls)
        yield yellow(
            f"Your points are still on {_named([each])}, which is not in use: what is forgotten stays there, without "
            f"its text. To remove them, run: learning-memory-server migrate --leave {url} (with --gone if that server "
            "no longer exists)."
        )
    if others := [each for each in known if owner and each.owner != owner]:
        yield green(
            f"The journal names points of another owner on {_named(others)}: those of another folder with this "
            f"journal, or of one that is gone ({', '.join(sorted({each.owner for each in others}))})."
        )


async def _examined(settings: Settings, url: str, specs: Callable[[], Awaitable[Sequence[CollectionSpec]]]) -> Examined:
    from learning_memory_server.index.engines.qdrant_catalog import examine

    store = open_server(settings, url, settings.qdrant_key)
    try:
        known = await specs()
    except EmbeddingUnavailableError:
        known = []  # Already reported by the check of the model
    try:
        return await examine(store.server, store.catalog, known)
    finally:
        await store.close()


def _named(servers: Sequence[KnownServer]) -> str:
    return "the Qdrant server " + " and ".join(sorted({", ".join(each.urls) for each in servers}))


def _findings(examined: Examined) -> Iterator[Finding]:
    yield green(f"Qdrant {examined.version}.")
    for error in examined.unreachable.values():
        yield yellow(error.in_doctor)
    if not examined.is_one_cluster:
        yield red("The addresses in qdrant_url are not nodes of one cluster. Keep those of one cluster.")
    if examined.no_writing:
        yield red(examined.no_writing.sentence)
    if examined.no_creating and examined.missing:
        names = ", ".join(f"`{name}`" for name in examined.missing)
        yield red(f"{examined.no_creating.message} These are missing: {names}. {HOW_THEY_ARE_MADE}")
    elif examined.no_creating:
        yield yellow(f"{examined.no_creating.sentence} Another model or version of this program needs new collections.")
