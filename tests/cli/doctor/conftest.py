"""The fixtures of tests/command_line.py."""

from tests.command_line import *  # noqa: F403 - fixtures are found by their names
