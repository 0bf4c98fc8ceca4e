"""What a person has answered about something is forgotten with it."""

import pytest

from learning_memory_server.model.answer import Answer, Said
from learning_memory_server.server.composition.services import Services
from tests.services import run
from tests.support import NOON, full_ghap


@pytest.mark.parametrize("is_elsewhere", [False, True])
async def test_answers_about_an_entry_are_forgotten_with_it(services: Services, *, is_elsewhere: bool) -> None:
    entry = full_ghap()
    services.collector.add_resolved([entry])
    other = Answer("shared_0123456789abcdef", entry.project, Said.YES, NOON)
    services.answers.add(Answer(entry.id, entry.project, Said.NEVER, NOON), other)
    if is_elsewhere:
        await run(services, "apply_deletions", forgotten={"ghap": [entry.id]}, existing_too=True)
    else:
        await run(services, "forget", ids=[entry.id], project=None, purge=True, preview=False)
        assert b'"never"' not in (services.journal.path / "answers.jsonl").read_bytes()
    assert services.answers.all() == [other]
