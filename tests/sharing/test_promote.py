"""Rules are added to their file and taken out again, and the change is a patch."""

import subprocess
from pathlib import Path

import pytest

from learning_memory_server.sharing.promote import BYTES_MAX, LEARNED, Rule, patch, promoted, with_rules

ONE = Rule("ghap_1", "Look at the proxy first.", "a lesson", ("src/proxy.py", "src/net.py"))
TWO = Rule("value_2", "Measure at every hop.", "a value")
ADDED = (
    "",
    "# Rules\n\n- Be kind.\n",
    "\n",
    '---\npaths: "a"\n---\n\n- Mine.\n',
    "<!-- mine -->\n- \u00fc\n",
    "1\r\n2\r\n",
)


@pytest.mark.parametrize("added", ADDED)
def test_what_a_person_has_added_stays_when_rules_come_and_go(added: str) -> None:
    after = with_rules(added, [ONE, TWO], ())
    assert promoted(after) == {rule.id: rule.lines() for rule in (ONE, TWO)}
    assert with_rules(after, [ONE, TWO], ()) == after
    fewer = with_rules(after, [TWO], ["ghap_1"])
    assert promoted(fewer).keys() == {"value_2"}
    assert with_rules(fewer, [], ["value_2"]) == added
    assert with_rules(f"{after}below", [], ["ghap_1", "value_2"]) == f"{added}below"


def test_rules_begin_on_a_line_of_their_own() -> None:
    assert with_rules("no end", [TWO], ()) == f"no end\n{TWO.lines()}"


def test_the_file_says_which_files_all_of_its_rules_are_about() -> None:
    after = with_rules("", [ONE], ())
    assert after == f'---\npaths: "{{src/net.py,src/proxy.py}}"\n---\n\n{ONE.lines()}'
    assert not with_rules(after, [ONE, TWO], ()).startswith("---")
    assert with_rules(after, [], ["ghap_1"]) == ""


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_what_others_promoted_stays_and_all_takes_one_kilobyte_at_most(end: str) -> None:
    theirs = with_rules("", [Rule("ghap_9", "Theirs.", "a lesson", ("a.py",))], ()).replace("\n", end)
    many = [Rule(f"ghap_{number}", "x" * 200, "a lesson", ("b.py",)) for number in range(10, 30)]
    after = with_rules(theirs, many, ())
    # It is not known which files theirs is about.
    assert after.startswith("<!-- ghap_9: a lesson -->")
    assert "Theirs." in after
    assert BYTES_MAX / 2 < len(after.encode()) <= BYTES_MAX


@pytest.mark.parametrize("before", [*ADDED, "no end"])
def test_the_patch_is_applied_by_git(tmp_path: Path, before: str) -> None:
    file = tmp_path / LEARNED
    file.parent.mkdir(parents=True)
    if before:
        file.write_bytes(before.encode())
    after = with_rules(before, [TWO], ())
    for old, new in ((before, after), (after, before)):
        subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=patch(old, new).encode(), check=True)
        assert (file.read_bytes().decode() if file.exists() else "") == new
