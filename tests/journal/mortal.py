"""An operating system that dies, or refuses, at a chosen moment, and a disk over it."""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.system import files, locations


class PowerLossError(BaseException):
    """The end of the process, which it can neither catch nor clean up after."""


class MortalSystem:
    """Changes files as `os` does, until it dies: before a step, or in the middle of what that step writes.

    Nothing is synced, because a test could not see whether it was. Instead it tracks what a power loss could still
    undo (`dirty`), and refuses steps that rely on something that is not safe yet.
    """

    def __init__(self) -> None:
        self.dirty: set[int] = set()
        """The inodes of files and directories with unsynced changes."""
        self._left: int | None = None
        self._cut = 0
        self._refuses = False
        self._again: int | None = None

    def die_after(self, steps: int, cut: int) -> None:
        """Allow `steps` more steps. If the next one writes n bytes, `cut` modulo n + 1 of them are written."""
        self._left, self._cut, self._refuses = steps, cut, False

    def refuse_after(self, steps: int, cut: int, again: int | None = None) -> None:
        """Allow `steps` more steps, then fail once as a full disk does, and once more `again` steps later."""
        self._left, self._cut, self._refuses, self._again = steps, cut, True, again

    def live(self) -> None:
        """Stop dying. What was written is as safe as after the end of a process."""
        self._left, self._refuses, self._again = None, False, None
        self.dirty.clear()

    def mkdir(self, path: Path, mode: int, /) -> None:
        self._step()
        path.mkdir(mode)
        self.dirty.add(_inode(path.parent))

    def open(self, path: Path, flags: int, mode: int = 0o777, /) -> int:
        creates = bool(flags & os.O_CREAT) and not path.exists()
        if creates or flags & os.O_TRUNC:
            self._step()
        descriptor = os.open(path, flags, mode)
        if creates:
            self.dirty.add(_inode(path.parent))
        return descriptor

    def write(self, descriptor: int, data: memoryview, /) -> int:
        self.dirty.add(os.fstat(descriptor).st_ino)
        if self._left == 0:
            os.write(descriptor, data[: self._cut % (len(data) + 1)])
        self._step()
        return os.write(descriptor, data)

    def fsync(self, descriptor: int, /) -> None:
        self._step()
        self.dirty.discard(os.fstat(descriptor).st_ino)

    def ftruncate(self, descriptor: int, length: int, /) -> None:
        self._step()
        os.ftruncate(descriptor, length)
        self.dirty.add(os.fstat(descriptor).st_ino)

    def replace(self, source: Path, destination: Path, /) -> None:
        self._step()
        assert _inode(source) not in self.dirty, "a file takes another's place before it is safe"
        source.replace(destination)
        self.dirty.add(_inode(destination.parent))

    def unlink(self, path: Path, /) -> None:
        self._step()
        # A removal whose sync was refused may be followed by another: both can be repeated.
        assert not self.dirty or self._refuses, "a file is removed before what replaces it is safe"
        path.unlink()
        self.dirty.add(_inode(path.parent))

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def _step(self) -> None:
        if self._left is not None:
            if self._left == 0 and self._refuses:
                self._left, self._again = self._again, None
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            if self._left == 0:
                raise PowerLossError
            self._left -= 1


class MortalDisk:
    """The journal's own writes, on a system that dies."""

    def __init__(self, system: MortalSystem) -> None:
        self._system = system

    def append(self, path: Path, data: bytes, /) -> None:
        with self._in_place():
            files.append(path, data)

    def replace(self, path: Path, data: bytes, /) -> None:
        with self._in_place():
            files.replace(path, data)

    def remove(self, path: Path, /) -> None:
        with self._in_place():
            files.remove(path)

    def truncate(self, path: Path, size: int, /) -> None:
        with self._in_place():
            files.truncate(path, size)

    @contextmanager
    def _in_place(self) -> Iterator[None]:
        """Let `files`, and what it writes with, use the system in place of `os`."""
        with pytest.MonkeyPatch.context() as patch:
            for module in (files, locations):
                patch.setattr(module, "os", self._system)
            yield


def deaths(begin: Callable[[], object], act: Callable[[MortalDisk], object]) -> Iterator[None]:
    """Do something again and again from the same beginning, dying one step later each time, until it is done."""
    for steps in range(100):
        begin()
        system = MortalSystem()
        system.die_after(steps, steps * 97)
        try:
            act(MortalDisk(system))
        except PowerLossError:
            yield
        else:
            break


def _inode(path: Path) -> int:
    return path.stat().st_ino
