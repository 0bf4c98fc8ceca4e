"""A dict that keeps what was used last."""

from collections.abc import Callable
from typing import Final, TypeVar

MOST: Final = 1_000
"""How many things are kept, unless less is said."""
LARGE_MOST: Final = 50  # The same of things with megabytes, such as the files of a repository
SMALL_MOST: Final = 20_000  # The same of what is quickly made again
K = TypeVar("K")
V = TypeVar("V")


class Recent(dict[K, V]):
    """A dict of at most so many things: those that were set, or read by `[]` or `of`, last.

    `dropped` is called with each thing that there is no room for any more.
    """

    def __init__(self, most: int | None = None, dropped: Callable[[V], None] | None = None) -> None:
        super().__init__()
        self._most = MOST if most is None else most
        self._dropped = dropped

    def __getitem__(self, key: K) -> V:
        self[key] = found = super().__getitem__(key)
        return found

    def __setitem__(self, key: K, value: V) -> None:
        self.pop(key, None)
        super().__setitem__(key, value)
        if len(self) > self._most:
            gone = self.pop(next(iter(self)))
            if self._dropped:
                self._dropped(gone)

    def of(self, key: K, new: Callable[[], V]) -> V:
        """Return the value of a key, by default a new one."""
        if key not in self:
            self[key] = new()
        return self[key]
