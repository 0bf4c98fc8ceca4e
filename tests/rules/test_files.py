"""Sentences of the rules that a person has already are found in their files, and nothing else is read."""

import json
import os
from pathlib import Path

import pytest

from learning_memory_server.model import limits
from learning_memory_server.model.rule import OriginKind
from learning_memory_server.rules.suggesting.files import fitting, sentences_of


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The client's folder of a person."""
    return tmp_path / "home" / ".claude"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The root of a project."""
    (folder := tmp_path / "shop").mkdir()
    return folder


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def read(folder: Path | None, home: Path) -> list[tuple[str, str]]:
    return [(each.name, each.text) for each in sentences_of(folder, {"CLAUDE_CONFIG_DIR": str(home)})]


def memory_of(folder: Path, home: Path, name: str, text: str) -> Path:
    slug = "".join(sign if sign.isalnum() else "-" for sign in str(folder))
    return write(home / "projects" / slug / "memory" / name, text)


def test_a_project_has_rules_in_the_files_of_several_clients(folder: Path, home: Path) -> None:
    names = ["CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md", "AGENTS.md"]
    names += [".cursor/rules/a/tea.mdc", ".cursor/rules/tea.md", ".claude/rules/deep/er/tea.md"]
    for name in names:
        write(folder / name, f"---\ndescription: Not this.\n---\nRule of {Path(name).stem}.\n")
    write(folder / "docs" / "CLAUDE.md", "Not of the root.")
    write(folder / ".cursor" / "rules" / "tea.txt", "No rule.")
    assert read(folder, home) == [(name, f"Rule of {Path(name).stem}.") for name in names]


def test_a_persons_own_files_are_about_all_projects(folder: Path, home: Path) -> None:
    write(home / "CLAUDE.md", "Mine.")
    write(home / "rules" / "tea.md", "Tea.")
    write(folder / "CLAUDE.md", "Ours.")
    found = sentences_of(folder, {"CLAUDE_CONFIG_DIR": str(home)})
    assert [(each.text, each.is_everywhere) for each in found] == [("Ours.", False), ("Mine.", True), ("Tea.", True)]
    assert [each.name for each in found] == ["CLAUDE.md", ".claude/CLAUDE.md", ".claude/rules/tea.md"]
    assert [each.text for each in sentences_of(None, {"CLAUDE_CONFIG_DIR": str(home)})] == ["Mine.", "Tea."]


def test_a_feedback_memory_is_its_description_else_its_first_sentence(folder: Path, home: Path) -> None:
    front = "---\nname: x\n{}type: feedback\n---\nWeigh twice. **Why:** once was wrong.\n"
    memory_of(folder, home, "feedback_a.md", front.format('description: "Always weigh the tea"\n'))
    memory_of(folder, home, "feedback_b.md", front.format(""))
    memory_of(folder, home, "feedback_c.md", front.format("description: >\n  Never sell\n  old tea\n"))
    memory_of(folder, home, "project_d.md", "---\ndescription: A fact\ntype: project\n---\n")
    memory_of(folder, home, "MEMORY.md", "- [a](feedback_a.md) type: feedback\n")
    assert read(folder, home) == [
        ("memory feedback_a.md", "Always weigh the tea"),
        ("memory feedback_b.md", "Weigh twice."),
        ("memory feedback_c.md", "Never sell old tea"),
    ]
    assert {each.kind for each in sentences_of(folder, {"CLAUDE_CONFIG_DIR": str(home)})} == {OriginKind.MEMORY}


def test_only_the_persons_own_settings_name_a_folder_of_memories(folder: Path, home: Path, tmp_path: Path) -> None:
    text = "---\ndescription: Use tins\nmetadata:\n  type: feedback\n---\n"
    write(tmp_path / "mine" / "feedback_tins.md", text)
    write(tmp_path / "theirs" / "feedback_bags.md", text.replace("tins", "bags"))
    write(home / "settings.json", json.dumps({"autoMemoryDirectory": str(tmp_path / "mine")}))
    write(folder / ".claude" / "settings.json", json.dumps({"autoMemoryDirectory": str(tmp_path / "theirs")}))
    assert read(folder, home) == [("memory feedback_tins.md", "Use tins")]


@pytest.mark.parametrize("settings", ["[]", "{", '{"autoMemoryDirectory": "mine"}', '{"autoMemoryDirectory": 3}'])
def test_other_settings_name_no_folder(folder: Path, home: Path, settings: str) -> None:
    write(home / "settings.json", settings)
    assert read(folder, home) == []


def test_a_link_that_leaves_the_project_is_not_followed(folder: Path, home: Path, tmp_path: Path) -> None:
    write(tmp_path / "secret.md", "A secret.")
    write(folder / "AGENTS.md", "Ours.")
    (folder / "CLAUDE.local.md").symlink_to(tmp_path / "secret.md")
    (folder / "CLAUDE.md").symlink_to("AGENTS.md")
    write(tmp_path / "elsewhere" / "a.md", "A secret.")
    (folder / ".cursor").mkdir()
    (folder / ".cursor" / "rules").symlink_to(tmp_path / "elsewhere")
    assert read(folder, home) == [("CLAUDE.md", "Ours."), ("AGENTS.md", "Ours.")]


def test_what_is_no_readable_file_is_passed_over(folder: Path, home: Path) -> None:
    (folder / "CLAUDE.md").mkdir()
    os.mkfifo(folder / "AGENTS.md")
    (folder / "CLAUDE.local.md").write_bytes(b"Weigh it.\n" * 10_000)
    write(folder / ".claude" / "CLAUDE.md", "Weigh \N{SNOWMAN} tea.").write_bytes(b"Weigh \xff tea.")
    assert read(folder, home) == [(".claude/CLAUDE.md", "Weigh \N{REPLACEMENT CHARACTER} tea.")]


def test_a_long_sentence_is_cut_at_a_clause() -> None:
    long = f"Never open the tin, {'which is old, ' * 20}since it smells"
    assert fitting(long).startswith("Never open the tin, which is old")
    assert len(fitting(long)) <= limits.RULE_MAX
    assert not fitting(long).endswith(",")


@pytest.mark.parametrize(
    "text",
    [
        "x" * (limits.RULE_MAX + 1),
        f"Never open the tin, {'which is old, ' * 20}unless I ask for it",
        "Read https://example.org first",
        "Read www.example.org first",
        "",
        "   ",
    ],
)
def test_what_cannot_be_a_rule_is_none(text: str) -> None:
    assert fitting(text) == ""


@pytest.mark.parametrize(
    ("text", "states"),
    [
        ("Never open the tin.", True),
        ("In winter, do not open the tin.", True),
        ("All teas must have a label", True),
        ("Run the scales before you sell.", True),
        ("Only open it when I ask", True),
        ("The tin is always opened by Kim.", False),
        ("It only works in winter.", False),
        ("Logs are written to `tea.log`.", False),
    ],
)
def test_some_sentences_say_what_to_do(folder: Path, home: Path, text: str, states: bool) -> None:
    write(folder / "CLAUDE.md", text)
    assert [each.states for each in sentences_of(folder, {"CLAUDE_CONFIG_DIR": str(home)})] == [states]


def skipped(folder: Path, home: Path) -> list[str]:
    sentences_of(folder, {"CLAUDE_CONFIG_DIR": str(home)}, found := list[str]())
    return found


def test_what_is_not_read_is_named_with_the_reason(folder: Path, home: Path) -> None:
    assert skipped(folder, home) == []
    write(folder / "CLAUDE.md", "Be brief. " * 10_000)
    os.mkfifo(folder / "AGENTS.md")
    (folder / ".claude").mkdir()
    (folder / ".claude" / "CLAUDE.md").symlink_to(write(folder.parent / "elsewhere.md", "Be brief."))
    (folder / "CLAUDE.local.md").symlink_to(folder / "gone.md")
    home.mkdir(parents=True)
    (home / "CLAUDE.md").write_bytes("Be brief.".encode("utf-16"))
    assert read(folder, home) == []
    assert skipped(folder, home) == [
        "CLAUDE.md (too large)",
        "CLAUDE.local.md (not readable)",
        ".claude/CLAUDE.md (a link to another place)",
        "AGENTS.md (no plain file)",
        ".claude/CLAUDE.md (no text)",
    ]


def test_files_and_sentences_above_the_limits_are_counted(folder: Path, home: Path) -> None:
    for number in range(limits.RULE_FILES_MAX + 2):
        memory_of(folder, home, f"m{number:03}.md", f"---\ntype: feedback\ndescription: Rule {number}.\n---\n")
    assert skipped(folder, home) == ["2 files of Claude Code's memories after 100"]
    write(folder / "CLAUDE.md", "\n".join(f"- Rule {number} of the file." for number in range(1_000)))
    assert skipped(folder, home)[-1] == "100 sentences after 1,000"
