"""`resolve`: close an entry that its agent left open."""

from typing import Annotated, Final

import typer

from learning_memory_server.cli import command, out
from learning_memory_server.cli.access import open_connection
from learning_memory_server.model.vocabulary import OutcomeStatus, RootCauseCategory

_CLOSED: Final = "Closed by a person."

commands = command.Commands()


@commands.command(example='ghap_20260301_120000_ffffff abandoned "Nobody needs it any more."')
async def resolve(
    name: Annotated[str, typer.Argument(metavar="ID", help="An open entry; `status` lists them.")],
    outcome: Annotated[OutcomeStatus, typer.Argument(metavar="OUTCOME", help="How it ended.")],
    result: Annotated[list[str] | None, typer.Argument(metavar="[RESULT]", help="What happened.")] = None,
    surprise: Annotated[str | None, typer.Option(help="What contradicted the prediction.")] = None,
    category: Annotated[RootCauseCategory | None, typer.Option(help="The kind of root cause.")] = None,
    cause: Annotated[str | None, typer.Option(help="Why the hypothesis was wrong.")] = None,
    takeaway: Annotated[str | None, typer.Option(help="A rule for next time.")] = None,
) -> None:
    """Close an entry that its agent left open, as `resolve_ghap` does for agents.

    A falsified one needs --surprise, --category and --cause.
    """
    given: dict[str, object] = {
        "status": outcome.value,
        "result": " ".join(result or ()) or _CLOSED,
        "surprise": surprise,
    }
    given |= {"root_cause": {"category": category, "description": cause}} if category or cause else {}
    given |= {"lesson": {"takeaway": takeaway}} if takeaway else {}
    async with open_connection(command.open_settings(), "resolve") as connection:
        reply = await connection.call("resolve_ghap", ghap_id=name, **given)
    out.say(f"{reply['id']} is {reply['status']}.")
