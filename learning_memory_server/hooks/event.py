"""What clients' hooks say and how they are answered: a row of one table for each client that differs.

The rows of Codex 0.169.0, Gemini CLI 0.61.0 and Copilot CLI 1.0.102 are what these programs were seen to give and to
take; those of VS Code, which is Copilot's, and Cursor are from their documentation.
"""

import html
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

SESSION_START: Final = "SessionStart"
SESSION_END: Final = "SessionEnd"
PROMPT: Final = "UserPromptSubmit"
BEFORE_TOOL: Final = "PreToolUse"
AFTER_TOOL: Final = "PostToolUse"
AFTER_FAILURE: Final = "PostToolUseFailure"
STOP: Final = "Stop"
AGENT_START: Final = "SubagentStart"
AGENT_STOP: Final = "SubagentStop"
LOADED: Final = "InstructionsLoaded"
RESUMED: Final = "resume"  # The source of a session that begins with what it was told before

_NESTED: Final = "hookSpecificOutput"  # The key of an answer in Claude Code
_CONTEXT: Final = "additionalContext"
LINE: Final = "systemMessage"  # The key of what Claude Code shows to the person
_OTHER_NAMES: Final = {
    "BeforeAgent": PROMPT,
    "AfterTool": AFTER_TOOL,
    "sessionStart": SESSION_START,
    "sessionEnd": SESSION_END,
}
"""What Gemini CLI and Cursor call events."""
_EVENT: Final = ("hook_event_name", "hookEventName")
_SESSION: Final = ("session_id", "sessionId", "conversation_id")
_OUTPUT: Final = (
    *("tool_response.stdout", "tool_response.llmContent", "tool_result.text_result_for_llm"),
    "tool_response",
)
"""Where clients say each of these: of the names after Claude Code's, VS Code has the second and Cursor the third."""


@dataclass(frozen=True, slots=True)
class _Dialect:
    """How a client's hooks differ from Claude Code's.

    `written` matches what it gives as the output of a command, with the groups `output` and, if it says the exit status
    there, `status`; otherwise its end is unknown. `replies` are the keys of an answer. `is_escaped`: what is told
    becomes a message of the developer, in which it could pass for the client's own markup. `starts_late`: its hook at
    the first prompt may run before the one at the start. `has_prompts`: what a hook says at a prompt is told.
    """

    written: re.Pattern[str] | None = None
    replies: tuple[str, ...] = (_NESTED,)
    is_escaped: bool = False
    starts_late: bool = False
    has_prompts: bool = True


_DIALECTS: Final[Mapping[str, _Dialect]] = {
    "codex": _Dialect(is_escaped=True),
    "gemini": _Dialect(
        re.compile(
            r"\A(?:<untrusted_context>\n)?Output: (?:\(empty\)|(?P<output>.*?))(?:\nExit Code: (?P<status>\d+))?"
            r"(?:\n(?:Signal|Background PIDs|Process Group PGID): [^\n]*){0,3}(?:\n</untrusted_context>)?\Z",
            re.DOTALL,
        )
    ),
    # VS Code reads the same files.
    "copilot": _Dialect(
        re.compile(r"\A(?P<output>.*?)\n?<shellId: \S{1,64} completed with exit code (?P<status>\d+)>\Z", re.DOTALL),
        (_CONTEXT, _NESTED),
        starts_late=True,
    ),
    "cursor": _Dialect(replies=("additional_context",), has_prompts=False),
}
"""The other clients, as the argument of the command `hook` names them."""
_SHELLS: Final = frozenset(
    {"Bash", "PowerShell", "shell", "run_shell_command", "run_in_terminal", "runInTerminal", "runTerminalCommand"}
)
"""The tools that run commands: of Claude Code, Codex and Copilot CLI, Gemini CLI, and VS Code."""
_TOLD: Final = re.compile(r"\A\s*(?:<hook_context>.*?</hook_context>\s*)+", re.DOTALL)
"""What Gemini CLI puts before a prompt: what hooks said when the session began."""

EDIT_MAX: Final = 20_000  # Characters of new lines that are looked at: of more, the first ones say what was changed
_FILE: Final = ("file_path", "filePath", "notebook_path", "absolute_path")
_OLD: Final = ("old_string", "oldString")
_NEW: Final = ("new_string", "newString", "content", "new_source")
_PATCHED: Final = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.+)$", re.MULTILINE)
"""What Codex's patches say before each file."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a client's session. What a client does not say is empty; the tool `hook` describes the texts.

    `is_background`: the command goes on in the background, so that nothing is known of its end. `is_again`: the agent
    goes on because of a hook of this event, or the client may say late that a session began. `is_unknown`: the client
    does not say if the command succeeded. `is_edit`: the file was edited, or made.
    `is_alone`: the client tells nothing at prompts.
    """

    name: str
    session: str = ""
    folder: str = ""
    prompt: str = ""  # what the user has written, or the task that a subagent is about to get
    kind_of_agent: str = ""
    command: str = ""
    output: str = ""
    error: str = ""
    file: str = ""  # what a tool has read or edited, mostly an absolute path
    new: str = ""  # the lines that an edit put in
    transcript: str = ""  # the file that the client writes the session to
    call: str = ""  # the client's id of the call that has ended
    source: str = ""  # why a session begins
    is_background: bool = False
    is_again: bool = False
    is_unknown: bool = False
    is_edit: bool = False
    is_alone: bool = False

    @property
    def kind(self) -> str:
        """Its name in Claude Code."""
        return _OTHER_NAMES.get(self.name, self.name)


def arguments_of(given: object, client: str = "") -> dict[str, str]:
    """Return what a client gives to a hook that is a command, as arguments of the tool `hook`.

    What is not a JSON object says nothing, not even which event it is.
    """
    if not isinstance(given, dict):
        return {}
    dialect = _DIALECTS.get(client, _Dialect())
    written = dialect.written
    event, prompt, output = (_find(given, names) for names in (_EVENT, ("prompt",), _OUTPUT))
    tool, tool_input = given.get("tool_name"), given.get("tool_input")
    is_start = Event(event or "").kind == SESSION_START
    found: dict[str, Any] = {
        **(edit_in(tool, tool_input) if isinstance(tool_input, dict) else {}),
        # Only a client's main agent begins a session.
        "agent": "" if is_start else _find(given, ("agent_id",)),
        **({"file": given["file_path"]} if event == LOADED and "file_path" in given else {}),
        "event": event,
        "session": _find(given, _SESSION),
        "folder": _find(given, ("cwd",)),
        "transcript": _find(given, ("transcript_path",)),
        "source": _find(given, ("source",)) if is_start else None,
        "alone": "" if dialect.has_prompts or not is_start else "true",
        "prompt": prompt and _TOLD.sub("", prompt),
        "command": _find(given, ("tool_input.command",)) if tool in _SHELLS else None,
        "error": _find(given, ("error",)),
        "again": "true" if given.get("stop_hook_active") is True or (is_start and dialect.starts_late) else "",
        "output": output,
        "stderr": _find(given, ("tool_response.stderr",)),
        "task": _find(given, ("tool_response.backgroundTaskId",)),
    }
    if output is not None and not found["error"]:
        if end := written and written.match(output.rstrip()):
            found["output"] = output = end["output"] or ""
            if int(end["status"] or 0):
                found["error"] = f"Exit code {end['status']}\n{output}"
        elif written or not isinstance(given.get("tool_response"), dict):
            found["unknown"] = "true"
    # Half an emoji, which clients cut texts at, is no reason to drop an event.
    texts = {name: value for name, value in found.items() if isinstance(value, str)}
    return {name: value.encode("utf-8", "replace").decode() for name, value in texts.items()}


def answer_for(client: str, said: str) -> str:
    """Return what a client's hook prints: the answer as Claude Code takes it, in the client's own form."""
    dialect, told = _DIALECTS.get(client, _Dialect()), json.loads(said).get(_NESTED)
    if told is None:
        return said
    if dialect.is_escaped:
        told[_CONTEXT] = html.escape(told[_CONTEXT], quote=False)
    answer = {key: told if key == _NESTED else told[_CONTEXT] for key in dialect.replies}
    if not client and (line := json.loads(said).get(LINE)):
        answer[LINE] = line
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":"))


def _find(given: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    """Return the first text that is under one of these names, whose parts are keys."""
    for name in names:
        found: Any = given
        for key in name.split("."):
            found = found.get(key) if isinstance(found, dict) else None
        if isinstance(found, str):
            return found
    return None


def edit_in(tool: object, tool_input: Mapping[str, Any]) -> dict[str, Any]:
    """Return the file that a tool's input names with old and new text, as arguments of the tool `hook`."""
    patch = tool_input.get("command")
    if tool == "apply_patch" and isinstance(patch, str) and (named := _PATCHED.search(patch)):
        lines = _PATCHED.split(patch)[2].splitlines()
        return {"file": named[1].strip(), **dict(zip(("old", "new"), _changed(lines), strict=True))}
    keys = {"file": _FILE, "old": _OLD, "new": _NEW}
    found = {name: next((tool_input[key] for key in those if key in tool_input), "") for name, those in keys.items()}
    return found if found["file"] else {}


def put_in(patch: str, new: str) -> str:
    """Return the lines that an edit put in: those of Claude Code's patch, JSON, else what was given."""
    try:
        hunks = json.loads(patch) if patch else []
        lines = [line for hunk in hunks for line in hunk["lines"]]
        new = _changed(lines)[1] if lines else new
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        pass  # It says less than it seems to, and is only used to recognise lines
    return new[:EDIT_MAX]


def _changed(lines: Iterable[str]) -> tuple[str, str]:
    """Return the lines of a diff that begin with `-`, and those with `+`."""
    kept = list(lines)
    return tuple("\n".join(line[1:] for line in kept if line.startswith(sign)) for sign in "-+")  # type: ignore[return-value]
