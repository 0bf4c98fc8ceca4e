"""What a client loads by itself is not shown at a start and at prompts, whoever has written it there."""

from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.advice.loading import loaded_at
from learning_memory_server.model.advice import TriggerKind
from learning_memory_server.model.rule import Origin, OriginKind, Rule
from learning_memory_server.model.trigger import Trigger
from learning_memory_server.sharing.promote import LEARNED, with_line, with_rule
from tests.rules.making import accepted

RULE = accepted("Use pnpm, not npm.")
CLAUDE = ("CLAUDE.md", "CLAUDE.local.md")


def loaded(folder: Path, *rules: Rule, **given: Any) -> set[str]:
    trigger = Trigger(TriggerKind.SESSION_START, "a", folder=str(folder), **{"loads": CLAUDE, **given})
    return loaded_at(trigger, str(folder), rules)


@pytest.mark.parametrize("kind", list(OriginKind))
@pytest.mark.parametrize("file", ["CLAUDE.md", "CLAUDE.local.md", LEARNED])
def test_a_rule_is_known_by_its_sentence_wherever_it_comes_from(tmp_path: Path, kind: OriginKind, file: str) -> None:
    rule = accepted("Use pnpm, not npm.", origin=Origin(kind))
    (tmp_path / ".claude" / "rules").mkdir(parents=True)
    assert loaded(tmp_path, rule) == set()
    text = with_rule("", rule.id, rule.text, "") if file == LEARNED else with_line("# Ours\n", rule.text)
    (tmp_path / file).write_text(text)
    assert loaded(tmp_path, rule) == {rule.id}


def test_an_imported_file_and_one_of_a_folder_above_are_loaded(tmp_path: Path) -> None:
    (tmp_path / "CLAUDE.md").write_text("@AGENTS.md\n")
    (tmp_path / "AGENTS.md").write_text("Use **pnpm**,\n   not `npm`!\n")
    (below := tmp_path / "app").mkdir()
    assert loaded(below, RULE) == {RULE.id}
    assert loaded(below, RULE, loads=("GEMINI.md",)) == set()


def test_the_persons_own_words_count_too(tmp_path: Path) -> None:
    (tmp_path / "CLAUDE.md").write_text("- pnpm please\n")
    assert loaded(tmp_path, accepted("Use pnpm, not npm", words="pnpm, please")) == set()
    assert loaded(tmp_path, accepted("Use pnpm, not npm", words="pnpm please")) != set()


@pytest.mark.parametrize("text", ["Never use tabs", "We do not use tabs.", "Ask whether to use tabs"])
def test_a_sentence_that_has_the_words_is_not_the_rule(tmp_path: Path, text: str) -> None:
    (tmp_path / "CLAUDE.md").write_text(f"- {text}\n")
    assert loaded(tmp_path, accepted("Use tabs")) == set()


@pytest.mark.parametrize(
    "text", ["1. Use tabs", "Style: use tabs.", "## Use tabs", "Be kind. Use tabs, please", "a\n\nuse tabs"]
)
def test_it_may_stand_in_a_list_or_after_another_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / "CLAUDE.md").write_text(text)
    assert loaded(tmp_path, accepted("Use tabs.")) != set()


def test_a_lesson_that_an_earlier_version_wrote_is_known_by_its_mark(tmp_path: Path) -> None:
    (file := tmp_path / LEARNED).parent.mkdir(parents=True)
    file.write_text(with_rule("", "ghap_1", "Round once", "learned"))
    assert loaded(tmp_path) == {"ghap_1"}
    file.write_text(f'---\npaths: "*.py"\n---\n\n{file.read_text()}')
    assert loaded(tmp_path) == set()
    assert loaded_at(Trigger(TriggerKind.LOADED, "a", file=str(file)), "", []) == {"ghap_1"}


def test_what_is_no_file_loads_nothing(tmp_path: Path) -> None:
    assert loaded_at(Trigger(TriggerKind.LOADED, file="no\0name"), str(tmp_path), [RULE]) == set()
    assert loaded(tmp_path / "none", RULE) == set()
