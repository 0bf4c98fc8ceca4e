"""A person at a terminal of their own, in a project's folder."""

import os
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from learning_memory_server.cli.out import CLIENTS
from tests.command_line import in_line
from tests.sharing.repositories import git
from tests.support import MINUTES
from tests.terminals import on_a_terminal, read_until

Typed = Callable[..., str]
_STYLE = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository, in which all commands run."""
    path = tmp_path / "shop"
    path.mkdir()
    git(path, "init", "-q", "-b", "main")
    monkeypatch.chdir(path)
    monkeypatch.delenv("CLAUDE_PROJECT_DIR", raising=False)
    for variable in CLIENTS:
        monkeypatch.delenv(variable, raising=False)
    return path


@pytest.fixture
def person(environment: dict[str, str], shop: Path) -> Typed:
    """Return what a terminal shows of a command where a person answers its questions in this way."""

    return partial(played, environment, shop)


def played(
    environment: dict[str, str], folder: Path, *arguments: str, typed: tuple[str, ...] = (), status: int = 0
) -> str:
    """Return what a terminal shows of a command in a folder, where a person answers its questions in this way."""
    with on_a_terminal(environment, *arguments, output=True, folder=folder) as (process, terminal):
        shown = b""
        for each in typed:
            shown += read_until(terminal, b": ")
            os.write(terminal, each.encode() + b"\n")
        shown += read_until(terminal, b"\0")
        assert process.wait(MINUTES) == status, shown
    return in_line(_STYLE.sub("", shown.decode()))
