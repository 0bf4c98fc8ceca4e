"""What the journal keeps of entries that were written afterwards, and of the words of a person."""

from dataclasses import replace
from typing import Any, Final

import msgspec
import pytest

from learning_memory_server.errors import InvalidInputError
from learning_memory_server.journal import checks
from learning_memory_server.journal.archive.contents import Contents
from learning_memory_server.journal.kinds import GHAP, MALFORMED, MEMORY
from learning_memory_server.model import limits
from learning_memory_server.model.entry import Ghap, Resolution
from learning_memory_server.model.vocabulary import Domain, OutcomeStatus, Strategy, Tier
from tests.support import NOON, full_ghap

AFTERWARDS: Final = Ghap(
    id="ghap_20260301_120000_0000aa",
    project="shop",
    agent_session="0123456789abcdef",
    created_at=NOON,
    goal="Speed up the page",
    hypothesis="The font server is what it waits for",
    resolution=Resolution(OutcomeStatus.CONFIRMED, "It was.", NOON, words="no, look at the fonts"),
    afterwards=True,
    same_as="ghap_20260301_110000_0000bb",
)


class EarlierEntry(msgspec.Struct, kw_only=True):
    """What versions from before `afterwards` require of an entry; they keep what they do not know."""

    domain: Domain
    strategy: Strategy
    goal: str
    hypothesis: str
    action: str
    prediction: str


def test_it_is_read_as_it_was_written_and_earlier_versions_can_read_it_too() -> None:
    data = GHAP.encode(AFTERWARDS)

    assert GHAP.decode(data) == AFTERWARDS
    assert (data["afterwards"], data["same_as"]) == (True, AFTERWARDS.same_as)
    assert data["resolution"]["words"] == "no, look at the fonts"
    msgspec.convert(data, EarlierEntry)
    assert GHAP.decode({**data, "split": True}).repeats == ""


def test_only_what_was_written_afterwards_may_lack_a_domain_and_a_strategy() -> None:
    data = GHAP.encode(full_ghap())
    del data["domain"], data["strategy"]

    with pytest.raises(MALFORMED, match="domain, strategy: missing"):
        GHAP.decode(data)


def test_an_entry_without_the_new_fields_is_written_as_ever() -> None:
    assert not {"afterwards", "same_as", "split"} & GHAP.encode(full_ghap()).keys()
    assert "words" not in GHAP.encode(full_ghap())["resolution"]


def test_an_imported_one_is_checked_like_others() -> None:
    assert checks.checked_entry(AFTERWARDS) == AFTERWARDS
    for bad in ({"goal": ""}, {"hypothesis": ""}, {"same_as": "not an id!"}, {"resolution": None}):
        with pytest.raises(InvalidInputError):
            checks.checked_entry(replace(AFTERWARDS, **bad))
    with pytest.raises(InvalidInputError, match="action"):
        checks.checked_entry(replace(full_ghap(), action=""))


def test_the_words_of_a_person_are_one_line_and_stay_with_their_store() -> None:
    def said(words: str) -> Ghap:
        return replace(AFTERWARDS, resolution=replace(AFTERWARDS.outcome, words=words))

    checked = checks.checked_entry(said("no,\nlook " + "x" * 300)).outcome.words
    contents = Contents(entries={AFTERWARDS.id: AFTERWARDS})
    contents.mark_imported()

    assert checked.startswith("no, look xxx")
    assert len(checked) == limits.PERSON_WORDS_MAX
    assert contents.entries[AFTERWARDS.id].outcome.words == ""


def full(**changes: Any) -> Ghap:
    return replace(full_ghap(), **changes)


def test_it_is_silver_at_most() -> None:
    assert full().tier is Tier.GOLD
    assert full(afterwards=True).tier is Tier.SILVER
    assert full(afterwards=True, hypothesis="Too short").tier is Tier.BRONZE
    captured = replace(full().outcome, auto_captured=True)
    assert full(afterwards=True, resolution=captured).tier is Tier.SILVER


def test_a_memory_keeps_what_it_replaces() -> None:
    data = {
        "id": "2",
        "text": "It runs at six.",
        "date": NOON.isoformat(),
        "created_at": NOON.isoformat(),
        "project": "shop",
        "replaces": "1",
    }

    memory = MEMORY.decode(data)

    assert memory.replaces == "1"
    assert MEMORY.encode(memory) == data
