"""Where things live, from the standard library alone: the one place that reads the environment for it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

APPLICATION: Final = "learning-memory-server"
PREFIX: Final = "LEARNING_MEMORY_"


def data_directory(environment: Mapping[str, str] | None = None) -> Path:
    """Return where this user's data goes when no setting says otherwise."""
    return _user_directory(environment, "XDG_DATA_HOME", Path(".local", "share"))


def config_file(environment: Mapping[str, str] | None = None) -> Path:
    """Return the settings file: `LEARNING_MEMORY_CONFIG`, else `config.toml` in the user's configuration."""
    named = (os.environ if environment is None else environment).get(f"{PREFIX}CONFIG")
    if named:
        return Path(named).expanduser()
    return _user_directory(environment, "XDG_CONFIG_HOME", Path(".config")) / "config.toml"


def _user_directory(environment: Mapping[str, str] | None, variable: str, default: Path) -> Path:
    values = os.environ if environment is None else environment
    if sys.platform == "win32":
        return Path(values.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / APPLICATION
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / APPLICATION
    # The XDG specification asks for relative paths to be ignored.
    named = Path(values.get(variable, ""))
    return (named if named.is_absolute() else Path.home() / default) / APPLICATION
