"""Lessons about files in whole sessions of Claude Code: what is said when a file was rewritten, or is gone."""

import json
import re
import subprocess
import time
from typing import Any

import pytest

from tests.acceptance.hubs import ENTRY
from tests.claude_code.conftest import MODEL, ClaudeCode, Session
from tests.claude_code.model import say, use
from tests.claude_code.test_sessions import LESSON, TOOLS, load, start
from tests.support import MINUTES

pytestmark = pytest.mark.slow

CART = """\
def total(items):
    prices = [item.price for item in items]
    return round(sum(prices), 2)
"""
WRONG: dict[str, Any] = {
    "status": "falsified",
    "result": "totals differ",
    "surprise": "the cache was empty",
    "root_cause": {"category": "wrong-assumption", "description": "total() rounds before it sums"},
    "lesson": {"takeaway": LESSON},
}
OPTIONS = ("--allowedTools", "Read,Edit")


def ask(claude: ClaudeCode) -> Session:
    """Ask for what the lesson is about, and read its file."""
    read = use("Read", file_path=str(claude.project / "cart.py"))
    return claude.session(f"please {ENTRY['goal']}: {ENTRY['hypothesis']}", [read, say("I see.")], *OPTIONS, **MODEL)


def test_a_lesson_says_that_its_file_was_rewritten_or_is_gone(claude: ClaudeCode) -> None:
    cart = claude.project / "cart.py"
    cart.write_text(CART)
    subprocess.run(["git", "init", "-q"], cwd=claude.project, check=True)
    # The model is loaded by the time that the next session begins.
    claude.session("hello", [say("Hello.")], *OPTIONS, **MODEL)
    claude.command("search", "anything", **MODEL)
    edit = use(
        "Edit",
        file_path=str(cart),
        old_string="    return round(sum(prices), 2)",
        new_string="    return sum(round(price, 2) for price in prices)",
    )
    read = use("Read", file_path=str(cart))
    resolve = use(f"{TOOLS}resolve_ghap", **WRONG)
    first = claude.session("begin", [load(), start(), read, edit, resolve, say("Closed.")], *OPTIONS, **MODEL)
    assert json.loads(first.results()[-1])["status"] == "falsified"
    written = claude.memory.storage / "journal" / "entries"
    until = time.monotonic() + MINUTES
    while not any(b'"anchors"' in path.read_bytes() for path in written.iterdir()) and time.monotonic() < until:
        time.sleep(0.1)
    # It was edited, and not only read.
    assert re.search(rb'\["cart\.py","\w+",false\]', b"".join(path.read_bytes() for path in written.iterdir()))

    same = ask(claude)
    cart.write_text(CART)
    changed = ask(claude)
    cart.unlink()
    gone = ask(claude)

    assert LESSON in same.told(0)
    assert "changed since" not in same.told()
    assert LESSON in changed.told(0)
    assert "changed since" in changed.told(0)
    assert LESSON in gone.told(0)
    assert "its file is gone" in gone.told(0)
