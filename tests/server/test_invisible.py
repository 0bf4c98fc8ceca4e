"""Models see what would turn or hide a text; whoever asks for whole texts gets them as they were."""

from learning_memory_server.model.limits import REPLY_MAX
from learning_memory_server.server.composition.services import Services
from learning_memory_server.server.wire import JSON, compact
from tests.server.agent import ENTRY, Agent
from tests.server.memory_calls import said

TURNED = "totals \u202egnp.exe\u2066 and hid\u200bden"
NAMED = "totals [U+202E]gnp.exe[U+2066] and hid[U+200B]den"


async def test_replies_and_refusals_name_what_nobody_sees(services: Services, agent: Agent) -> None:
    started = await agent.call("start_ghap", **{**ENTRY, "goal": TURNED})
    shown = await agent.call("get_active_ghap")
    refused = await agent.refused("get_ghap_entry", ghap_id="ghap_\u202e")
    assert shown["goal"] == NAMED
    assert "\u202e" not in str((started, shown, refused))
    (stored,) = services.journal.open_entries()
    assert (stored.id, stored.goal) == (started["id"], TURNED)


async def test_a_memory_is_shown_with_names_and_whole_as_it_was(agent: Agent) -> None:
    added = await said(agent, "add_memory", text=TURNED)
    found = await said(agent, "search_memory", query="totals")
    whole = await said(agent, "search_memory", query="totals", full_text=True)
    assert NAMED in added
    assert NAMED in found
    assert TURNED in whole


def test_names_do_not_make_a_reply_longer_than_clients_can_read() -> None:
    payload = {"text": "a\u200b" * (REPLY_MAX // 4), "more": {"\u202e": ["\u2066"]}}
    result = JSON.reply(payload).shown()
    assert len(result.text) <= REPLY_MAX
    assert "\u200b" not in result.text
    assert result.structured is not None
    assert compact(result.structured) == result.text
