"""`resolve`: close an entry that its agent left open. `split`: undo that an entry is the same as another."""

from typing import Annotated, Final

import typer

from learning_memory_server.cli import command, out
from learning_memory_server.cli.access import open_connection
from learning_memory_server.errors import InvalidInputError, NotFoundError
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.vocabulary import OutcomeStatus, RootCauseCategory

_CLOSED: Final = "Closed by a person."

commands = command.Commands()


@commands.command(example='ghap_20260301_120000_ffffff abandoned "Nobody needs it any more."')
async def resolve(
    name: Annotated[
        str, typer.Argument(metavar="ID", help="The id of an open entry, or its beginning; `status` lists them.")
    ],
    outcome: Annotated[OutcomeStatus, typer.Argument(metavar="OUTCOME", help="How it ended.")],
    result: Annotated[list[str] | None, typer.Argument(metavar="[RESULT]", help="What happened.")] = None,
    surprise: Annotated[str | None, typer.Option(help="What contradicted the prediction.")] = None,
    category: Annotated[RootCauseCategory | None, typer.Option(help="The kind of root cause.")] = None,
    cause: Annotated[str | None, typer.Option(help="Why the hypothesis was wrong.")] = None,
    takeaway: Annotated[str | None, typer.Option(help="A rule for next time.")] = None,
) -> None:
    """Close an entry that its agent left open.

    A falsified one needs --surprise, --category and --cause.
    """
    settings = command.open_settings()
    found = _find_open(name, command.Offline(settings))
    missing = [
        said for said, value in (("--surprise", surprise), ("--category", category), ("--cause", cause)) if not value
    ]
    if outcome is OutcomeStatus.FALSIFIED and missing:
        raise InvalidInputError(f"A falsified entry needs {', '.join(missing)}, too: what the hypothesis got wrong.")
    arguments: dict[str, object] = {
        "status": outcome.value,
        "result": " ".join(result or ()) or _CLOSED,
        "surprise": surprise,
    }
    arguments |= {"root_cause": {"category": category, "description": cause}} if category or cause else {}
    arguments |= {"lesson": {"takeaway": takeaway}} if takeaway else {}
    async with open_connection(settings, "resolve") as connection:
        reply = await connection.call("resolve_ghap", ghap_id=found.id, **arguments)
    out.say(f"{reply['id']} is {reply['status']}.")


@commands.command(example="ghap_20260301_120000_ffffff")
async def split(
    name: Annotated[str, typer.Argument(metavar="ID", help="An entry; `show` says what it is the same as.")],
) -> None:
    """Take back what an agent said: that an entry is the same as an earlier one.

    Both stay, each for itself.
    """
    async with open_connection(command.open_settings(), "split") as connection:
        reply = await connection.run("split", name=name)
    out.say(f"{reply['id']} stands for itself. Its agent had called it the same as {reply['same_as']}.")


def _find_open(name: str, stored: command.Offline) -> Ghap:
    """Return the open entry with this id, or with an id that begins with it."""
    found = {each.id: each for each in stored.journal.open_entries() if name and each.id.startswith(name)}
    # After a crash, a resolved entry may still have an open file.
    resolved = [each for each in stored.collector.look_up([*found, name]).found if each.resolution]
    for each in resolved:
        found.pop(each.id, None)
    if len(found) == 1:
        return next(iter(found.values()))
    if not found and resolved:
        raise InvalidInputError(
            f"{resolved[0].id} is {resolved[0].outcome.status} already.",
            hint=f"If that is wrong, keep it from agents: learning-memory-server review {resolved[0].id} --never",
        )
    many = f"{len(found)} open entries have" if found else "No open entry has"
    raise NotFoundError(
        f"{many} an id that begins with {out.one_line(name)!r}.",
        hint="`learning-memory-server status` lists the open entries.",
    )
