"""Paths and raw settings, unchecked, on the standard library alone: the stdio front must start in milliseconds."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from learning_memory_server.errors import InvalidSettingsError
from learning_memory_server.system import locations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Final

APPLICATION: Final = locations.APPLICATION
PREFIX: Final = locations.PREFIX
LOCK: Final = ".lock"  # The file in a folder that a process locks; see `locking`


def data_directory(environment: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Path:
    """Return the default folder of this user's data."""
    return Path(locations.data_folder(environment, platform))


def config_file(environment: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Path:
    """Return the settings file: `LEARNING_MEMORY_CONFIG`, else `config.toml` in the user's configuration folder."""
    if named := environment.get(locations.CONFIG):
        return _path(locations.absolute, "config", named)
    return Path(locations.default_settings_file(environment, platform))


def settings_from_file(environment: Mapping[str, str] = os.environ) -> dict[str, object]:
    """Return the raw settings of the file, if any; `InvalidSettingsError` if it is unreadable or named and missing."""
    file = config_file(environment)
    try:
        text = file.read_text("utf-8")
        import tomllib

        return tomllib.loads(text)
    except FileNotFoundError:
        if not environment.get(locations.CONFIG):
            return {}
        raise InvalidSettingsError(
            f"The settings file {file} does not exist.", hint=f"Create it, or unset {PREFIX}CONFIG."
        ) from None
    except PermissionError as error:
        from learning_memory_server.system.ownership import explain_denied

        reason = explain_denied(file) or f"{error}."
        raise InvalidSettingsError(f"The settings file {file} cannot be read: {reason}") from None
    except (OSError, ValueError) as error:  # No text, or no TOML
        raise InvalidSettingsError(f"The settings file {file} cannot be read: {error}.") from None


def raw_settings(environment: Mapping[str, str] = os.environ) -> dict[str, object]:
    """Return the settings as they were given, neither checked nor complete."""
    return {**settings_from_file(environment), **locations.settings_from_environment(environment)}


def storage_path(raw: Mapping[str, object], environment: Mapping[str, str] = os.environ) -> Path:
    """Return the absolute path of the storage folder, which everything is in by default."""
    return _path(locations.storage_folder, raw, environment)


def journal_path(raw: Mapping[str, object], environment: Mapping[str, str] = os.environ) -> Path:
    """Return the absolute path of the journal folder."""
    return _path(locations.journal_folder, raw, environment)


def _path(find: Callable[..., str], *given: object) -> Path:
    try:
        return Path(find(*given))
    except RuntimeError as error:
        raise InvalidSettingsError(str(error)) from None
