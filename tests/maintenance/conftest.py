"""The fixtures of tests/command_line.py, and those of archives."""

from tests.command_line import *  # noqa: F403 - fixtures are found by their names
from tests.maintenance.archives import *  # noqa: F403
