import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.hubs import ENTRY, learn
from tests.acceptance.wire import COMMAND, Wire, environment, running

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.getuid() != 0, reason="only root can mount a folder")]


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    """A data folder with one entry, mounted so that nothing in it can be changed."""
    storage = tmp_path / "data"
    storage.mkdir()
    with running(storage) as wire:
        learn(wire)
    if subprocess.run(["mount", "--bind", storage, storage], check=False, capture_output=True).returncode:
        pytest.skip("this root may not mount a folder")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", storage], check=True)
        yield storage
    finally:
        subprocess.run(["umount", storage], check=True)


@pytest.mark.parametrize("options", [["--direct"], []], ids=["direct", "hub"])
def test_a_session_lists_and_searches_and_is_told_why_it_cannot_write(
    read_only: Path, options: list[str], tmp_path: Path
) -> None:
    runtime = tmp_path / "run"
    runtime.mkdir(0o700)
    variables = {**environment(read_only), "XDG_RUNTIME_DIR": str(runtime)}
    arguments = [f"{name}={value}" for name, value in variables.items()]
    wire = Wire(read_only, command=["env", *arguments, COMMAND, *options])
    wire.handshake()
    assert wire.call("list_ghap_entries")["count"] == 1
    assert len(wire.call("search_experiences", query=ENTRY["goal"])["results"]) == 1
    refused = wire.answer(wire.send_call("start_ghap", **ENTRY))
    assert "Read-only file system" in str(refused)
    found = subprocess.run(
        [COMMAND, "search", ENTRY["goal"]], env=variables, capture_output=True, text=True, check=True
    )
    assert ENTRY["goal"][:20] in found.stdout
    subprocess.run([COMMAND, "hub", "stop"], env=variables, check=not options, capture_output=True)
    wire.close()
