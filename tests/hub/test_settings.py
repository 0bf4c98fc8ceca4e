"""Sessions with other settings than the running hub's: it gives way to them, or they are told that it does not."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from learning_memory_server.cli.access import find_hub
from learning_memory_server.system.ipc import discovery, socket_security
from learning_memory_server.version import JOURNAL_FORMAT
from tests.acceptance.hubs import IN_PROC, Memory, is_alive, learn, until
from tests.acceptance.wire import Wire
from tests.hub.front.scripted import hello_of
from tests.index.engines.double import QdrantDouble, Wrong
from tests.support import MINUTES

pytestmark = IN_PROC

KEY = "a-key-that-nobody-may-see"
OTHERS: dict[str, Any] = {"qdrant_api_key": KEY, "min_experiences": "7"}
"""Settings that tests change, where it does not matter which."""


def engine_of(front: Wire) -> str:
    engine: str = front.call("get_stats")["index"]["engine"]
    return engine


def command(memory: Memory, *arguments: str, **settings: Any) -> str:
    done = memory.command(*arguments, hub_idle_minutes="1", **settings)
    return done.stdout + done.stderr


def wait_until_unused(memory: Memory) -> None:
    hub = find_hub(memory.place())
    assert hub is not None
    until(lambda: hub.control("status")["sessions"] == 0, "the hub still has a session")


def unused_hub(memory: Memory) -> int:
    """Start a hub, and return its process once nobody uses it."""
    memory.greeted("first").close()
    wait_until_unused(memory)
    return memory.hub()


class Raw:
    """A connection to the hub, without a front."""

    def __init__(self, memory: Memory, role: str = "session", *, build: Any = None, **settings: str) -> None:
        place = memory.place(hub_idle_minutes="1", **settings)
        hello = hello_of(place, role=role, **({"build": build} if build else {}))
        (path,) = memory.sockets
        self._socket = socket_security.connect(path, MINUTES)
        self._socket.settimeout(MINUTES)
        self.lines = self._socket.makefile("rb")
        self.send(json.dumps(hello).encode() + b"\n")
        self.ack = json.loads(self.lines.readline())

    def send(self, line: bytes) -> None:
        self._socket.sendall(line)

    def is_served(self) -> bool:
        self.send(discovery.PING)
        return self.lines.readline() == discovery.PONG

    def close(self) -> None:
        self.lines.close()
        self._socket.close()


def test_a_hub_that_nobody_uses_gives_way_to_the_settings_of_the_next_session(
    memory: Memory, double: QdrantDouble
) -> None:
    first = memory.greeted("first")
    ghap_id = learn(first)
    assert engine_of(first) == "embedded Qdrant"
    hub = memory.hub()
    assert first.close() == 0
    wait_until_unused(memory)
    second = memory.greeted("second", qdrant_url=double.url)
    found = second.call("list_ghap_entries")
    assert [entry["id"] for entry in found["results"]] == [ghap_id]
    assert "note" not in found
    assert engine_of(second) == "Qdrant server"
    assert not is_alive(hub)
    until(lambda: second.call("search_experiences", query="totals")["mode"] == "hybrid", "the server is not used")
    assert any(request.path.endswith("/points") for request in double.asked)
    second.close()
    assert f"process {hub}) to shut down for other settings" in second.stderr()


def test_a_session_that_writes_the_same_settings_otherwise_uses_the_hub(memory: Memory) -> None:
    hub = unused_hub(memory)
    second = memory.greeted("second", redaction="True", hdbscan_min_samples="3", redaction_allow="[]")
    assert "note" not in second.call("list_values")
    assert memory.hub() == hub


def test_where_others_use_it_a_session_is_told_until_they_leave(memory: Memory, double: QdrantDouble) -> None:
    first = memory.greeted("first")
    hub = memory.hub()
    second = memory.greeted("second", qdrant_url=double.url, **OTHERS)
    assert second.refused("get_clusters", axis="full")["type"] == "insufficient_data"
    replies = [second.call("list_values"), second.call("list_values")]
    stats = second.call("get_stats")
    told = [json.dumps(replies[0]), json.dumps(stats), command(memory, "status")]
    told.append(json.loads(command(memory, "status", "--json"))["hub"]["notice"])
    for text in told:
        words = " ".join(text.split())
        assert "started with other settings (min_experiences, qdrant_api_key, qdrant_url)" in words
        assert "hub stop" in text
        assert KEY not in text
        assert double.url not in text
    assert "note" not in replies[1]
    assert "note" not in first.call("list_values")
    assert "note" not in first.call("get_stats")
    assert stats["index"]["engine"] == "embedded Qdrant"
    assert memory.hub() == hub
    first.close()
    until(lambda: not is_alive(hub), "the hub stays, although nobody has its settings")
    assert "note" not in second.call("list_values")
    assert engine_of(second) == "Qdrant server"


def test_texts_are_followed_by_the_note(memory: Memory) -> None:
    memory.greeted("first")
    second = memory.greeted("second", **OTHERS)
    texts = []
    for _ in range(2):
        (block,) = second.answer(second.send_call("search_memory", query="anything"))["result"]["content"]
        texts.append(block["text"])
    assert texts[0].startswith(f"{texts[1]}\nNote: The running hub was started with other settings (")


def test_a_session_that_a_project_steers_replaces_no_hub(memory: Memory, double: QdrantDouble) -> None:
    hub = unused_hub(memory)
    folder = memory.storage / ".claude"
    folder.mkdir()
    file = folder / "settings.json"
    for named in ({"QDRANT_URL": double.url}, {"MIN_EXPERIENCES": "7"}, {"PROJECT": "acceptance"}):
        variables = {f"LEARNING_MEMORY_{name}": value for name, value in named.items()}
        seen: dict[str, Any] = {name.lower(): value for name, value in named.items()}
        file.write_text(json.dumps({"env": variables}))
        steered = memory.greeted("steered", **seen)
        # Ending the hub would only bring one without the settings that were ignored.
        assert "note" not in steered.call("list_values")
        assert memory.hub() == hub
        steered.close()
        assert "is ignored" in steered.stderr()
        assert "hub stop" not in steered.stderr()
    assert not double.asked


def test_what_is_the_sessions_own_business_changes_no_hub(memory: Memory) -> None:
    own: dict[str, Any] = {"project": "another", "log_level": "debug"}
    hub = unused_hub(memory)
    second = memory.greeted("second", **own)
    assert "note" not in second.call("list_values")
    assert memory.hub() == hub


def test_commands_and_hooks_neither_replace_a_hub_nor_keep_it(memory: Memory) -> None:
    hub = unused_hub(memory)
    assert "other settings" in command(memory, "search", "totals", **OTHERS)
    assert "min_experiences" in command(memory, "doctor", "--quick", **OTHERS)
    idle = Raw(memory, "command", **OTHERS)
    assert idle.ack["gives_way"] is False
    asking = Raw(memory, **OTHERS)
    assert asking.ack["gives_way"] is True
    assert memory.hub() == hub
    idle.close()
    asking.close()


def test_a_program_that_cannot_read_the_journal_replaces_no_hub_for_its_settings(memory: Memory) -> None:
    unused_hub(memory)
    older = {"version": "0.0.1", "fingerprint": "older", "folder": "/other", "journal": JOURNAL_FORMAT - 1}
    connection = Raw(memory, build=older, **OTHERS)
    assert connection.ack["gives_way"] is False
    connection.close()
    wait_until_unused(memory)
    connection = Raw(memory, **OTHERS)
    assert connection.ack["gives_way"] is True
    connection.close()


def test_a_hub_that_somebody_has_come_to_use_since_stays(memory: Memory) -> None:
    hub = unused_hub(memory)
    asking = Raw(memory, **OTHERS)
    assert asking.ack["gives_way"] is True
    other = Raw(memory)
    assert other.is_served()
    asking.send(discovery.DRAIN)
    assert asking.lines.readline() == b""
    assert other.is_served()
    again = Raw(memory, **OTHERS)
    assert again.ack["gives_way"] is False
    assert again.is_served()
    assert memory.hub() == hub
    for connection in (asking, other, again):
        connection.close()


def test_an_operation_of_a_command_is_not_ended(memory: Memory, double: QdrantDouble) -> None:
    memory.greeted("first", qdrant_url=double.url).close()
    wait_until_unused(memory)
    hub = find_hub(memory.place())
    assert hub is not None
    double.refuse(Wrong.HANGS)
    # The hub asked before, when it started.
    double.asked.clear()
    with ThreadPoolExecutor(1) as threads:
        begun = threads.submit(hub.control, "complete")
        until(lambda: double.asked, "the operation asks the server nothing")
        session = Raw(memory, **OTHERS)
        assert session.ack["gives_way"] is False
        session.close()
        double.heal()
        # The hub lives to ask once more, or to say what the server did.
        failure = begun.exception(MINUTES)
        assert failure is None or "Qdrant server" in str(failure)


def test_a_session_that_began_before_the_settings_file_was_changed_has_the_new_settings(
    memory: Memory, tmp_path: Path
) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("min_experiences = 5\n")
    front = memory.greeted(config=str(file))
    file.write_text("min_experiences = 7\n")
    memory.end_hub()
    assert "note" not in front.call("list_values")
    front.close()
    assert "other settings" not in front.stderr()
