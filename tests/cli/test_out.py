import json

import pytest
from rich.cells import cell_len

from learning_memory_server.cli import out
from learning_memory_server.errors import InvalidInputError
from learning_memory_server.model.lines import one_line
from learning_memory_server.model.project import short_name


@pytest.mark.parametrize(
    ("size", "shown"),
    [(0, "0.0 KiB"), (1024 * 1024 // 10, "0.1 MiB"), (5 * 1024 * 1024, "5.0 MiB"), (82_800_000_000, "77.1 GiB")],
)
def test_a_size_has_the_unit_that_makes_it_readable(size: int, shown: str) -> None:
    assert out.readable_size(size) == shown


def test_a_number_agrees_with_its_noun() -> None:
    assert [out.counted(number, "entry") for number in (0, 1, 2_000)] == ["0 entries", "1 entry", "2,000 entries"]


def test_a_text_cannot_control_the_terminal() -> None:
    assert one_line("one\n\x1b[31m two\x07") == "one [31m two"


@pytest.mark.parametrize(
    "text", ["plain words, many of them", "修复内存泄漏修复内存泄漏", "🚀🌹🚀🌹🚀🌹🚀🌹", "\n\x1b[31mred and long"]
)
def test_a_text_is_shortened_by_the_columns_that_it_takes(text: str) -> None:
    for columns in range(2, 30):
        line = out.shortened(text, columns)
        assert cell_len(line) <= columns
        assert line == one_line(text) or line.endswith("…")


def test_lines_are_kept_and_what_controls_a_terminal_is_not() -> None:
    assert out.text_lines("one\r\n\ttwo\x1b[2J\n\nthree") == "one\n    two [2J\n\nthree"


def test_a_project_is_named_by_its_last_part() -> None:
    names = ("garden", "github.com/someone/garden", "garden/", "/", "garden-34a889", "-34a889")
    assert [short_name(name) for name in names] == ["garden", "garden", "garden", "/", "garden", "-34a889"]


def test_json_has_what_nobody_sees_in_escapes_and_programs_read_it_as_it_was(
    capsys: pytest.CaptureFixture[str],
) -> None:
    document = {"text": "a\u202eb\u200b", "na\u2066me": "\U000e0041"}
    out.document(document)
    printed = capsys.readouterr().out
    assert printed.isascii()
    assert json.loads(printed) == document


def test_errors_notices_and_facts_name_what_nobody_sees(capsys: pytest.CaptureFixture[str]) -> None:
    out.failure(InvalidInputError("no\x1b[2J\u202eproject", hint="try\u200b"))
    out.notice("a\u2066b")
    out.facts([("name", "c\u200ed")])
    said, err = capsys.readouterr()
    assert err == "error: no [2J[U+202E]project\ntry[U+200B]\na[U+2066]b\n"
    assert said == "name  c[U+200E]d\n"
