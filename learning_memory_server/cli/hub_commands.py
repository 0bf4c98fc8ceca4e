"""The commands about the hub. What they do is in `cli/hub.py`."""

from typing import Annotated

import typer

from learning_memory_server.cli.options import JsonOption

hub = typer.Typer(no_args_is_help=True, help="The process that serves all sessions and owns their data.")


@hub.command("status")
def hub_status(as_json: JsonOption = False) -> None:
    """Show the hub's state or, if none is running, which process has locked the data."""
    from learning_memory_server.cli.hub import show_hub  # noqa: PLC0415

    show_hub(as_json=as_json)


@hub.command("stop")
def hub_stop() -> None:
    """Stop the hub and wait until it has ended. Open sessions start another when they need one."""
    from learning_memory_server.cli.hub import stop_hub  # noqa: PLC0415

    stop_hub()


@hub.command("logs")
def hub_logs(
    count: Annotated[int, typer.Option("-n", "--lines", min=0, help="How many lines to show.")] = 20,
    follow: Annotated[
        bool, typer.Option("--follow", help="Show new lines as they come, until Ctrl-C.")
    ] = False,
) -> None:
    """Show the end of the hub's log."""
    from learning_memory_server.cli.hub import show_logs  # noqa: PLC0415

    show_logs(count, follow=follow)


@hub.command("run")
def hub_run() -> None:
    """Run the hub in the foreground, until Ctrl-C or until it has been idle for `hub_idle_minutes`.

    Sessions start one by themselves, in the background. If a hub is already
    running, this ends immediately.
    """
    from learning_memory_server.hub.main import main as serve  # noqa: PLC0415

    serve()
