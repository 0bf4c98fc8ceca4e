import json
from pathlib import Path

import pytest

from tests.acceptance.hubs import ENTRY, learn, memory_in

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("level", "searches"), [("debug", 1), ("info", 0)])
def test_a_hub_logs_at_its_level_and_nothing_a_user_wrote(tmp_path: Path, level: str, searches: int) -> None:
    with memory_in(tmp_path) as memory:
        front = memory.greeted(log_level=level)
        front.call("start_ghap", **ENTRY)
        front.call("search_experiences", query=ENTRY["goal"])
        memory.end_hub()
    log = (tmp_path / "hub.log").read_text("utf-8")
    lines = [json.loads(line) for line in log.splitlines()]
    called = [line["tool"] for line in lines if line["event"] == "tool.called"]
    # `greeted` calls a tool that does not exist. Its name could be any text, so it is not logged.
    assert called == [None, "start_ghap", "search_experiences"]
    assert len([line for line in lines if line["event"] == "search.answered"]) == searches
    assert not [text for text in ENTRY.values() if " " in text and text in log]
    assert str(tmp_path) not in log


def test_a_session_is_told_of_damaged_lines_that_the_hub_has_met(tmp_path: Path) -> None:
    with memory_in(tmp_path) as memory:
        front = memory.greeted()
        for result in ("They match.", "They still match."):
            learn(front, result)
        memory.end_hub()
        (log,) = (tmp_path / "journal" / "entries").glob("*.jsonl")
        log.write_bytes(log.read_bytes().replace(b"They match.", b"They differ"))
        assert front.call("list_ghap_entries")["count"] == 1

        told = memory.greeted("another session")

        assert told.close() == 0
    assert "1 line of the journal cannot be read" in told.stderr()
    assert "learning-memory-server doctor" in told.stderr()


def test_a_session_is_told_of_a_key_of_the_settings_file_that_was_removed(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("episodes = false\n")
    with memory_in(tmp_path) as memory:
        front = memory.greeted(config=str(tmp_path / "config.toml"))
        assert front.call("list_values")["count"] == 0
        assert front.close() == 0
        assert "`episodes` was removed: delete the line in" in front.stderr()
