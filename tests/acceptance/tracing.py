"""Following a program and all its children with strace: which sockets they make, and which files they change."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_CALL: Final = re.compile(r"(?P<name>\w+)\((?P<arguments>.*)\) += (?P<result>.*)")
_PATH: Final = re.compile(r'(?:(?:AT_FDCWD|\d+)<(?P<folder>[^>]*)>, )?(?<!=)"(?P<path>(?:[^"\\]|\\.)*)"')
_FAMILY: Final = re.compile(r"(?:sa_family=|^)(AF_\w+)")
_SOCKET_FILE: Final = re.compile(r'sun_path="([^"]*)"')

_WRITES: Final = re.compile(r"\b(?:O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND)\b")
_CHANGING: Final = re.compile(
    r"creat|mkdir|rmdir|unlink|rename|link|symlink|mknod|l?chown|chmod|fchmod|fchown|truncate|utimes?|futimes|utimens"
    r"|l?setxattr|l?removexattr"
)
_VARIANT: Final = re.compile(r"at2?$")
"""The end of the name of a call that takes the folder as well, such as `openat2`."""
_FOLLOWED: Final = ("--seccomp-bpf", "-e", f"trace=%network,/^(open|{_CHANGING.pattern})(at2?)?$")
"""What is read here. The program stops at no other call, of which Python's imports make four in five."""
_NOT_FILES: Final = ("/dev/null", "/dev/tty", "/proc/", "/dev/shm/sem.")  # noqa: S108 - nothing is made there
"""Devices, and semaphores, which are in RAM: joblib makes one to see whether it can, and removes it."""


@dataclass(frozen=True, slots=True)
class Traced:
    """What a program and its children did.

    Args:
        families: The address families of the sockets that they made.
        reached: The files of the sockets that they connected to.
        changed: The files and folders that they created, opened for writing, changed or removed.
    """

    families: frozenset[str]
    reached: frozenset[Path]
    changed: frozenset[Path]


def following(folder: Path) -> list[str | Path]:
    """Return the beginning of a command line that follows the rest, with a file in the folder for each thread."""
    folder.mkdir()
    return ["strace", "-ff", "-y", "-qq", *_FOLLOWED, "-o", folder / "of", "--"]


def traced(folder: Path) -> Traced:
    """Return what was seen so far."""
    families: set[str] = set()
    reached: set[Path] = set()
    changed: set[Path] = set()
    for name, arguments, succeeded in _calls(folder):
        if name in {"socket", "socketpair"}:
            families.update(_FAMILY.findall(arguments))
        elif name == "connect":
            families.update(_FAMILY.findall(arguments))
            reached.update(map(Path, _SOCKET_FILE.findall(arguments)))
        elif name == "bind":
            changed.update(map(Path, _SOCKET_FILE.findall(arguments)))
        elif succeeded and _changes(_VARIANT.sub("", name), arguments):
            changed.update(_paths(arguments))
    return Traced(
        frozenset(families),
        frozenset(reached),
        frozenset(path for path in changed if not str(path).startswith(_NOT_FILES)),
    )


def _calls(folder: Path) -> Iterator[tuple[str, str, bool]]:
    """Yield the name of every call, its arguments, and whether it succeeded."""
    for file in folder.iterdir():
        for line in file.read_text("utf-8", "replace").splitlines():
            if found := _CALL.fullmatch(line):
                yield found["name"], found["arguments"], not found["result"].startswith("-1 ")


def _changes(name: str, arguments: str) -> bool:
    return bool(_WRITES.search(arguments) if name == "open" else _CHANGING.fullmatch(name))


def _paths(arguments: str) -> Iterator[Path]:
    for found in _PATH.finditer(arguments):
        yield Path(found["folder"] or "", found["path"])
