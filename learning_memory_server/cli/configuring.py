"""`settings`: each setting, and the origin of its value."""

import os
from difflib import get_close_matches
from typing import Annotated, Any

import typer
from rich.text import Text

from learning_memory_server.cli import out
from learning_memory_server.cli.command import Commands, Result, open_settings
from learning_memory_server.cli.listing import Facts
from learning_memory_server.errors import InvalidInputError
from learning_memory_server.server.settings import Settings, is_secret
from learning_memory_server.system import locations, paths

commands = Commands()


@commands.command("settings", example="--json")
def settings_(name: Annotated[str, typer.Argument(metavar="[NAME]", help="Only this setting.")] = "") -> Result:
    """Show each setting, where its value comes from, and the file in which you change it.

    A variable of the environment comes before the file. The settings of a
    running hub are those with which it was started; `hub stop` lets the next
    session start one with the new settings.
    """
    settings, file = open_settings(), paths.config_file()
    in_file, variables = paths.settings_from_file(), locations.settings_from_environment(os.environ)
    rows: list[dict[str, Any]] = []
    if name and name not in Settings.model_fields:
        alike = get_close_matches(name, Settings.model_fields, n=1)
        raise InvalidInputError(
            f"There is no setting {out.one_line(name)!r}.",
            hint=f"Did you mean {alike[0]}?" if alike else "`learning-memory-server settings` shows all.",
        )
    for each, field in Settings.model_fields.items():
        if name not in ("", each):
            continue
        value = getattr(settings, each)
        variable = f"{paths.PREFIX}{each.upper()}"
        origin = variable if each in variables else str(file) if each in in_file else "default"
        shown = "(a secret)" if value is not None and is_secret(each, value) else value
        is_plain = shown is None or isinstance(shown, bool | int | float | str)
        shown = shown if is_plain else str(shown)
        rows.append({"name": each, "value": shown, "source": origin, "about": field.description or ""})
    for row in rows:
        facts: Facts = [Text(row["name"], "bold"), f"= {_in_words(row['value'])}", f"({row['source']})"]
        out.records([out.Record(facts, row["about"])])
    out.say(f"\nTo change one, write `name = value` into {out.one_line(str(file))}, or set its variable.")
    return Result({"file": str(file), "settings": rows})


def _in_words(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "-" if value in (None, "()") else str(value)
