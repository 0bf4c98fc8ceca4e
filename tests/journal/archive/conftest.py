"""A journal with one of everything."""

from pathlib import Path

import pytest

from learning_memory_server.journal.codec import JournalRecord
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.kinds import GHAP
from learning_memory_server.model.vocabulary import Axis
from tests.journal.archive.making import value_record, verdict_record
from tests.support import CAROL, NOON, forget, ghap, numbered


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    """Three entries of Alice, the second forgotten; one of Carol; an open one; values, verdicts, cluster numbers."""
    journal = Journal(tmp_path / "journal")
    entries = [*(numbered(number) for number in (1, 2, 3)), numbered(4, project=CAROL.project)]
    journal.entries.append([JournalRecord("ghap", each.id, NOON, GHAP.encode(each)) for each in entries])
    forget(journal.entries, "ghap", numbered(2).id)
    journal.values.append([value_record(1)])
    foreign = verdict_record(3, numbered(4).id, project=CAROL.project)
    journal.verdicts.append([verdict_record(1, numbered(1).id), foreign])
    data = {"next_number": 2, "moved": {numbered(1).id: 0, numbered(3).id: 1}}
    journal.clusters.append([JournalRecord("clusters", Axis.FULL, NOON, data)])
    journal.save_open(ghap())
    return journal
