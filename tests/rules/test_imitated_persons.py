"""Agents' shells, the hub's socket and guessed ids: none makes, changes or ends a rule in a person's place."""

# ruff: noqa: F811 - fixtures of commands are arguments here

import json
import os
import socket
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.cli.command import Offline
from learning_memory_server.cli.out import CLIENTS
from learning_memory_server.hub.front.link import hello_of
from learning_memory_server.journal.answers import Answers
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.kinds import RULE
from learning_memory_server.model.rule import When, new_rule_id
from learning_memory_server.rules.log import RuleLog
from learning_memory_server.server.composition.services import Services
from learning_memory_server.server.settings import Settings
from tests.acceptance.hubs import Memory
from tests.cli.persons import person, shop  # noqa: F401 - fixtures
from tests.command_line import Run, environment, printed, run, storage  # noqa: F401 - fixtures
from tests.rules.imitating import MINE, Session, rule_of, rules_in
from tests.rules.making import accepted
from tests.server.agent import Agent
from tests.support import MINUTES, NOON
from tests.terminals import on_a_terminal, read_until

# ---- 8. An agent's shell

COMMANDS: dict[str, tuple[str, ...]] = {
    "rule add": ("rule", "add", "Never push to main"),
    "rule add, everywhere": ("rule", "add", "Never push to main", "--everywhere"),
    "rule add, for a call": ("rule", "add", "Never push", "--call", "git push"),
    "rule edit": ("rule", "edit", MINE.id, "Always push at once"),
    "rule enforce": ("rule", "enforce", MINE.id, "--unattended", "stop"),
    "rule enforce --off": ("rule", "enforce", MINE.id, "--off"),
    "rule retire": ("rule", "retire", MINE.id),
    "rule export": ("rule", "export", MINE.id),
    "rules off": ("rules", "off"),
    "rules off 1h": ("rules", "off", "1h"),
    "rules on": ("rules", "on"),
    "forget": ("forget", MINE.id, "--yes"),
    "forget --purge": ("forget", MINE.id, "--purge", "--yes"),
    "review": ("review",),
    "review of an id": ("review", MINE.id),
    "review --never": ("review", MINE.id, "--never"),
    "report": ("report",),
}
CHANGES_NOTHING = frozenset({"review", "report"})


@pytest.fixture
def store(storage: Path, shop: Path) -> Iterator[Path]:
    """A store with a rule that a person has accepted, and a project whose file suggests another."""
    RuleLog(Journal(storage / "journal").rules).add(MINE, at=NOON)
    (shop / "CLAUDE.md").write_text("- Never push to main.\n")
    yield storage
    assert RuleLog(Journal(storage / "journal").rules).all() == [MINE]
    assert Answers(Journal(storage / "journal").answers).all() == []


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("name", COMMANDS)
def test_a_shell_without_a_terminal_gives_no_yes(run: Run, name: str) -> None:
    done = run(*COMMANDS[name])
    assert done.exit_code == (0 if name in CHANGES_NOTHING else 1), done.output


@pytest.mark.usefixtures("store")
@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_a_pseudo_terminal_of_a_client_gives_no_yes(environment: dict[str, str], shop: Path, name: str) -> None:
    answered_on_a_terminal(environment | {"CLAUDECODE": "1"}, shop, *COMMANDS[name])


@pytest.mark.usefixtures("store")
@pytest.mark.slow
@pytest.mark.parametrize("variable", CLIENTS)
def test_each_clients_variable_says_that_no_person_is_there(
    environment: dict[str, str], shop: Path, variable: str
) -> None:
    value = str(shop) if variable.endswith("DIR") else "1"
    answered_on_a_terminal(environment | {variable: value}, shop, "rule", "add", "Never push to main")


def answered_on_a_terminal(environment: dict[str, str], folder: Path, *arguments: str) -> None:
    """Answer each question with a yes, as `yes |` does through `script`."""
    with on_a_terminal(environment, *arguments, output=True, folder=folder) as (process, terminal):
        os.write(terminal, b"y\n" * 8)
        read_until(terminal, b"\0")
        process.wait(MINUTES)


# ---- 9. The hub's socket


def said_to(memory: Memory, **hello: Any) -> None:
    """Say a hello to a hub, and read all of its answer."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(MINUTES)
        connection.connect(str(memory.sockets[0]))
        connection.sendall(json.dumps({**hello_of(memory.place(), "control"), **hello}).encode() + b"\n")
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(65536):
            pass


SOCKETS: dict[str, dict[str, Any]] = {
    "as a hook": {"role": "hook", "command": "rule", "fields": {}, "given": {}, "client": "", "attended": True},
    "as a session": {"role": "session", "command": "rule", "fields": {}, "session": "x"},
    "as a command": {"role": "command", "command": "rule", "fields": {}, "session": "x"},
    "in an event": {"role": "hook", "client": "", "given": {"role": "control", "command": "rule"}},
    "with an id that can be guessed": {"role": "control", "command": "rule", "id": "rule_1"},
    "with an entry's id": {"role": "control", "command": "rule", "id": "ghap_20260301_120000_ffffff"},
    "a yes to an id that nobody knows": {"role": "control", "command": "answer", "ids": [f"rule_{'0' * 32}"]},
    "forget": {"role": "control", "command": "forget", "ids": [f"rule_{'0' * 32}"]},
    "for another store": {"role": "control", "command": "rule", "journal": "/nowhere"},
}
DOCUMENTED = "or write to the hub's socket"


def fields_of(given: dict[str, Any]) -> dict[str, Any]:
    match given.get("command"):
        case "answer":
            return {"ids": given["ids"], "said": "yes", "project": "shop"}
        case "forget":
            return {"ids": given["ids"], "project": None, "purge": False, "preview": False}
    return {"rules": [{**RULE.encode(rule_of()), **({"id": given["id"]} if "id" in given else {})}]}


@pytest.mark.usefixtures("front")
@pytest.mark.parametrize("name", SOCKETS)
def test_the_socket_takes_no_rule(memory: Memory, name: str) -> None:
    given = dict(SOCKETS[name])
    fields = fields_of(given)
    given.setdefault("directory", str(memory.storage))
    if "id" in given or "ids" in given:
        given = {key: value for key, value in given.items() if key not in {"id", "ids"}}
    said_to(memory, **{"project": "garden", **given, "fields": fields})
    assert rules_in(memory.storage) == []


def test_what_the_socket_takes_is_documented() -> None:
    text = " ".join(Path(__file__).parents[2].joinpath("SECURITY.md").read_text("utf-8").split())
    assert DOCUMENTED in text.partition("## Not protected")[2]


# ---- 10. Ids

IDS = (MINE.id, MINE.id[:12], "rule_", "rule_*", f"rule_{'0' * 32}", "", "current")
BY_ID = {"get_ghap_entry": "ghap_id", "resolve_ghap": "ghap_id", "update_ghap": "ghap_id", "delete_memory": "memory_id"}


@pytest.mark.parametrize("tool", BY_ID)
@pytest.mark.parametrize("name", IDS)
async def test_an_id_of_a_rule_is_of_no_use_to_an_agent(agent: Agent, services: Services, tool: str, name: str) -> None:
    mine = replace(MINE, project="shop")
    services.rule_log.add(mine, at=NOON)
    more = {"status": "abandoned", "result": "x"} if tool == "resolve_ghap" else {}
    more |= {"note": "x"} if tool == "update_ghap" else {}
    with suppress(Exception):
        result = await agent.client.call_tool(tool, {BY_ID[tool]: name, **more})
        assert "pnpm" not in str(result.content)
    assert services.rule_log.all() == [mine]


async def test_no_agent_is_told_the_id_of_a_rule(services: Services, folder: Path) -> None:
    rules = [
        replace(MINE, project="shop"),
        replace(accepted("Be kind", None, When.SESSION, project="shop"), id=new_rule_id()),
        replace(accepted("Is it tested", None, When.DONE, project="shop"), id=new_rule_id()),
    ]
    services.rule_log.add(*rules, at=NOON)
    session = Session(services, folder)
    await session.works()
    told = [json.loads(said or "{}").get("hookSpecificOutput", {}) for said in session.said]
    assert any(told)
    assert not [each for each in told for rule in rules if rule.id.removeprefix("rule_")[:6] in json.dumps(each)]


def test_an_offline_store_without_rules_has_none(storage: Path) -> None:
    assert Offline(Settings(storage_path=storage)).rule_log.all() == []
