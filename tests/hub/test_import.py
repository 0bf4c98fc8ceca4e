"""What a hub does if the MCP SDK cannot be imported: another one takes its place."""

from pathlib import Path

from tests.acceptance.hubs import IN_PROC, Memory

pytestmark = IN_PROC

FAILS_ONCE = """
import os, sys

class Upgraded:
    def find_spec(self, name, path=None, target=None):
        if name == "mcp" and os.path.exists({flag!r}):
            os.remove({flag!r})
            raise ImportError("its files were replaced")

sys.meta_path.insert(0, Upgraded())
"""


def test_a_hub_that_cannot_import_the_sdk_gives_way_to_the_next_and_no_call_fails(
    memory: Memory, tmp_path: Path
) -> None:
    flag, folder = tmp_path / "upgraded", tmp_path / "start"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(FAILS_ONCE.format(flag=str(flag)), "utf-8")
    memory.more = {"PYTHONPATH": str(folder)}
    plain = memory.greeted(forks=False)
    assert plain.call("list_values")["count"] == 0
    first = memory.hub()
    flag.touch()
    modern = memory.front("another", "2026-07-28")
    modern.handshake()
    assert modern.call("list_values")["count"] == 0
    assert not flag.exists()
    assert memory.hub() != first
    assert plain.call("list_values")["count"] == 0
    assert '"protocol.not_imported"' in (memory.storage / "hub.log").read_text("utf-8")
