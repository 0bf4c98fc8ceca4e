"""Rules are added to a file and taken out again, byte for byte, and their change is a patch."""

import subprocess
from pathlib import Path

import pytest

from learning_memory_server.sharing.promote import BYTES_MAX, LEARNED, Rule, patch, promoted, with_rules, without_rules

ONE = Rule("ghap_1", "Look at the proxy first.", "a lesson", ("src/proxy.py", "src/net.py"))
TWO = Rule("value_2", "Measure at every hop.", "a value")
BEFORE = ("", "# Rules\n\n- Be kind.\n", "no end", "one\r\ntwo\r\n", "\n", "# A\n\n\n", "\u00fc\n")


@pytest.mark.parametrize("before", BEFORE)
def test_what_is_added_is_taken_out_byte_for_byte(before: str) -> None:
    after = with_rules(before, [ONE, TWO], (), is_ours=False)
    assert promoted(after) == {rule.id: rule.lines() for rule in (ONE, TWO)}
    assert with_rules(after, [ONE, TWO], (), is_ours=False) == after
    fewer = with_rules(after, [TWO], ["ghap_1"], is_ours=False)
    assert promoted(fewer).keys() == {"value_2"}
    assert with_rules(fewer, [], ["value_2"], is_ours=False) == before
    assert without_rules(after + "below\n") == f"{before}below\n"


def test_a_file_of_rules_says_which_files_all_of_them_are_about() -> None:
    after = with_rules("", [ONE], (), is_ours=True)
    assert after.startswith('---\npaths: "{src/net.py,src/proxy.py}"\n---\n\n<!-- learning-memory: begin -->\n')
    assert not with_rules(after, [ONE, TWO], (), is_ours=True).startswith("---")
    assert with_rules(after, [], ["ghap_1"], is_ours=True) == ""
    theirs = '---\npaths: "a"\n---\n\n- Mine.\n'
    assert without_rules(with_rules(theirs, [ONE], (), is_ours=True)) == theirs


def test_what_others_promoted_stays_and_all_takes_one_kilobyte_at_most() -> None:
    theirs = with_rules("", [Rule("ghap_9", "Theirs.", "a lesson")], (), is_ours=True)
    many = [Rule(f"ghap_{number}", "x" * 200, "a lesson") for number in range(10, 30)]
    after = with_rules(theirs, many, (), is_ours=True)
    assert "Theirs." in after
    assert BYTES_MAX / 2 < len(after.encode()) <= BYTES_MAX


@pytest.mark.parametrize("before", BEFORE)
def test_the_patch_is_applied_by_git(tmp_path: Path, before: str) -> None:
    file = tmp_path / LEARNED
    file.parent.mkdir(parents=True)
    if before:
        file.write_bytes(before.encode())
    after = with_rules(before, [TWO], (), is_ours=True)
    for old, new in ((before, after), (after, before)):
        subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=patch(LEARNED, old, new).encode(), check=True)
        assert (file.read_bytes().decode() if file.exists() else "") == new
