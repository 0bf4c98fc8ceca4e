"""`add`: store a text of a person for agents."""

from typing import Annotated

import typer

from learning_memory_server.cli import command, out
from learning_memory_server.cli.access import open_connection
from learning_memory_server.errors import InvalidInputError

commands = command.Commands()


@commands.command(example='"The staging database is built anew every Monday" --tag deploy')
async def add(
    text: Annotated[list[str], typer.Argument(metavar="TEXT", help="What to keep.")],
    tags: Annotated[
        list[str] | None, typer.Option("--tag", metavar="TAG", help="A word to find it by; can be repeated.")
    ] = None,
) -> None:
    """Keep a text as a memory, which agents find when they search.

    It belongs to this project. A sentence that agents are to follow is a rule:
    `rule add`.
    """
    if not " ".join(text).strip():
        raise InvalidInputError("TEXT: is empty.", hint="Say what agents should find.")
    metadata = {"source": "person", **({"tags": tags} if tags else {})}
    async with open_connection(command.open_settings(), "add") as connection:
        kept = await connection.call("add_memory", text=" ".join(text), metadata=metadata)
    out.say(f"Kept as {kept['id']}. Agents find it when they search.")
    out.say("To have agents follow a sentence: learning-memory-server rule add TEXT", "dim", is_line=True)
    out.say(f"Undo: learning-memory-server forget {kept['id']}", "dim", is_line=True)
