"""Every command in a document works.

The shell blocks of a document run as one script, in their order, in a temporary home that has some entries. A block
that cannot run here has a comment above it, `<!-- not run: reason -->`, with one of a few reasons. Commands of this
program in sentences and tables are checked without running them.
"""

import errno
import os
import pty
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import pytest

from learning_memory_server.cli.app import app
from learning_memory_server.system.paths import APPLICATION
from tests.command_line import Run, environment, in_process, old_entry, printed, run, storage, write_lines
from tests.docs.test_documents import CODE, DOCUMENTS, ROOT, prose

__all__ = ["environment", "run", "storage", "write_lines"]

BLOCK: Final = re.compile(
    r"^(?:<!-- not run: (?P<reason>[^>]+) -->\n)?```(?P<language>\w*)\n(?P<lines>.*?)^```", re.MULTILINE | re.DOTALL
)
REASONS: Final = {
    "downloads packages or a model",
    "needs another program",
    "sets up the project, as this test's run did",
    "takes minutes",
}
MOST_NOT_RUN: Final = 13
SHELLS: Final = {"sh", "shell", "bash", "console"}


def name_of(document: Path) -> str:
    return str(document.relative_to(ROOT))


def runnable(document: Path) -> str:
    """The script of a document's blocks that can run here."""
    blocks = [block for block in BLOCK.finditer(document.read_text("utf-8")) if block["language"] in SHELLS]
    return "".join(block["lines"] for block in blocks if block["reason"] is None)


@pytest.mark.slow
@pytest.mark.parametrize("document", [path for path in DOCUMENTS if runnable(path)], ids=name_of)
def test_the_commands_of_a_document_run_one_after_the_other(
    document: Path, tmp_path: Path, environment: dict[str, str], write_lines: Callable[..., str], run: Run
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    causes = ("shared state", "a missing index", "an unclosed file")
    entries = [
        old_entry(number, root_cause={"category": "oversight", "description": f"It was {causes[number % 3]}"})
        for number in range(24)
    ]
    printed(run("import", write_lines(*entries)))
    # What a document runs in a checkout finds the project's own journal.
    (work / "journal").symlink_to(ROOT / "journal")
    variables = {
        **environment,
        "HOME": str(tmp_path),
        "TMPDIR": str(tmp_path),
        "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
    }
    run_script(runnable(document), work, variables)


def run_script(script: str, work: Path, variables: Mapping[str, str]) -> None:
    """Run a script that must not fail, on a terminal whose user answers yes to every question."""
    user, terminal = pty.openpty()
    os.write(user, b"y\n" * 20)
    command = ["/bin/bash", "-euxo", "pipefail", "-c", script]
    with subprocess.Popen(command, stdin=terminal, stdout=terminal, stderr=terminal, cwd=work, env=variables) as shell:
        os.close(terminal)
        shown = b"".join(iter(lambda: read(user), b""))
    os.close(user)
    assert shell.returncode == 0, shown.decode("utf-8", "replace")[-4000:]


def read(user: int) -> bytes:
    """Return what a terminal shows next, and nothing once its programs have ended."""
    try:
        return os.read(user, 65536)
    except OSError as error:
        # How Linux says that a terminal's last program has ended.
        if error.errno != errno.EIO:
            raise
        return b""


def test_the_blocks_that_do_not_run_are_few_and_say_why() -> None:
    found = [block for path in DOCUMENTS for block in BLOCK.finditer(path.read_text("utf-8"))]
    reasons = [block["reason"] for block in found if block["reason"] is not None]

    assert set(reasons) <= REASONS
    assert len(reasons) <= MOST_NOT_RUN
    assert len(reasons) < len(found)


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_every_reason_is_above_a_block(document: Path) -> None:
    text = document.read_text("utf-8")

    assert text.count("<!-- not run") == sum(block["reason"] is not None for block in BLOCK.finditer(text))


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_the_programs_commands_in_sentences_exist_with_their_options(document: Path) -> None:
    for span in CODE.findall(prose(document)):
        words = shlex.split(span) if span.startswith(f"{APPLICATION} ") else [APPLICATION]
        if words[1:] in ([], ["COMMAND"], ["--direct"]):
            continue
        # Options are parsed before help is shown, and nothing else happens.
        result = in_process(app, *words[1:], "--help")
        assert result.exit_code == 0, span


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_no_line_installs_a_package_of_this_name_from_an_index(document: Path) -> None:
    """The project is not on an index, so a package of its name there would be a stranger's."""
    installs = re.findall(r"\b(?:pip|pipx|uvx|uv)\b[^\n`]*", document.read_text("utf-8"))
    words = [shlex.split(line.split("#")[0]) for line in installs if APPLICATION in line]
    # After --from, the name is that of the command to run.
    assert [line for line in words if APPLICATION in line and "--from" not in line] == []
