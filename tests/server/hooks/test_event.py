"""What clients give to a hook that is a command, in the arguments of the tool."""

from typing import Any

import pytest

from learning_memory_server.server.hooks.hooks import Event, arguments_of


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (
            {"hook_event_name": "SessionStart", "session_id": "s", "cwd": "/shop", "source": "resume"},
            {"event": "SessionStart", "agent": "", "session": "s", "folder": "/shop", "again": ""},
        ),
        (
            {"hook_event_name": "PostToolUse", "agent_id": "a1"},
            {"event": "PostToolUse", "agent": "a1", "again": ""},
        ),
        (
            {"hook_event_name": "Stop", "session_id": "s", "stop_hook_active": True},
            {"event": "Stop", "session": "s", "again": "true"},
        ),
        (
            {
                "hook_event_name": "PostToolUse",
                "tool_name": "Bash",
                "tool_input": {"command": "make"},
                "tool_response": {"stdout": "built", "stderr": "a warning", "interrupted": False},
            },
            {
                "event": "PostToolUse",
                "command": "make",
                "output": "built",
                "stderr": "a warning",
                "again": "",
            },
        ),
        (
            {
                "hook_event_name": "AfterTool",
                "tool_name": "run_shell_command",
                "tool_input": {"command": "make"},
                "tool_response": {"llmContent": "Output: built"},
            },
            {"event": "AfterTool", "command": "make", "output": "Output: built", "again": ""},
        ),
        (
            {
                "hook_event_name": "AfterTool",
                "tool_name": "run_shell_command",
                "tool_input": {"command": "make"},
                "tool_response": {"llmContent": "Output: broken\nExit Code: 2"},
            },
            {
                "event": "AfterTool",
                "command": "make",
                "output": "Output: broken\nExit Code: 2",
                "error": "Exit code 2\nOutput: broken\nExit Code: 2",
                "again": "",
            },
        ),
        (
            {
                "hook_event_name": "PostToolUse",
                "tool_name": "run_in_terminal",
                "tool_input": {"command": "make"},
                "tool_response": "built",
            },
            {"event": "PostToolUse", "command": "make", "output": "built", "unknown": "true", "again": ""},
        ),
        (
            {"hook_event_name": "PostToolUse", "tool_name": "Write", "tool_input": {"command": "make"}},
            {"event": "PostToolUse", "again": ""},
        ),
        ({"hook_event_name": 3, "tool_input": "make", "tool_response": [1]}, {"again": ""}),
    ],
)
def test_what_a_client_says_becomes_arguments(given: dict[str, Any], wanted: dict[str, str]) -> None:
    assert arguments_of(given) == wanted


def test_the_events_of_gemini_cli_are_those_of_claude_code() -> None:
    assert Event("BeforeAgent").kind == Event("UserPromptSubmit").kind
    assert Event("AfterTool").kind == Event("PostToolUse").kind


@pytest.mark.parametrize("given", [None, [1, 2], "SessionStart", 1])
def test_what_is_not_an_object_says_nothing(given: object) -> None:
    assert arguments_of(given) == {}
