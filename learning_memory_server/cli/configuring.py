"""`settings`: each setting, and the origin of its value."""

import os
from typing import Any

from rich.text import Text

from learning_memory_server.cli import out
from learning_memory_server.cli.command import Commands, Result, open_settings
from learning_memory_server.cli.listing import Facts
from learning_memory_server.server.settings import Settings, is_secret
from learning_memory_server.system import locations, paths

commands = Commands()


@commands.command("settings", example="--json")
def settings_() -> Result:
    """Show each setting, where its value comes from, and the file in which you change it.

    A variable of the environment comes before the file. The settings of a
    running hub are those with which it was started; `hub stop` lets the next
    session start one with the new settings.
    """
    settings, file = open_settings(), paths.config_file()
    in_file, variables = paths.settings_from_file(), locations.settings_from_environment(os.environ)
    rows: list[dict[str, Any]] = []
    for name, field in Settings.model_fields.items():
        value = getattr(settings, name)
        variable = f"{paths.PREFIX}{name.upper()}"
        origin = variable if name in variables else str(file) if name in in_file else "default"
        shown = "(a secret)" if value is not None and is_secret(name, value) else value
        is_plain = shown is None or isinstance(shown, bool | int | float | str)
        shown = shown if is_plain else str(shown)
        rows.append({"name": name, "value": shown, "source": origin, "about": field.description or ""})
    for each in rows:
        facts: Facts = [Text(each["name"], "bold"), f"= {_in_words(each['value'])}", f"({each['source']})"]
        out.records([out.Record(facts, each["about"])])
    out.say(f"\nTo change one, write `name = value` into {out.one_line(str(file))}, or set its variable.")
    return Result({"file": str(file), "settings": rows})


def _in_words(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "-" if value in (None, "()") else str(value)
