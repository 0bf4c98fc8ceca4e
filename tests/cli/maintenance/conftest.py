"""The fixtures of tests/command_line.py, and those of archives."""

from tests.cli.maintenance.archives import *  # noqa: F403
from tests.command_line import *  # noqa: F403 - fixtures are found by their names
