"""Two people with Claude Code, two memories, and one repository that both have cloned."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from learning_memory_server.sharing.promote import LEARNED, with_rule
from tests.acceptance.hubs import ENTRY
from tests.claude_code.conftest import MODEL, ClaudeCode, claude_in, on_branch_of_the_entry
from tests.claude_code.model import say, use
from tests.claude_code.test_sessions import LESSON, TOOLS, load, resolve, start
from tests.sharing.repositories import commit, git
from tests.terminals import agreed

pytestmark = pytest.mark.slow


def command(claude: ClaudeCode, *arguments: str) -> str:
    return claude.command(*arguments, **MODEL)


@pytest.fixture
def both(tmp_path: Path) -> Iterator[tuple[ClaudeCode, ClaudeCode]]:
    for name in ("ann", "ben"):
        (tmp_path / name).mkdir()
    with claude_in(tmp_path / "ann") as ann, claude_in(tmp_path / "ben") as ben:
        git(tmp_path, "init", "-q", "--bare", "-b", "main", "shop.git")
        git(ann.project, "clone", "-q", str(tmp_path / "shop.git"), ".")
        git(ann.project, "checkout", "-q", "-b", "main")
        (ann.project / "README").write_text("A shop.\n")
        publish(ann, "begin")
        git(ben.project, "clone", "-q", str(tmp_path / "shop.git"), ".")
        yield ann, ben


def publish(claude: ClaudeCode, message: str) -> None:
    commit(claude.project, message)
    git(claude.project, "push", "-q", "origin", "HEAD:main")


def test_what_one_shares_the_other_finds_from_join_to_leave(both: tuple[ClaudeCode, ClaudeCode]) -> None:
    ann, ben = both
    ann.learn(start(), resolve(), **MODEL)
    (found,) = json.loads(command(ann, "list", "--json"))["results"]
    assert "Written: 1 file" in command(ann, "share", found["id"], "--yes")
    publish(ann, "Share a lesson")
    git(ben.project, "pull", "-q")

    before = ben.session("look at this", [load(), start(), say("I see.")], **MODEL)
    assert LESSON not in json.dumps(before.everything)

    assert "Joined: 1 shared lesson" in agreed(ben.environment() | MODEL, ben.project, "join")
    joined = ben.session("look at this", [load(), start(), say("I see.")], **MODEL)
    assert LESSON in json.dumps(joined.everything)
    on_branch_of_the_entry(ben)
    assert LESSON in command(ben, "context")
    sought = ben.session(
        "look at this", [load(), use(f"{TOOLS}search_experiences", query=ENTRY["hypothesis"])], **MODEL
    )
    (found,) = json.loads(sought.results()[-1])["results"]
    assert (found["lesson"]["takeaway"], found["shared"]) == (LESSON, "shared, merged by Ann")
    assert re.fullmatch("shared_[0-9a-f]{16}", found["id"])

    assert "Left" in command(ben, "leave")
    left = ben.session("look at this", [load(), start(), say("I see.")], **MODEL)
    assert LESSON not in json.dumps(left.everything)
    assert LESSON not in command(ben, "search", ENTRY["hypothesis"])
    assert not any(LESSON.encode() in path.read_bytes() for path in ben.memory.storage.rglob("*") if path.is_file())


def test_a_lesson_that_stands_among_the_clients_rules_is_not_repeated(both: tuple[ClaudeCode, ClaudeCode]) -> None:
    ann, _ = both
    ann.learn(start(), resolve(), **MODEL)
    (found,) = json.loads(command(ann, "list", "--json"))["results"]
    rules = ann.project / LEARNED
    rules.parent.mkdir(parents=True)
    rules.write_text(with_rule("", found["id"], LESSON, "a lesson"))

    loaded = ann.session("look at this", [load(), start(), say("I see.")], **MODEL)
    everything = json.dumps(loaded.requests[-1])
    assert f"- {LESSON}" in everything
    # The comment does not reach the model, and the memory does not repeat the rule.
    assert f"{found['id']}: a lesson" not in everything
    assert everything.count(LESSON) == 1
    assert "related" not in json.loads(loaded.results()[-1])
