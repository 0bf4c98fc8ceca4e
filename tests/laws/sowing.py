"""A store with everything in it that can be forgotten, in words that occur nowhere else."""

import json
import random
import re
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from learning_memory_server.journal.codec import JournalRecord
from learning_memory_server.journal.kinds import MEMORY
from learning_memory_server.model.caller import Caller, session_hash
from learning_memory_server.model.memory import Memory, Refusal, new_memory_id
from learning_memory_server.model.rule import (
    CallForm,
    Origin,
    OriginKind,
    Pattern,
    Rule,
    RuleCount,
    RuleState,
    When,
    new_rule_id,
)
from learning_memory_server.server.claims import caller_of
from tests.laws.program import Agent, Program
from tests.services import run
from tests.support import NOON

Serve = Callable[[], AbstractAsyncContextManager[Program]]

TOPIC: Final = "the price cache returns stale totals after every deploy"
OTHER: Final = "session cookies vanish when users open a second browser window"
GARDENER: Final = Caller("garden", session_hash("gardener"))
_SYLLABLES: Final = [f"{first}{second}" for first in "bdfgklmnprtvz" for second in "aeiou"]
_WORD: Final = re.compile(r"zq[a-z]{8}")
_IN_BYTES: Final = re.compile(rb"zq[a-z]{8}")


class Words:
    """Words that nobody says, each for one part of one thing, such as `entry.goal`."""

    def __init__(self) -> None:
        self._chance = random.Random(5)
        self._parts: dict[str, str] = {}
        self.of: dict[str, str] = {}

    def __call__(self, part: str) -> str:
        """Return the word of a part."""
        if part not in self.of:
            self.of[part] = "zq" + "".join(self._chance.sample(_SYLLABLES, 4))
            self._parts[self.of[part]] = part
        return self.of[part]

    def found_in(self, text: str | bytes) -> set[str]:
        """Return the parts whose words are in a text or a file, also in capitals."""
        if isinstance(text, bytes):
            found = {word.decode() for word in _IN_BYTES.findall(text.lower())}
        else:
            found = set(_WORD.findall(text.lower()))
        return {self._parts[word] for word in found if word in self._parts}


@dataclass(frozen=True, slots=True)
class Sown:
    """What was stored: the ids of things, by what they are called here, and who owns the project that is to go."""

    words: Words
    owner: Caller
    folder: Path
    ids: dict[str, str]


async def sow(serve: Serve, place: Path) -> Sown:
    """Fill a store: an entry, memories and a project, which are to be forgotten, among others that stay."""
    words = Words()
    folder = place / words("project.name")
    folder.mkdir()
    async with serve() as program:
        settings = program.services.settings
        owner = caller_of({**program.environment, "CLAUDE_PROJECT_DIR": str(folder)}, settings)
        owner = replace(owner, session=session_hash("owner"))
        ids: dict[str, str] = {}
        async with program.agent(GARDENER) as agent:
            for number in range(22):
                await _resolved(agent, number, TOPIC if number < 14 else OTHER)
            ids["entry"] = await entry(agent, words, "entry")
            again = await agent.call("resolve_ghap", status="confirmed", result=TOPIC, same_as=ids["entry"])
            ids["repeating"] = again["id"]
            ids["memory"] = await memory(agent, words, "memory")
            ids["deleted"] = await memory(agent, words, "deleted")
        async with program.agent(owner) as agent:
            ids["project.entry"] = await entry(agent, words, "project.entry")
            ids["project.memory"] = await memory(agent, words, "project.memory")
            ids["project.value"] = await value(agent, words, ids["project.entry"])
            ids["project.open"] = (await agent.call("start_ghap", **beliefs(words, "project.open")))["id"]
    # These end a hub that serves.
    name = f"{words('project.renamed')} of old"
    new = {"project.kept": new_memory_id(), "project.rule": new_rule_id()}
    await _run(program, "project", "rename", owner.project, name)
    return Sown(words, replace(owner, project=name), folder, {**ids, "project": name, **new})


async def sow_live(program: Program, sown: Sown) -> None:
    """Add what a hub remembers and writes to no file, what an earlier version kept, and a backup of everything."""
    words = sown.words
    await _hooks(program, sown)
    kept = {each: words(f"project.kept.{each}") for each in ("call", "words", "when")}
    no = Refusal("Bash", f"git push {kept['call']}", f"no {kept['words']}", NOON, when=kept["when"])
    text = " ".join(kept.values())
    memory = Memory(sown.ids["project.kept"], text, {}, NOON, sown.owner.project, NOON, refusal=no)
    await run(program.services, "add_records", records=[JournalRecord.of(MEMORY, memory).to_fields()])
    services, project, name = program.services, sown.owner.project, sown.ids["project.rule"]
    texts = ("text", "words", "file", "program", "call", "folder")
    said = {each: words(f"project.rule.{each}") for each in texts}
    origin = Origin(OriginKind.FILE, f"{said['file']}.md", NOON)
    about = Pattern((CallForm((said["program"],)),))
    rule = Rule(name, f"never {said['text']}", project, RuleState.ACCEPTED, origin, NOON, NOON, When.CALL, about)
    services.rule_log.add(replace(rule, words=f"no {said['words']}", folder=said["folder"]))
    services.rule_counts.add(RuleCount("count_1", name, project, "owner", NOON, 1, 1, 1, call=said["call"]))
    # What `review` does for a person in a terminal.
    for thing, project in (("entry", GARDENER.project), ("project.entry", sown.owner.project)):
        answer = {"ids": [sown.ids[thing]], "said": "never", "project": project}
        await run(program.services, "answer", **answer)
    await _run(program, "dashboard", "--no-open")
    await _run(program, "backup")


async def _run(program: Program, *words: str) -> str:
    said = await program.command(*words)
    assert not said.is_refused, (words, said.text)
    return said.text


def beliefs(words: Words, thing: str) -> dict[str, Any]:
    """Return the arguments of a start, with a word in each text."""
    texts = {name: f"{TOPIC} {words(f'{thing}.{name}')}" for name in ("goal", "hypothesis", "action", "prediction")}
    return {"domain": "debugging", "strategy": "root-cause-analysis", "confidence": 0.8, **texts}


async def entry(agent: Agent, words: Words, thing: str) -> str:
    """Resolve an entry with a word in every text that it can have, and return its id."""
    ghap_id: str = (await agent.call("start_ghap", **beliefs(words, thing)))["id"]
    later = {name: f"{TOPIC} {words(f'{thing}.later.{name}')}" for name in ("hypothesis", "action", "prediction")}
    await agent.call("update_ghap", **later, note=f"noted {words(f'{thing}.note')}")
    await agent.call(
        "resolve_ghap",
        status="falsified",
        result=f"still stale {words(f'{thing}.result')}",
        surprise=f"{TOPIC} {words(f'{thing}.surprise')}",
        root_cause={"category": "oversight", "description": f"{TOPIC} {words(f'{thing}.cause')}"},
        lesson={
            "what_worked": f"looking {words(f'{thing}.worked')}",
            "takeaway": f"{TOPIC}, so look {words(f'{thing}.takeaway')}",
        },
    )
    return ghap_id


async def memory(agent: Agent, words: Words, thing: str) -> str:
    """Keep a memory with a word in its text and in every fact about it, and return its id."""
    key, fact = words(f"{thing}.key"), words(f"{thing}.fact")
    facts = {name: f"about {words(f'{thing}.{name}')}" for name in ("title", "source", "language")}
    metadata = {**facts, "tags": [words(f"{thing}.tag")], "extra": json.dumps({key: fact})}
    said = await agent.call("add_memory", text=f"{TOPIC}: {words(f'{thing}.text')}", metadata=metadata)
    return id_in(said["text"])


async def value(agent: Agent, words: Words, ghap_id: str) -> str:
    """Store a value, judge it by an entry, and return its id."""
    (cluster, *_) = (await agent.call("get_clusters", axis="full"))["clusters"]
    stored = await agent.call(
        "store_value", text=f"{TOPIC} {words('project.value')}", cluster_id=cluster["cluster_id"], axis="full"
    )
    await agent.call("judge_value", value_id=stored["id"], ghap_id=ghap_id, verdict="supports")
    return str(stored["id"])


async def _resolved(agent: Agent, number: int, topic: str) -> None:
    """Resolve one of the entries that stay, of which there have to be many for a cluster."""
    texts = {name: f"{topic} {name}{number}" for name in ("goal", "hypothesis", "action", "prediction")}
    await agent.call("start_ghap", domain="debugging", strategy="read-the-error", **texts)
    await agent.call("resolve_ghap", status="confirmed", result=topic)


async def _hooks(program: Program, sown: Sown) -> None:
    """Let commands fail, as hooks of a client say it."""
    words, folder = sown.words, sown.folder
    session = {"session_id": "owner", "cwd": str(folder)}
    tool = f"{words('project.failure.program')} --to {words('project.failure.operand')}"
    error = f"Exit code 1\nerror: no such {words('project.failure.error')} lane"
    fixed = f"{tool} --{words('project.failure.remedy')}"

    async def fire(event: str, **given: Any) -> None:
        await program.hook({"hook_event_name": event, **session, **given}, folder)

    await fire("SessionStart", source="startup")
    await fire("PostToolUseFailure", tool_name="Bash", tool_input={"command": tool}, error=error)
    await fire("PostToolUse", tool_name="Bash", tool_input={"command": fixed}, tool_response={"stdout": "done"})
    await fire("InstructionsLoaded", file_path=str(folder / "CLAUDE.md"))


def id_in(text: str) -> str:
    """Return the id of the memory that was added."""
    (found,) = set(re.findall(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", text))
    return str(found)
