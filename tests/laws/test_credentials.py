"""Nothing prints a credential of the settings: no command, however it got one, and no log or file of the data."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
import qdrant_client  # noqa: F401 - its first import warns, and warnings are errors in tests

from learning_memory_server.cli.clients.catalog import CLIENTS, Machine, find_launch as launch, new_entry
from learning_memory_server.model.caller import session_hash
from tests.command_line import Run
from tests.laws.arguments import COMMANDS_OF_RULES, command_lines
from tests.laws.program import commands, program_in
from tests.laws.sowing import GARDENER
from tests.traces import files_with

pytestmark = pytest.mark.slow

PASSWORD: Final = "zqpassword7"  # noqa: S105 - no login has it
KEY: Final = "zqkey8"
"""Words that stand nowhere else."""
OF_OLLAMA: Final = f"http://someone:{PASSWORD}@127.0.0.1:9"
OF_QDRANT: Final = f"http://someone:{PASSWORD}@127.0.0.1:9,http://{PASSWORD}@localhost:9"
SETTINGS: Final[Mapping[str, Mapping[str, str]]] = {
    "ollama": {"ollama_url": OF_OLLAMA, "qdrant_api_key": KEY},
    "qdrant": {"qdrant_url": OF_QDRANT, "qdrant_api_key": KEY},
    "refused": {"qdrant_url": f"ftp://someone:{PASSWORD}@127.0.0.1:9", "qdrant_api_key": KEY},
    "malformed": {"ollama_url": f"http://someone:a/{PASSWORD}@127.0.0.1:9", "qdrant_api_key": KEY},
}
"""Settings with credentials: one that is used, one that is refused when it is used, and two refused at once."""
BY_HAND: Final = ("--leave", "--from", "--to")
"""Options of `migrate`, each of which takes a URL."""
ADDRESS: Final = {"ollama": "http://127.0.0.1:9", "qdrant": "user name or password"}
"""What is said of the servers."""
USED: Final[Sequence[tuple[str, dict[str, Any]]]] = (
    ("add_memory", {"text": "Roses need sun."}),
    ("search_memory", {"query": "roses"}),
    ("search_experiences", {"query": "roses"}),
    ("get_clusters", {}),
)
"""Calls that need a model, or the index."""
Say = Callable[[Machine, Mapping[str, str], Path], dict[str, str]]
"""Says settings to a machine, a file for them at hand, and returns the variables of the shell."""
NOT_RUN: Final = {"add", "demo", "hub run", "hook"}
"""Commands that are not run here: they store a text, start processes, or serve until they are ended."""


def known(place: Path) -> dict[str, list[str]]:
    """Return what is said for arguments, where nothing is stored."""
    ids = [f"ghap_{session_hash('nobody')}"]
    return {
        "ID": ids,
        **COMMANDS_OF_RULES,
        **{name: ["topic"] for name in ("QUERY", "surprise", "cause", "takeaway", "result", "tags", "source")},
        "DATE": ["2026-01-01"],
        "since": ["2026-01-01"],
        "NAME": ["current"],
        "project": ["current"],
        "CLIENT": list(CLIENTS),
        "about": ["lesson_of_nobody"],
        "folder": ["."],
        "resolve name": ids,
        "rule test name": ids,
        "learn-from path": [str(place)],
        "backup path": [str(place / "backup.tar.gz")],
        "import path": [str(place / "backup.tar.gz")],
    }


def lines(place: Path) -> Iterator[list[str]]:
    """Yield the words of every command line, the ones last that remove what others look at."""
    yield from (words for _, words in command_lines(known(place)))
    yield from (["migrate", option, url] for option in BY_HAND for url in (OF_OLLAMA, OF_QDRANT))
    yield from (["project", *words] for words in (["rename", "garden", "lawn"], ["merge", "lawn", "garden"]))
    yield ["project", "split", "garden"]
    yield from lines_about_clients()
    yield ["hub", "stop"]
    yield ["uninstall", "--data"]


def lines_about_clients() -> Iterator[list[str]]:
    """Yield the words of the commands that show, change and check what a client has."""
    yield from (["setup", name, "--print"] for name in CLIENTS)
    yield from (["setup", name, "--yes", "--settings", each] for each in ("client", "file", "none") for name in CLIENTS)
    yield from (["setup", name] for name in CLIENTS)
    yield from (["doctor", "--quick", "--client", name] for name in CLIENTS)
    yield ["settings"]
    yield ["status"]
    yield ["start", "--yes"]
    yield from (["setup", name, "--remove"] for name in CLIENTS)
    yield ["uninstall"]
    yield ["uninstall", "--yes"]
    yield ["uninstall", "--data", "--yes", "--json"]


def in_environment(_: Machine, settings: Mapping[str, str], __: Path) -> dict[str, str]:
    """Give a shell the settings."""
    return variables(settings)


def in_file(_: Machine, settings: Mapping[str, str], file: Path) -> dict[str, str]:
    """Write the settings to the file."""
    file.write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in settings.items()))
    return {}


def in_clients(machine: Machine, settings: Mapping[str, str], _: Path) -> dict[str, str]:
    """Write the settings to every client, as people did by hand, on one line and on several."""
    for client in CLIENTS.values():
        path = client.locate(machine)
        path.parent.mkdir(parents=True, exist_ok=True)
        text = client.syntax.put("", client.path, new_entry(client, launch(), variables(settings)))
        path.write_text(json.dumps(json.loads(text)) if client.name in {"cursor", "gemini"} else text)
    return {}


@dataclass(frozen=True, slots=True)
class Shell:
    """A shell over an empty store."""

    run: Run
    machine: Machine
    file: Path
    storage: Path

    def printed_by(self, lines: Iterable[list[str]], given: Mapping[str, str]) -> tuple[str, set[str]]:
        """Return the lines with credentials that commands print or write, and the names of the commands."""
        found, called = list[str](), set[str]()
        for words in lines:
            if words[0] == "uninstall":
                found += [f"file {name}" for name in files_with(self.storage, PASSWORD, KEY)]
            result = self.run(*words, PATH=self.machine.environment["PATH"], **given)
            assert result.exception is None or isinstance(result.exception, SystemExit), (words, result.exc_info)
            called.add(max((name for name in commands() if f"{' '.join(words)} ".startswith(f"{name} ")), key=len))
            secrets = [PASSWORD, KEY, *(["someone"] if words[0] == "migrate" else [])]
            shown = [each for each in result.output.splitlines() if any(secret in each for secret in secrets)]
            found += [f"{' '.join(words)}: {each}" for each in shown]
        return "\n".join(found), called


def variables(settings: Mapping[str, str]) -> dict[str, str]:
    return {f"LEARNING_MEMORY_{name.upper()}": value for name, value in settings.items()}


@pytest.mark.parametrize("settings", ["ollama", "qdrant"])
def test_no_command_prints_a_credential(shell: Shell, work: Path, settings: str) -> None:
    found, called = shell.printed_by(lines(work), in_environment(shell.machine, SETTINGS[settings], shell.file))
    assert found == ""
    assert commands().keys() - called == NOT_RUN


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("said", [in_environment, in_file, in_clients])
def test_nothing_about_clients_prints_a_credential(shell: Shell, said: Say, settings: str) -> None:
    found, _ = shell.printed_by(lines_about_clients(), said(shell.machine, SETTINGS[settings], shell.file))
    assert found == ""


@pytest.mark.parametrize("settings", ["ollama", "qdrant"])
@pytest.mark.usefixtures("work", "run")
async def test_no_reply_and_no_log_of_a_hub_says_a_credential(
    storage: Path, environment: dict[str, str], settings: str
) -> None:
    given = dict(SETTINGS[settings])
    if settings == "ollama":
        given |= {"embedding_backend": "ollama", "embedding_model": "some-model"}
    here = {**environment, **variables(given)}
    replies = []
    async with program_in(storage, here, **given) as program:
        async with program.agent(GARDENER) as agent:
            for tool, arguments in USED:
                replies.append((await agent.ask(tool, **arguments)).text)
        for words in (["status"], ["doctor", "--quick"], ["search", "roses"], ["reindex"], ["hub", "logs"]):
            replies += [(await program.command(*words)).text]
    text = "\n".join(replies)
    # Or nothing was tried with them.
    assert ADDRESS[settings] in text
    assert [each for each in (PASSWORD, KEY, "someone") if each in text] == []
    assert files_with(storage, PASSWORD, KEY, "someone") == []


@pytest.fixture
def shell(run: Run, environment: dict[str, str], storage: Path, tmp_path: Path) -> Shell:
    """A shell with a `claude` that adds nothing, and repeats what it was asked."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "claude").write_text('#!/bin/sh\necho "cannot do $*" >&2\ntest "$2" != add-json\n')
    (programs / "claude").chmod(0o755)
    here = {**environment, "PATH": f"{programs}:/usr/bin:/bin"}
    machine = Machine("linux", Path(environment["HOME"]), here)
    return Shell(run, machine, Path(environment["LEARNING_MEMORY_CONFIG"]), storage)
