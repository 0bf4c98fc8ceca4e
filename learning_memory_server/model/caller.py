"""The caller of a tool, who owns "current" entries, and its identification: session, agent and project."""

import hashlib
import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from learning_memory_server.system import timeouts
from learning_memory_server.system.git import git

MAIN_AGENT: Final = "main"  # The agent of a session that talks to its user. Others have a hash.


@dataclass(frozen=True, slots=True)
class Caller:
    """A project, an agent session and, if the client identifies it, the agent."""

    project: str  # the project's name, shared by all its worktrees; never a path
    session: str  # a hash that differs between agent sessions
    agent: str | None = None  # `MAIN_AGENT`, or a hash of a subagent's id; None if unknown
    names_calls: bool = True  # whether its client names its calls, so that a hook can tell the agent of a call
    request: str | None = None  # the name of this call if it may be sent twice; stored with its writes
    again: bool = False  # whether the call is a repetition because its reply was lost
    is_told: bool = True  # whether it may get the project's advice
    is_attended: bool = True  # whether a person attends the session
    folder: str = ""  # The absolute path where its session started, never stored; empty if unknown

    def noted(self, requests: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Return the names of calls, with this call's name added if it has one."""
        return (*requests, self.request) if self.request else requests


_CHANGED_MAX: Final = 200  # Maximum number of changed files that describe the work
_PROCESS_SESSION: Final = secrets.token_hex(16)


def session_of(environment: Mapping[str, str]) -> str:
    """Return the hash of this process's session: Claude Code's if set, otherwise a random one."""
    return session_hash(environment.get("CLAUDE_CODE_SESSION_ID") or _PROCESS_SESSION)


def folder_of(environment: Mapping[str, str]) -> Path:
    """Return the project's folder: from Claude Code's variable, otherwise the working directory."""
    return Path(environment.get("CLAUDE_PROJECT_DIR") or Path.cwd())


def session_hash(session: str) -> str:
    """Return the hash of an agent session for the journal, which never contains the session id itself."""
    # Variables and folder names may contain bytes that are not UTF-8, which Python represents as surrogates.
    return hashlib.sha256(session.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def readable_name(name: str) -> str:
    """Return a folder's name in the form to store: in UTF-8 and redacted."""
    return _without_tokens(os.fsencode(name).decode("utf-8", "replace"))


def _without_tokens(name: str) -> str:
    # A name is stored with every record of its project, but never passes the redaction of call arguments.
    from learning_memory_server.redaction.redactor import build_name_redactor

    return build_name_redactor().redact(name).text


def normalised_remote(url: str) -> str | None:
    """Return `host/owner/name` in lower case, without credentials, port or `.git`; None for a local path."""
    url = url.strip()
    if "://" in url:
        try:
            parts = urlsplit(url)
            host, path = parts.hostname or "", parts.path
        except ValueError:
            return None
    else:
        # The scp form, user@host:path. Without a user or a dot, the part before the colon may be a Windows drive.
        authority, _, path = url.partition(":")
        host = authority.rpartition("@")[2] if "@" in authority or "." in authority else ""
    path = path.strip("/").removesuffix(".git").rstrip("/")
    return _without_tokens(f"{host}/{path}").lower() if re.fullmatch(r"[\w.-]*\w", host) and path else None


def place_in(directory: Path) -> str:
    """Return the branch and the changed files, one per line; empty if git fails or times out."""
    settings = (git_output(directory, "config", "-z", "--list", "--name-only") or "").split("\0")
    # To compare files, git would run programs that the repository's settings name.
    filters = [name for name in settings if name.startswith("filter.")]
    if any("=" in name for name in filters):
        return ""
    said = git_output(
        directory,
        *(option for name in filters for option in ("-c", f"{name}=")),
        # Otherwise git prints names that are not ASCII as octal escapes.
        *("-c", "core.quotePath=false", "status", "--porcelain", "--branch", "--ignore-submodules"),
        seconds=timeouts.PLACE,
    )
    lines = (said or "").splitlines()[:_CHANGED_MAX]
    place = "\n".join(line[3:].partition("...")[0] for line in lines)
    # What git says in place of a branch, or before one without a commit, is not its name.
    place = place.removeprefix("HEAD (no branch)").removeprefix("No commits yet on ")
    return place.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def git_output(directory: Path, *arguments: str, seconds: float = timeouts.GIT) -> str | None:
    """Return git's output for a folder; None if it fails, times out, or prints nothing."""
    try:
        said = git(directory, *arguments, seconds=seconds)
    except OSError:
        return None
    return (said or b"").decode("utf-8", "surrogateescape").strip() or None
