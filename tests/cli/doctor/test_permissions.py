"""Files and folders without permissions: commands name them, and never mistake them for empty ones."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import pytest

from learning_memory_server.system.ipc.discovery import HubPaths
from learning_memory_server.system.locking import exclusive
from tests.command_line import in_line, printed, refusal
from tests.forked_otherwise import BoundByPermissions

pytestmark = pytest.mark.slow

PlainRun = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run_as_others_do(environment: dict[str, str]) -> PlainRun:
    """Run a command in a process that is bound by permissions, unlike root's."""
    if os.geteuid() == 0 and sys.platform != "linux":
        pytest.skip("root is bound by no permissions")

    def invoke(*arguments: str) -> subprocess.CompletedProcess[str]:
        with Path(os.devnull).open() as nothing, TemporaryFile("w+") as shown, TemporaryFile("w+") as said:
            files = nothing.fileno(), shown.fileno(), said.fileno()
            status = BoundByPermissions(arguments, {**os.environ, **environment}, files).wait()
            assert status is not None
            shown.seek(0)
            said.seek(0)
            return subprocess.CompletedProcess(arguments, status, shown.read(), said.read())

    return invoke


@contextmanager
def permitted(path: Path, mode: int) -> Iterator[None]:
    """Change the permissions of a file or folder inside the block."""
    before = path.stat().st_mode
    path.chmod(mode)
    try:
        yield
    finally:
        path.chmod(before)


@pytest.mark.usefixtures("imported")
def test_no_backup_is_removed_while_the_journal_cannot_be_read(
    run: Any, run_as_others_do: PlainRun, storage: Path
) -> None:
    for _ in range(2):
        assert run("backup", "--keep", "2").exit_code == 0
    good = sorted((storage / "backups").iterdir())
    with permitted(storage / "journal" / "entries", 0o000):
        refused = run_as_others_do("backup", "--keep", "2")
    assert refused.returncode == 1
    assert "Permission denied: entries" in refused.stderr
    assert sorted((storage / "backups").iterdir()) == good


@pytest.mark.parametrize("command", ["backup {}/a.tar", "list", "status", "search flaky --lexical"])
@pytest.mark.usefixtures("imported")
def test_no_command_mistakes_an_unreadable_folder_for_an_empty_one(
    command: str, run_as_others_do: PlainRun, storage: Path, tmp_path: Path
) -> None:
    with permitted(storage / "journal" / "entries", 0o000):
        refused = run_as_others_do(*command.format(tmp_path).split())
    assert refused.returncode == 1
    assert "Permission denied: entries" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert not (tmp_path / "a.tar").exists()


@pytest.fixture
def folders(storage: Path) -> None:
    """The folders and files of a store, as they should be."""
    for name in ("journal/entries", "journal/open", "index/collection"):
        (storage / name).mkdir(mode=0o700, parents=True)
    (storage / "journal").chmod(0o700)
    for name in ("journal/values.jsonl", "journal/.lock"):
        (storage / name).touch(mode=0o600)


@pytest.mark.usefixtures("folders")
def test_an_older_month_need_not_be_writable(run_as_others_do: PlainRun, storage: Path) -> None:
    for month, mode in (("2025-12", 0o400), ("2026-01", 0o600)):
        (storage / "journal" / "entries" / f"{month}.jsonl").touch(mode=mode)
    assert run_as_others_do("doctor", "--quick").returncode == 0


@pytest.mark.parametrize(
    ("place", "mode", "sentence"),
    [
        ("", 0o000, "{} is not readable and writable"),
        ("journal", 0o000, "{} is not readable and writable"),
        ("journal/entries", 0o000, "Check {}: its kind, owner and permissions."),
        ("journal/open", 0o000, "Check {}: its kind, owner and permissions."),
        ("journal/open", 0o500, "{} is not writable"),
        ("journal/values.jsonl", 0o400, "{} is not writable"),
        ("journal/.lock", 0o000, "{} could not be opened (Permission denied)"),
        ("index", 0o000, "{} is not readable and writable; run: chmod -R u+rwX"),
        ("index", 0o500, "{} is not readable and writable; run: chmod -R u+rwX"),
        ("index/collection", 0o000, "{} is not readable and writable; run: chmod -R u+rwX"),
    ],
)
@pytest.mark.usefixtures("folders")
def test_the_doctor_names_the_path_that_cannot_be_used(
    place: str, mode: int, sentence: str, run_as_others_do: PlainRun, storage: Path
) -> None:
    with permitted(storage / place, mode):
        found = run_as_others_do("doctor", "--quick")
    assert found.returncode == 1
    assert sentence.format(storage / place) in in_line(found.stdout)
    assert "Run `learning-memory-server doctor`" not in in_line(found.stdout)


@pytest.mark.parametrize("command", ["search flaky", "hub stop", "reindex", "doctor --quick"])
def test_a_lock_that_cannot_be_opened_is_told_in_a_sentence(command: str, run: Any, storage: Path) -> None:
    (storage / "journal" / ".lock").mkdir(parents=True, mode=0o700)
    refused = run(*command.split())
    assert refused.exit_code == 1
    assert f"The lock file {storage / 'journal' / '.lock'} could not be opened" in in_line(refused.output)
    assert isinstance(refused.exception, SystemExit)
    assert f"The lock file {storage / 'journal' / '.lock'} could not be opened" in in_line(printed(run("status")))


def test_a_file_where_the_journal_should_be_is_not_an_empty_journal(run: Any, storage: Path) -> None:
    (storage / "journal").touch(mode=0o600)
    for command in ("list", "status", "backup"):
        assert "The journal could not be used (Not a directory" in refusal(run(command))


@pytest.mark.usefixtures("filled")
def test_a_file_where_the_index_should_be_is_red_and_reindex_names_it(run: Any, storage: Path) -> None:
    shutil.rmtree(storage / "index")
    (storage / "index").touch(mode=0o600)
    assert f"{storage / 'index'} is not a folder; move it away" in in_line(printed(run("doctor", "--quick"), 1))
    assert "it is rebuilt from the journal" in in_line(refusal(run("reindex")))
    (storage / "index").unlink()
    assert run("reindex").exit_code == 0


@pytest.mark.usefixtures("imported")
def test_an_empty_journal_is_not_backed_up_and_no_backup_is_removed(run: Any, storage: Path) -> None:
    assert run("backup").exit_code == 0
    good = list((storage / "backups").iterdir())
    shutil.rmtree(storage / "journal" / "entries")
    for _ in range(2):
        assert "No backup was written, and none removed" in in_line(refusal(run("backup", "--keep", "1"), 0))
    assert list((storage / "backups").iterdir()) == good


def test_the_doctor_warns_if_a_process_other_than_a_hub_blocks_sessions(run: Any, storage: Path) -> None:
    with exclusive(storage / "journal", "a server"):
        found = run("doctor", "--quick")
    assert found.exit_code == 0
    said = in_line(found.stdout)
    assert f"! hub No hub is running, and no session can start until a server, process {os.getpid()}, has ended" in said
    assert "the next session starts one" in run("doctor", "--quick").stdout


@pytest.mark.parametrize("command", ["doctor --quick", "hub stop", "reindex"])
def test_a_hub_that_a_sandbox_hides_is_neither_missing_nor_ended(
    command: str, run_as_others_do: PlainRun, start_hub: Callable[[], int], environment: dict[str, str]
) -> None:
    pid = start_hub()
    (socket,) = [path for path in HubPaths({**os.environ, **environment}).sockets() if path.exists()]
    with permitted(socket, 0o000):
        said = run_as_others_do(*command.split())
    assert said.returncode == 1
    words = in_line(said.stdout + said.stderr)
    assert "may not use the hub's socket (Permission denied), as in a sandbox" in words
    assert "--direct" in words
    os.kill(pid, 0)
