from collections.abc import Iterator
from typing import Any

import pytest
import typer.main
from rich.cells import cell_len

from learning_memory_server.cli.app import app, declared
from tests.cli.capturing import FOLDER, TMUX, WIDTHS, capture


@pytest.mark.skipif(TMUX is None, reason="tmux is not installed, so what a terminal shows cannot be captured")
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.slow
def test_a_terminal_shows_each_command_as_it_did(width: int) -> None:
    expected = (FOLDER / f"{width}.txt").read_text("utf-8")
    shown = capture(width)
    assert max(map(cell_len, shown.splitlines())) <= width
    assert shown == expected, "To accept this, run `python -m tests.cli.capturing`, and look at the difference."


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.slow
def test_every_help_wraps(width: int, run: Any) -> None:
    def names(commands: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
        yield path
        for name, command in commands.items():
            yield from names(getattr(command, "commands", {}), (*path, name))

    for path in names(declared()):
        lines = run(*path, "--help", COLUMNS=str(width), TERMINAL_WIDTH=str(width)).stdout.splitlines()
        assert lines
        assert max(map(cell_len, lines)) <= width, path


def test_the_list_of_commands_has_the_first_line_of_each_help() -> None:
    group: Any = typer.main.get_command(app)
    for name, command in declared().items():
        assert group.commands[name].help == command.help.strip().split("\n")[0]
