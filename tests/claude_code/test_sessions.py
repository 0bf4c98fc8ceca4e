"""Whole sessions of Claude Code with the plugin: what its hooks put into the model's requests."""

import json
import os
import signal
import socket
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.system.ipc.discovery import HubPaths
from tests.acceptance.disks import fill, small_disk
from tests.acceptance.hubs import ENTRY, until
from tests.claude_code.conftest import MODEL, PLUGIN, ClaudeCode, Session, claude_in, on_branch_of_the_entry
from tests.claude_code.model import Block, run, say, use

pytestmark = pytest.mark.slow

TOOLS = "mcp__plugin_learning-memory_memory__"
LESSON = "deploys must clear the price cache"
CONFIRMED = {
    "status": "confirmed",
    "result": "totals match",
    "lesson": {"what_worked": "clearing the cache", "takeaway": LESSON},
}
CHECK = """\
if [ -n "$1" ]; then echo "= 4 passed in 0.1s ="; exit 0; fi
echo "error: the price cache is stale, use --silent" >&2
echo "= 1 failed, 3 passed in 0.1s ="
exit 3
"""
STALE, FRESH = "make -f rules check", "make --silent -f rules check"


def load() -> Block:
    return use("ToolSearch", query=f"select:{TOOLS}start_ghap,{TOOLS}resolve_ghap", max_results=5)


def start() -> Block:
    return use(f"{TOOLS}start_ghap", **ENTRY)


def resolve() -> Block:
    return use(f"{TOOLS}resolve_ghap", **CONFIRMED)


def with_rules(claude: ClaudeCode) -> None:
    (claude.project / "check.sh").write_text(CHECK)
    (claude.project / "rules").write_text("check:\n\t@sh check.sh $(findstring s,$(MAKEFLAGS))\n")


def session_id(session: Session) -> str:
    """Return the id under which a session that printed JSON can be resumed."""
    name: str = json.loads(session.done.stdout)["session_id"]
    return name


def test_a_session_learns_and_the_next_one_is_told(claude: ClaudeCode) -> None:
    with_rules(claude)

    first = claude.session(
        "please look at the stale price cache after a deploy",
        [load(), start(), run(STALE), run(FRESH), resolve(), say("Closed.")],
    )

    assert (first.done.returncode, first.done.stdout, first.done.stderr) == (0, "Closed.\n", "")
    # There was no hub, and nothing to say.
    assert [first.told(number) for number in range(6)] == [""] * 6
    assert "hook success" not in json.dumps(first.requests)
    assert json.loads(first.results()[-1])["runs"] == [
        f"{STALE}: exit 2, 1 failed, 3 passed",
        f"{FRESH}: exit 0, 4 passed",
    ]
    # Models never see the tool that the hooks call.
    everything = json.dumps(first.everything)
    assert f"{TOOLS}start_ghap" in everything
    assert f"{TOOLS}hook" not in everything

    on_branch_of_the_entry(claude)
    second = claude.session("thank you", [run(STALE), say("I see.")])

    assert second.told(0).rstrip() == claude.command("context").rstrip()
    assert LESSON in second.told(0)
    assert second.done.stdout == "I see.\n"
    # What worked after the error is a person's figure.
    assert FRESH not in second.told(1).removeprefix(second.told(0))


def test_a_script_gets_the_answer_it_asked_for_although_an_entry_is_open(claude: ClaudeCode) -> None:
    session = claude.session("how many are there?", [load(), start(), say("Forty-two."), say("I leave it open.")])

    assert (session.done.returncode, session.done.stdout, session.done.stderr) == (0, "Forty-two.\n", "")


def test_a_prompt_is_shown_the_lesson_that_bears_on_it(claude: ClaudeCode) -> None:
    claude.learn(start(), resolve(), **MODEL)

    related = claude.session(f"please {ENTRY['goal']}: {ENTRY['hypothesis']}", [say("I see.")], **MODEL)
    unrelated = claude.session(
        "Draw the module dependencies as a Mermaid diagram in the docs", [say("I see.")], **MODEL
    )

    assert "This may help with the task: " + LESSON in related.told()
    assert "This may help with the task" not in unrelated.told()


def test_each_way_a_session_starts_brings_the_context_again(claude: ClaudeCode) -> None:
    first = claude.session("look at this", [load(), start(), say("Done."), say("Later.")], "--output-format", "json")
    name = session_id(first)
    before = claude.command("context")
    assert ENTRY["goal"] in before
    told = before.strip()

    resumed = claude.session("go on", [say("Yes.")], "--resume", name)
    forked = claude.session("go on", [say("Yes.")], "--resume", name, "--fork-session")
    compacted = claude.session("/compact", [say("A summary.")], "--resume", name)
    after = claude.session("go on", [say("Yes.")], "--resume", name)

    assert told in resumed.told()
    assert told in forked.told()
    assert compacted.done.returncode == 0
    assert told in after.told()
    # Neither the ends of these sessions nor the compaction has lost anything.
    assert claude.command("context") == before


def undisturbed(claude: ClaudeCode, *, plugin: Path | None = PLUGIN, before: Any = None) -> Session:
    """Run a session that does not use the memory, and assert that it goes as without the plugin."""

    def second() -> Block:
        if before:
            before()
        return run("echo two; exit 3")

    session = claude.session("say one and two", [run("echo one"), second, say("Finished.")], plugin=plugin)

    assert (session.done.returncode, session.done.stdout, session.done.stderr) == (0, "Finished.\n", "")
    assert session.results() == ["one", "Exit code 3\ntwo"]
    assert session.told() == ""
    return session


def test_a_hub_that_is_killed_changes_nothing(claude: ClaudeCode) -> None:
    undisturbed(claude, before=lambda: os.kill(claude.memory.hub(), signal.SIGKILL))


def test_a_hub_that_answers_with_garbage_changes_nothing(claude: ClaudeCode) -> None:
    place = HubPaths(claude.environment())
    place.socket.parent.mkdir(mode=0o700)
    heard = []

    def serve(listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                with connection, suppress(OSError):
                    heard.append(connection.recv(1 << 16))
                    connection.sendall(b'garbage\n{"hookSpecificOutput":1}\n')

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(place.socket))
        listener.listen()
        thread = threading.Thread(target=serve, args=(listener,), daemon=True)
        thread.start()

        undisturbed(claude)

        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
    assert any(b'"role":"hook"' in line for line in heard)


def test_a_full_disk_changes_nothing(tmp_path: Path) -> None:
    disk = tmp_path / "data"
    with small_disk(disk, "1m"):
        fill(disk / "fill")
        with claude_in(tmp_path) as claude:
            undisturbed(claude)


def test_the_plugin_is_valid(claude: ClaudeCode) -> None:
    done = claude.run("plugin", "validate", "--strict", "--profile", "directory", str(PLUGIN))

    assert done.returncode == 0, done.stdout


def test_a_machine_without_the_server_is_told_so_and_nothing_else_changes(claude: ClaudeCode) -> None:
    # The PATH has the shell's commands, and not ours.
    session = claude.session("say one", [run("echo one"), say("Finished.")], PATH="/usr/bin:/bin")

    assert (session.done.returncode, session.done.stdout) == (0, "Finished.\n")
    assert session.results() == ["one"]
    assert session.told() == ""
    assert until(lambda: not claude.memory.is_held(), "a hub runs")
