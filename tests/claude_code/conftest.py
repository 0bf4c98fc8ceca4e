"""Claude Code with a scripted model: a home of its own, loopback only, no account."""

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from tests.acceptance.hubs import Memory, memory_in, unhurried
from tests.acceptance.wire import COMMAND
from tests.claude_code.model import Block, Said, ScriptedModel
from tests.docs.test_documents import ROOT
from tests.hub.lines import line, opening
from tests.sharing.repositories import git
from tests.support import MINUTES

PLUGIN: Final = ROOT / "plugins" / "claude-code"
VARIABLE: Final = "CLAUDE_CODE_CLI"
"""Names the program, where it is not on the PATH."""
_WAITS: Final = ("ADVICE", "FRESHNESS", "PLACE", "HOOK_STDIN", "HOOK_START", "HOOK_HUB", "HOOK_LESSON", "FIRST_PROMPT")
"""What hooks wait for, for a second or two, so that nobody has to wait for them."""
MODEL: Final[dict[str, Any]] = {"LEARNING_MEMORY_EMBEDDING_BACKEND": "sentence-transformers"}
"""The variable with which a session has the real model."""
_CONTEXT: Final = re.compile(
    r"\w+ hook additional context: (.*?)(?=\w+ hook additional context: |\n# Environment|</system-reminder>|\Z)",
    re.DOTALL,
)
"""What Claude Code says of a hook. The context of a new session is followed by what it says of the machine."""


def find_cli() -> str | None:
    """Return Claude Code's command, if this machine has it."""
    named = os.environ.get(VARIABLE)
    return shutil.which(named or "claude")


@dataclass(frozen=True, slots=True)
class Session:
    """One run of Claude Code.

    Args:
        done: The process.
        requests: What it asked the model, with tools.
        everything: All its requests.
    """

    done: subprocess.CompletedProcess[str]
    requests: list[dict[str, Any]]
    everything: list[dict[str, Any]]

    def told(self, request: int = -1) -> str:
        """Return the part of a request that hooks put there; nothing if none did."""
        return "\n".join(
            found.strip() for text in texts_of(self.requests[request]["messages"]) for found in _CONTEXT.findall(text)
        )

    def results(self) -> list[str]:
        """Return the results of the tools that the model called, as it saw them."""
        return [
            "".join(texts_of(block.get("content", "")))
            for message in self.requests[-1]["messages"]
            if isinstance(message["content"], list)
            for block in message["content"]
            if block.get("type") == "tool_result"
        ]


class ClaudeCode:
    """Runs sessions on one memory.

    Args:
        cli: The program.
        folder: Holds the home, the project and the data.
        memory: The memory that the sessions share.
    """

    def __init__(self, cli: str, folder: Path, memory: Memory) -> None:
        self.memory = memory
        self.home = folder / "home"
        self.project = folder / "shop"
        for path in (self.home, self.project):
            path.mkdir()
        self.cli = cli
        self.unhurried = unhurried(folder / "unhurried", *_WAITS)
        self.plugin = shutil.copytree(PLUGIN, folder / "unhurried" / "plugin")
        hooks = self.plugin / "hooks" / "hooks.json"
        hooks.write_text(hooks.read_text("utf-8").replace('"timeout": 2', f'"timeout": {MINUTES:.0f}'), "utf-8")
        (folder / "bin").mkdir()
        (folder / "bin" / "claude").symlink_to(cli)

    def environment(self) -> dict[str, str]:
        """Return all variables that the client gets."""
        return {
            # The client and the installed command, as on a user's PATH.
            "PATH": f"{self.home.parent}/bin:{COMMAND.parent}:{os.environ['PATH']}",
            "HOME": str(self.home),
            "XDG_RUNTIME_DIR": str(self.memory.runtime),
            "LEARNING_MEMORY_STORAGE_PATH": str(self.memory.storage),
            "LEARNING_MEMORY_EMBEDDING_BACKEND": "hashing",
            "LEARNING_MEMORY_HUB_IDLE_MINUTES": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            # As long as an unlucky machine takes to start a hub.
            "MCP_TIMEOUT": f"{1_000 * MINUTES:.0f}",
            **self.unhurried,
            # With what a worktree without an installation of its own names.
            "PYTHONPATH": os.pathsep.join(filter(None, (self.unhurried["PYTHONPATH"], os.environ.get("PYTHONPATH")))),
        }

    def run(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run the command to its end."""
        return subprocess.run(
            [self.cli, *arguments],
            env={**self.environment(), **variables},
            cwd=self.project,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=MINUTES,
        )

    def command(self, *arguments: str, check: bool = True, **variables: str) -> str:
        """Run a command of ours in the project to its end, and return its output."""
        done = subprocess.run(
            [COMMAND, *arguments],
            env={**self.environment(), **variables},
            cwd=self.project,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0 or not check, done.stdout + done.stderr
        return done.stdout

    def learn(self, *calls: Block, **variables: str) -> None:
        """Call tools as another client of the project does, in turn: that takes a tenth of a session's time."""
        asked = (
            line("tools/call", number, name=call["name"].rpartition("__")[2], arguments=call["input"])
            for number, call in enumerate(calls, 2)
        )
        done = subprocess.run(
            [COMMAND],
            input=b"".join([*opening("2025-11-25"), *asked]),
            env={**self.environment(), **variables},
            cwd=self.project,
            capture_output=True,
            check=True,
            timeout=MINUTES,
        )
        answers = [json.loads(answer) for answer in done.stdout.splitlines()]
        assert len(answers) == 1 + len(calls), done.stdout
        assert not any(answer["result"].get("isError") for answer in answers), done.stdout

    def session(
        self,
        prompt: str,
        script: Iterable[Said],
        *options: str,
        plugin: Path | None = PLUGIN,
        agents: Mapping[str, Iterable[Said]] | None = None,
        **variables: str,
    ) -> Session:
        """Run a session in which the model says what the script has, and subagents what theirs have."""
        model = ScriptedModel(script, agents)
        threading.Thread(target=model.serve_forever, daemon=True).start()
        # Of the packaged plugin, the copy whose hooks may take minutes.
        given = ["--plugin-dir", str(self.plugin if plugin == PLUGIN else plugin)] if plugin else []
        try:
            done = self.run(
                "-p",
                prompt,
                *given,
                "--allowedTools",
                "Bash,Agent,mcp__plugin_learning-memory_memory",
                *options,
                **{"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "none", **variables},
            )
        finally:
            model.shutdown()
            model.server_close()
        with_tools = [request for request in model.requests if request.get("tools")]
        return Session(done, with_tools, model.requests)


@pytest.fixture
def claude(tmp_path: Path) -> Iterator[ClaudeCode]:
    with claude_in(tmp_path) as started:
        yield started


@contextmanager
def claude_in(folder: Path) -> Iterator[ClaudeCode]:
    """Use Claude Code in a folder, and leave no process behind."""
    cli = find_cli()
    if cli is None:
        reason = f"Claude Code is neither on the PATH nor named by {VARIABLE}"
        print(reason, file=sys.stderr)  # noqa: T201 - -rs is not always given
        pytest.skip(reason)
    storage = folder / "data"
    storage.mkdir(mode=0o700, exist_ok=True)
    with memory_in(storage) as memory:
        yield ClaudeCode(cli, folder, memory)


def texts_of(request: Any) -> list[str]:
    """Return all texts in a request, in order."""
    if isinstance(request, str):
        return [request]
    if isinstance(request, dict):
        return [text for part in request.values() for text in texts_of(part)]
    if isinstance(request, list):
        return [text for part in request for text in texts_of(part)]
    return []


def on_branch_of_the_entry(claude: ClaudeCode) -> None:
    """Let the project be a repository on a branch that names the goal of the entry: its lesson is told at the start."""
    if not (claude.project / ".git").exists():
        git(claude.project, "init", "-q")
    git(claude.project, "checkout", "-q", "-B", "fix/checkout-page")
