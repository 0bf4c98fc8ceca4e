"""What the README says that the server costs is so."""

import json
import re

import pytest

from learning_memory_server.embedding.base import DEFAULT_MODEL
from learning_memory_server.embedding.source import model_folder
from learning_memory_server.embedding.tokens import ModelTokens
from learning_memory_server.server.app import INSTRUCTIONS
from learning_memory_server.server.tools.catalog import TOOLS
from tests.docs.test_documents import ROOT


def test_the_readme_counts_the_tools_and_their_tokens() -> None:
    """The vocabulary of o200k_base is not on every machine; see `tests/server/test_schemas.py`.

    For the present descriptions it counted 3,845 where the packaged model's tokenizer counted 6,219.
    """
    shown = [
        json.dumps(
            {"name": tool.name, "description": tool.description, "input_schema": tool.advertised_schema},
            ensure_ascii=False,
            separators=(",", ":"),
        )
        for tool in TOOLS
    ]
    estimate = sum(ModelTokens(model_folder(DEFAULT_MODEL)).count([*shown, INSTRUCTIONS])) * 3_845 / 6_219
    stated = re.search(
        r"descriptions of (\d+) tools and the instructions are ([\d,]+) tokens", (ROOT / "README.md").read_text("utf-8")
    )

    assert stated is not None
    assert int(stated[1]) == len(TOOLS)
    assert float(stated[2].replace(",", "")) == pytest.approx(estimate, rel=0.02)


def test_the_readme_has_the_figures_of_the_evidence() -> None:
    evidence = (ROOT / "docs" / "explain" / "evidence.md").read_text("utf-8")
    (line,) = (line for line in evidence.splitlines() if line.startswith("| **this server** |"))
    entries = re.findall(r" (\d+)(?= )", line)
    readme = (ROOT / "README.md").read_text("utf-8")

    assert re.findall(r"right (\d+) times, wrong (\d+) \|", readme) == [(entries[1], entries[2])]
    assert "this server said nothing" in readme
