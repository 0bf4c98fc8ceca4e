"""A client on stdio that says what it believed only when it knows."""

from pathlib import Path

import pytest

from tests.acceptance.hubs import ENTRY
from tests.acceptance.wire import ERAS, Era, running

pytestmark = pytest.mark.slow

BELIEF = {"goal": "Speed up the page", "hypothesis": "The font server is what it waits for"}
ENDED = {
    "status": "falsified",
    "result": "the page was slow without fonts, too",
    "surprise": "fonts came from the cache",
    "root_cause": {"category": "wrong-assumption", "description": "nobody had measured"},
    "lesson": {"takeaway": "measure first"},
}


@pytest.mark.parametrize("era", ERAS)
def test_one_call_records_it_beside_an_open_entry_and_a_restart_still_has_it(tmp_path: Path, era: Era) -> None:
    with running(tmp_path, era) as wire:
        refused = wire.refused("resolve_ghap", **ENDED)
        assert refused["type"] == "no_active_ghap"
        assert "goal and a hypothesis" in refused["hint"]
        open_id = wire.call("start_ghap", **ENTRY)["id"]
        first = wire.call("resolve_ghap", **BELIEF, **ENDED)
        assert (first["afterwards"], first["confidence_tier"]) == (True, "silver")
        again = wire.call("resolve_ghap", same_as=first["id"], **ENDED)
        assert wire.call("get_active_ghap")["id"] == open_id
    with running(tmp_path, era) as wire:
        shown = wire.call("get_ghap_entry", ghap_id=again["id"])
        assert {name: shown[name] for name in BELIEF} == BELIEF
        assert (shown["same_as"], shown["afterwards"]) == (first["id"], True)
        assert not {"domain", "strategy", "action", "prediction"} & shown.keys()
        found = wire.call("search_experiences", query="the page waits for fonts")["results"]
        assert {each["id"] for each in found} == {first["id"], again["id"]}
        calibration = wire.call("get_stats")["calibration"]
        assert (calibration["judged"], calibration["afterwards"]) == (0, 2)
        assert wire.call("resolve_ghap", status="confirmed", result="it held")["id"] == open_id
