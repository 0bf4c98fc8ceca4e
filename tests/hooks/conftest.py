from tests.server.conftest import indexed, services, settings  # noqa: F401 - fixtures
