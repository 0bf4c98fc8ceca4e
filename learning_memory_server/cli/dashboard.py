"""`dashboard`: one page that shows what was learned, in a file or live."""

from __future__ import annotations

import asyncio
import stat
import sys
import webbrowser
from typing import TYPE_CHECKING, Any, Final

from learning_memory_server import files
from learning_memory_server.access.connection import Connection, open_connection
from learning_memory_server.access.reading import open_settings
from learning_memory_server.dashboard.page import page
from learning_memory_server.dashboard.serving import served
from learning_memory_server.errors import InvalidInputError, LearningMemoryError, StorageUnavailableError
from learning_memory_server.options import chosen_project
from learning_memory_server.terminal import output, readable_size, show_notice

if TYPE_CHECKING:
    from pathlib import Path

    from learning_memory_server.settings import Settings

_AWAKE_SECONDS: Final = 1.0


async def show_dashboard(file: Path | None, project: str | None, *, may_open: bool, live: bool) -> None:
    """Write the page and open it, or serve it until Ctrl-C.

    Args:
        file: Where to write it; by default, in the storage folder.
        project: The value of `--project`.
        may_open: Open it in the browser.
        live: Serve it, in place of writing it.

    Raises:
        InvalidInputError: If a file is named for a live page, or cannot be written.
        AlreadyRunningError: If a process other than a hub uses the index.
        DeadlineExceededError: If the hub hangs.
        JournalUnavailableError: If the journal cannot be read.
    """
    if live and file is not None:
        raise InvalidInputError("Give either --live or --output: a live page has no file.")
    settings = open_settings()
    project = chosen_project(project, settings)
    path = settings.storage_path / "dashboard.html" if file is None else file
    _require_replaceable(path)
    async with open_connection(settings, "dashboard") as connection:
        try:
            await connection.run("complete")
        except LearningMemoryError as error:
            show_notice(f"{error.sentence} The page has no map.")
        document = await _document(connection, project)
        if live:
            await _serve(settings, connection, document, project, may_open=may_open)
            return
    content = page(document).encode()
    try:
        files.replace(path, content)
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be written: {error.strerror}.") from error
    output().print(f"Written to {path} ({readable_size(len(content))}), for you alone.", soft_wrap=True)
    if may_open:
        webbrowser.open(path.absolute().as_uri())


def _require_replaceable(path: Path) -> None:
    """Do nothing unless something other than a file is there: a device or a link would be gone afterwards.

    Raises:
        InvalidInputError: If there is, or if it cannot be found out.
    """
    try:
        if stat.S_ISREG(path.lstat().st_mode):
            return
    except FileNotFoundError:
        return
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be written: {error.strerror}.") from error
    raise InvalidInputError(f"{path} cannot be written: it is there and not a file.", hint="Name a file.")


async def _document(connection: Connection, project: str | None) -> str:
    document: str = (await connection.run("picture", project=project))["document"]
    return document


async def _serve(
    settings: Settings, connection: Connection, document: str, project: str | None, *, may_open: bool
) -> None:
    loop = asyncio.get_running_loop()

    async def ask(**fields: Any) -> Any:  # noqa: ANN401 - JSON
        try:
            return await connection.ask("picture", project=project, **fields)
        except StorageUnavailableError:
            # The hub has ended. Another may run by now; if not, it is started.
            async with open_connection(settings, "dashboard") as again:
                return await again.ask("picture", project=project, **fields)

    def run(**fields: Any) -> Any:  # noqa: ANN401 - JSON
        return asyncio.run_coroutine_threadsafe(ask(**fields), loop).result()["document"]

    first = [document]

    def whole() -> str:
        # What was gathered before the browser asked for it.
        return page(first.pop() if first else run(), is_live=True)

    with served(whole, lambda stamp: run(unlike=stamp)) as address:
        output().print(f"Serving at {address}", soft_wrap=True)
        output().print("The address is a password: whoever has it can read everything. Ctrl-C ends it.")
        # What reads this through a pipe waits for the address.
        sys.stdout.flush()
        if may_open:
            webbrowser.open(address)
        # It wakes up by itself: Ctrl-C in the moment before an endless wait would only be noticed after it.
        while True:  # noqa: ASYNC110 - there is no event to wait for
            await asyncio.sleep(_AWAKE_SECONDS)
