from __future__ import annotations

from learning_memory_server.views.advice_views import shortened


def test_what_an_agent_is_shown_has_nothing_that_nobody_sees() -> None:
    assert shortened("one\n\x1b[31m\u202etwo\u200b", 20) == "one [31m two"
    assert shortened("long words", 6) == "long\u2026"
