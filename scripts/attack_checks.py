"""What `scripts.attack` checks at the end: the journal, the index, and the hub's log."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from learning_memory_server.server.composition.services import open_services
from learning_memory_server.server.settings import Settings
from scripts.attack_requests import WORD, Attempt


def check_journal(journal: Path, written: list[tuple[Attempt, str]]) -> Iterator[str]:
    """Yield each acknowledged write that is not in the journal, and each write that is in it twice."""
    entries, memories, deleted, values = read_journal(journal)
    present = {
        "start_ghap": set(entries),
        "update_ghap": set(entries),
        "resolve_ghap": {identity for identity, entry in entries.items() if "resolution" in entry},
        "add_memory": set(memories) | deleted,
        "delete_memory": deleted,
        "store_value": values,
    }
    texts = Counter(WORD.findall(json.dumps([[each["goal"], each.get("notes")] for each in entries.values()])))
    texts.update(WORD.findall(json.dumps([each["text"] for each in memories.values()])))
    for attempt, identity in written:
        if identity not in present[attempt.tool]:
            yield f"acknowledged and lost: {identity} of {attempt.line[:300]!r}"
        elif (
            attempt.tool == "update_ghap"
            and attempt.word
            and attempt.word.encode() in attempt.line
            and not texts[attempt.word]
        ):
            yield f"acknowledged and lost: the note {attempt.word} of {identity}"
    for word, count in texts.items():
        if count > 1:
            yield f"{word} was written {count} times"


def read_journal(journal: Path) -> tuple[dict[str, Any], dict[str, Any], set[str], set[str]]:
    """Return the entries and the memories by id, the ids of deleted memories, and those of values.

    Raises:
        ValueError: If a resolved entry or a memory is in the journal twice, or a line cannot be read.
    """
    entries = {path.stem: json.loads(path.read_bytes()) for path in (journal / "open").glob("*.json")}
    resolved: set[str] = set()
    memories: dict[str, Any] = {}
    deleted: set[str] = set()
    for line in _lines(journal / "entries"):
        if line["id"] in resolved:
            raise ValueError(f"{line['id']} is resolved twice")
        resolved.add(line["id"])
        entries[line["id"]] = line["data"]
    for line in _lines(journal / "memories"):
        if line["data"].get("forgotten"):
            deleted.add(line["id"])
            memories.pop(line["id"], None)
        elif line["id"] in memories:
            raise ValueError(f"{line['id']} was added twice")
        else:
            memories[line["id"]] = line["data"]
    path = journal / "values.jsonl"
    values = [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []
    return entries, memories, deleted, {line["id"] for line in values}


async def check_index(storage: Path) -> list[str]:
    """Return what is wrong with the index once it has caught up with the journal."""
    settings = Settings(storage_path=storage, embedding_backend="hashing")
    async with open_services(settings, purpose="an attack's check") as services:
        wrong = [f"the journal is damaged: {damage}" for damage in services.journal.damage()]
        entries = len(services.collector.list_resolved())
        await services.index.open()
        await services.writer.find_pending()
        await services.writer.reconciler.catch_up()
        missing = await services.writer.find_pending()
        counts = await services.index.counts()
    if missing:
        wrong.append(f"{missing} points are not in the index")
    if counts["experiences_full"] != entries:
        wrong.append(f"the index has {counts['experiences_full']} experiences, the journal {entries}")
    return wrong


def check_log(log: Path) -> Iterator[str]:
    """Yield each crash that a hub has logged: every failure of a call must be an anticipated one."""
    for line in log.read_text("utf-8").splitlines():
        if '"outcome": "crashed"' in line or '"event": "command.crashed"' in line:
            yield f"a call crashed: {line}"


def _lines(folder: Path) -> Iterator[dict[str, Any]]:
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_bytes().splitlines():
            yield json.loads(line)
