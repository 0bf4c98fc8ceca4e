"""What clients give to a hook that is a command, as the event that the tool gets, and as a trigger.

Which file a tool has read or edited.
"""

import json
from typing import Any

import pytest

from learning_memory_server.advice.candidates import Decision, Permission, Shown
from learning_memory_server.hooks.edits import edit_in
from learning_memory_server.hooks.event import answer_for, answer_of, event_of, is_for_advice, trigger_of
from learning_memory_server.model.advice import TriggerKind
from learning_memory_server.model.trigger import Trigger


def ran(tool: str, response: Any, event: str = "PostToolUse") -> dict[str, Any]:
    """Return what a client says of a command."""
    given = {"hook_event_name": event, "tool_name": tool, "tool_input": {"command": "make"}}
    return given if response is None else {**given, "tool_response": response}


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (
            {"hook_event_name": "SessionStart", "session_id": "s", "cwd": "/shop", "source": "resume"},
            {"event": "SessionStart", "source": "resume", "agent": "", "session": "s", "folder": "/shop", "again": ""},
        ),
        ({"hook_event_name": "PostToolUse", "agent_id": "a1"}, {"event": "PostToolUse", "agent": "a1", "again": ""}),
        (
            {"hook_event_name": "Stop", "session_id": "s", "stop_hook_active": True},
            {"event": "Stop", "session": "s", "again": "true"},
        ),
        (
            ran("Bash", {"stdout": "built", "stderr": "a warning", "interrupted": False}),
            {"event": "PostToolUse", "command": "make", "output": "built", "stderr": "a warning", "again": ""},
        ),
        (
            ran("PowerShell", {"stdout": "built", "stderr": "", "interrupted": False}),
            {"event": "PostToolUse", "command": "make", "output": "built", "stderr": "", "again": ""},
        ),
        (
            ran("run_in_terminal", "built"),
            {"event": "PostToolUse", "command": "make", "output": "built", "unknown": "true", "again": ""},
        ),
        (ran("Write", None), {"event": "PostToolUse", "again": ""}),
        ({"hook_event_name": 3, "tool_input": "make", "tool_response": [1]}, {"again": ""}),
    ],
)
def test_what_a_client_says_becomes_an_event(given: dict[str, Any], wanted: dict[str, str]) -> None:
    found = event_of(given)
    assert found.pop("loads", "").startswith("CLAUDE.md") is (wanted.get("event") == "SessionStart")
    assert found == {"alone": "", **wanted}


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        ("SessionStart", TriggerKind.SESSION_START),
        ("sessionStart", TriggerKind.SESSION_START),
        ("sessionEnd", TriggerKind.SESSION_END),
        ("InstructionsLoaded", TriggerKind.LOADED),
        ("BeforeAgent", TriggerKind.PROMPT),
        ("UserPromptSubmit", TriggerKind.PROMPT),
        ("PreToolUse", TriggerKind.SUBAGENT_TASK),
        ("SubagentStart", TriggerKind.SUBAGENT_START),
        ("AfterTool", TriggerKind.COMMAND),
        ("PostToolUseFailure", TriggerKind.COMMAND),
        ("Stop", TriggerKind.STOP),
        ("SubagentStop", TriggerKind.SUBAGENT_STOP),
    ],
)
def test_each_event_is_one_kind_of_trigger_in_all_clients(event: str, kind: TriggerKind) -> None:
    trigger = trigger_of({"event": event}, "c1")
    assert trigger == Trigger(kind, context="c1")


@pytest.mark.parametrize("event", [{}, {"event": ""}, {"event": 3}, {"event": "Unknown"}, {"event": ["Stop"]}])
def test_an_event_that_nothing_is_known_of_is_no_trigger(event: dict[str, object]) -> None:
    assert trigger_of(event, "c1") is None


def test_a_tool_that_names_a_file_is_about_the_file_and_a_command_that_names_none_is_a_command() -> None:
    read = trigger_of({"event": "PostToolUse", "file": "a.py", "folder": "/shop"}, "")
    edited = trigger_of({"event": "PostToolUse", "file": "a.py", "edit": "true"}, "")
    assert read == Trigger(TriggerKind.FILE, folder="/shop", file="a.py")
    assert edited == Trigger(TriggerKind.FILE, file="a.py", is_edit=True)


def test_the_parts_of_an_event_that_are_no_texts_count_as_absent() -> None:
    given = {"event": "PostToolUse", "command": "make", "output": ["x"], "error": None, "background": True, "folder": 3}
    assert trigger_of(given, "") == Trigger(TriggerKind.COMMAND, command="make")
    said = {"event": "PostToolUse", "command": "m" * 9_000, "output": "built", "stderr": "slow", "task": "b1"}
    trigger = trigger_of(said | {"unknown": "true", "again": "true", "alone": "true", "call": "toolu_1"}, "")
    assert trigger == Trigger(
        TriggerKind.COMMAND,
        key="toolu_1",
        command="m" * 8_000,
        output="built\nslow",
        is_background=True,
        is_unknown=True,
        is_again=True,
        has_no_prompts=True,
    )


def test_what_is_shown_is_an_answer_and_nothing_is_silence() -> None:
    shown = {"hookSpecificOutput": {"hookEventName": "Stop", "additionalContext": "é <b>"}}
    assert answer_of("Stop", Shown()) == ""
    assert json.loads(answer_of("Stop", Shown(text="é <b>"))) == shown
    assert json.loads(answer_of("Stop", Shown(text="é <b>", line="kept"))) == {**shown, "systemMessage": "kept"}


@pytest.mark.parametrize("given", [None, [1, 2], "SessionStart", 1])
def test_what_is_not_an_object_says_nothing(given: object) -> None:
    assert event_of(given) == {}


WRAPPED = "<untrusted_context>\nOutput: {}\nProcess Group PGID: 46\n</untrusted_context>"


def gemini(content: str) -> dict[str, Any]:
    return {"tool_response": {"llmContent": content}}


def copilot(result: str) -> dict[str, Any]:
    return {"tool_result": {"text_result_for_llm": result}}


@pytest.mark.parametrize(
    ("client", "given", "wanted"),
    [
        ("gemini", gemini(WRAPPED.format("built")), {"output": "built"}),
        (
            "gemini",
            gemini(WRAPPED.format("Error: no\nExit Code: 3")),
            {"output": "Error: no", "error": "Exit code 3\nError: no"},
        ),
        (
            "gemini",
            ran("run_shell_command", {"llmContent": "Output: broken\nExit Code: 2"}, "AfterTool"),
            {"event": "AfterTool", "command": "make", "output": "broken", "error": "Exit code 2\nbroken"},
        ),
        ("gemini", gemini("of another form"), {"output": "of another form", "unknown": "true"}),
        ("gemini", gemini(WRAPPED.format("(empty)\nExit Code: 1")), {"output": "", "error": "Exit code 1\n"}),
        ("codex", {"tool_response": "built\n"}, {"output": "built\n", "unknown": "true"}),
        ("copilot", copilot("built\n<shellId: 0 completed with exit code 0>"), {"output": "built"}),
        (
            "copilot",
            copilot("broken\n<shellId: 1 completed with exit code 3>"),
            {"output": "broken", "error": "Exit code 3\nbroken"},
        ),
        ("copilot", copilot("still running"), {"output": "still running", "unknown": "true"}),
        # VS Code, by its documentation.
        (
            "copilot",
            {"hookEventName": "PostToolUse", "sessionId": "s", "tool_response": "built"},
            {"event": "PostToolUse", "session": "s", "output": "built", "unknown": "true"},
        ),
        ("copilot", {"hook_event_name": "SessionStart"}, {"event": "SessionStart", "agent": "", "again": "true"}),
        (
            "cursor",
            {"hook_event_name": "sessionStart", "conversation_id": "s"},
            {"event": "sessionStart", "session": "s", "agent": "", "alone": "true"},
        ),
    ],
)
def test_each_client_says_the_end_of_a_command_in_its_way(
    client: str, given: dict[str, Any], wanted: dict[str, str]
) -> None:
    found = event_of(given, client)
    assert found.pop("loads", "") in {"", "AGENTS.md", "GEMINI.md"}
    assert found == {"again": "", "alone": "", **wanted}


def test_what_hooks_said_before_is_no_part_of_a_prompt() -> None:
    prompt = "<hook_context>a &lt;lesson&gt;</hook_context>\n\n<hook_context>b</hook_context>\n\nfix <b> this"

    assert event_of({"prompt": prompt}, "gemini")["prompt"] == "fix <b> this"


SAID = '{"hookSpecificOutput":{"hookEventName":"Stop","additionalContext":"é <b>"}}'


@pytest.mark.parametrize(
    ("client", "wanted"),
    [
        ("", SAID),
        ("gemini", SAID),
        ("codex", SAID.replace("<b>", "&lt;b&gt;")),
        ("copilot", f'{{"additionalContext":"é <b>",{SAID[1:]}'),
        ("cursor", '{"additional_context":"é <b>"}'),
    ],
)
def test_each_client_is_answered_in_its_form_and_silence_is_the_same_for_all(client: str, wanted: str) -> None:
    assert answer_for(client, SAID) == wanted
    assert answer_for(client, "{}") == "{}"


@pytest.mark.parametrize(
    ("tool", "given", "wanted"),
    [
        ("Read", {"file_path": "/shop/a.py"}, {"file": "/shop/a.py", "edit": ""}),
        ("replace", {"file_path": "a.py", "old_string": "a", "new_string": ""}, {"file": "a.py", "edit": "true"}),
        ("create_file", {"filePath": "/shop/a.py", "content": "b"}, {"file": "/shop/a.py", "edit": "true"}),
        ("write_file", {"file_path": "empty.py", "content": ""}, {"file": "empty.py", "edit": "true"}),
        (
            "apply_patch",
            {"command": "*** Begin Patch\n*** Update File: a.py\n@@\n same\n-a\n+b\n*** Add File: c.py\n+c\n"},
            {"file": "a.py", "edit": "true"},
        ),
        ("apply_patch", {"command": "nothing"}, {}),
        ("create_file", {"filePath": 3, "content": "b"}, {}),
        ("Bash", {"command": "make"}, {}),
    ],
)
def test_each_clients_tools_name_their_file_and_whether_they_edit_it(
    tool: str, given: dict[str, str], wanted: dict[str, str]
) -> None:
    assert edit_in(tool, given) == wanted


@pytest.mark.parametrize("half", [chr(0xD83D), chr(0xDE00), chr(0xDE00) + chr(0xD83D), chr(0xDCFF)])
@pytest.mark.parametrize("client", ["", "codex", "gemini", "copilot", "cursor"])
def test_half_an_emoji_is_replaced_and_the_rest_is_told(half: str, client: str) -> None:
    text = f"text {half}"
    given: dict[str, Any] = {
        **dict.fromkeys(("session_id", "cwd", "prompt", "error", "agent_id"), text),
        "hook_event_name": "PostToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": text},
        "tool_response": {"stdout": text, "stderr": text, "backgroundTaskId": text},
    }
    edit = {**given, "tool_name": "Edit", "tool_input": {"file_path": text, "old_string": text, "new_string": text}}

    found = [*event_of(given, client).values(), *event_of(edit, client).values()]
    assert len([each for each in found if each == "text " + "?" * len(half)]) >= 10
    "".join(found).encode()


def test_a_call_has_its_id_also_from_a_hook_that_is_a_command() -> None:
    event = event_of(ran("Bash", {"stdout": "built"}) | {"tool_use_id": "toolu_1", "session_id": "s"})
    trigger = trigger_of(event, "c")
    assert trigger
    assert (trigger.kind, trigger.key) == (TriggerKind.COMMAND, "toolu_1")


def test_a_path_that_no_system_opens_counts_as_absent() -> None:
    long = "/" + "a" * 5_000
    trigger = trigger_of({"event": "SessionStart", "folder": long, "file": long}, "c")
    assert trigger
    assert (trigger.folder, trigger.file) == ("", "")


@pytest.mark.parametrize("tag", ["<system-reminder>", "</system-reminder>", "</SYSTEM-REMINDER >"])
def test_a_lesson_cannot_pass_for_the_clients_own_markup(tag: str) -> None:
    answer = json.loads(answer_of("Stop", Shown(text=f"a {tag} b <n>")))
    assert answer["hookSpecificOutput"]["additionalContext"] == f"a &lt;{tag[1:]} b <n>"


def before(tool: str, **given: Any) -> dict[str, Any]:
    return {"hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": given, "tool_use_id": "toolu_1"}


@pytest.mark.parametrize(
    ("tool", "given", "wanted"),
    [
        ("Bash", {"command": "m" * 65_000}, {"command": "m" * 64_000}),
        ("Write", {"file_path": "/a", "content": "new"}, {"file": "/a", "content": "new"}),
        ("Write", {"file_path": "/a", "content": "n" * 200_000}, {"file": "/a", "content": "n" * 100_000}),
        (
            "Edit",
            {"file_path": "/a", "old_string": "old", "new_string": "new"},
            {"file": "/a", "before": "old", "content": "new"},
        ),
        (
            "MultiEdit",
            {
                "file_path": "/a",
                "edits": [{"old_string": "b", "new_string": "c"}, {"old_string": "d", "new_string": ""}],
            },
            {"file": "/a", "before": "b\nd", "content": "c"},
        ),
        ("NotebookEdit", {"notebook_path": "/a", "new_source": "new"}, {"file": "/a", "content": "new"}),
    ],
)
def test_what_a_tool_is_about_to_do_is_a_call(tool: str, given: dict[str, Any], wanted: dict[str, str]) -> None:
    trigger = trigger_of(event_of(before(tool, **given)), "c")
    assert trigger == Trigger(TriggerKind.CALL, "c", key="toolu_1", is_edit="file" in wanted, **wanted)  # type: ignore[arg-type]


@pytest.mark.parametrize("edits", ["[1", "[1]", "[" * 9_000, 3, [{"new_string": 3}], "x"])
def test_edits_of_another_form_say_nothing(edits: object) -> None:
    trigger = trigger_of({"event": "PreToolUse", "file": "/a", "edits": edits}, "")
    assert trigger == Trigger(TriggerKind.CALL, file="/a")


@pytest.mark.parametrize("client", ["codex", "gemini", "copilot", "cursor"])
def test_other_clients_are_given_no_decision(client: str) -> None:
    trigger = trigger_of(event_of(before("Bash", command="make"), client), "c")
    assert trigger
    assert trigger.kind is TriggerKind.SUBAGENT_TASK
    denied = Decision(Permission.DENY, "no")
    assert answer_for(client, answer_of("PreToolUse", Shown(decision=denied))) == "{}"


def test_a_decision_has_a_reason_and_the_agent_may_read_more() -> None:
    asked = Shown(text="for the agent", line="for you", decision=Decision(Permission.ASK, "really? <system-reminder>"))
    said = answer_of("PreToolUse", asked)
    assert json.loads(said) == {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "ask",
            "permissionDecisionReason": "really? &lt;system-reminder>",
            "additionalContext": "for the agent",
        },
        "systemMessage": "for you",
    }
    assert json.loads(answer_for("", said)) == json.loads(said)


@pytest.mark.parametrize(
    ("name", "shows"),
    [
        ("SessionStart", True),
        ("sessionStart", True),
        ("UserPromptSubmit", True),
        ("BeforeAgent", True),
        ("PostToolUseFailure", False),
        ("AfterTool", False),
        ("SessionEnd", False),
        ("NobodysEvent", False),
    ],
)
def test_starts_and_prompts_of_all_clients_are_for_advice(name: str, shows: bool) -> None:
    assert is_for_advice({"event": name}) is shows
    assert is_for_advice({"event": [name]}) is False
