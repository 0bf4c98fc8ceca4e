"""A write whose hub dies between the disk and the answer is done once, and answered once."""

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.hubs import ENTRY, OF_VALUES, TOPICS, Memory, apart, entries_in, learn, unhurried, until
from tests.acceptance.wire import ERAS, Era, Wire, payload_of
from tests.support import MINUTES

pytestmark = pytest.mark.slow


MORTAL_HUB = """
import os, signal, sys
from learning_memory_server.system import files
from learning_memory_server.hub.main import main

def then_die(write):
    def wrapper(path, data):
        write(path, data)
        if sys.argv[1] in str(path):
            os.kill(os.getpid(), signal.SIGKILL)
    return wrapper

files.append, files.replace = then_die(files.append), then_die(files.replace)
main()
"""
"""A hub that is killed after its first write to a file whose path contains the argument, before it answers."""


class MortalHub:
    """Replaces the running hub by one that dies after its first write to a file."""

    def __init__(self, memory: Memory, dies_of: str) -> None:
        self._memory = memory
        if memory.is_held():
            memory.end_hub()
        self._process = subprocess.Popen(
            [sys.executable, "-c", MORTAL_HUB, dies_of],
            env=memory.environment(hub_idle_minutes="1"),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        until(memory.is_held, "the hub did not start")

    def answer(self, front: Wire, tool: str, **arguments: object) -> dict[str, object]:
        """Call the tool that kills the hub, and return the only answer."""
        return payload_of(self.frame(front, tool, **arguments))

    def frame(self, front: Wire, tool: str, **arguments: object) -> dict[str, Any]:
        """Call the tool that kills the hub, and return the only answer in its wire form."""
        request = front.send_call(tool, **arguments)
        assert self._process.wait(MINUTES) == -signal.SIGKILL
        return front.answer(request)


@pytest.mark.parametrize("era", ERAS)
def test_a_start_is_done_once(memory: Memory, era: Era) -> None:
    front = memory.front(era=era)
    hub = MortalHub(memory, "/open/")
    front.handshake()
    started = hub.answer(front, "start_ghap", **ENTRY)
    active = front.call("get_active_ghap")
    assert active["id"] == started["id"]
    assert "orphaned" not in active
    assert started["created_at"] == active["created_at"]
    assert len(list((memory.storage / "journal" / "open").iterdir())) == 1


def test_an_update_is_done_once(memory: Memory, front: Wire) -> None:
    ghap_id = front.call("start_ghap", **ENTRY)["id"]
    hub = MortalHub(memory, "/open/")
    updated = hub.answer(front, "update_ghap", hypothesis="something else is true here", note="seen once")
    assert (updated["id"], updated["iteration_count"]) == (ghap_id, 2)
    active = front.call("get_active_ghap")
    assert active["notes"] == ["seen once"]
    assert len(active["history"]) == 1


@pytest.mark.parametrize("era", ERAS)
def test_a_resolution_is_done_once(memory: Memory, era: Era) -> None:
    front = memory.greeted(era=era)
    ghap_id = front.call("start_ghap", **ENTRY)["id"]
    hub = MortalHub(memory, "/entries/")
    resolved = hub.answer(front, "resolve_ghap", status="confirmed", result="totals match")
    assert (resolved["id"], resolved["status"]) == (ghap_id, "confirmed")
    (entry,) = entries_in(memory.storage)
    assert entry["id"] == ghap_id
    assert front.call("get_active_ghap") == {"has_active": False}
    assert front.call("list_ghap_entries")["count"] == 1


def test_a_value_is_stored_once(memory: Memory, tmp_path: Path) -> None:
    # The clusters are made again by the next hub, however long a busy machine needs for that.
    memory.more = unhurried(tmp_path / "unhurried", *OF_VALUES)
    front = memory.greeted(forks=False)
    for number in range(22):
        topic = TOPICS[number % 2]
        learn(front, topic, goal=topic, hypothesis=topic, action=apart(number), prediction=topic)
    cluster = front.call("get_clusters", axis="full")["clusters"][0]["cluster_id"]
    text = front.call("get_cluster_members", cluster_id=cluster)["members"][0]["hypothesis"]
    assert front.call("validate_value", text=text, cluster_id=cluster)["valid"] is True
    hub = MortalHub(memory, "/values")
    stored = hub.answer(front, "store_value", text=text, cluster_id=cluster, axis="full")
    values = front.call("list_values", full=True)
    assert str(stored.pop("note")).startswith("Unattested: ")
    assert (values["results"], values["count"]) == ([stored], 1)
    assert len((memory.storage / "journal" / "values.jsonl").read_bytes().splitlines()) == 1


def test_a_memory_is_added_once_and_reported_as_new(memory: Memory, front: Wire) -> None:
    hub = MortalHub(memory, "/memories/")
    (block,) = hub.frame(front, "add_memory", text=TOPICS[0])["result"]["content"]
    assert block["text"].startswith("Memory stored successfully.")
    (log,) = (memory.storage / "journal" / "memories").iterdir()
    assert len(log.read_bytes().splitlines()) == 1
    assert front.call("get_stats")["memories"]["total"] == 1


def test_a_deletion_that_is_repeated_is_no_error(memory: Memory, front: Wire) -> None:
    (block,) = front.answer(front.send_call("add_memory", text=TOPICS[0]))["result"]["content"]
    memory_id = block["text"].partition("ID: ")[2].split("\n")[0]
    hub = MortalHub(memory, "/memories/")
    result = hub.frame(front, "delete_memory", memory_id=memory_id)["result"]
    assert result["content"][0]["text"].startswith(f"Memory deleted.\nID: {memory_id}\n")
    # Another call is another matter.
    again = front.answer(front.send_call("delete_memory", memory_id=memory_id))["result"]
    assert again["content"][0]["text"] == f"Error: Invalid input - memory_id: {memory_id} was deleted before."


def test_a_write_that_was_never_begun_is_done_by_the_next_hub(memory: Memory, front: Wire) -> None:
    front.call("start_ghap", **ENTRY)
    hub = MortalHub(memory, "/open/")
    # The first call kills the hub; the second was received or sent, but not written.
    request = front.send_call("update_ghap", note="the first")
    following = front.send_call("update_ghap", note="the second")
    assert hub._process.wait(MINUTES) == -signal.SIGKILL
    payload_of(front.answer(request))
    payload_of(front.answer(following))
    assert front.call("get_active_ghap")["notes"] == ["the first", "the second"]
