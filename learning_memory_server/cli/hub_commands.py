"""The commands about the hub: looking at it, ending it, and being it."""

from typing import Annotated

import typer

hub = typer.Typer(no_args_is_help=True, help="The process that holds the memory for all sessions.")


@hub.command("status")
def hub_status() -> None:
    """Show what the hub says about itself, or that none runs and who holds the memory."""
    from learning_memory_server.cli.hub import show_hub  # noqa: PLC0415

    show_hub()


@hub.command("stop")
def hub_stop() -> None:
    """End the hub, and wait until it has ended. Sessions that are open start another when they need it."""
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
    """Be the hub, in the foreground, until Ctrl-C or until nobody has needed it for long.

    Sessions do this by themselves, in the background. If there is a hub already, this ends at once.
    """
    from learning_memory_server.server.hub.main import main as serve  # noqa: PLC0415

    serve()
