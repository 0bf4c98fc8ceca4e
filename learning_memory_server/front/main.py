"""The front's entry: everything a session's process does before it has a hub."""

from __future__ import annotations

import os
import sys

from learning_memory_server import paths, rendezvous
from learning_memory_server.errors import LearningMemoryError
from learning_memory_server.front.link import HubLink
from learning_memory_server.front.relay import Relay

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def main() -> NoReturn:
    """Relay between the client and the hub until the client leaves."""
    status = 0
    if not hasattr(os, "fork"):
        _say("This system cannot have a hub; start `learning-memory-server --direct`, one session at a time.")
        os._exit(1)
    try:
        place = rendezvous.Place(os.environ)
        Relay(HubLink(place, _hello(place), _say)).run()
    except LearningMemoryError as error:
        _say(error.sentence)
        status = 1
    except (BrokenPipeError, KeyboardInterrupt):
        # The client is gone; there is nobody to tell.
        status = 0
    sys.stderr.flush()
    os._exit(status)


def _hello(place: rendezvous.Place) -> dict[str, object]:
    front = os.urandom(12).hex()
    return {
        "hello": rendezvous.PROTOCOL,
        "role": "session",
        "build": rendezvous.build(),
        "journal": str(place.journal),
        "storage": str(place.storage),
        "settings": place.settings,
        "project": place.project,
        "directory": os.path.abspath(os.environ.get("CLAUDE_PROJECT_DIR") or _working_directory()),  # noqa: PTH100
        "session": os.environ.get("CLAUDE_CODE_SESSION_ID") or front,
        "front": front,
        "variables": [name for name in os.environ if name.startswith(paths.PREFIX)],
    }


def _working_directory() -> str:
    try:
        return os.getcwd()  # noqa: PTH109 - pathlib's does the same, later
    except FileNotFoundError:
        return "/"


def _say(sentence: str) -> None:
    print(f"learning-memory-server: {sentence}", file=sys.stderr)  # noqa: T201 - stderr is the log
