"""What happened in a client, as its hooks say it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

SESSION_START: Final = "SessionStart"
SESSION_END: Final = "SessionEnd"
PROMPT: Final = "UserPromptSubmit"
BEFORE_TOOL: Final = "PreToolUse"
AFTER_TOOL: Final = "PostToolUse"
AFTER_FAILURE: Final = "PostToolUseFailure"
STOP: Final = "Stop"

_OTHER_NAMES: Final = {"BeforeAgent": PROMPT, "BeforeTool": BEFORE_TOOL, "AfterTool": AFTER_TOOL}
"""What Gemini CLI calls events."""
_SHELLS: Final = frozenset(
    {"Bash", "shell", "run_shell_command", "run_in_terminal", "runInTerminal", "runTerminalCommand"}
)
"""The tools that run commands: of Claude Code, Codex, Gemini CLI and VS Code."""
_EXIT_CODE: Final = re.compile(r"^Exit Code: ([1-9]\d*)$", re.MULTILINE)
"""What Gemini CLI writes below the output of a command that failed."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a client's session. What a client does not say is empty; the tool `hook` describes the texts.

    `is_background`: the command goes on in the background, so that nothing is known of its end. `is_again`: the agent
    goes on because of a hook of this event. `is_unknown`: the client does not say if the command succeeded.
    """

    name: str
    session: str = ""
    folder: str = ""
    prompt: str = ""
    command: str = ""
    output: str = ""
    error: str = ""
    is_background: bool = False
    is_again: bool = False
    is_unknown: bool = False

    @property
    def kind(self) -> str:
        """Its name in Claude Code."""
        return _OTHER_NAMES.get(self.name, self.name)


def arguments_of(given: object) -> dict[str, str]:
    """Return what a client gives to a hook that is a command, as arguments of the tool `hook`.

    What is not a JSON object says nothing, not even which event it is.
    """
    if not isinstance(given, dict):
        return {}
    tool_input, response = given.get("tool_input"), given.get("tool_response")
    tool_input = tool_input if isinstance(tool_input, dict) else {}
    command = tool_input.get("command") if given.get("tool_name") in _SHELLS else None
    found: dict[str, Any] = {
        # Only a client's main agent begins a session.
        "agent": "" if given.get("hook_event_name") == SESSION_START else given.get("agent_id"),
        "event": given.get("hook_event_name"),
        "session": given.get("session_id"),
        "folder": given.get("cwd"),
        "prompt": given.get("prompt"),
        "command": command,
        "error": given.get("error"),
        "again": "true" if given.get("stop_hook_active") is True else "",
    }
    if isinstance(response, dict):
        found |= {
            "output": response.get("stdout") or response.get("llmContent"),
            "stderr": response.get("stderr"),
            "task": response.get("backgroundTaskId"),
        }
    elif isinstance(response, str):
        found |= {"output": response, "unknown": "true"}
    output = found.get("output")
    # Clients without an event of its own for failures say so at the end of the output.
    if isinstance(output, str) and not found["error"] and (status := _EXIT_CODE.search(output)):
        found["error"] = f"Exit code {status[1]}\n{output}"
    return {name: value for name, value in found.items() if isinstance(value, str)}
