"""Real services for what a person says."""

from tests.server.conftest import agent, indexed, services, settings  # noqa: F401 - fixtures
