from pathlib import Path

import pytest

from learning_memory_server.redaction.gate import RedactionGate
from learning_memory_server.redaction.redactor import build_redactor
from tests.lessons.errors.agent import Agent, Shield
from tests.server.conftest import indexed, services, settings  # noqa: F401 - fixtures


@pytest.fixture
def shield(tmp_path: Path) -> Shield:
    return Shield(tmp_path, RedactionGate(build_redactor()))


@pytest.fixture
def agent(shield: Shield) -> Agent:
    """The first session."""
    return shield.session("first")
