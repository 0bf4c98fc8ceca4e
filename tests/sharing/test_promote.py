"""A rule is added to the files that clients load, and the change is a patch."""

import subprocess
from pathlib import Path

import pytest

from learning_memory_server.sharing.promote import LEARNED, patch, promoted, with_line, with_rule

SAID = "We use pnpm, not npm"
ADDED = (
    "",
    "# Rules\n\n- Be kind.\n",
    "\n",
    '---\npaths: ["a"]\n---\n\n- Mine.\n',
    "<!-- mine -->\n- \u00fc\n",
    "1\r\n2\r\n",
    "no end",
)


@pytest.mark.parametrize("before", ADDED)
def test_what_a_person_has_written_stays(before: str) -> None:
    after = with_rule(before, "rule_2", SAID, "your rule")
    assert after == f"{before}{'' if before in {'', *ADDED[1:6]} else chr(10)}<!-- rule_2: your rule -->\n- {SAID}\n"
    assert promoted(after).keys() == {"rule_2"}
    assert with_rule(after, "rule_2", SAID, "your rule") == after


def test_a_rule_of_the_whole_project_is_not_about_the_files_of_earlier_ones() -> None:
    earlier = '---\npaths: "a.py"\n---\n\n<!-- ghap_9: a lesson -->\n- Theirs.\n'
    after = with_rule(earlier, "rule_2", SAID, "your rule")
    assert after.startswith("<!-- ghap_9: a lesson -->")
    assert promoted(after).keys() == {"ghap_9", "rule_2"}


def test_a_line_is_an_item_of_its_own_and_stands_once() -> None:
    assert with_line("# Rules\n\n- Be kind.\n", SAID) == f"# Rules\n\n- Be kind.\n- {SAID}\n"
    assert with_line("A text", SAID) == f"A text\n\n- {SAID}\n"
    assert with_line(f"* {SAID}\n", SAID) == f"* {SAID}\n"
    assert with_line("", SAID) == f"- {SAID}\n"


@pytest.mark.parametrize("before", [*ADDED, None])
@pytest.mark.parametrize("name", [LEARNED, "CLAUDE.md"])
def test_the_patch_is_applied_by_git(tmp_path: Path, before: str | None, name: str) -> None:
    file = tmp_path / name
    file.parent.mkdir(parents=True, exist_ok=True)
    if before is not None:
        file.write_bytes(before.encode())
    text = before or ""
    after = with_rule(text, "rule_2", SAID, "your rule") if name == LEARNED else with_line(text, SAID)
    subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=patch(name, before, after).encode(), check=True)
    assert file.read_bytes().decode() == after
