"""What the memory tools say."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from learning_memory_server.domain import limits
from learning_memory_server.domain.vocabulary import SearchMode

if TYPE_CHECKING:
    from learning_memory_server.domain.memory import Memory
    from learning_memory_server.memories.query import FoundMemories, FoundMemory
    from learning_memory_server.memories.store import Added

_PREVIEW: Final = 200
"""Characters of a passage in a result."""
_ADDED_PREVIEW: Final = 100
_CLOSING: Final = 500
"""Characters that are kept free for what a reply says at its end."""
_LEAST: Final = 200
"""A text that has room for fewer characters is not begun."""
_SHOWN: Final = ("title", "source", "tags", "timestamp")
"""Metadata with a line of its own."""


def added(result: Added) -> str:
    """Return what is said of an added memory."""
    memory = result.memory
    lines = [
        "Memory stored successfully."
        if result.is_new
        else "This memory is stored already, with the same text and metadata; nothing was added.",
        f"ID: {memory.id}",
        f"Chunks created: {result.chunks}",
        f"Preview: {_preview(memory.text, _ADDED_PREVIEW)}",
    ]
    if not result.is_indexed:
        lines.append(
            "Indexing goes on in the background; until it is done, a search may not find all of it. get_stats shows "
            "what is pending."
        )
    return "\n".join(lines)


def deleted(memory: Memory) -> str:
    """Return what is said of a deleted memory."""
    return f"Memory deleted.\nID: {memory.id}"


def found(result: FoundMemories, min_similarity: float, *, detailed: bool) -> str:
    """Return the results, each with the best passage of a memory."""
    if not result.found:
        return _nothing(result, min_similarity)
    room = limits.REPLY_MAX - _CLOSING
    blocks: list[str] = []
    for number, item in enumerate(result.found, start=1):
        block = _detailed(number, item) if detailed else _concise(number, item)
        room -= len(block) + 2
        if room < 0:
            break
        blocks.append(block)
    left = len(result.found) - len(blocks)
    cut = [f"{left} more did not fit into this reply: ask with a narrower query or filters."] if left else []
    return _reply(result, min_similarity, blocks, cut)


def found_whole(result: FoundMemories, offset: int, min_similarity: float) -> str:
    """Return the results with their whole texts from an offset on, as far as there is room."""
    if not result.found:
        return _nothing(result, min_similarity)
    room = limits.REPLY_MAX - _CLOSING
    blocks: list[str] = []
    for number, item in enumerate(result.found, start=1):
        memory = item.memory
        around = "\n".join([_heading(number, item), *_about(item), ""])
        room -= len(around) + _CLOSING
        rest = memory.text[offset:]
        if room < min(_LEAST, len(rest)):
            break
        shown = rest[:room]
        end = offset + len(shown)
        lines = [around + (shown or f"(the text has only {len(memory.text):,} characters)")]
        if end < len(memory.text):
            lines.append(
                f"[cut: characters {offset:,}-{end:,} of {len(memory.text):,}; text_offset {end} goes on]"
            )
        blocks.append("\n".join(lines))
        room -= len(shown)
    left = len(result.found) - len(blocks)
    cut = [f"{left} more did not fit into this reply: ask with a smaller limit or a narrower query."]
    return _reply(result, min_similarity, blocks, cut if left else [])


def _reply(result: FoundMemories, min_similarity: float, blocks: list[str], cut: list[str]) -> str:
    parts = [
        f"Found {len(result.found)} results:",
        *blocks,
        *cut,
        "\n".join(_closing(result, min_similarity)),
    ]
    return "\n\n".join(parts)


def _nothing(result: FoundMemories, min_similarity: float) -> str:
    return "\n".join(["No results found matching your query.", *_closing(result, min_similarity)])


def _closing(result: FoundMemories, min_similarity: float) -> list[str]:
    lines = []
    if result.mode is SearchMode.LEXICAL and min_similarity > 0:
        lines.append(
            "Note: min_similarity was ignored; this search compared words, and it compares meanings."
        )
    if result.is_cut:
        lines.append("Note: time was short, so there may be more than these: narrow the search by filters.")
    return [*lines, f"Mode: {result.mode}"]


def _concise(number: int, item: FoundMemory) -> str:
    return "\n".join([_heading(number, item), _preview(item.chunk, _PREVIEW), f"ID: {item.memory.id}"])


def _detailed(number: int, item: FoundMemory) -> str:
    place = f"Passage: characters {item.start:,}-{item.end:,} of {len(item.memory.text):,}"
    return "\n".join([_heading(number, item), item.chunk, place, *_about(item)])


def _heading(number: int, item: FoundMemory) -> str:
    tags = f" [Tags: {', '.join(item.memory.tags)}]" if item.memory.tags else ""
    return f"{number}. [Score: {item.score:.2f}]{tags}"


def _about(item: FoundMemory) -> list[str]:
    """Return a line for each thing that is known about a memory."""
    memory = item.memory
    more = {key: value for key, value in memory.metadata.items() if key not in _SHOWN}
    known = {
        "Title": memory.title,
        "Source": memory.source,
        "Date": memory.date.isoformat(),
        "Project": memory.project,
        "Metadata": _preview(json.dumps(more, ensure_ascii=False), limits.NARRATIVE_MAX) if more else None,
        "ID": memory.id,
    }
    return [f"{name}: {value}" for name, value in known.items() if value]


def _preview(text: str, length: int) -> str:
    """Return the beginning of a text on one line."""
    line = " ".join(text[: 10 * length].split())
    return line if len(line) <= length else line[:length] + "..."
