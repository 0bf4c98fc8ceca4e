"""`owner`: whose points on a Qdrant server a storage folder's are."""

from __future__ import annotations

from learning_memory_server.cli.access.reading import open_settings
from learning_memory_server.cli.terminal import output
from learning_memory_server.errors import InvalidInputError
from learning_memory_server.index.engines.owner import Owner, new_owner, open_owner, settle_owner
from learning_memory_server.system.locking import hold


def show_owner(*, keep: bool, new: bool) -> None:
    """Print the owner of the storage folder, after changing what is known of it.

    Args:
        keep: The folder was moved: the owner stays.
        new: The folder is a copy: it gets an owner of its own.

    Raises:
        InvalidInputError: If both are given.
        AlreadyRunningError: If a process uses the storage folder.
        StorageUnavailableError: If the owner's file is damaged, or cannot be read or written.
    """
    if keep and new:
        raise InvalidInputError("Give either --keep or --new.")
    settings = open_settings()
    if not (keep or new):
        if not settings.owner_file.exists():
            output().print("No Qdrant server has been used with this storage folder.")
            return
        _show(open_owner(settings.owner_file))
        return
    # A hub knows the owner from when it opened the index.
    with hold(settings.journal_directory, settings.storage_path, "owner"):
        _show(settle_owner(settings.owner_file) if keep else new_owner(settings.owner_file))


def _show(owner: Owner) -> None:
    output().print(f"Your points on a Qdrant server have the owner {owner.name}.")
    if not owner.is_settled:
        output().print(
            "The storage folder was moved or copied since then, so nothing is removed from the server."
        )
        output().print("If it was moved, run this with --keep; if it is a copy, with --new.")
