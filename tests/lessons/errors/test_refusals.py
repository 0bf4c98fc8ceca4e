"""Refusals are found in transcripts of all versions, and nothing else is one."""

import json
from datetime import timedelta
from pathlib import Path

import pytest

from learning_memory_server.redaction.gate import RedactionGate
from learning_memory_server.redaction.redactor import build_redactor
from learning_memory_server.rules.suggesting.refusals import can_be_kept, refusal_of
from tests.lessons.errors.imitations import imitations
from tests.lessons.errors.reading import refusals_in
from tests.lessons.errors.written import (
    NOON,
    OF_SUBAGENT,
    Call,
    failed,
    lines_of,
    ran,
    refused,
    refused_earlier,
    write_transcript,
)

FILE = {"file_path": "/work/shop/a.py"}
SHAPES: dict[str, tuple[Call, str]] = {
    "2.1.330": (refused("git push", "pull rebase first"), "pull rebase first"),
    "2.1.330, of a subagent": (refused("git push", "not you", agent="a1"), "not you"),
    "2.1.330, without words": (refused("git push"), ""),
    "2.1.39": (refused_earlier("git push", "pull rebase first"), "pull rebase first"),
    "2.1.39, without words": (refused_earlier("git push", result="User rejected tool use"), ""),
    "2.0.76, a file": (refused_earlier("", "wrong file", tool="Write", input=FILE), "wrong file"),
    "1.0, in parts": (
        refused_earlier("git push", result=None)
        | {"content": [{"type": "text", "text": refused_earlier("", "no")["content"]}]},
        "no",
    ),
    "with a note": (
        refused_earlier("git push", "no\n\nNote: The user's next message may contain a correction or preference. Pay"),
        "no",
    ),
    "of a subagent, without words": (
        failed("git push", f"{OF_SUBAGENT} Try a different approach or report the limitation to complete your task."),
        "",
    ),
    "several lines": (refused_earlier("git push", "one\ntwo"), "one\ntwo"),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_each_version_s_refusals_are_found(tmp_path: Path, shape: str) -> None:
    call, words = SHAPES[shape]
    path = write_transcript(tmp_path / "a.jsonl", ran("ls"), call, failed("make"), ran("git push"))
    (found,) = refusals_in(path)
    is_file = call.get("tool") == "Write"
    assert (found.tool, found.call) == (("Write", "/work/shop/a.py") if is_file else ("Bash", "git push"))
    assert (found.words, found.folder, found.at) == (words, "/work/shop", NOON + timedelta(seconds=1))


def test_several_refusals_are_found_in_their_order(tmp_path: Path) -> None:
    path = write_transcript(tmp_path / "a.jsonl", *(call for call, _ in SHAPES.values()))
    assert [each.words for each in refusals_in(path)] == [words for _, words in SHAPES.values()]


def test_none_is_invented(tmp_path: Path) -> None:
    made, path, found = list(imitations()), tmp_path / "a.jsonl", set[str]()
    assert len(made) > 100
    for way, lines in made:
        path.write_text("\n".join(lines), "utf-8")
        found |= {way for _ in refusals_in(path)}
    assert found == set()


def test_damaged_lines_are_passed_over(tmp_path: Path) -> None:
    path, lines = tmp_path / "a.jsonl", lines_of(refused("git push", "no"))
    broken = json.dumps({"type": "assistant", "message": {"content": [{"type": "tool_use", "name": 7, "input": []}]}})
    damaged = [line[: len(line) // 2] for line in lines]
    path.write_text("\n".join([*damaged, '"tool_use" [', '"tool_use"' + "[" * 100_000, broken, *lines]), "utf-8")
    assert len(refusals_in(path)) == 1


async def test_a_refusal_has_no_secret_and_no_folder_of_this_machine(tmp_path: Path) -> None:
    call = f"cd {tmp_path} && git push https://me:s3cr3tPassw0rd@example.com"
    path = write_transcript(
        tmp_path / "a.jsonl", refused(call, "not with password=s3cr3tPassw0rd"), folder=str(tmp_path)
    )
    (found,) = refusals_in(path)
    kept = await refusal_of(found, "a", "shop", found.folder, RedactionGate(build_redactor()))
    assert (kept.tool, kept.at, kept.sessions) == ("Bash", NOON, ("a",))
    assert kept.words.startswith("not with ")
    for text in (kept.call, kept.words):
        assert "s3cr3t" not in text
        assert str(tmp_path) not in text


def test_only_one_short_line_without_an_address_can_be_kept() -> None:
    assert can_be_kept("pull rebase first")
    assert can_be_kept("über main: 'rebase' \N{EM DASH} nie mergen \N{SMILING FACE WITH SMILING EYES}")
    for words in (
        "",
        "a\nb",
        "x" * 201,
        "see https://example.com",
        "see WWW.example.com",
        "a\u202eb",
        "a\tb",
        "a\x1b[1m",
    ):
        assert not can_be_kept(words)
