"""A change to a client's file of servers, or of hooks: computed first, shown, and then written, with a copy.

The removal repeats the edit on the copy: if the result is the present file, the copy is restored byte for byte,
otherwise the entry alone is taken out. A file of hooks is ours as a whole.
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
_CONTEXT: Final = 2  # Unchanged lines around a change in a diff: the user's, and perhaps keys of other servers


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a file.

    Attributes:
        path: The file as the client names it; it may be a symbolic link.
        before: Its content now; None if it does not exist.
        after: Its new content; None removes it.
        copy: The content to keep a copy of, if any.
        advice: The change by hand if the file cannot be written.
        restores: Whether `after` is the copy, which is then removed.
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
        """Write the file, with its own mode, and the copy first. A new file is for its owner alone."""
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
    """Return this server's entry in a client's file, or None; `advice` is what to do if that cannot be parsed."""
    path = client.locate(machine)
    try:
        content = client.syntax.parse(_decoded(read(path)))
    except ValueError as error:
        raise _refused(path, client.syntax, error, advice) from None
    return _lookup(content, client.path)


def addition(client: Client, machine: Machine, entry: Mapping[str, Any]) -> Change:
    """Return the change that adds or updates this server's entry, leaving everything else as it is."""
    path = client.locate(machine)
    place, text = by_hand(client, machine, entry)
    advice = f"Add this {place} yourself:\n{text}"
    before, existing = read(path), find_entry(client, machine, advice)
    earlier = read(copy_path(path))
    if existing is not None and not entry.get("args") and "args" not in existing:
        # Codex leaves out empty arguments when it rewrites its file.
        entry = {name: value for name, value in entry.items() if name != "args"}
    after = _merged(path, before, client.syntax, client.path, entry, advice)
    # An update keeps the copy from before the server was added.
    copy = earlier if existing is not None and _is_before(client, earlier, before, existing) else before
    return Change(path, before, after, copy, advice)


def removal(client: Client, machine: Machine) -> Change:
    """Return the change that removes what was added."""
    path, syntax = client.locate(machine), client.syntax
    advice = f"Remove {'.'.join(client.path)} from {path} yourself."
    before, existing = read(path), find_entry(client, machine, advice)
    earlier = read(copy_path(path))
    if before is None or existing is None:
        # The client's own command leaves the copy.
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
    """Return the folder of what a client reads: in the package, or next to it in a checkout."""
    installed = Path(__file__).with_name("plugins")
    return (installed if installed.is_dir() else Path(__file__).parents[3] / "plugins") / name


def hook_command() -> list[str]:
    """Return the command `hook` of this installation, with the interpreter itself: it starts fast, without PATH."""
    return [sys.executable, "-I", "-S", hook.__file__]


def hooks_change(client: Client, machine: Machine, *, remove: bool = False) -> Change | None:
    """Return the change that writes a client's hooks, or removes them; None if `setup` writes none for it."""
    if not client.hooks or not hasattr(os, "fork"):
        return None
    path = client.locate(machine).parent / client.hooks
    text = (packaged(client.name) / path.name).read_text("utf-8")
    # A list of words in a program, and the line of a shell in JSON.
    text = text.replace(f'"{APPLICATION}", "hook"', json.dumps(hook_command())[1:-1])
    text = text.replace(f"{APPLICATION} hook", json.dumps(shlex.join(hook_command()))[1:-1])
    advice = f"Change {path} yourself, or make it writable and try again."
    return Change(path, read(path), None if remove else text.encode(), None, advice)


def by_hand(client: Client, machine: Machine, entry: Mapping[str, Any]) -> tuple[str, str]:
    """Return where to add this server to a client's file, with a preposition, and the text that is valid there.

    That depends on what is in the file: two objects in a row are not valid, and no table below an inline one.
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
    """Return the members of an object of JSON without its braces."""
    return "\n".join(line[2:] for line in json.dumps(content, indent=2, ensure_ascii=False).split("\n")[1:-1])


def _put(text: str, client: Client, entry: Mapping[str, Any]) -> str:
    try:
        return client.syntax.put(text, client.path, entry)
    except (ValueError, AttributeError):
        return "="  # No form of it


def _is_toml(text: str) -> bool:
    try:
        toml_text.parse(text)
    except ValueError:
        return False
    return True


def snippet(client: Client, entry: Mapping[str, Any]) -> str:
    """Return the content of a file that has this server only."""
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
    """Return a text without the entry, and without its section if that was added with it and is empty now."""
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
    """Return whether adding the entry to the earlier content, which had none, leads to the content of now."""
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
    """Return where the copy of a file is kept."""
    return path.with_name(path.name + _COPY)


def read(path: Path) -> bytes | None:
    """Return a file's content, or None if it does not exist."""
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
