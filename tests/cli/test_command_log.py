"""What commands log: nothing but with `log_level` debug, and never what a user wrote."""

import json
from pathlib import Path

import pytest
import typer

from learning_memory_server.cli.endings import FailuresAsSentences
from tests.command_line import Run, in_line, in_process, refusal


@pytest.mark.parametrize(("level", "is_logged"), [("debug", True), ("info", False)])
def test_a_command_logs_with_debug_only_and_nothing_that_a_user_wrote(
    run: Run, storage: Path, level: str, *, is_logged: bool
) -> None:
    entries = storage / "journal" / "entries"
    entries.mkdir(parents=True)
    (entries / "2026-03.jsonl").write_text('{"torn": "quokka')
    shown = refusal(run("search", "quokka", LEARNING_MEMORY_LOG_LEVEL=level), 0)
    logged = [line for line in shown.splitlines() if line.startswith("{")]
    assert ("journal.recovered" in {json.loads(line)["event"] for line in logged}) is is_logged
    assert bool(logged) is is_logged
    assert "quokka" not in "".join(logged)
    assert str(storage) not in "".join(logged)


def test_an_unforeseen_failure_is_shown_as_type_and_places() -> None:
    program = typer.Typer(cls=FailuresAsSentences)

    @program.command()
    def crash() -> None:
        raise OSError(5, "https://ann:quokka@example.org", "/home/quokka")

    @program.command()
    def leave() -> None:
        raise typer.Exit(3)

    shown = in_process(program, "crash")
    assert shown.exit_code == 1
    said = in_line(shown.stderr)
    assert "The command failed unexpectedly: OSError. It passed" in said
    assert f"{__name__}.crash:" in said
    assert "quokka" not in shown.output
    assert in_process(program, "leave").exit_code == 3
    assert in_process(program, "nothing").exit_code == 2
