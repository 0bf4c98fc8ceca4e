"""The fixtures of archives."""

from tests.cli.maintenance.archives import *  # noqa: F403 - fixtures are found by their names
