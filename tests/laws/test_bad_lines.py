"""A bad line or file harms nothing but its own subject."""

import json
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from learning_memory_server.journal.codec import JournalRecord
from learning_memory_server.journal.kinds import KINDS
from learning_memory_server.redaction.gate import RedactionGate
from learning_memory_server.redaction.redactor import build_redactor
from learning_memory_server.sharing import tree
from learning_memory_server.sharing.shared import SHARED, Joined, SharedLessons
from tests.laws.one_log import Ids, paths, served
from tests.sharing.repositories import commit, git
from tests.support import NOON

pytestmark = pytest.mark.slow


NOT_UNDERSTOOD: Final[list[Any]] = [["no object"], {"id": 5, "project": [], "text": ""}]
NOT_READABLE: Final = [b'{"at":"\xff"}\n', b"[" * 100_000 + b"\n"]


def _bad_lines(kind: str) -> list[bytes]:
    """Return lines that cannot be read, or are not understood, of a kind."""
    odd = [JournalRecord(kind, f"bad_{number}", NOON, data) for number, data in enumerate(NOT_UNDERSTOOD)]
    return [*NOT_READABLE, *(each.to_line() for each in odd)]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_bad_line_harms_nothing_but_what_it_is_about(
    sown: tuple[Path, Ids], store: Path, work: Path, kind: str
) -> None:
    git(work, "remote", "add", "origin", "https://example.com/acme/garden")
    (path, *_) = paths(store, KINDS[kind].file)
    with path.open("ab") as file:
        file.write(b"".join(_bad_lines(kind)))
    async with served(store) as agent:
        assert await agent.failing(sown[1]) == {}
        assert await agent.denies()
        assert await agent.is_known(work)
        # Nobody asks for servers where there is none.
        agent.services.servers.known()
        assert agent.services.journal.known_damage == len(_bad_lines(kind))


BAD_FILES: Final = [b"", b"\xff", b"[]", b'{"/x":5}', b'{"/x":{"folder":5}}', b"[" * 100_000, b'{"/x":{"folder":"/x"']


@pytest.mark.parametrize("content", BAD_FILES)
@pytest.mark.parametrize("name", ["shared.json", "sessions.json", "outdated-points.json", "model-scales.json"])
async def test_a_bad_file_of_the_data_folder_ends_no_start(
    sown: tuple[Path, Ids], store: Path, name: str, content: bytes
) -> None:
    (store / name).write_bytes(content)
    async with served(store) as agent:
        assert await agent.failing(sown[1]) == {}


async def test_of_two_joined_repositories_a_bad_one_leaves_the_other(tmp_path: Path) -> None:
    sound = Joined("/sound", "sound", [], "main")
    bad: dict[str, Any] = {"folder": "/bad", "project": "bad", "roots": [], "branch": "main", "entries": [{"id": "x"}]}
    (tmp_path / SHARED).write_bytes(b'{"bad":%s,"sound":%s}' % (json.dumps(bad).encode(), msgspec.json.encode(sound)))
    assert SharedLessons(tmp_path / SHARED).joined.keys() == {"sound"}


async def test_a_repository_that_cannot_be_read_is_not_joined(
    tmp_path: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(work, "First")
    shared = SharedLessons(tmp_path / SHARED, RedactionGate(build_redactor()))

    def broken(*_: object) -> Any:
        raise LookupError

    with monkeypatch.context() as patch:
        patch.setattr(tree, "files_of", broken)
        patch.setattr(tree, "trees_of", broken)
        with pytest.raises(LookupError):
            await shared.join(work, "garden")
    assert not shared.joined
    assert not (tmp_path / SHARED).exists()

    await shared.join(work, "garden")
    monkeypatch.setattr(tree, "branches", broken)
    # What was read before stays, and the next look is not lost.
    await shared.refresh()
    assert len(shared.joined) == 1
