"""The arms: what an agent has beside its task, and the world in which it works.

- nothing: no memory.
- hooks: the hooks as commands, and no server whose tools an agent could ask. What they know is from failed commands.
- installed: hooks and server, for Claude Code as its plugin. Lessons are what the agent itself has recorded.
- file: notes as a person writes them, as long as what the memory said in the same task of the arm `installed`. They
  begin with the rule, which is the best that a file of that size can do.

A world is one arm, one time: a home that is new for each run, one project folder, and one memory for all its runs.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.arena.tools import Task, opened
from benchmarks.stdio import StdioSession

ARMS: Final = ("nothing", "hooks", "installed", "file")
LEARN: Final = ("hooks", "installed")
"""The arms in which an agent plays variant a first."""
SCRIPTED: Final = f"{shlex.quote(sys.executable)} -m benchmarks.arena.scripted {{prompt}}"
ROOT: Final = Path(__file__).parents[2]
PLUGIN: Final = ROOT / "plugins" / "claude-code"
COMMAND: Final = Path(sys.executable).with_name("learning-memory-server")
_WRAPPER: Final = '#!/bin/sh\n{command} "$@" | tee -a {told}\necho >> {told}\n'
"""Keeps what the memory says, to whichever client."""


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent, which is a command with `{prompt}` in it.

    `installs` are commands that install the memory for it, `notes` is the file of notes that it reads by itself, and
    `variables` are those of this process that it gets, such as an account's key.
    """

    command: str = SCRIPTED
    installs: tuple[str, ...] = ()
    notes: str = "CLAUDE.md"
    variables: tuple[str, ...] = ()
    minutes: float = 10.0

    @property
    def is_scripted(self) -> bool:
        """Whether it is the scripted agent."""
        return self.command == SCRIPTED


@dataclass(frozen=True, slots=True)
class Run:
    """What came of one run. `told` is how many bytes the memory or the notes said, tools' descriptions aside."""

    family: str
    variant: str
    arm: str
    repeat: int
    solved: bool
    failed: int
    calls: int
    seconds: float
    told: int
    ended: str
    said: str
    dollars: float | None


class World:
    """Where the runs of one arm take place."""

    def __init__(self, arm: str, repeat: int, agent: Agent, place: Path) -> None:
        self.arm, self.repeat, self.agent = arm, repeat, agent
        self._place, self._told = place, place / "told"
        self._home, self._first_home, self._project = place / "home", place / "installed", place / "shop"
        for folder in ("bin", "home/.claude", "shop", "runtime"):
            (place / folder).mkdir(mode=0o700, parents=True)
        wrapper = place / "bin" / COMMAND.name
        wrapper.write_text(_WRAPPER.format(command=shlex.quote(str(COMMAND)), told=shlex.quote(str(self._told))))
        wrapper.chmod(0o755)
        self._install()
        self._home.rename(self._first_home)
        if arm in LEARN:
            # A hub, as other sessions leave one running: the scripted agent ends before a hub that it starts is ready.
            self._command("search", "anything")

    def environment(self) -> dict[str, str]:
        """Return all variables that an agent gets."""
        given = ("LANG", *self.agent.variables)
        return {
            "PATH": f"{self._place}/bin:{os.environ['PATH']}",
            "HOME": str(self._home),
            **{name: os.environ[name] for name in given if name in os.environ},
            **({"PYTHONPATH": str(ROOT)} if self.agent.is_scripted else {}),
            "XDG_RUNTIME_DIR": str(self._place / "runtime"),
            "LEARNING_MEMORY_STORAGE_PATH": str(self._place / "data"),
            "LEARNING_MEMORY_HUB_IDLE_MINUTES": "5",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "MCP_TIMEOUT": "60000",
        }

    def play(self, task: Task, notes: str = "") -> Run:
        """Let the agent do a task, in the folder and home of a new project."""
        for folder in (self._home, self._project):
            shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self._first_home, self._home, symlinks=True)
        self._project.mkdir()
        if notes:
            (self._project / self.agent.notes).write_text(notes, "utf-8")
        self._told.write_bytes(b"")
        command = [part.replace("{prompt}", task.prompt) for part in shlex.split(self.agent.command)]
        with opened(task, self._project):
            began = time.monotonic()
            ended, output = self._run(command)
            took = (task.solved_at or time.monotonic()) - began
        said, dollars = _last_word(output)
        told = sum(len(text.encode()) for text in (notes, *_texts(self._told)))
        about = (task.kind, task.variant, self.arm, self.repeat)
        return Run(*about, task.solved_at is not None, task.failed, task.calls, took, told, ended, said, dollars)

    def learn(self, lessons: Sequence[Mapping[str, str]]) -> None:
        """Let an earlier session have recorded lessons."""
        environment = {**self.environment(), "CLAUDE_PROJECT_DIR": str(self._project)}
        session = StdioSession([str(COMMAND)], environment)
        session.initialize()
        for lesson in lessons:
            session.call("start_ghap", **began(lesson))
            session.call("resolve_ghap", **ended(lesson))
        session.close()

    def end(self) -> None:
        """End the hub."""
        self._command("hub", "stop")

    def _command(self, *words: str) -> None:
        subprocess.run([COMMAND, *words], env=self.environment(), cwd=self._project, capture_output=True, check=False)

    def _install(self) -> None:
        if self.arm == "hooks" or (self.arm == "installed" and self.agent.is_scripted):
            (self._home / ".claude" / "settings.json").write_text(json.dumps({"hooks": hooks_as_commands()}), "utf-8")
        if self.arm == "installed" and self.agent.is_scripted:
            shutil.copy(PLUGIN / ".mcp.json", self._home / ".claude.json")
        elif self.arm == "installed":
            market = self._place / "market"
            # A copy, because an agent may look where its plugins are from.
            for folder in (".claude-plugin", "plugins"):
                shutil.copytree(ROOT / folder, market / folder)
            for command in self.agent.installs:
                words = shlex.split(command.replace("{market}", str(market)))
                subprocess.run(words, env=self.environment(), cwd=self._project, capture_output=True, check=True)

    def _run(self, command: Sequence[str]) -> tuple[str, str]:
        """Run an agent to its end, and return how it ended and what it wrote."""
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
            process = subprocess.Popen(
                command,
                env=self.environment(),
                cwd=self._project,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                ended = f"exit {process.wait(60 * self.agent.minutes)}"
            except subprocess.TimeoutExpired:
                ended = "out of time"
            # What it has started and left behind is of its group; the hub is not.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, 9)
            process.wait()
            output.seek(0)
            return ended, output.read()


@contextmanager
def world(arm: str, repeat: int, agent: Agent) -> Iterator[World]:
    """Make a world, and leave neither files nor processes behind."""
    with tempfile.TemporaryDirectory(prefix="arena-", ignore_cleanup_errors=True) as place:
        made = World(arm, repeat, agent, Path(place).resolve())
        try:
            yield made
        finally:
            made.end()


def began(lesson: Mapping[str, str]) -> dict[str, str]:
    """Return the arguments of `start_ghap` for a lesson in the form of `benchmarks/data/lessons.json`."""
    names = ("goal", "hypothesis", "action", "prediction")
    return {"domain": "debugging", "strategy": "read-the-error", **{name: lesson[name] for name in names}}


def ended(lesson: Mapping[str, str]) -> dict[str, Any]:
    """Return the arguments of `resolve_ghap` for it."""
    return {
        "status": "falsified",
        "result": lesson["result"],
        "surprise": lesson["surprise"],
        "root_cause": {"category": "misleading-symptom", "description": lesson["cause"]},
        "lesson": {"what_worked": "What the takeaway says", "takeaway": lesson["takeaway"]},
    }


def hooks_as_commands() -> dict[str, list[dict[str, Any]]]:
    """Return the plugin's hooks as the command `hook`, which needs no server; without those of its tools."""
    command = {"type": "command", "command": f"{COMMAND.name} hook", "timeout": 2}
    hooks = json.loads((PLUGIN / "hooks" / "hooks.json").read_text("utf-8"))["hooks"]
    return {
        event: [{**each, "hooks": [command]} for each in those if "_ghap" not in each.get("matcher", "")]
        for event, those in hooks.items()
    }


def _texts(told: Path) -> Iterator[str]:
    """Return what the memory has said: what hooks add to the context, and results of tools that an agent called."""
    for line in told.read_text("utf-8").splitlines():
        with suppress(ValueError):
            said = json.loads(line)
            for text in [block["text"] for block in said.get("result", {}).get("content", ())] or [line]:
                found = json.loads(text) if text.startswith("{") else {}
                if context := found.get("hookSpecificOutput"):
                    yield context.get("additionalContext") or context["permissionDecisionReason"]
                elif text not in {line, "{}"}:
                    yield text


def _last_word(output: str) -> tuple[str, float | None]:
    """Return the last line of what an agent wrote, and what the run cost, if it says so as Claude Code's JSON does."""
    line = (output.strip().splitlines() or [""])[-1]
    with suppress(ValueError, AttributeError):
        found = json.loads(line)
        return str(found.get("result", ""))[-200:], found.get("total_cost_usd")
    return line[-200:], None
