from __future__ import annotations

import pytest

from benchmarks.concurrency import outcome, read_texts, summary


def test_the_outcome_of_a_call_is_the_mode_of_its_search() -> None:
    def reply(text: str, **more: object) -> dict[str, object]:
        return {"content": [{"type": "text", "text": text}], **more}

    assert outcome(reply("Found 1 results:\n\nMode: coffee\n\nMode: hybrid")) == "hybrid"
    assert outcome(reply("No memories found.\nMode: lexical")) == "lexical"
    assert outcome(reply("{}", structuredContent={"mode": "semantic"})) == "semantic"
    assert outcome(reply("{}", structuredContent={"id": "ghap_1"})) == ""
    assert outcome(reply("Error: Search failed: timed out", isError=True)) == "error"


def test_metrics_are_those_worked_out_by_hand() -> None:
    answers = [(0.3, "hybrid"), (0.1, "hybrid"), (0.2, "lexical"), (0.4, ""), (0.5, "error")]

    found = summary(answers, spent=2.0)

    assert found == {
        "calls": 5,
        "errors": 1,
        "hybrid_share": pytest.approx(0.5),
        "per_second": pytest.approx(2.5),
        "p50_ms": pytest.approx(300),
        "p95_ms": pytest.approx(400),
        "longest_ms": pytest.approx(500),
    }


def test_without_data_the_texts_differ() -> None:
    texts, queries = read_texts(None)

    assert len(set(texts)) == len(texts) == 1_000
    assert len(set(queries)) == len(queries)
