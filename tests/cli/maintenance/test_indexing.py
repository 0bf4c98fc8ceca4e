import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import in_line, printed, refusal
from tests.index.engines.double import serving

NOWHERE = "http://127.0.0.1:1"


@pytest.mark.slow
@pytest.mark.usefixtures("filled")
def test_reindex_rebuilds_everything_or_one_axis(run: Any, storage: Path) -> None:
    assert run("reindex").stdout.startswith("The index was rebuilt: 48 vectors in ")
    assert run("reindex", "strategy").stdout.startswith("The index of axis strategy was rebuilt: 24 vectors")
    assert run("reindex", "moon").exit_code == 2
    (place,) = filter(Path.is_dir, (storage / "index").iterdir())
    assert (storage / "index" / "CACHEDIR.TAG").is_file()
    (place / "experiences_full" / "edge_config.json").write_text("{}")
    result = run("search", "worker 3")
    assert "mode: " in result.stdout
    assert "Nothing found" not in result.stdout
    assert "It is rebuilt from the journal." in result.stderr
    assert "complete: 48 vectors" in run("import", str(storage.parent / "entries.jsonl")).stdout
    assert json.loads((place / "experiences_full" / "about.json").read_text())["probe"]


@pytest.mark.parametrize("with_hub", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("option", ["--to", "--from"])
@pytest.mark.usefixtures("filled")
def test_an_unreachable_server_is_reported_in_a_sentence(
    run: Any, start_hub: Callable[[], int], option: str, with_hub: bool
) -> None:
    if with_hub:
        start_hub()
    result = refusal(run("migrate", option, NOWHERE))
    assert "error: " in result
    assert "127.0.0.1:1" in result
    assert "mode: hybrid" in run("search", "leak").stdout


@pytest.mark.parametrize("options", ["", "--to http://a --from http://b", "--to :memory:", "--from file:///x"])
def test_exactly_one_server_must_be_named(run: Any, options: str) -> None:
    result = refusal(run("migrate", *options.split()))
    assert "Qdrant server" in result or "must begin with" in result


def test_the_key_of_the_server_in_use_is_not_sent_to_another_one(run: Any, storage: Path) -> None:
    del storage
    used = {"LEARNING_MEMORY_QDRANT_URL": "http://127.0.0.1:2", "LEARNING_MEMORY_QDRANT_API_KEY": "k"}
    for option in ("--to", "--from", "--leave"):
        result = refusal(run("migrate", option, NOWHERE, **used))
        assert "it was not sent to another one" in in_line(result)
    result = run("migrate", "--to", NOWHERE, LEARNING_MEMORY_QDRANT_API_KEY="k")
    assert "not sent" not in result.stderr
    assert "127.0.0.1:1" in result.stderr


@pytest.mark.slow
@pytest.mark.usefixtures("filled")
def test_there_and_back_over_a_server(run: Any) -> None:
    with serving() as double:
        assert f"set LEARNING_MEMORY_QDRANT_URL={double.url}" in printed(run("migrate", "--to", double.url))
        assert "mode: hybrid" in run("search", "leak", LEARNING_MEMORY_QDRANT_URL=double.url).stdout
        assert run("migrate", "--from", double.url, LEARNING_MEMORY_QDRANT_URL=double.url).exit_code == 0
        refused = run("migrate", "--leave", double.url, LEARNING_MEMORY_QDRANT_URL=double.url)
        assert "This server is in use" in refused.stderr
        assert "48 points removed" in run("migrate", "--leave", double.url).stdout
