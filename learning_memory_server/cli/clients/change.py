"""A change to a client's file of servers or hooks: computed, shown, then written, with a copy of the original.

To remove the entry, the edit is repeated on the copy. If the result is the present file, the copy is restored byte for
byte. Otherwise only the entry is removed. A file of hooks belongs to this server as a whole.
"""

import difflib
import json
import os
import shlex
import stat
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from learning_memory_server.cli.clients import toml_text
from learning_memory_server.cli.clients.catalog import Client, Machine, Syntax
from learning_memory_server.errors import ClientSetupError
from learning_memory_server.hub.front import hook
from learning_memory_server.server.settings import is_secret
from learning_memory_server.system import files
from learning_memory_server.system.ipc.jsonrpc import is_unicode
from learning_memory_server.system.paths import APPLICATION

_COPY: Final = ".before-learning-memory"  # The suffix of the copy
_CONTEXT: Final = 2  # Context lines in a diff, which may contain secrets of other servers


@dataclass(frozen=True, slots=True)
class Change:
    """A change to a file.

    Attributes:
        path: The file as the client names it; it may be a symbolic link.
        before: Its present content; None if it does not exist.
        after: Its new content; None to remove it.
        copy: The content to copy first, if any.
        advice: Instructions for a manual change if the file cannot be written.
        restores: Whether `after` comes from the copy, which is removed afterwards.
    """

    path: Path
    before: bytes | None
    after: bytes | None
    copy: bytes | None
    advice: str
    restores: bool = False

    @property
    def is_needed(self) -> bool:
        """Whether anything changes."""
        return self.before != self.after or self.restores

    def diff(self) -> list[str]:
        """Return the change as the lines of a unified diff."""
        before, after = ((text or b"").decode().splitlines() for text in (self.before, self.after))
        found = difflib.unified_diff(before, after, str(self.path), str(self.path), n=_CONTEXT, lineterm="")
        return list(found)

    def apply(self) -> None:
        """Write the copy, then the file with its present mode. A new file gets mode 0600."""
        target = self.path.resolve()
        if read(target) != self.before:
            raise ClientSetupError(
                f"{self.path} has changed since it was read, so it was not written.", hint="Try again."
            )
        try:
            mode = 0o600 if self.before is None else stat.S_IMODE(target.stat().st_mode)
            if self.copy is not None:
                files.replace(copy_path(self.path), self.copy, mode=mode)
            if self.after is None:
                files.remove(target)
            else:
                files.replace(target, self.after, mode=mode)
            if self.restores:
                files.remove(copy_path(self.path))
        except OSError as error:
            raise ClientSetupError(f"{self.path} cannot be written ({error.strerror}).", hint=self.advice) from None


def find_entry(client: Client, machine: Machine, advice: str = "Correct it first.") -> dict[str, Any] | None:
    """Return this server's entry in a client's file, or None. An error about an invalid file contains `advice`."""
    path = client.locate(machine)
    try:
        content = client.syntax.parse(_decoded(read(path)))
    except ValueError as error:
        raise _refused(path, client.syntax, error, advice) from None
    return _lookup(content, client.path)


def addition(client: Client, machine: Machine, entry: Mapping[str, Any]) -> Change:
    """Return the change that adds or updates this server's entry, and leaves everything else unchanged."""
    path = client.locate(machine)
    place, text = by_hand(client, machine, entry)
    advice = f"Add this {place} yourself:\n{text}"
    before, existing = read(path), find_entry(client, machine, advice)
    earlier = read(copy_path(path))
    if existing is not None and not entry.get("args") and "args" not in existing:
        # Codex leaves out empty arguments when it rewrites its file.
        entry = {name: value for name, value in entry.items() if name != "args"}
    after = _merged(path, before, client.syntax, client.path, entry, advice)
    # An update keeps the copy from before the first addition.
    copy = earlier if existing is not None and _is_before(client, earlier, before, existing) else before
    return Change(path, before, after, copy, advice)


def removal(client: Client, machine: Machine) -> Change:
    """Return the change that removes this server's entry."""
    path, syntax = client.locate(machine), client.syntax
    advice = f"Remove {'.'.join(client.path)} from {path} yourself."
    before, existing = read(path), find_entry(client, machine, advice)
    earlier = read(copy_path(path))
    if before is None or existing is None:
        # The client's own command leaves the copy behind.
        is_left = bool(before and earlier) and syntax.parse(_decoded(before)) == syntax.parse(_decoded(earlier))
        return Change(path, before, earlier if is_left else before, None, advice, restores=is_left)
    if _is_before(client, earlier, before, existing):
        return Change(path, before, earlier, None, advice, restores=True)
    try:
        if syntax.put("", client.path, existing) == _decoded(before):
            return Change(path, before, None, None, advice)
        text = _without(client, _decoded(before), earlier)
    except ValueError as error:
        raise _refused(path, syntax, error, advice) from None
    return Change(path, before, text.encode(), before, advice)


def settings_addition(path: Path, values: Mapping[str, Any]) -> Change:
    """Return the change that writes settings to `config.toml`."""
    before = read(path)
    shown = {name: "..." if is_secret(name, str(value)) else value for name, value in values.items()}
    lines = toml_text.put("", (), shown).rstrip("\n")
    advice = f"Put this at the beginning of {path} yourself, in place of lines with the same keys:\n{lines}"
    after = _merged(path, before, toml_text, (), values, advice)
    return Change(path, before, after, before, advice)


def packaged(name: str) -> Path:
    """Return the folder with a client's files: in the package, or next to the package in a checkout."""
    installed = Path(__file__).with_name("plugins")
    return (installed if installed.is_dir() else Path(__file__).parents[3] / "plugins") / name


def hook_command() -> list[str]:
    """Return this installation's `hook` command, which calls the interpreter directly: fast, and without PATH."""
    return [sys.executable, "-I", "-S", hook.__file__]


def hooks_change(client: Client, machine: Machine, *, remove: bool = False) -> Change | None:
    """Return the change that writes or removes a client's hooks; None if `setup` writes none for the client."""
    if not client.hooks or not hasattr(os, "fork"):
        return None
    path = client.locate(machine).parent / client.hooks
    text = (packaged(client.name) / path.name).read_text("utf-8")
    # A list of words in a program, and a shell command in JSON.
    text = text.replace(f'"{APPLICATION}", "hook"', json.dumps(hook_command())[1:-1])
    text = text.replace(f"{APPLICATION} hook", json.dumps(shlex.join(hook_command()))[1:-1])
    advice = f"Change {path} yourself, or make it writable and try again."
    return Change(path, read(path), None if remove else text.encode(), None, advice)


def by_hand(client: Client, machine: Machine, entry: Mapping[str, Any]) -> tuple[str, str]:
    """Return the position for this server's entry in a client's file, with a preposition, and a text valid there.

    Both depend on the file's content: two consecutive JSON objects are invalid, and so is a table below an inline one.
    """
    path, whole = client.locate(machine), snippet(client, entry)
    try:
        text = _decoded(read(path))
        content = client.syntax.parse(text)
    except (ClientSetupError, ValueError):
        return f"to {path}", whole
    section, name = client.path
    is_toml = client.syntax is toml_text
    if not content or (is_toml and _is_toml(f"{text}\n{whole}")):
        return f"to the end of {path}" if content else f"to {path}", whole
    members = content.get(section, {})
    if is_toml and _is_toml(_put(text, client, entry)):
        return f"to {path}, in place of the table {section}.{name}", whole
    if not isinstance(members, dict):
        return f"to {path}, in place of {section}", whole if is_toml else _members({section: {name: dict(entry)}})
    written = {name: dict(entry)} if section in content else {section: {name: dict(entry)}}
    added = toml_text.put("", (), written).rstrip("\n") if is_toml else _members(written)
    if name in members:
        return f"to {path}, in place of {name} in {section}", added
    of_what = section if section in content else "the file"
    is_first = section in content and not members
    return f"to {path}, after the opening brace of {of_what}", added if is_first else f"{added},"


def _members(content: Mapping[str, Any]) -> str:
    """Return the members of a JSON object as text, without braces."""
    return "\n".join(line[2:] for line in json.dumps(content, indent=2, ensure_ascii=False).split("\n")[1:-1])


def _put(text: str, client: Client, entry: Mapping[str, Any]) -> str:
    try:
        return client.syntax.put(text, client.path, entry)
    except (ValueError, AttributeError):
        return "="  # Not valid in any form


def _is_toml(text: str) -> bool:
    try:
        toml_text.parse(text)
    except ValueError:
        return False
    return True


def snippet(client: Client, entry: Mapping[str, Any]) -> str:
    """Return the content of a file with this server only."""
    return client.syntax.put("", client.path, entry).rstrip("\n")


def _merged(
    path: Path, before: bytes | None, syntax: Syntax, keys: tuple[str, ...], values: Mapping[str, Any], advice: str
) -> bytes:
    """Return a file's content with values merged in."""
    try:
        text = _decoded(before)
        wanted = _merge(syntax.parse(text), keys, values)
        after = syntax.put(text, keys, values)
        if syntax.parse(after) != wanted:
            raise ValueError("it is written in a form that cannot be edited here")  # noqa: TRY301 - one refusal
        if not is_unicode(after):
            raise ValueError("a path that is not UTF-8 cannot stand in it")  # noqa: TRY301 - one refusal
    except ValueError as error:
        raise _refused(path, syntax, error, advice) from None
    return before if after == text and before is not None else after.encode()


def _without(client: Client, text: str, earlier: bytes | None) -> str:
    """Return a text without the entry, and without the section if it was added with the entry and is now empty."""
    syntax, (section, name) = client.syntax, client.path
    wanted = syntax.parse(text)
    del wanted[section][name]
    text = syntax.drop(text, (section, name))
    if not wanted[section]:
        content = syntax.parse(text)
        had_one = earlier is not None and section in syntax.parse(_decoded(earlier))
        if section in content and not had_one:
            text = syntax.drop(text, (section,))
        if not had_one or section not in syntax.parse(text):
            del wanted[section]
    if syntax.parse(text) != wanted:
        raise ValueError("it is written in a form that cannot be edited here")
    return text


def _is_before(client: Client, earlier: bytes | None, now: bytes | None, entry: Mapping[str, Any]) -> bool:
    """Whether adding the entry to the earlier content, which lacks it, results in the present content."""
    try:
        text = _decoded(earlier)
        if earlier is None or _lookup(client.syntax.parse(text), client.path) is not None:
            return False
        return client.syntax.put(text, client.path, entry).encode() == now
    except ValueError:
        return False


def _merge(content: dict[str, Any], path: tuple[str, ...], values: Mapping[str, Any]) -> dict[str, Any]:
    if path:
        inner = content.get(path[0], {})
        if not isinstance(inner, dict):
            raise ValueError(f"{path[0]} is not an object")
        return {**content, path[0]: _merge(inner, path[1:], values)}
    merged = {
        name: _merge(content[name], (), value)
        if isinstance(value, dict) and isinstance(content.get(name), dict)
        else value
        for name, value in values.items()
    }
    return {**content, **merged}


def _lookup(content: Any, path: tuple[str, ...]) -> dict[str, Any] | None:
    for name in path:
        content = content.get(name) if isinstance(content, dict) else None
    return content if isinstance(content, dict) else None


def copy_path(path: Path) -> Path:
    """Return the path of a file's copy."""
    return path.with_name(path.name + _COPY)


def read(path: Path) -> bytes | None:
    """Return a file's content, None if the file does not exist."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ClientSetupError(f"{path} cannot be read ({error.strerror}).") from None


def _decoded(content: bytes | None) -> str:
    return (content or b"").decode()


def _refused(path: Path, syntax: Syntax, error: ValueError, advice: str) -> ClientSetupError:
    kind = "TOML" if syntax is toml_text else "JSON"
    reason = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
    if isinstance(error, json.JSONDecodeError):
        reason = f"line {error.lineno} is not valid"
    return ClientSetupError(f"{path} cannot be edited: as {kind}, {reason}.", hint=advice)
