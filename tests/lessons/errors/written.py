"""Transcripts of sessions that nobody had, in Claude Code's format."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
MISSING = "Exit code 1\n/usr/bin/python: No module named pytest"

Call = dict[str, Any]


def ran(command: str, output: str = "", **more: Any) -> Call:
    return {"command": command, "content": output, "is_error": False, **more}


REJECTED = "The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file)."
REFUSED = f"The user doesn't want to proceed with this tool use. {REJECTED}"
STOPPED = f"{REFUSED} STOP what you are doing and wait for the user to tell you how to proceed."
OF_SUBAGENT = f"Permission for this tool use was denied. {REJECTED}"


def refused(command: str, words: str = "", *, agent: str = "", **more: Any) -> Call:
    """A call that a person refused, as Claude Code 2.1.330 writes it; earlier versions lack the two new keys."""
    begins = OF_SUBAGENT if agent else f"{REFUSED} To tell you how to proceed, the user said:\n"
    begins = f"{OF_SUBAGENT} The user said:\n" if agent else begins
    new = {"toolDenialKind": "user-rejected", **({"userFeedback": words} if words else {})}
    record = {"isSidechain": bool(agent), **({"agentId": agent} if agent else {}), **new, **more.pop("record", {})}
    return failed(command, f"{begins}{words}" if words else STOPPED, record=record, **more)


def refused_earlier(command: str, words: str = "", **more: Any) -> Call:
    """The same as versions from 1.0 to 2.1.39 write it."""
    return failed(
        command, f"{REFUSED} To tell you how to proceed, the user said:\n{words}" if words else STOPPED, **more
    )


def failed(command: str, output: str = MISSING, **more: Any) -> Call:
    return {"command": command, "content": output, "is_error": True, **more}


def lines_of(
    *calls: Call,
    session: str = "first",
    folder: str = "/work/shop",
    hour: int = 0,
    at: datetime = NOON,
    prompt: str = "Make the tests pass",
    ending: str = "The tests pass.",
) -> list[str]:
    began = at + timedelta(hours=hour)
    every = {"isSidechain": False, "userType": "external", "cwd": folder, "sessionId": session}
    lines: list[Any] = [
        {"type": "file-history-snapshot", "messageId": "x", "snapshot": {}},
        {**every, "type": "user", "message": {"role": "user", "content": prompt}},
    ]
    for number, call in enumerate(calls):
        name = f"toolu_{session}_{number}"
        stamp = {"timestamp": _stamp(began + timedelta(seconds=number)), **every, **call.get("record", {})}
        asked = {
            "type": "tool_use",
            "id": name,
            "name": call.get("tool", "Bash"),
            "input": call.get("input", {"command": call["command"]}),
        }
        told = {"type": "tool_result", "tool_use_id": name, "content": call["content"], "is_error": call["is_error"]}
        usual = {"stdout": call["content"], "stderr": "", "interrupted": False}
        result = call.get("result", f"Error: {call['content']}" if call["is_error"] else usual)
        lines += [
            {**stamp, "type": "assistant", "message": {"role": "assistant", "content": [asked]}},
            {**stamp, "type": "user", "message": {"role": "user", "content": [told]}, "toolUseResult": result},
        ]
    said = {"role": "assistant", "content": [{"type": "text", "text": ending}]}
    end = _stamp(began + timedelta(seconds=len(calls)))
    lines.append({**every, "timestamp": end, "type": "assistant", "message": said})
    return [json.dumps(line) for line in lines]


def _stamp(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")


def write_transcript(path: Path, *calls: Call, **more: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines_of(*calls, **more)), "utf-8")
    return path
