"""A call of a past session is judged if it is in the project."""

import pytest

from learning_memory_server.model.rule import CallForm, Pattern
from learning_memory_server.rules.past.acts import act_of, mark_of
from learning_memory_server.rules.past.events import Asked
from tests.support import NOON


def is_elsewhere(command: str, top: str, folder: str = "") -> bool:
    act = act_of(Asked("1", "s", "", "Bash", {"command": command}, folder or top, NOON), top)
    assert act
    assert act.script
    return act.is_elsewhere(act.script.commands[-1])


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("git commit -m tea", False),
        ("cd /work/shop && git commit -m tea", False),
        ("cd /work/shop/web && git commit -m tea", False),
        ("cd /work && ls", False),
        ("cd web && git commit -m tea", False),
        ("cd /work/shop2 && git commit -m tea", True),
        ("cd '/tmp/tea' && git commit -m tea", True),
        ("cd ~/tea && git commit -m tea", True),
        ("git -C /tmp/tea commit -m tea", True),
        ("cd $FOLDER && git commit -m tea", True),
        ("mkdir x && cd x && git init && git commit -m tea", True),
        ('cd "$(mktemp -d)" && git commit -m tea', True),
    ],
)
def test_a_command_may_go_elsewhere(command: str, expected: bool) -> None:
    assert is_elsewhere(command, "/work/shop") is expected


def test_a_shell_may_be_elsewhere_already() -> None:
    assert is_elsewhere("git commit -m tea", "/work/shop", "/work/tea")
    assert not is_elsewhere("git commit -m tea", "/work/shop", "/work/shop/web")


@pytest.mark.parametrize("top", ["/work/shop/.worktrees/tea", "/work/shop/.claude/worktrees/tea/web"])
def test_a_worktree_in_the_project_is_a_part_of_it(top: str) -> None:
    assert not is_elsewhere("cd /work/shop/.worktrees/bread && ls", top)
    assert is_elsewhere("cd /work/bread && ls", top)


@pytest.mark.parametrize(
    ("tool", "given", "expected"),
    [
        ("Edit", {"file_path": "/work/shop/a.py", "old_string": "x", "new_string": "y"}, ("a.py", "y", "x")),
        ("Write", {"file_path": "/work/shop/a.py", "content": "y"}, ("a.py", "y", "")),
        ("NotebookEdit", {"notebook_path": "/work/shop/a.ipynb", "new_source": "y"}, ("a.ipynb", "y", "")),
        (
            "MultiEdit",
            {"file_path": "a.py", "edits": [{"old_string": "x", "new_string": "y"}, 3, {"new_string": "z"}]},
            ("a.py", "y\nz", "x\n"),
        ),
        ("Edit", {"file_path": "/work/other/a.py", "old_string": "x", "new_string": "y"}, None),
        ("Edit", {}, None),
        ("Read", {"file_path": "/work/shop/a.py"}, None),
        ("PowerShell", {"command": "git push"}, None),
        ("Bash", {"command": ""}, None),
    ],
)
def test_an_edit_is_of_a_file_in_the_project(tool: str, given: dict[str, object], expected: object) -> None:
    act = act_of(Asked("1", "s", "", tool, given, "/work/shop", NOON), "/work/shop")
    assert (act and (act.file, act.content, act.before)) == expected


@pytest.mark.parametrize(
    ("pattern", "command", "may_be"),
    [
        (Pattern((CallForm(("git", "push")),)), "cd a && git -C b push", True),
        (Pattern((CallForm(("git", "push")),)), "ls", False),
        (Pattern((CallForm(("rm",)),)), "npm farm", False),
        (Pattern((CallForm((), having=("--no-verify",)),)), "git commit --no-verify", True),
        (Pattern((CallForm(()),)), "ls", True),
        (Pattern(files=("dist/**",)), "echo x > dist/a", True),
        (Pattern(files=("dist/**",)), "echo x > src/a", False),
        (Pattern(files=("*",)), "ls", True),
        (Pattern(first=(CallForm((), having=("*test*", "ci")),)), "make mytests", True),
        (Pattern(first=(CallForm((), having=("*test*", "ci")),)), "make precise", False),
        (Pattern(contents=("eval(",)), "ls", False),
    ],
)
def test_most_commands_are_known_to_be_none_of_a_pattern(pattern: Pattern, command: str, may_be: bool) -> None:
    mark = mark_of(pattern)
    assert (mark is None or mark.search(command) is not None) is may_be
