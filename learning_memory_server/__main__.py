"""The `learning-memory-server` command."""

from __future__ import annotations

import sys


def main() -> None:
    """Serve a session on stdio through the hub; with arguments, run a command.

    What is not needed is not imported: a session's start is a matter of milliseconds.
    """
    arguments = sys.argv[1:]
    if not arguments:
        from learning_memory_server.front.main import main as front  # noqa: PLC0415

        front()
    elif arguments == ["--direct"]:
        from learning_memory_server.server.main import main as serve  # noqa: PLC0415

        serve()
    elif arguments == ["hub", "run"]:
        from learning_memory_server.server.hub.main import main as hub  # noqa: PLC0415

        hub()
    else:
        from learning_memory_server.cli.app import main as run_command  # noqa: PLC0415

        run_command()


if __name__ == "__main__":
    main()
