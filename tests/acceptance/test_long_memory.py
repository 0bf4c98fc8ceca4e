"""A memory of ten million characters, through the front and the hub."""

import os
import signal
from pathlib import Path

import pytest

from tests.acceptance.hubs import Memory, unhurried, until
from tests.acceptance.wire import Wire

pytestmark = pytest.mark.slow

PARAGRAPH = "Paragraph {number} tells of nothing in particular, and of topic{number} least of all. " * 6
TEXT = "\n\n".join(PARAGRAPH.format(number=number) for number in range(19_000))[:10_000_000].strip()
EXTRA = 200 << 20
"""How many more bytes a process may need than before."""


def text_of(wire: Wire, tool: str, **arguments: object) -> str:
    """Call a tool that replies in text, and return the text."""
    text: str = wire.answer(wire.send_call(tool, **arguments))["result"]["content"][0]["text"]
    return text


def own_memory(pid: int, name: str) -> int:
    """Return the bytes of a process that /proc gives under this name."""
    lines = Path(f"/proc/{pid}/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(f"{name}:"))


def indexed(front: Wire) -> bool:
    """Return whether nothing is pending."""
    return bool(front.call("get_stats")["index"]["complete"])


def pending(front: Wire) -> int:
    """Return how many points are known to be missing."""
    return int(front.call("get_stats")["index"].get("pending", 0))


def search(front: Wire, topic: int) -> str:
    """Look for one paragraph."""
    return text_of(front, "search_memory", query=f"topic{topic}", limit=1)


def test_it_is_stored_and_found_at_once_after_a_kill_while_the_next_hub_indexes_it(
    memory: Memory, tmp_path: Path
) -> None:
    # A lexical search of ten million characters takes a second of a quiet machine's processor.
    memory.more = unhurried(tmp_path / "unhurried", "MEMORIES_JOURNAL_SHARE")
    front = memory.greeted()
    assert text_of(front, "add_memory", text="A short one.").startswith("Memory stored successfully.")
    until(lambda: indexed(front), "the index was not opened")
    pids = [memory.hub(), front.process.pid]
    before = [own_memory(pid, "VmRSS") for pid in pids]

    reply = text_of(front, "add_memory", text=TEXT)

    assert reply.startswith("Memory stored successfully.")
    assert "Indexing goes on in the background" in reply
    after = [own_memory(pid, "VmHWM") for pid in pids]
    assert all(high - low < EXTRA for low, high in zip(before, after, strict=True)), (before, after)
    os.kill(pids[0], signal.SIGKILL)

    found = search(front, 12345)
    assert "topic12345 " in found
    assert found.endswith("Mode: lexical")
    left = until(lambda: pending(front), "the next hub does not know what is missing")
    until(lambda: pending(front) < left, "the next hub indexes nothing")


def test_a_message_of_half_the_largest_size_does_not_end_the_session(front: Wire) -> None:
    assert "at most 10000000 characters" in text_of(front, "add_memory", text="word " * 6_000_000)
    assert text_of(front, "add_memory", text="A short one.").startswith("Memory stored successfully.")


def test_the_next_hub_continues_what_a_hub_that_shuts_down_was_indexing(memory: Memory) -> None:
    front, other = memory.greeted(), memory.greeted("another session", "2026-07-28")
    until(lambda: indexed(other), "the index was not opened")
    # Real clients ask for progress, and still get their answer once the text is kept.
    call = front.send("tools/call", name="add_memory", arguments={"text": TEXT[:600_000]}, _meta={"progressToken": "1"})
    assert "Indexing goes on in the background" in front.answer(call)["result"]["content"][0]["text"]

    memory.end_hub()

    until(lambda: indexed(other), "it was not indexed", seconds=240)
    assert other.call("get_stats")["memories"]["total"] == 1
    assert "topic1012 " in search(other, 1012)
    # A busy machine may be late for the semantic half.
    until(lambda: search(other, 1012).endswith("Mode: hybrid"), "no search was hybrid")
