"""Point ownership on a shared Qdrant server.

The owner is a random id in the storage folder, not in the journal. Two stores with the same owner, such as a backup and
its original, would remove each other's points.
"""

import os
import platform
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from learning_memory_server.errors import StorageUnavailableError
from learning_memory_server.system import files

_RANDOM_NODE: Final = 1 << 40  # The bit of `uuid.getnode()` that marks a random number


class OwnerFile(msgspec.Struct, frozen=True, omit_defaults=True):
    """The content of an owner's file."""

    owner: uuid.UUID
    place: dict[str, str]  # the machine and the folder where it was created
    rebuilds: dict[str, str] = {}  # the numbers of unfinished rebuilds, by collection


class Owner:
    """An owner of points, stored in a file.

    Attributes:
        id: The owner's id.
        name: The id in the form that points contain.
        is_settled: Whether the file was created on this machine and in this folder. A copy must not remove points.
    """

    def __init__(self, path: Path, kept: OwnerFile) -> None:
        self.id, self.name = kept.owner, str(kept.owner)
        self.is_settled = kept.place == _place(path)
        self.kept = kept
        self._path = path

    def outside(self, point_id: str) -> str:
        """Return the id of a point on the server."""
        return str(uuid.UUID(int=uuid.UUID(point_id).int ^ self.id.int))

    def inside(self, stored: str) -> str:
        """Return the id of a point from its id on the server: the inverse of `outside`, in a fifth of its time."""
        digits = f"{int(stored.replace('-', ''), 16) ^ self.id.int:032x}"
        return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"

    def rebuild_of(self, collection: str) -> str | None:
        """Return the number of the collection's unfinished rebuild, or None."""
        return self.kept.rebuilds.get(collection)

    def begin_rebuild(self, collection: str) -> str:
        """Return a new number for a rebuild of the collection, stored until the rebuild ends."""
        number = uuid.uuid4().hex[:12]
        self.kept.rebuilds[collection] = number
        _write(self._path, self.kept)
        return number

    def end_rebuild(self, collection: str) -> None:
        """Remove the number of the collection's rebuild."""
        self.kept.rebuilds.pop(collection, None)
        _write(self._path, self.kept)


def open_owner(path: Path) -> Owner:
    """Return the owner in a file, a new one if there is no file. Raises StorageUnavailableError for a damaged file."""
    try:
        return Owner(path, msgspec.json.decode(files.content(path), type=OwnerFile))
    except FileNotFoundError:
        return new_owner(path)
    except OSError as error:
        raise StorageUnavailableError(f"The file {path} cannot be read ({error.strerror}).") from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise StorageUnavailableError(
            f"The file {path} is damaged: it says which points on the Qdrant server are yours.",
            hint="Restore it from a copy of the storage folder. Without one, `learning-memory-server doctor --fix` "
            "makes a new owner: the index is then built again, and the points of the lost one stay on the server.",
        ) from error


def find_owner(path: Path) -> str | None:
    """Return the name of the owner in a file, None if the file does not exist or is unusable."""
    with suppress(StorageUnavailableError):
        return open_owner(path).name if path.exists() else None
    return None


def new_owner(path: Path) -> Owner:
    """Write a new owner to the file and return it."""
    return _made(path, OwnerFile(uuid.uuid4(), _place(path)))


def settle_owner(path: Path) -> Owner:
    """Accept a storage folder that was moved here with its owner, and return the owner."""
    return _made(path, msgspec.structs.replace(open_owner(path).kept, place=_place(path)))


def _made(path: Path, kept: OwnerFile) -> Owner:
    _write(path, kept)
    return Owner(path, kept)


def _place(path: Path) -> dict[str, str]:
    return {"machine": machine_id(), "folder": str(path.parent.resolve())}


def machine_id() -> str:
    """Return an id of this machine that does not depend on its name."""
    for file in (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id")):
        try:
            if found := file.read_text("ascii").strip():
                return found
        except (OSError, ValueError):
            continue
    node = uuid.getnode()
    return platform.node() if node & _RANDOM_NODE else f"{node:012x}"


def _write(path: Path, kept: OwnerFile) -> None:
    try:
        files.replace(path, msgspec.json.format(msgspec.json.encode(kept), indent=1) + os.linesep.encode())
    except OSError as error:
        raise StorageUnavailableError(f"The file {path} cannot be written ({error.strerror}).") from error
