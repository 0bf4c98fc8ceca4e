"""What clients' hooks say, as triggers, and how they are answered: a row of one table for each client that differs.

The rows of Codex 0.169.0, Gemini CLI 0.61.0 and Copilot CLI 1.0.102 are what these programs were seen to give and to
take; those of VS Code, which is Copilot's, and Cursor are from their documentation.
"""

import html
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from learning_memory_server.advice.candidates import Shown
from learning_memory_server.hooks.edits import edit_in, edited_in, find_text, texts_in
from learning_memory_server.lessons.errors.sanitize import ends
from learning_memory_server.model import limits
from learning_memory_server.model.advice import TriggerKind
from learning_memory_server.model.trigger import Trigger

BEFORE_TOOL: Final = "PreToolUse"
_KINDS: Final = {
    "SessionStart": TriggerKind.SESSION_START,
    "SessionEnd": TriggerKind.SESSION_END,
    "InstructionsLoaded": TriggerKind.LOADED,
    "UserPromptSubmit": TriggerKind.PROMPT,
    BEFORE_TOOL: TriggerKind.SUBAGENT_TASK,
    "SubagentStart": TriggerKind.SUBAGENT_START,
    "PostToolUse": TriggerKind.COMMAND,
    "PostToolUseFailure": TriggerKind.COMMAND,
    "Stop": TriggerKind.STOP,
    "SubagentStop": TriggerKind.SUBAGENT_STOP,
}
"""Claude Code's events. What a tool has done is a command, or about a file."""

_NESTED: Final = "hookSpecificOutput"  # The key of an answer in Claude Code
_CONTEXT: Final = "additionalContext"
_DECISION: Final = "permissionDecision"
LINE: Final = "systemMessage"  # The key of what Claude Code shows to the person
_MARKUP: Final = re.compile(r"<(?=/?system-reminder)", re.IGNORECASE)
"""What would pass for the client's own markup."""
_OTHER_NAMES: Final = {
    "BeforeAgent": "UserPromptSubmit",
    "AfterTool": "PostToolUse",
    "sessionStart": "SessionStart",
    "sessionEnd": "SessionEnd",
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
    the first prompt may run before the one at the start. `has_prompts`: what a hook says at a prompt is told. `loads`:
    the names of the files of rules that the client reads itself.
    """

    written: re.Pattern[str] | None = None
    replies: tuple[str, ...] = (_NESTED,)
    is_escaped: bool = False
    starts_late: bool = False
    has_prompts: bool = True
    loads: str = "AGENTS.md"


_DIALECTS: Final[Mapping[str, _Dialect]] = {
    "codex": _Dialect(is_escaped=True),
    "gemini": _Dialect(
        re.compile(
            r"\A(?:<untrusted_context>\n)?Output: (?:\(empty\)|(?P<output>.*?))(?:\nExit Code: (?P<status>\d+))?"
            r"(?:\n(?:Signal|Background PIDs|Process Group PGID): [^\n]*){0,3}(?:\n</untrusted_context>)?\Z",
            re.DOTALL,
        ),
        loads="GEMINI.md",
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
_CLAUDE_CODE: Final = _Dialect(loads="CLAUDE.md CLAUDE.local.md .claude/CLAUDE.md")
_SHELLS: Final = frozenset(
    {"Bash", "PowerShell", "shell", "run_shell_command", "run_in_terminal", "runInTerminal", "runTerminalCommand"}
)
"""The tools that run commands: of Claude Code, Codex and Copilot CLI, Gemini CLI, and VS Code."""
_TOLD: Final = re.compile(r"\A\s*(?:<hook_context>.*?</hook_context>\s*)+", re.DOTALL)
"""What Gemini CLI puts before a prompt: what hooks said when the session began."""

_PATH_MAX: Final = 4_096  # Characters of a path; no system opens a longer one
_PROMPT_MAX: Final = 100_000  # Characters of a prompt that are looked at
_GIVEN_MAX: Final = 2 * _PROMPT_MAX  # The same, with what hooks said before
_COMMAND_MAX: Final = 8_000  # Characters of a command that are looked at: the rest of a longer one is a script
_CALL_MAX: Final = 64_000  # The same before it runs: what stands behind a long text may break a rule
_WITH_TEXTS: Final = (BEFORE_TOOL, "PostToolUse", "AfterTool")
"""The events whose edits rules are about."""


def trigger_of(event: Mapping[str, object], context: str) -> Trigger | None:
    """Return the trigger that an event is, as the tool `hook` gets it; None for an event that nothing is known of.

    What is no text counts as absent. `context` is a hash of the client's name of the session.
    """

    def text(name: str) -> str:
        found = event.get(name)
        return found if isinstance(found, str) else ""

    def path(name: str) -> str:
        return found if len(found := text(name)) <= _PATH_MAX else ""

    kind = _kind_of(event)
    if kind is None:
        return None
    if kind is TriggerKind.COMMAND and text("file"):
        kind = TriggerKind.FILE
    elif kind is TriggerKind.SUBAGENT_TASK and (text("command") or text("file")):
        kind = TriggerKind.CALL
    before, content = ("", "") if text("command") else edited_in(event)
    return Trigger(
        kind=kind,
        context=context,
        key=text("call")[: limits.ID_MAX],
        folder=path("folder"),
        transcript=path("transcript"),
        text=(text("prompt") or text("said"))[:_PROMPT_MAX],
        kind_of_agent=text("kind"),
        command=text("command")[: _CALL_MAX if text("event") == BEFORE_TOOL else _COMMAND_MAX],
        output=ends("\n".join(filter(None, (ends(text("output")), ends(text("stderr")))))),
        error=ends(text("error")),
        file=path("file"),
        content=content,
        before=before,
        loads=tuple(text("loads").split()),
        source=text("source"),
        is_edit=text("edit") == "true",
        is_background=text("background") == "true" or bool(text("task")),
        is_unknown=text("unknown") == "true",
        is_again=text("again") == "true",
        has_no_prompts=text("alone") == "true",
    )


def event_of(given: object, client: str = "") -> dict[str, str]:
    """Return what a client gives to a hook that is a command, as the event that the tool `hook` gets.

    What is not a JSON object says nothing, not even which event it is.
    """
    if not isinstance(given, dict):
        return {}
    dialect = _DIALECTS.get(client, _CLAUDE_CODE)
    written = dialect.written
    event, prompt, output = (find_text(given, names) for names in (_EVENT, ("prompt",), _OUTPUT))
    # Of a long one no pattern needs more, and on the loop none may see more.
    prompt, output = prompt and prompt[:_GIVEN_MAX], output and ends(output)
    tool = given.get("tool_name")
    tool_input = each if isinstance(each := given.get("tool_input"), dict) else {}
    is_start = _OTHER_NAMES.get(event or "", event) == "SessionStart"
    found: dict[str, Any] = {
        **edit_in(tool, tool_input),
        **(texts_in(tool_input) if event in _WITH_TEXTS else {}),
        # Only a client's main agent begins a session.
        "agent": "" if is_start else find_text(given, ("agent_id",)),
        **({"file": given["file_path"]} if event == "InstructionsLoaded" and "file_path" in given else {}),
        "event": event,
        "session": find_text(given, _SESSION),
        "folder": find_text(given, ("cwd",)),
        "transcript": find_text(given, ("transcript_path",)) if client == "" else None,
        "source": find_text(given, ("source",)) if is_start else None,
        "loads": dialect.loads if is_start else None,
        "alone": "" if dialect.has_prompts or not is_start else "true",
        "said": find_text(given, ("last_assistant_message",)),
        "prompt": prompt and _TOLD.sub("", prompt),
        "command": find_text(given, ("tool_input.command",)) if isinstance(tool, str) and tool in _SHELLS else None,
        "error": find_text(given, ("error",)),
        "again": "true" if given.get("stop_hook_active") is True or (is_start and dialect.starts_late) else "",
        "output": output,
        "stderr": find_text(given, ("tool_response.stderr",)),
        "task": find_text(given, ("tool_response.backgroundTaskId",)),
        "call": find_text(given, ("tool_use_id",)),
    }
    if output is not None and not found["error"]:
        if end := written and written.match(output.rstrip()):
            found["output"] = output = end["output"] or ""
            if int(end["status"] or 0):
                found["error"] = f"Exit code {end['status']}\n{output}"
        elif written or not isinstance(given.get("tool_response"), dict):
            found["unknown"] = "true"
    if client and event == BEFORE_TOOL:
        # How these clients take a decision is another matter.
        found["command"] = found["file"] = None
    # Half an emoji, which clients cut texts at, is no reason to drop an event.
    texts = {name: value for name, value in found.items() if isinstance(value, str)}
    return {name: value.encode("utf-8", "replace").decode() for name, value in texts.items()}


def begins_session(event: Mapping[str, object]) -> bool:
    """Return whether an event is the start of a session."""
    return _kind_of(event) is TriggerKind.SESSION_START


def is_for_advice(event: Mapping[str, object]) -> bool:
    """Return whether an event is a start or a prompt: its advice is worth nothing once the client has left.

    What the server learns from it is noted before anything is waited for.
    """
    return _kind_of(event) in {TriggerKind.SESSION_START, TriggerKind.PROMPT}


def _kind_of(event: Mapping[str, object]) -> TriggerKind | None:
    """Return the trigger that an event's name stands for, None if it is unknown."""
    name = event.get("event")
    return _KINDS.get(_OTHER_NAMES.get(name, name)) if isinstance(name, str) else None


def answer_in_words(event: Mapping[str, object], text: str) -> str:
    """Return a text as an answer in Claude Code's JSON; empty if the text is empty."""
    return answer_of(str(event.get("event", "")), Shown(text=text)) if text else ""


def answer_of(event: str, shown: Shown) -> str:
    """Return an answer in Claude Code's JSON; empty if there is nothing to show or decide."""
    answer: dict[str, object] = {}
    said: dict[str, str] = {}
    if shown.decision:
        said[_DECISION] = shown.decision.permission.value
        said[f"{_DECISION}Reason"] = _MARKUP.sub("&lt;", shown.decision.reason)
    if shown.text:
        said[_CONTEXT] = _MARKUP.sub("&lt;", shown.text)
    if said:
        answer[_NESTED] = {"hookEventName": event, **said}
    if shown.line:
        answer[LINE] = shown.line
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":")) if answer else ""


def answer_for(client: str, said: str) -> str:
    """Return what a client's hook prints: the answer as Claude Code takes it, in the client's own form."""
    dialect, told = _DIALECTS.get(client, _CLAUDE_CODE), json.loads(said).get(_NESTED)
    if told is None or (client and _CONTEXT not in told):
        return said if told is None else "{}"
    if dialect.is_escaped:
        told[_CONTEXT] = html.escape(told[_CONTEXT], quote=False)
    answer = {key: told if key == _NESTED else told.get(_CONTEXT) for key in dialect.replies}
    if not client and (line := json.loads(said).get(LINE)):
        answer[LINE] = line
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":"))
