"""Which file a tool has read or edited, and which lines changed."""

import json

import pytest

from learning_memory_server.server.hooks.event import EDIT_MAX, edit_in, old_and_new


@pytest.mark.parametrize(
    ("tool", "given", "wanted"),
    [
        ("Read", {"file_path": "/shop/a.py"}, {"file": "/shop/a.py", "old": "", "new": ""}),
        (
            "replace",
            {"file_path": "/shop/a.py", "old_string": "a", "new_string": "b"},
            {"file": "/shop/a.py", "old": "a", "new": "b"},
        ),
        ("create_file", {"filePath": "/shop/a.py", "content": "b"}, {"file": "/shop/a.py", "old": "", "new": "b"}),
        (
            "apply_patch",
            {"command": "*** Begin Patch\n*** Update File: a.py\n@@\n same\n-a\n+b\n*** Add File: c.py\n+c\n"},
            {"file": "a.py", "old": "a", "new": "b"},
        ),
        ("apply_patch", {"command": "nothing"}, {}),
        ("Bash", {"command": "make"}, {}),
    ],
)
def test_each_clients_tools_name_their_file(tool: str, given: dict[str, str], wanted: dict[str, str]) -> None:
    assert edit_in(tool, given) == wanted


def test_the_lines_of_claude_codes_patch_are_what_was_changed() -> None:
    patch = json.dumps([{"lines": [" same", "-a", "+b"]}, {"lines": ["+c"]}])

    assert old_and_new(patch, "", "the whole file") == ("a", "b\nc")
    assert old_and_new("[]", "", "a new file") == ("", "a new file")


@pytest.mark.parametrize("patch", ["{", "1", '[{"lines": 1}]', '[{"lines": [1]}]', "[[]]", "[" * 100_000])
def test_a_patch_that_says_nothing_changes_nothing(patch: str) -> None:
    assert old_and_new(patch, "a", "b" * 2 * EDIT_MAX) == ("a", "b" * EDIT_MAX)
