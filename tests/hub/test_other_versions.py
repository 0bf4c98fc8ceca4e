"""An older version and the present one on the same data: nobody is locked out, and nothing is lost."""

import json
import os
from pathlib import Path

import pytest

from learning_memory_server.system.ipc import discovery, programs, socket_security
from learning_memory_server.version import JOURNAL_FORMAT, VERSION
from tests.acceptance.hubs import IN_PROC, Memory, copy_of_the_package, entries_in, learn, package_of, until
from tests.hub.front.scripted import hello_of
from tests.support import MINUTES

pytestmark = IN_PROC

HERE = Path(programs.__file__).parents[2]
FUTURE = 2**32


@pytest.fixture
def older(tmp_path: Path) -> Path:
    """The package of an older version, with later file times, which decide nothing."""
    copy = copy_of_the_package(tmp_path, "0.0.1")
    os.utime(copy / "learning_memory_server" / "version.py", (FUTURE, FUTURE))
    return copy


def kept(memory: Memory) -> list[str]:
    return [data["id"] for data in entries_in(memory.storage)]


def test_the_older_one_first(memory: Memory, older: Path) -> None:
    old = memory.greeted("old", package=older)
    written = [learn(old, "by the older one")]
    assert package_of(memory.hub()) == str(older)
    new = memory.greeted("new")
    written += [learn(new, "by the newer one"), learn(old, "by the older one, through the newer one")]
    assert package_of(memory.hub()) == str(HERE.parent)
    memory.kill_hub()
    written += [learn(old, "the older one starts the newer one"), learn(new, "and the newer one goes on")]
    assert package_of(memory.hub()) == str(HERE.parent)
    assert kept(memory) == written


def test_the_newer_one_first(memory: Memory, older: Path) -> None:
    new = memory.greeted("new")
    written = [learn(new, "by the newer one")]
    hub = memory.hub()
    old = memory.greeted("old", package=older)
    written += [learn(old, "by the older one, through the newer one"), learn(new, "still here")]
    assert memory.hub() == hub
    memory.end_hub()
    written.append(learn(memory.greeted("also old", package=older), "the older one starts the newer one"))
    assert package_of(memory.hub()) == str(HERE.parent)
    assert kept(memory) == written


def test_an_older_one_that_is_recorded_locks_nobody_out(memory: Memory, older: Path) -> None:
    written = [learn(memory.greeted("new"), "by the newer one")]
    memory.end_hub()
    # As if it had been there first; it may not be able to read what is there now.
    (memory.storage / programs.RECORD).unlink()
    old = memory.front("old", package=older)
    old.handshake()
    old.send_call("get_active_ghap")
    until((memory.storage / programs.RECORD).exists, "the older one started no hub")
    old.kill()
    new = memory.greeted("new again")
    written.append(learn(new, "the newer one goes on"))
    assert package_of(memory.hub()) == str(HERE.parent)
    recorded = json.loads((memory.storage / programs.RECORD).read_bytes())
    assert recorded["program"]["version"] == VERSION
    assert kept(memory) == written


def test_a_program_that_cannot_read_the_journal_does_not_drain_its_hub(memory: Memory) -> None:
    memory.greeted("new")
    hub = memory.hub()
    (path,) = memory.sockets
    place = memory.place()
    build = {**programs.this_program(), "version": "99.0", "folder": "/other", "journal": JOURNAL_FORMAT - 1}
    build["fingerprint"] = "other"
    with socket_security.connect(path, MINUTES) as connection, connection.makefile("rb") as lines:
        connection.sendall(json.dumps(hello_of(place, build=build)).encode() + b"\n")
        assert json.loads(lines.readline())["gives_way"] is False
        connection.sendall(discovery.DRAIN + discovery.PING)
        assert lines.readline() == discovery.PONG
    assert learn(memory.greeted("another"), "it is still here") in kept(memory)
    assert memory.hub() == hub
