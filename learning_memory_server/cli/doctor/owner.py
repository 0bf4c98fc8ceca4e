"""Check of the owner: whose points on a Qdrant server are this storage folder's."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from learning_memory_server.cli.access.hub_client import stop_running_hub
from learning_memory_server.cli.doctor import Finding, Repair, red, yellow
from learning_memory_server.errors import StorageUnavailableError
from learning_memory_server.index.engines.owner import Owner, new_owner, open_owner, settle_owner
from learning_memory_server.server.settings import Settings
from learning_memory_server.system.locking import hold

_MOVED: Final = "Was the storage folder moved here, so that its points stay its own?"
_COPIED: Final = "Is it a copy, which becomes an owner of its own, and whose index is built again?"
_LOST: Final = "Is there no copy of that file, so that the index is built again for a new owner?"


def check_owner(settings: Settings) -> Iterator[Finding]:
    """Ask about a storage folder that was moved or copied, and about a damaged owner."""

    def settling(settle: Callable[[Path], Owner]) -> Repair:
        def repair() -> str:
            # A hub knows the owner from when it opened the index.
            stop_running_hub()
            with hold(settings.journal_directory, settings.storage_path, "doctor --fix"):
                return f"Your points on the Qdrant server have the owner {settle(settings.owner_file).name}."

        return repair

    try:
        owner = open_owner(settings.owner_file)
    except StorageUnavailableError as error:
        is_damaged = not isinstance(error.__cause__, OSError)
        yield red(error.sentence, answers={_LOST: settling(new_owner)} if is_damaged else {})
        return
    if not owner.is_settled:
        yield yellow(
            "The storage folder was moved or copied since the Qdrant server was used, so nothing is removed there. "
            "If it is a copy, what the other folder forgets comes back from here until you say which it is: "
            "learning-memory-server doctor --fix asks.",
            answers={_MOVED: settling(settle_owner), _COPIED: settling(new_owner)},
        )
