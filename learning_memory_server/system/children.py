"""Starting a module of this program as another process."""

import os
import sys
from pathlib import Path
from typing import Any

import learning_memory_server


def module_command(module: str, *arguments: str) -> list[str]:
    """Return the command line that runs the module in this interpreter, whatever is in the working directory."""
    return [sys.executable, "-P", "-m", module, *arguments]


def detached() -> dict[str, Any]:
    """Return `Popen` options for a process that finds this package, detached from the terminal and its folder."""
    root = str(Path(learning_memory_server.__file__).parents[1])
    search_path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    # A new session: an interrupt from the terminal is for the parent only.
    return {"cwd": "/", "env": {**os.environ, "PYTHONPATH": search_path}, "start_new_session": True}
