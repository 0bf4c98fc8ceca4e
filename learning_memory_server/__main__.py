"""The `learning-memory-server` command."""

from __future__ import annotations

import sys


def main() -> None:
    """Serve on stdio; with arguments, run a command."""
    if len(sys.argv) == 1:
        from learning_memory_server.server.stdio import main as serve  # noqa: PLC0415

        serve()
    else:
        from learning_memory_server.cli.app import main as run_command  # noqa: PLC0415

        run_command()


if __name__ == "__main__":
    main()
