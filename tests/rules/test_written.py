"""A rule counts from the day on which its line was written down, where git knows that."""

import subprocess
from datetime import UTC, datetime
from pathlib import Path

from learning_memory_server.rules.suggesting.files import sentences_of
from learning_memory_server.rules.suggesting.written import Written
from tests.sharing.repositories import git

OLD, NEW = "2026-01-06T10:00:00+00:00", "2026-02-02T10:00:00+00:00"
FIRST = "# Shop\n\n- Never push to main.\n"
LATER = "\n## Before each commit\n\n- Run `make lint`\n- Run `make test`\n"


def committed(folder: Path, text: str, at: str) -> None:
    (folder / "CLAUDE.md").write_text(text, "utf-8")
    git(folder, "add", "CLAUDE.md")
    dated = {"GIT_AUTHOR_DATE": at, "GIT_COMMITTER_DATE": at}
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    subprocess.run(
        ["git", "-C", folder, *who, "commit", "-qm", "rules"], check=True, env=dated | {"PATH": "/usr/bin:/bin"}
    )


def test_each_sentence_has_the_day_of_its_newest_line(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    committed(tmp_path, FIRST, OLD)
    committed(tmp_path, FIRST + LATER, NEW)
    found = {each.text: each.at for each in sentences_of(tmp_path, {"CLAUDE_CONFIG_DIR": str(tmp_path / "none")})}
    assert found.pop("Never push to main.") == datetime(2026, 1, 6, 10, tzinfo=UTC)
    assert found
    assert set(found.values()) == {datetime(2026, 2, 2, 10, tzinfo=UTC)}


def test_a_line_that_is_in_no_commit_or_repository_has_no_day(tmp_path: Path) -> None:
    (tmp_path / "CLAUDE.md").write_text(FIRST, "utf-8")
    assert Written.of(tmp_path, "CLAUDE.md").at("Never push to main.") is None
    git(tmp_path, "init", "-q")
    committed(tmp_path, "# Shop\n", OLD)
    (tmp_path / "CLAUDE.md").write_text(FIRST, "utf-8")
    assert Written.of(tmp_path, "CLAUDE.md").at("Never push to main.") is None
