"""The model that comes with the package, over stdio."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest

from tests.acceptance.wire import Wire

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

ENTRY = {
    "domain": "debugging",
    "strategy": "read-the-error",
    "goal": "make the checkout page load",
    "hypothesis": "the price cache returns stale totals after a deploy",
    "action": "clear the cache and load the page",
    "prediction": "totals match the database again",
}
WRITE_SECONDS = 1.0


def test_nothing_waits_for_the_model_and_searches_by_meaning_follow(tmp_path: Path) -> None:
    wire = Wire(tmp_path, embedding_backend="sentence-transformers")
    try:
        wire.handshake()
        assert len(wire.request("tools/list")["tools"]) == 15
        ghap_id = wire.call("start_ghap", **ENTRY)["id"]
        resolved = wire.call("resolve_ghap", status="confirmed", result="totals match")
        assert resolved["indexed"] is False
        early = wire.call("search_experiences", query="stale price cache")
        assert (early["mode"], [found["id"] for found in early["results"]]) == ("lexical", [ghap_id])

        # Its answer comes when the model is loaded; until then, writes must stay quick.
        loaded = wire.send_call("get_clusters", axis="full")
        wire.call("start_ghap", **ENTRY)
        seconds = [0.0]
        strategies = ("ask-user", "trial-and-error")
        while not wire.has_answer(loaded):
            begun = time.monotonic()
            wire.call("update_ghap", strategy=strategies[len(seconds) % 2])
            seconds.append(time.monotonic() - begun)
        assert wire.answer(loaded)["result"]["isError"] is True

        later = wire.call("search_experiences", query="old amounts are shown because of outdated copies")
        assert (later["mode"], [found["id"] for found in later["results"]]) == ("hybrid", [ghap_id])
        assert 0.2 < later["results"][0]["score"] <= 1
        assert wire.call("resolve_ghap", status="abandoned", result="enough")["indexed"] is True
        assert wire.close() == 0
    finally:
        if wire.process.returncode is None:
            wire.kill()
    for line in wire.stderr().splitlines():
        assert "event" in json.loads(line), "stderr holds something that is not a log line"
    assert len(seconds) > 10
    assert max(seconds) < WRITE_SECONDS, f"the slowest of {len(seconds)} writes took {max(seconds):.1f} s"
