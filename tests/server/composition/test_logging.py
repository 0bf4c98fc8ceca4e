"""What reaches the log, at which level, and in which form."""

import json
import logging
import random
from pathlib import Path
from typing import Any

import pytest
import structlog

from benchmarks.secrets_made import ALNUM, drawn
from tests.logs import log_to

SECRET = "/home/ann/notes.md"  # noqa: S105 - a path


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.mark.parametrize(
    ("level", "ours", "theirs"),
    [
        ("debug", ["debug", "info", "warning", "error"], ["warning", "error"]),
        ("info", ["info", "warning", "error"], ["warning", "error"]),
        ("warning", ["warning", "error"], ["warning", "error"]),
        ("error", ["error"], ["error"]),
        ("critical", [], []),
    ],
)
def test_a_level_holds_for_the_program_and_libraries_only_warn(
    tmp_path: Path, level: str, ours: list[str], theirs: list[str]
) -> None:
    with log_to(tmp_path / "log", level) as path:
        our_log = structlog.get_logger("learning_memory_server.index")
        their_log = logging.getLogger("a_library")
        for name in ("debug", "info", "warning", "error"):
            getattr(our_log, name)("index.opened")
            getattr(their_log, name)("a sentence")
    logged = lines(path)
    assert [line["level"] for line in logged if line["event"] == "index.opened"] == ours
    assert [line["level"] for line in logged if line["event"] == "library.logged"] == theirs


def test_an_exception_is_logged_without_its_message_or_its_causes(tmp_path: Path) -> None:
    with log_to(tmp_path / "log", "info") as path:
        try:
            try:
                open(f"{SECRET}/none")  # noqa: PTH123, SIM115 - it fails
            except OSError as error:
                raise ExceptionGroup(SECRET, [ValueError(SECRET)]) from error
        except ExceptionGroup:
            structlog.get_logger("learning_memory_server").exception("command.crashed")
            logging.getLogger("pytest.part").exception("%s failed\n%s", SECRET, SECRET)
    ours, theirs = lines(path)
    assert SECRET not in path.read_text("utf-8")
    assert (ours["event"], theirs["event"]) == ("command.crashed", "library.logged")
    assert theirs["library"] == "pytest"
    assert theirs["place"].startswith("test_logging.test_an_exception_")
    assert ours["error"] == theirs["error"]
    assert ours["error"]["type"] == "ExceptionGroup"
    assert ours["error"]["exceptions"] == [{"type": "ValueError", "frames": []}]
    assert (ours["error"]["cause"]["type"], ours["error"]["cause"]["errno"]) == ("FileNotFoundError", 2)
    assert ours["error"]["frames"][0].startswith(f"{__name__}.test_an_exception_")


def test_a_library_may_log_anything_under_any_name(tmp_path: Path) -> None:
    with log_to(tmp_path / "log", "info") as path:
        logging.getLogger(f"{SECRET}.part").warning("POST https://ann:pass@example.org/%s", SECRET)
    (line,) = lines(path)
    assert (line["library"], line["level"]) == ("?", "warning")
    assert not any(part in path.read_text("utf-8") for part in (SECRET, "ann", "pass", "example"))


@pytest.mark.parametrize(
    ("said", "logged"),
    [
        ("The model /home/ann/my-model is damaged.", "The model <path> is damaged."),
        ("See https://ann:pass@example.org:1/x?key=1, please", "See <URL> please"),
        ("`~/notes/a.md`: gone", "`<path>: gone"),
        (r"C:\\Users\ann\notes.md: gone", "<path>: gone"),
        ("Qdrant at localhost:6333 cannot be reached.", "Qdrant at localhost:6333 cannot be reached."),
        ("either/or", "either/or"),
    ],
)
def test_paths_and_urls_in_a_line_of_the_program_are_replaced(tmp_path: Path, said: str, logged: str) -> None:
    with log_to(tmp_path / "log", "info") as path:
        structlog.get_logger("learning_memory_server").warning("index.unavailable", reason=said)
    assert lines(path)[0]["reason"] == logged


def test_a_secret_does_not_reach_the_log(tmp_path: Path) -> None:
    token = "gh" + "p_" + drawn(random.Random(51), ALNUM, 36)
    with log_to(tmp_path / "log", "info") as path:
        structlog.get_logger("learning_memory_server").info("index.opened", place=f"at {token}", count=3)
        logging.getLogger("a_library").warning("a sentence with %s", token)
    assert token not in path.read_text("utf-8")
    ours = lines(path)[0]
    assert (ours["event"], ours["place"], ours["count"]) == ("index.opened", "at [redacted: github token]", 3)
