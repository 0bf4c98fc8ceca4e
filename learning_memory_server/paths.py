"""Where things live and what was set, from the standard library alone.

The stdio front reads this before anything else, and must start in milliseconds: nothing here checks a value. That
is done by `learning_memory_server.server.config`, on the same raw settings.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from learning_memory_server.errors import InvalidSettingsError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Final

APPLICATION: Final = "learning-memory-server"
PREFIX: Final = "LEARNING_MEMORY_"


def data_directory(environment: Mapping[str, str] | None = None) -> Path:
    """Return where this user's data goes when no setting says otherwise."""
    return _user_directory(environment, "XDG_DATA_HOME", Path(".local", "share"))


def config_file(environment: Mapping[str, str] | None = None) -> Path:
    """Return the settings file: `LEARNING_MEMORY_CONFIG`, else `config.toml` in the user's configuration."""
    if named := _named_file(environment):
        return _absolute("config", named)
    return _user_directory(environment, "XDG_CONFIG_HOME", Path(".config")) / "config.toml"


def settings_from_environment(environment: Mapping[str, str] | None = None) -> dict[str, object]:
    """Return the raw settings that variables give, by the setting's name."""
    values = os.environ if environment is None else environment
    return {
        name.removeprefix(PREFIX).lower(): value
        for name, value in values.items()
        # An empty variable is an unset one, as a shell's `VARIABLE= command` means it.
        if value and name.startswith(PREFIX) and name != f"{PREFIX}CONFIG"
    }


def settings_from_file(environment: Mapping[str, str] | None = None) -> dict[str, object]:
    """Return the raw settings that the settings file gives; none if there is no file and none is named.

    Raises:
        InvalidSettingsError: If the file cannot be read, or is named and not there.
    """
    file = config_file(environment)
    try:
        text = file.read_text("utf-8")
    except FileNotFoundError:
        if not _named_file(environment):
            return {}
        raise InvalidSettingsError(
            f"There is no settings file {file}.", hint=f"Create it, or leave {PREFIX}CONFIG out."
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidSettingsError(f"The settings file {file} cannot be read: {error}.") from None
    import tomllib  # noqa: PLC0415 - most users have no file, and each start pays for an import

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidSettingsError(f"The settings file {file} cannot be read: {error}.") from None


def storage_path(raw: Mapping[str, object], environment: Mapping[str, str] | None = None) -> Path:
    """Return the absolute folder that everything is kept in."""
    named = raw.get("storage_path")
    return _absolute("storage_path", named) if named else data_directory(environment)


def journal_path(raw: Mapping[str, object], environment: Mapping[str, str] | None = None) -> Path:
    """Return the absolute folder that the journal is kept in."""
    named = raw.get("journal_path")
    return _absolute("journal_path", named) if named else storage_path(raw, environment) / "journal"


def _named_file(environment: Mapping[str, str] | None) -> str | None:
    return (os.environ if environment is None else environment).get(f"{PREFIX}CONFIG")


def _absolute(setting: str, named: object) -> Path:
    try:
        return Path(str(named)).expanduser().absolute()
    except RuntimeError as error:
        raise InvalidSettingsError(f"{PREFIX}{setting.upper()}: {error}") from None


def _user_directory(environment: Mapping[str, str] | None, variable: str, default: Path) -> Path:
    values = os.environ if environment is None else environment
    if sys.platform == "win32":
        return Path(values.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / APPLICATION
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / APPLICATION
    # The XDG specification asks for relative paths to be ignored.
    named = Path(values.get(variable, ""))
    return (named if named.is_absolute() else Path.home() / default) / APPLICATION
