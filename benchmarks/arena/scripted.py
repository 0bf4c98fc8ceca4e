"""A scripted agent, which is no language model: it shows that what it must be told arrives, and in time.

It is a small client: it calls the hooks that its home's settings name and the server that they name, as Claude Code
does, and reads CLAUDE.md. It knows the solutions of all tasks, but uses one only if a text that it was given has the
task's rule in it, word for word. If a hook says what worked, it runs that. Without either it does what one tries at
first, and then gives up; in variant a it then finds the rule by itself, as somebody does who tries for long, and
records it if it has a tool for that. Its last line says where the rule came from.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

from benchmarks.arena.arms import began, ended
from benchmarks.arena.families import FAMILIES, made
from benchmarks.arena.tools import Task
from benchmarks.stdio import StdioSession


class Client:
    """Hooks and a server, as they are set up in a home of Claude Code's form."""

    def __init__(self) -> None:
        home, self._session = Path.home(), str(uuid.uuid4())
        settings, servers = home / ".claude" / "settings.json", home / ".claude.json"
        self._hooks = json.loads(settings.read_text("utf-8"))["hooks"] if settings.exists() else {}
        self.server = None
        if servers.exists():
            (entry,) = json.loads(servers.read_text("utf-8"))["mcpServers"].values()
            own = {"CLAUDE_CODE_SESSION_ID": self._session, "CLAUDE_PROJECT_DIR": str(Path.cwd())}
            self.server = StdioSession([entry["command"], *entry["args"]], {**os.environ, **own})
            self.server.initialize()

    def hook(self, event: str, *, tool_name: str = "", **about: object) -> str:
        """Call the hooks of an event, and return what they add to the context."""
        given = {
            "hook_event_name": event,
            "session_id": self._session,
            "cwd": str(Path.cwd()),
            "tool_name": tool_name,
            **about,
        }
        texts = [
            subprocess.run(
                hook["command"].split(), input=json.dumps(given), capture_output=True, text=True, check=False
            ).stdout
            for each in self._hooks.get(event, ())
            if re.fullmatch(each.get("matcher", ".*"), tool_name)
            for hook in each["hooks"]
        ]
        return "\n".join(json.loads(text)["hookSpecificOutput"]["additionalContext"] for text in texts if text)

    def run(self, command: str) -> tuple[bool, str]:
        """Run a shell command, and return whether it succeeded and what the hooks say then."""
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
        about: dict[str, Any] = {"tool_name": "Bash", "tool_input": {"command": command}}
        if done.returncode:
            error = f"Exit code {done.returncode}\n{done.stdout}{done.stderr}"
            return False, self.hook("PostToolUseFailure", **about, error=error)
        response = {"stdout": done.stdout, "stderr": done.stderr}
        return True, self.hook("PostToolUse", **about, tool_response=response)

    def close(self) -> None:
        """End the session."""
        self.hook("SessionEnd", reason="other")
        if self.server:
            self.server.close()


def main(prompt: str) -> None:
    """Do a task."""
    tasks = (made(kind, variant) for kind in FAMILIES for variant in "ab")
    task = next(task for task in tasks if task.prompt == prompt)
    client = Client()
    where = attempt(task, client)
    client.hook("Stop", stop_hook_active=False)
    client.close()
    print(where)


def attempt(task: Task, client: Client) -> str:
    """Do a task, and return where its rule came from."""
    notes, (goal, *_) = Path("CLAUDE.md"), task.prompt.split(". ")
    lesson = {
        "goal": goal,
        "hypothesis": task.words.belief,
        "action": "Do what the usage says",
        "prediction": "It is done then",
        "result": "It only worked in another way",
        "surprise": "The error is about something else",
        "cause": "The tool has a rule of its own",
        "takeaway": task.words.rule,
    }
    told = {
        "the file": notes.read_text("utf-8") if notes.exists() else "",
        "the start": client.hook("SessionStart", source="startup"),
        "the prompt": client.hook("UserPromptSubmit", prompt=task.prompt),
    }
    # What the server's instructions ask for before anything is tried.
    for tool, about in (("search_experiences", {"query": goal}), ("start_ghap", began(lesson))):
        if client.server and not any(task.words.rule in text for text in told.values()):
            told[tool] = json.dumps(client.server.call(tool, **about))
    where = next((place for place, text in told.items() if task.words.rule in text), "") or _try(task, client)
    if where or task.variant == "a":
        for command in map(task.filled, task.words.known):
            client.run(command)
    if client.server and "start_ghap" in told:
        has_learned = not where and task.variant == "a"
        end = ended(lesson) if has_learned else {"status": "abandoned", "result": "It was known, or is not"}
        client.server.call("resolve_ghap", **end)
    return where or "nowhere"


def _try(task: Task, client: Client) -> str:
    """Try the naive commands, until a hook shows a lesson."""
    for command in map(task.filled, task.words.naive):
        _, told = client.run(command)
        if task.words.rule in told:
            return "a failure"
    return ""


if __name__ == "__main__":
    main(sys.argv[1])
