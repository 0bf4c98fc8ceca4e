"""The README shows how a rule begins, what an agent reads, and the count: the program says the same."""

import asyncio
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from learning_memory_server.advice.candidates import Permission, Shown
from learning_memory_server.model.advice import TriggerKind
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.trigger import Trigger
from learning_memory_server.server.composition.services import open_services
from learning_memory_server.server.settings import Settings
from tests.cli.persons import Typed, person, shop
from tests.client_folders import folder_name
from tests.command_line import Run, environment, printed, run, storage
from tests.docs.test_documents import FENCE, ROOT
from tests.lessons.errors.written import failed, ran, write_transcript

__all__ = ["environment", "person", "run", "shop", "storage"]

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("past")]

MISSING = "Exit code 127\n/bin/bash: docker-compose: command not found"
FIRST = datetime(2026, 11, 17, 9, tzinfo=UTC)


@pytest.fixture
def past(shop: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A project with a rule in its file, which five of six sessions broke."""
    # Its sessions would be older than a repository that is made now.
    (shop / ".git").rename(shop.parent / "git")
    monkeypatch.setenv("HOME", environment["HOME"])
    (shop / "CLAUDE.md").write_text("# Our ways\n\n- We use pnpm, not npm.\n- Keep functions short.\n", "utf-8")
    place = Path(environment["HOME"], ".claude", "projects", folder_name(shop))
    for number in range(6):
        calls = [failed("docker-compose up -d", MISSING), ran("docker compose up -d")] if number % 2 else []
        calls = [ran("ls"), *calls, ran("pnpm install" if number == 2 else "npm install")]
        at = FIRST + timedelta(days=2 * number)
        write_transcript(place / f"s{number}.jsonl", *calls, session=f"s{number}", folder=str(shop), at=at)


def _plain(text: str) -> str:
    """Return a text on one line, without ids and days of today."""
    text = re.sub(r"\b[0-9a-f]{6}(?= +since)|(?<=since )\d{4}-\d\d-\d\d|(?<=accepted )\d+ \w+", "*", text)
    return " ".join(text.split())


async def _play(storage: Path) -> str:
    """Let an agent break the rule and follow it then; return the reason that it reads."""

    def call(kind: TriggerKind, key: str, command: str) -> Trigger:
        return Trigger(kind, context="new", key=key, command=command)

    settings = Settings(storage_path=storage, embedding_backend="hashing")
    async with open_services(settings, purpose="test") as services:

        async def at(kind: TriggerKind, key: str, command: str) -> Shown:
            return await services.advisor.at(call(kind, key, command), Caller("garden", "new"))

        denied = await at(TriggerKind.CALL, "toolu_1", "npm install zod")
        passed = await at(TriggerKind.CALL, "toolu_2", "pnpm add zod")
        await at(TriggerKind.COMMAND, "toolu_2", "pnpm add zod")
    assert passed.decision is None
    assert denied.decision is not None
    assert denied.decision.permission is Permission.DENY
    return denied.decision.reason


def test_the_readme_shows_what_the_program_says_of_rules(person: Typed, run: Run, storage: Path) -> None:
    report, read, rules = (
        text for language, text in FENCE.findall((ROOT / "README.md").read_text("utf-8")) if language == "text"
    )

    lines, _, answer = report.partition("\n")[2].rpartition("Remind agents of which lines?")
    assert _plain(lines) in _plain(printed(run("report")))
    assert "1 rule kept" in person("report", typed=(answer.split()[-1],))
    assert _plain(asyncio.run(_play(storage))) == _plain(read)
    assert _plain(rules.partition("\n")[2]) in _plain(person("rules"))
