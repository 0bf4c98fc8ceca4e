"""The fixtures of tests/command_line.py, and those of archives."""

from tests.cli.archives import *  # noqa: F403 - fixtures are found by their names
from tests.cli.kept import kept  # noqa: F401
from tests.command_line import *  # noqa: F403
