"""The fixtures of tests/command_line.py, and what the commands that show something find stored."""

from tests.cli.kept import kept  # noqa: F401
from tests.cli.persons import person, shop  # noqa: F401
from tests.command_line import *  # noqa: F403 - fixtures are found by their names
