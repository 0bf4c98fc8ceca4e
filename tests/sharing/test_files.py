"""Shared files: written so that others can read them, and read as what an enemy may have written."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from learning_memory_server.model.entry import Anchor
from learning_memory_server.model.value import ClusterId, Evidence, Value
from learning_memory_server.model.vocabulary import Axis
from learning_memory_server.sharing.files import (
    FOLDER,
    FileKind,
    SharedFile,
    entry_of,
    of_entry,
    of_value,
    parse,
    verdict,
)
from learning_memory_server.sharing.tree import sound_files, working_files
from tests.sharing.repositories import lesson, write
from tests.support import NOON, full_ghap, ghap


def read(file: SharedFile) -> SharedFile:
    said = parse(file.name, file.render().encode())
    assert isinstance(said, SharedFile)
    return said


def test_a_lesson_is_read_as_it_was_written() -> None:
    entry = full_ghap()
    file = of_entry(entry)

    assert read(file) == file
    again = entry_of(file, "shared_0", "acme/shop", author="Ann")
    assert again.outcome.lesson == entry.outcome.lesson
    assert again.outcome.root_cause == entry.outcome.root_cause
    assert (again.goal, again.hypothesis) == (entry.goal, entry.hypothesis)
    assert again.outcome.surprise == entry.outcome.surprise
    # Nothing of when and how it was worked on, and nothing of the session.
    assert "pool's size" not in file.render()
    assert entry.agent_session not in file.render()


def test_a_lesson_of_an_entry_written_afterwards_has_no_domain_and_no_strategy() -> None:
    entry = replace(full_ghap(), afterwards=True, domain=None, strategy=None)
    entry = replace(entry, resolution=replace(entry.outcome, words="no, not the pool"))
    file = of_entry(entry)

    assert read(file) == file
    assert "domain" not in file.fields
    assert "not the pool" not in file.render()
    again = entry_of(file, "shared_0", "acme/shop")
    assert (again.afterwards, again.domain, again.strategy) == (True, None, None)
    half = replace(file, fields={**file.fields, "domain": "debugging"})
    assert isinstance(parse(half.name, half.render().encode()), str)


def test_every_kind_is_read_as_it_was_written() -> None:
    evidence = Evidence((), (), 0.0, 0.0, 0.0, "")
    value = Value("value_1", "Measure first.", ClusterId(Axis.FULL, 1), "acme/shop", NOON, evidence)
    about = lesson(1)
    for file in (
        of_value(value),
        *(verdict(kind, about, full_ghap()) for kind in (FileKind.CONFIRMS, FileKind.CONTRADICTS)),
        verdict(FileKind.WITHDRAWS, about),
    ):
        assert read(file) == file
    assert full_ghap().id not in verdict(FileKind.CONFIRMS, about, full_ghap()).render()


def test_texts_that_look_like_the_format_stay_texts() -> None:
    for text in ("# Title", "## Lesson", "\\# a \\ b", "one\n\n## What happened\n\ntwo", "#", "\u2028 x \x85 y"):
        file = lesson(1, Lesson=text * 30)
        assert read(file) == file
        assert read(file).texts["Lesson"] == " ".join((text * 30).split())


def test_line_ends_spaces_before_them_and_a_mark_at_the_start_change_nothing() -> None:
    file = lesson(3)
    text = file.render()
    for changed in (
        text.replace("\n", "\r\n"),
        text.replace("\n", "  \n"),
        text.rstrip(),
        f"{text}\n\n",
        f"\ufeff{text}",
    ):
        assert parse(file.name, changed.encode()) == file


def test_any_other_change_is_refused() -> None:
    file = lesson(4)
    text = file.render()
    for number in range(0, len(text), 7):
        changed = f"{text[:number]}x{text[number:]}"
        assert isinstance(parse(file.name, changed.encode()), str)


def hostile_files() -> dict[str, bytes]:
    """Files by name that must not be read as lessons."""
    good = lesson(9)
    text, name = good.render(), good.name
    names = ("UPPER.md", name.upper(), f"{name}.md", "2026-03-01-zzzzzzzzzzzzzzzz.md", "con.md", "a\\b.md", "-rf.md")
    made = dict.fromkeys((*names, "README.md", "caf\u00e9.md"), text.encode()) | {".gitattributes": b"* filter=evil"}
    contents = (
        *(b"", b"\x00" * 1000, b"\xff\xfe" + text.encode("utf-16-le"), text.encode("utf-16"), b"(" * 60_000),
        *(b"#" * 60_000, b"## " * 20_000, b"\n" * 60_000, b"# x\n" * 10_000, text.encode() + b"x" * (1 << 17)),
        text.encode().replace(b"Lesson", b"Less\xf6n"),
        b"<!-- learning-memory: 2; kind: lesson -->",
        b"<!-- " + b"a: b; " * 10_000 + b"a: b -->",
        b"<!-- learning-memory: 1; date: 2026-03-01; id: " + b"0" * 32 + b"; kind: fold -->\n\n## Removed\n\nall\n",
        *(
            changed.encode()
            for changed in (
                text.replace("outcome", "outcome: confirmed; outcome"),
                text.replace("falsified", "marvellous"),
                text.replace("2026-03-01", "2026-13-99"),
                text.replace("## ", "### "),
                f"{text}\n## Lesson\n\nAnother.\n",
                f"{text}\nsecret tail\n",
            )
        ),
    )
    return made | {f"2026-03-01-{number:016x}.md": content for number, content in enumerate(contents)}


def test_no_hostile_file_is_read_or_hurts(tmp_path: Path) -> None:
    write(tmp_path, lesson(1))
    folder = tmp_path / FOLDER
    for name, data in hostile_files().items():
        (folder / name).write_bytes(data)
    names = iter(f"2026-03-02-{number:016x}.md" for number in range(100))
    (folder / next(names)).symlink_to("/dev/zero")
    (folder / next(names)).symlink_to(lesson(1).name)
    (folder / next(names)).symlink_to("/etc/passwd")
    os.mkfifo(folder / next(names))
    (folder / next(names) / "deep" / "deeper").mkdir(parents=True)
    with (folder / next(names)).open("wb") as huge:
        huge.truncate(1 << 33)

    found = working_files(tmp_path)

    assert sound_files(tmp_path) == {lesson(1).name: lesson(1)}
    assert len(found) == len(hostile_files()) + 7
    assert all(isinstance(said, str) for name, said in found.items() if name != lesson(1).name)


def test_a_folder_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    write(tmp_path / "elsewhere", lesson(1))
    (tmp_path / "repository").mkdir()
    (tmp_path / "repository" / ".learning-memory").symlink_to(tmp_path / "elsewhere" / ".learning-memory")
    assert sound_files(tmp_path / "repository") == {}


def test_a_lesson_is_about_twenty_files_at_most() -> None:
    names = [f"src/{number}/{'module' * 30}.py" for number in range(21)]
    assert read(lesson(1, Files=" ".join(names[:20])))
    for paths in (" ".join(names), "x " * 10_000, "x" * 60_000):
        file = lesson(1, Files=paths)
        assert parse(file.name, file.render().encode()) == "it lacks a part, or has one that is too long"
    anchors = tuple(Anchor(name) for name in names)
    assert read(of_entry(replace(full_ghap(), anchors=anchors)))
    assert isinstance(parse((long := lesson(1, Lesson="x " * 2_000)).name, long.render().encode()), str)


def test_an_open_entry_has_nothing_to_share() -> None:
    with pytest.raises(ValueError, match="open"):
        of_entry(ghap())
