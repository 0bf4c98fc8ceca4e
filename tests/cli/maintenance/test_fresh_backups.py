"""Before earlier backups are replaced or removed, a fresh one is there; nothing is lost, whatever happens."""

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from learning_memory_server.journal.archive.writing import back_up, list_backups
from learning_memory_server.journal.journal import Journal
from learning_memory_server.model.moment import utc_now
from tests.cli.maintenance.archives import entries_in
from tests.command_line import in_line
from tests.journal.archive.making import archived, memory_record, read_back

ONE = "ghap_20260101_000003_abcdef"
COMMAND = ["forget", "--purge", "--backups", "--yes"]
RUN = """
import sys
from learning_memory_server.__main__ import main
sys.argv = ["learning-memory-server", *{command}]
main()
"""
SMALL_DISK = f"""
import compileall, resource, signal
import learning_memory_server
# First: a hub inherits the limit, and half of a module's code would fail every later process.
compileall.compile_dir(learning_memory_server.__path__[0], quiet=2)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
{RUN.format(command=COMMAND)}
"""
MORTAL = f"""
import os, signal, sys
from learning_memory_server.cli import access
access.STARTS_HUB = False
left = int(sys.argv[1])
def step(event, arguments):
    global left
    if event in ("os.rename", "os.remove") and "learning-memory-2" in str(arguments[0]):
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(step)
{RUN.format(command=COMMAND)}
"""


@pytest.fixture
def backed_up(run: Any, filled: Result, storage: Path) -> Path:
    """Return the folder with two backups, of which one holds more than the journal; one of their entries is purged."""
    assert filled.exit_code == 0
    assert run("backup").exit_code == 0
    other = Journal(storage.parent / "other")
    resolved = Journal(storage / "journal").entries.read().records
    other.entries.append(resolved)
    other.memories.append([memory_record(1)])
    archived(other, storage / "backups" / "learning-memory-20260101T000000000000Z.tar.gz")
    assert run("forget", ONE, "--purge", "--yes").exit_code == 0
    assert run("hub", "stop").exit_code in (0, 1)
    return storage / "backups"


def held(folder: Path) -> tuple[set[str], set[str], int]:
    """Return the ids of the entries and of the memories in the backups, and how many backups there are."""
    entries: set[str] = set()
    others: set[str] = set()
    for path in list_backups(folder):
        contents = read_back(path)
        entries |= contents.entries.keys()
        others |= {name for _, name in contents.records}
    return entries, others, len(list_backups(folder))


def test_what_the_fresh_backup_has_is_removed_and_all_else_rewritten(run: Any, backed_up: Path, storage: Path) -> None:
    broken = backed_up / "learning-memory-20200101T000000000000Z.tar.gz"
    broken.write_bytes(b"\x1f\x8bworker 3")
    journal = Journal(storage / "journal")
    untouched = back_up(journal, backed_up, utc_now())
    assert untouched
    content = untouched.path.read_bytes()
    before = set(list_backups(backed_up))
    done = run(*COMMAND)
    text = in_line(done.stdout)
    assert text.count("Removed: the backup learning-memory-") == 1
    assert "Removed from the backup learning-memory-20260101T000000000000Z.tar.gz: 1 line." in text
    assert "20200101T000000000000Z.tar.gz cannot be read and may still hold it" in text
    assert broken.read_bytes() == b"\x1f\x8bworker 3"
    assert untouched.path.read_bytes() == content
    broken.unlink()
    entries, others, count = held(backed_up)
    assert count == 3
    assert len(set(list_backups(backed_up)) - before) == 1
    assert others == {"memory-1"}
    assert entries == entries_in(storage).keys()


def test_without_the_option_no_backup_is_touched(run: Any, backed_up: Path) -> None:
    before = {path: path.read_bytes() for path in backed_up.iterdir()}
    assert run("forget", "--purge", "--yes").exit_code == 0
    assert {path: path.read_bytes() for path in backed_up.iterdir()} == before


@pytest.mark.slow
def test_on_a_full_disk_no_backup_is_touched(backed_up: Path, environment: dict[str, str]) -> None:
    before = {path: path.read_bytes() for path in backed_up.iterdir()}
    done = subprocess.run(
        # Compiled modules would be cut off, too, for all that come later.
        [sys.executable, "-B", "-c", SMALL_DISK],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "No backup was changed, because a fresh one could not be written first." in done.stderr
    assert done.stdout.count("Still in the backup") == 2
    assert {path: path.read_bytes() for path in backed_up.iterdir()} == before


@pytest.mark.slow
def test_killed_at_any_moment_everything_is_in_some_backup(
    run: Any, backed_up: Path, environment: dict[str, str]
) -> None:
    entries, others, _ = held(backed_up)
    kills = 0
    while True:
        done = subprocess.run(
            [sys.executable, "-c", MORTAL, str(kills)], env=environment, capture_output=True, check=False
        )
        now, rest, _ = held(backed_up)
        assert now | {ONE} == entries
        assert rest == others
        if done.returncode != -signal.SIGKILL:
            break
        kills += 1
    assert done.returncode == 0, done.stderr
    assert kills >= 3
    assert ONE not in now
    assert "has anything that is forgotten" in in_line(run(*COMMAND).stdout)
