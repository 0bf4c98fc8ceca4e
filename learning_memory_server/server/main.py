"""The process behind `--direct`."""

from typing import NoReturn

from learning_memory_server.system.ending import run_and_exit
from learning_memory_server.system.imports import fast_imports


def main(*, has_hooks: bool = False) -> NoReturn:
    """Serve until the client leaves, then exit the process."""
    with fast_imports():
        import asyncio

        from learning_memory_server.server.session import serve_stdio

    run_and_exit(lambda: asyncio.run(serve_stdio(has_hooks=has_hooks)))
