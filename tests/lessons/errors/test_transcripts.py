"""Commands are found in transcripts, whatever else is in them."""

import gzip
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.lessons.errors import transcripts as claude_code
from learning_memory_server.lessons.errors.transcripts import (
    Beginning,
    Passed,
    beginning_of,
    find_transcripts,
    projects_folder,
)
from tests.lessons.errors.reading import commands_in
from tests.lessons.errors.written import MISSING, NOON, Call, failed, lines_of, ran, write_transcript


def read(path: Path, passed: Passed | None = None) -> list[tuple[str, str | None]]:
    return [(each.command, each.output if each.has_failed else None) for each in commands_in(path, passed or Passed())]


def read_of(folder: Path, *calls: Call) -> list[tuple[str, str | None]]:
    return read(write_transcript(folder / "a.jsonl", *calls))


def test_a_command_has_its_session_time_folder_and_error(tmp_path: Path) -> None:
    path = write_transcript(tmp_path / "a.jsonl", failed("python -m pytest"), ran("python3 -m pytest", "1 passed"))
    first, second = commands_in(path, Passed())
    assert (first.session, first.agent, first.folder) == ("first", "", "/work/shop")
    assert (first.command, first.output, first.at) == ("python -m pytest", MISSING, NOON)
    assert (second.command, second.has_failed) == ("python3 -m pytest", False)


def test_powershell_is_a_shell(tmp_path: Path) -> None:
    calls = failed("python a.py", tool="PowerShell"), ran("python3 a.py", tool="PowerShell"), ran("x", tool="Read")
    assert read_of(tmp_path, *calls) == [("python a.py", MISSING), ("python3 a.py", None)]


def test_what_did_not_end_by_itself_is_left_out(tmp_path: Path) -> None:
    refused = failed("rm -r build", "The user doesn't want to proceed with this tool use.")
    interrupted = ran("sleep 100", result={"stdout": "", "stderr": "", "interrupted": True})
    background = ran("make serve", result={"stdout": "", "stderr": "", "backgroundTaskId": "b1"})
    assert read_of(tmp_path, refused, interrupted, background, ran("ls")) == [("ls", None)]


def test_an_output_in_parts_is_one(tmp_path: Path) -> None:
    parts = [{"type": "text", "text": "Exit code 1"}, {"type": "image"}, {"type": "text", "text": "error: no"}, 7]
    made = {"command": "make", "content": parts, "is_error": True}
    assert read_of(tmp_path, made) == [("make", "Exit code 1\n\nerror: no")]


def test_commands_of_subagents_say_so(tmp_path: Path) -> None:
    path = write_transcript(
        tmp_path / "a.jsonl",
        ran("ls", record={"isSidechain": True}),
        ran("ls", record={"isSidechain": True, "agentId": "a1"}),
        ran("ls"),
    )
    assert [each.agent for each in commands_in(path, Passed())] == ["side", "a1", ""]


def test_damaged_lines_and_unknown_records_are_passed_over(tmp_path: Path) -> None:
    good = lines_of(failed("python a.py"), ran("python3 a.py"))
    result = {"type": "tool_result", "tool_use_id": "toolu_first_0"}
    strange: list[Any] = [
        {"type": "invented", "tool_use": 1},
        ["tool_use"],
        {"type": "user", "message": {"content": [{"type": "tool_result"}, None, "tool_result", {"type": "tool_use"}]}},
        {"type": "assistant", "message": {"content": [{"type": "tool_use", "name": "Bash", "id": 3, "input": []}]}},
        {"type": "assistant", "message": {"content": [{"type": "tool_use", "name": [{}], "id": {}, "input": {}}]}},
        {"type": "user", "message": {"content": [{**result, "tool_use_id": ["x"]}]}, "timestamp": 5},
    ]
    lines = [
        good[0],
        '{"type": "tool_use", "torn',
        '"tool_result": ' + "[" * 100_000,
        *map(json.dumps, strange),
        *good[1:],
        '{"tool_result" \x00',
    ]
    path = tmp_path / "a.jsonl"
    path.write_bytes("\n".join(lines).encode() + b"\n\xff\xfe tool_result\n")
    passed = Passed()
    assert read(path, passed) == [("python a.py", MISSING), ("python3 a.py", None)]
    # The torn one, the nested one, the list, and the one with a zero byte.
    assert (passed.lines, passed.files) == (4, {})


def test_half_a_character_can_be_stored(tmp_path: Path) -> None:
    assert read_of(tmp_path, ran("echo \ud800")) == [("echo ?", None)]


@pytest.mark.parametrize("stamp", [None, 5, "yesterday", "0001-01-01T00:00:00+23:00", "9999-12-31T23:59:59-23:00"])
def test_a_command_without_a_time_is_left_out(tmp_path: Path, stamp: object) -> None:
    assert read_of(tmp_path, ran("ls", record={"timestamp": stamp})) == []


def test_long_lines_are_never_in_ram_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claude_code, "LINE_MAX", 20_000)
    path = tmp_path / "a.jsonl"
    first, second = lines_of(ran("ls")), lines_of(ran("pwd"), session="second")
    endless = json.dumps({"tool_result": "x" * 3_000_000})
    path.write_text("\n".join([*first, endless, *second, endless]), "utf-8")
    passed = Passed()
    tracemalloc.start()
    assert read(path, passed) == [("ls", None), ("pwd", None)]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert passed.lines == 2
    assert peak < 1_000_000


def test_packed_transcripts_are_read_and_damaged_ones_named(tmp_path: Path) -> None:
    content = "\n".join(lines_of(failed("python a.py"), ran("python3 a.py"))).encode()
    whole, torn, wrong = (tmp_path / f"{name}.jsonl.gz" for name in ("whole", "torn", "wrong"))
    whole.write_bytes(gzip.compress(content))
    torn.write_bytes(gzip.compress(content)[:-30])
    wrong.write_bytes(content)
    passed = Passed()
    assert len(read(whole, passed)) == 2
    assert passed.files == {}
    read(torn, passed)
    read(wrong, passed)
    assert [name.partition(":")[0] for name in passed.files] == ["torn.jsonl.gz", "wrong.jsonl.gz"]
    assert beginning_of(whole, passed) == ("/work/shop", NOON)
    assert beginning_of(wrong, passed) == Beginning()


def test_links_out_of_the_folder_are_not_followed(tmp_path: Path) -> None:
    place, outside = tmp_path / "projects", tmp_path / "outside"
    kept = write_transcript(place / "-work-shop" / "a.jsonl", ran("ls"))
    agent = write_transcript(place / "-work-shop" / "a" / "subagents" / "agent-1.jsonl", ran("ls"))
    other = write_transcript(outside / "b.jsonl", ran("ls"))
    (place / "-work-shop" / "b.jsonl").symlink_to(other)
    (place / "-work-other").symlink_to(outside)
    (place / "-work-shop" / "c.jsonl").symlink_to(tmp_path / "nowhere.jsonl")
    (place / "-work-shop" / "d.jsonl").symlink_to("d.jsonl")
    (place / "-work-shop" / "notes.txt").write_text("not one", "utf-8")
    (place / "-work-shop" / "folder.jsonl").mkdir()
    passed = Passed()
    assert find_transcripts(place, passed) == [agent, kept]
    assert passed.outside == 2
    (tmp_path / "link").symlink_to(place)
    assert find_transcripts(tmp_path / "link", Passed()) == [agent, kept]
    assert find_transcripts(kept, Passed()) == [kept]


def test_a_client_keeps_transcripts_where_its_variable_says() -> None:
    assert projects_folder({"CLAUDE_CONFIG_DIR": "/etc/claude"}) == Path("/etc/claude/projects")
    assert projects_folder({"CLAUDE_CONFIG_DIR": ""}) == Path.home() / ".claude" / "projects"


def test_progress_is_told_in_bytes(tmp_path: Path) -> None:
    path = write_transcript(tmp_path / "a.jsonl", *[ran("ls")] * 600)
    told: list[int] = []
    assert len(list(commands_in(path, Passed(), told.append))) == 600
    assert told == sorted(told)
    assert 0 < told[0] <= told[-1] <= path.stat().st_size
