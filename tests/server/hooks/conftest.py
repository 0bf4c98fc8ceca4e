from pathlib import Path

import pytest

from learning_memory_server.journal.failures import FailureLog
from learning_memory_server.journal.journal import Journal
from learning_memory_server.learning.failures.error_advisor import ErrorAdvisor
from learning_memory_server.redaction.gate import RedactionGate
from learning_memory_server.redaction.redactor import build_redactor


@pytest.fixture
def failures(tmp_path: Path) -> FailureLog:
    return FailureLog(Journal(tmp_path).failures)


@pytest.fixture
def error_advisor(failures: FailureLog) -> ErrorAdvisor:
    return ErrorAdvisor(failures, RedactionGate(build_redactor()))
