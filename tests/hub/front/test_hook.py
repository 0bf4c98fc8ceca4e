"""A hook as a command: the short way to the hub is the same as the long one, and whatever fails is silent."""

import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.hub.front import hook
from learning_memory_server.hub.front.link import hello_of
from learning_memory_server.system import locations
from learning_memory_server.system.ipc import discovery
from tests.acceptance.hubs import ENTRY, Memory
from tests.support import MINUTES

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the short way is Linux's")

GIVEN = b'{"hook_event_name":"SessionStart","session_id":"s1"}'

ANSWER = b'{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"a lesson"}}'


class OneAnswer:
    """Listens where the hub of this environment would, and answers one hook."""

    def __init__(self, place: discovery.HubPaths, *parts: bytes, delay: float = 0.0) -> None:
        self.heard: dict[str, Any] = {}
        self._parts, self._delay, self._released = parts, delay, threading.Event()
        place.socket.parent.mkdir(mode=0o700, exist_ok=True)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(place.socket))
        self._listener.listen()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._released.set()
        # Where a closed listener does not end a wait for a client, this does; elsewhere it may be refused.
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(MINUTES)

    def _serve(self) -> None:
        # What is not JSON a hub does not answer, either.
        with suppress(OSError, ValueError):
            connection, _ = self._listener.accept()
            with connection, connection.makefile("rb") as lines:
                self.heard = json.loads(lines.readline())
                self._released.wait(self._delay)
                for part in self._parts:
                    connection.sendall(part)


Answering = Callable[..., OneAnswer]


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[discovery.HubPaths]:
    for name in list(os.environ):
        if name.startswith("LEARNING_MEMORY_"):
            monkeypatch.delenv(name)
    # pytest's own directories have names that are too long for a socket.
    with tempfile.TemporaryDirectory(prefix="lms-") as runtime:
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
        monkeypatch.setenv("LEARNING_MEMORY_STORAGE_PATH", str(tmp_path / "data"))
        monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(tmp_path))
        yield discovery.HubPaths(os.environ)


@pytest.fixture
def answering(place: discovery.HubPaths) -> Iterator[Answering]:
    hubs: list[OneAnswer] = []

    def start(*parts: bytes, delay: float = 0.0) -> OneAnswer:
        hubs.append(OneAnswer(place, *parts, delay=delay))
        return hubs[-1]

    yield start
    for hub in hubs:
        hub.close()


@pytest.mark.parametrize("project", [None, 'sh\u00f6p "1"\udcff'])
def test_the_hub_hears_what_the_client_says_and_where(
    place: discovery.HubPaths, answering: Answering, monkeypatch: pytest.MonkeyPatch, project: str | None
) -> None:
    if project:
        monkeypatch.setenv("LEARNING_MEMORY_PROJECT", project)
    hub = answering(ANSWER[:20], ANSWER[20:] + b"\n")

    assert hook._answer(GIVEN) == ANSWER
    assert hub.heard == {
        "hello": discovery.PROTOCOL_VERSION,
        "role": "hook",
        "journal": str(place.journal),
        "storage": str(place.storage),
        "directory": os.environ["CLAUDE_PROJECT_DIR"],
        "project": project,
        "client": "",
        "attended": True,
        "group": os.getsid(0),
        "given": json.loads(GIVEN),
    }


def test_with_a_settings_file_it_finds_the_same_hub(answering: Answering, tmp_path: Path) -> None:
    file = Path(locations.default_settings_file(os.environ))
    file.parent.mkdir(parents=True)
    file.write_text('project = "named"\n')
    hub = answering(b"\n")

    assert hook._answer(GIVEN) == b""
    assert hub.heard["project"] == "named"
    assert hub.heard["journal"] == str(tmp_path / "data" / "journal")


@pytest.mark.parametrize("parts", [(), (b"",), (ANSWER,), (ANSWER[:-2] + b"\n",), (b"garbage\n",), (b"{}\n",)])
def test_an_answer_that_is_not_complete_is_not_shown(answering: Answering, parts: tuple[bytes, ...]) -> None:
    answering(*parts)

    assert hook._answer(GIVEN) == b""


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"LEARNING_MEMORY_STORAGE_PATH": "~/memory"},
        {"XDG_DATA_HOME": f"{Path.home()}/snap/code/171/.local/share"},
        {"LEARNING_MEMORY_storage_path": "/srv/memory"},
        {"LEARNING_MEMORY_JOURNAL_PATH": "/srv/../srv/journal", "LEARNING_MEMORY_STORAGE_PATH": "/srv/data"},
        {"XDG_DATA_HOME": "/srv/share"},
        {"XDG_RUNTIME_DIR": "/usr"},
        {"XDG_RUNTIME_DIR": "/nowhere"},
    ],
)
def test_the_short_way_leads_where_the_long_one_does(settings: dict[str, str]) -> None:
    raw = locations.settings_from_environment(settings)
    journal = os.path.realpath(locations.journal_folder(raw, settings))
    storage = os.path.realpath(locations.storage_folder(raw, settings))

    place = discovery.HubPaths(settings)

    assert (journal, storage) == (str(place.journal), str(place.storage))
    assert locations.socket_files(journal, storage, settings) == (str(place.socket), str(place.second_socket))


def test_a_folder_that_others_can_use_is_not_trusted(place: discovery.HubPaths, answering: Answering) -> None:
    answering(b"{}\n")
    connection = hook._connect(str(place.socket))
    assert connection
    connection.close()
    place.socket.parent.chmod(0o755)

    assert hook._connect(str(place.socket)) is None


SCRIPT = ("-I", "-S", str(Path(hook.__file__)))


def run(*command: str, given: bytes, **variables: str) -> tuple[int, bytes, bytes]:
    """Run Python, and return its status, its output and its errors."""
    env = {**os.environ, **variables}
    done = subprocess.run(
        [sys.executable, *command], input=given, capture_output=True, env=env, check=False, timeout=MINUTES
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("command", [("-m", "learning_memory_server", "hook"), SCRIPT])
def test_as_a_command_it_prints_the_answer_and_nothing_else(answering: Answering, command: tuple[str, ...]) -> None:
    hub = answering(ANSWER + b"\n")

    assert run(*command, given=b'{\n "hook_event_name":\n "Stop"}\n') == (0, ANSWER, b"")
    assert hub.heard["given"] == {"hook_event_name": "Stop"}


@pytest.mark.slow
def test_it_imports_nothing_that_takes_long(answering: Answering) -> None:
    answering(b"\n")

    _, _, errors = run("-X", "importtime", *SCRIPT, given=GIVEN)

    imported = {line.rpartition("|")[2].strip() for line in errors.decode().splitlines()}
    assert "learning_memory_server.system.locations" in imported
    assert not imported & {"json", "re", "enum", "pathlib", "socket", "typing", "collections", "signal"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "variables"),
    [
        (b"", {}),
        (b"not json", {}),
        (GIVEN, {"LEARNING_MEMORY_CONFIG": "/nowhere/config.toml"}),
        (GIVEN, {"LEARNING_MEMORY_STORAGE_PATH": "~nobody-at-all/data"}),
        (GIVEN, {"LEARNING_MEMORY_STORAGE_PATH": "${HOME}/data"}),
        (GIVEN, {"LEARNING_MEMORY_JOURNAL_PATH": "relative"}),
    ],
)
def test_whatever_is_wrong_it_is_silent_and_succeeds(
    answering: Answering, given: bytes, variables: dict[str, str]
) -> None:
    answering()

    assert run("-m", "learning_memory_server", "hook", given=given, **variables) == (0, b"", b"")


@pytest.mark.slow
def test_a_hub_that_is_late_is_not_waited_for(answering: Answering) -> None:
    answering(ANSWER + b"\n", delay=30)

    assert run("-m", "learning_memory_server", "hook", given=GIVEN) == (0, b"", b"")


@pytest.mark.slow
def test_after_one_that_waited_in_vain_hooks_say_nothing_until_the_hub_answers(
    place: discovery.HubPaths, answering: Answering
) -> None:
    place.storage.mkdir(mode=0o700)
    answering(ANSWER + b"\n", delay=30)
    assert hook._answer(GIVEN) == b""
    mark = place.storage / locations.SILENT
    assert mark.exists()
    place.socket.unlink()
    hub = answering(ANSWER + b"\n")
    assert hook._answer(GIVEN) == b""
    assert hub.heard == {}
    # As a hub does that is there again.
    mark.unlink()
    assert hook._answer(GIVEN) == ANSWER


@pytest.mark.slow
@pytest.mark.parametrize("event", ["SessionStart", "SessionEnd"])
def test_a_hub_that_sleeps_is_waited_for_at_the_start_of_a_session_alone(
    memory: Memory, tmp_path: Path, event: str
) -> None:
    front = memory.greeted()
    ghap_id = front.call("start_ghap", **ENTRY)["id"]
    memory.end()
    given = json.dumps({"hook_event_name": event, "session_id": "s1", "cwd": str(tmp_path)}).encode()

    # On a machine that is slow the hub is late, and ready for the next one.
    for _ in range(5):
        status, told, errors = run(*SCRIPT, given=given, **memory.environment())
        assert (status, errors) == (0, b"")
        if told or event == "SessionEnd":
            break

    assert (ghap_id.encode() in told) == (event == "SessionStart")


def test_what_the_client_says_cannot_be_a_command_to_the_hub(answering: Answering) -> None:
    hub = answering(ANSWER + b"\n")

    hook._answer(b'{},"role":"control","command":"stop"')

    assert hub.heard["role"] == "hook"


@pytest.mark.parametrize(
    ("variables", "is_attended"),
    [
        ({}, True),
        ({"CLAUDE_CODE_ENTRYPOINT": "cli", "CI": ""}, True),
        ({"CI": "false"}, True),
        ({"CLAUDE_CODE_ENTRYPOINT": "sdk-cli"}, False),
        ({"CLAUDE_CODE_ENTRYPOINT": "claude-code-github-action"}, False),
        ({"CI": "true"}, False),
        ({"CI": "1", "CLAUDE_CODE_ENTRYPOINT": "cli"}, False),
    ],
)
def test_the_hub_hears_whether_a_person_reads_along(
    place: discovery.HubPaths,
    answering: Answering,
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    is_attended: bool,
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    hub = answering(ANSWER + b"\n")

    hook._answer(GIVEN)
    assert hub.heard["attended"] is is_attended
    assert hello_of(place, "session")["attended"] is is_attended


@pytest.mark.slow
def test_of_what_is_too_long_the_ends_of_each_text_count(answering: Answering) -> None:
    texts = {
        "stdout": "first" + '\u00e9\\"\n' * 3_000_000 + "last",
        "stderr": "short",
        "more": ["a" * 9_000_000, 1, None],
    }
    hub = answering(ANSWER + b"\n")

    assert run(*SCRIPT, given=json.dumps({"tool_response": texts}).encode()) == (0, ANSWER, b"")
    heard = hub.heard["given"]["tool_response"]
    assert heard["stdout"].startswith("first\u00e9")
    assert heard["stdout"].endswith("\nlast")
    assert len(heard["stdout"]) < 200_000
    assert (heard["stderr"], heard["more"][1:]) == ("short", [1, None])


@pytest.mark.slow
def test_stdin_that_stays_open_is_as_good_as_one_that_ends(answering: Answering) -> None:
    hub = answering(ANSWER + b"\n")

    with subprocess.Popen([sys.executable, *SCRIPT], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(GIVEN)
        process.stdin.flush()
        assert process.stdout.read() == ANSWER
        assert process.wait(60) == 0
    assert hub.heard["given"] == json.loads(GIVEN)
