"""Forgotten is gone: no word of it stands in any reply, and after a purge in no file below the data folder either."""

import gzip
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from learning_memory_server.model.caller import Caller
from tests.laws.arguments import COMMANDS_OF_RULES, NOT_RUN, calls, command_lines
from tests.laws.program import AGENTS_TOOLS, Agent, Program, Said, commands
from tests.laws.sowing import GARDENER, OTHER, TOPIC, Serve, Sown, id_in, sow, sow_live
from tests.services import run
from tests.traces import written

pytestmark = pytest.mark.slow

EVENTS: Final = (
    *("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "Stop"),
    *("SubagentStart", "SubagentStop", "InstructionsLoaded"),
)
EMPTY_LOGS: Final = {"servers"}
"""Logs that only a Qdrant server fills."""


class Fault(NamedTuple):
    """Words that are still somewhere: after which step, in the reply or file of which name, of which parts."""

    after: str
    where: str
    parts: str


NEED_SHARED_LESSONS: Final = ("join", "leave")
"""Commands that refuse to work where no repository has shared lessons."""
NEED_A_PERSON: Final = ("rule add", "rule edit", "rule enforce", "rule export", "rule retire")
"""Commands that refuse to work where no person is at a terminal."""
NEED_A_FILE: Final = ("retrospective keep",)
"""Commands that refuse to work without a file of sentences."""
KNOWN_FAULTS: Final = (
    # The page that was drawn last stays as it was.
    Fault("*", "file dashboard.html", "*"),
    # The name of a forgotten project.
    Fault("*", "file claims/*", "project.name"),
    Fault("*", "file journal/projects.jsonl", "project.*name*"),
    Fault("purge of backups", "file backups/*", "project.*name*"),
    # The index's files keep what its points said until `reindex`, as the help of `forget` says.
    Fault("purge", "file index/*", "*"),
)
"""What is known to be broken. Names are patterns."""


@dataclass
class Walk:
    """All replies that the program gives, and which words stand in which of them."""

    program: Program
    sown: Sown
    step: str
    found: set[tuple[str, str]] = field(default_factory=set)
    answered: set[str] = field(default_factory=set)

    def take(self, where: str, said: Said, asked: Sequence[object], project: str = "") -> None:
        """Note whose words a reply has. What was asked may be quoted, and the caller's own project is known to it."""
        known = self.sown.words.found_in(json.dumps([project, *asked], default=str))
        self.found |= {(where, part) for part in self.sown.words.found_in(said.text) - known}
        if not said.is_refused:
            self.answered.add(where)

    async def everything(self, *, options: bool = True) -> None:
        """Ask for everything, as a session of the project that is to go, and as another one."""
        for project in (self.sown.owner.project, GARDENER.project):
            # A new session, which was told nothing yet.
            async with self.program.agent(Caller(project, self.step.ljust(16, "0"))) as agent:
                await self._agent(agent, project)
                is_ours = project == GARDENER.project
                texts = dict.fromkeys(("goal", "hypothesis", "action", "prediction"), OTHER)
                started = {"id": ""}
                if is_ours:
                    started = await agent.call("start_ghap", domain="debugging", strategy="ask-user", **texts)
            for name, words in command_lines(self._known(started["id"]), options=options and not is_ours):
                said = await self.program.command(*words, LEARNING_MEMORY_PROJECT=project)
                self.take(f"command {name}", said, words, project)
        # Last: what hooks say of a project brings it back.
        await self._hooks()
        self.found |= {each for each in self.files() if each[0] == "file dashboard.html"}

    async def _agent(self, agent: Agent, project: str) -> None:
        for uri, text in (await agent.resources()).items():
            self.take(f"resource {uri}", Said(text), (), project)
        known = self._known("")
        for name, tool in AGENTS_TOOLS.items():
            may = known
            if tool.changes:
                # A session of the project would bring it back, and words that are said are stored.
                if project != GARDENER.project:
                    continue
                spare = await agent.call("add_memory", text=f"to be deleted {self.step}")
                may = {**known, "memory_id": [id_in(spare["text"])], "tags": [OTHER], "source": [OTHER]}
            for arguments in calls(tool.input_schema, may):
                self.take(f"tool {name}", await agent.ask(name, **arguments), [arguments], project)

    async def _hooks(self) -> None:
        """Let everything happen again in a session that hears of it, and in the one that was told before."""
        project = self.sown.owner.project
        for session in (self.step, *(["owner"] if self.step != "before" else [])):
            for event in EVENTS:
                given = {
                    "hook_event_name": event,
                    "session_id": session,
                    "cwd": str(self.sown.folder),
                    "prompt": TOPIC,
                    "tool_name": "Bash",
                    "tool_input": {"command": f"{self.sown.words('project.failure.program')} --to stage"},
                    "error": f"Exit code 1\nerror: no such {self.sown.words('project.failure.error')} lane",
                }
                said = await self.program.hook(given, self.sown.folder, project=project)
                self.take(f"hook {event}", Said(said), [given], project)

    def files(self) -> set[tuple[str, str]]:
        """Return the files below the data folder with words in them, and whose words these are."""
        found = set()
        for path in sorted(self.program.storage.rglob("*")):
            if path.is_file():
                name, content = path.relative_to(self.program.storage).as_posix(), written(path)
                content = gzip.decompress(content) if name.endswith(".gz") else content
                found |= {(f"file {name}", part) for part in self.sown.words.found_in(content)}
        return found

    def _known(self, still_open: str) -> dict[str, Sequence[str]]:
        ids, words, place = self.sown.ids, self.sown.words, self.sown.folder.parent
        query = [f"{TOPIC} {' '.join(words.of.values())}"[:900]]
        entries = [name for name in ids.values() if name.startswith("ghap_")]
        memories = [ids[name] for name in ("memory", "deleted", "project.memory", "project.kept")]
        clusters = ["full_0", "full_1"]
        return {
            "text": [OTHER],
            **dict.fromkeys(("query", "QUERY"), query),
            "ghap_id": entries,
            "memory_id": memories,
            "value_id": [ids["project.value"]],
            "cluster_id": clusters,
            **{key: ["2026-01-01"] for key in ("since", "DATE")},
            **{key: [self.sown.owner.project] for key in ("project", "NAME")},
            "ID": [*entries, *memories, ids["project.value"], *clusters, ids["project.rule"]],
            "CLIENT": ["codex"],
            **COMMANDS_OF_RULES,
            "rule test name": [ids["project.rule"]],
            "tags": [words("memory.tag")],
            "source": [f"about {words('memory.source')}"],
            **{key: [OTHER] for key in ("surprise", "cause", "takeaway", "result")},
            "about": ["lesson_of_nobody"],
            "folder": ["."],
            "resolve name": [still_open],
            # The transcripts of sessions stay, and whoever reads them again is told what they say.
            "learn-from path": [str(place / "work")],
            "backup path": [str(place / f"{self.step}.tar.gz")],
            "import path": [str(max((self.program.storage / "backups").iterdir()))],
        }


class Step(NamedTuple):
    """What is run, and where no word of what is forgotten may stand afterwards."""

    name: str
    commands: tuple[tuple[str, ...], ...]
    files: str = "*"
    """A pattern of names."""


FORGET: Final = (("forget", "@entry", "@memory", "--yes"), ("forget", "--project", "@project", "--yes"))
PURGES: Final = (
    Step("purge", tuple((*words, "--purge") for words in FORGET), "[!b]*"),
    Step("reindex", (("reindex",),), "[!b]*"),
    Step("purge of backups", (("forget", "--purge", "--backups", "--yes"),)),
)


@asynccontextmanager
async def sown_in(serve: Serve, place: Path) -> AsyncIterator[tuple[Program, Sown]]:
    """Serve a store in which everything is that will be forgotten."""
    sown = await sow(serve, place)
    async with serve() as program:
        await sow_live(program, sown)
        yield program, sown


async def forget(program: Program, sown: Sown, commands: Sequence[Sequence[str]]) -> None:
    """Run commands, in which names of things stand for their ids; before them, what only a person does."""
    if rule := program.services.rule_log.find(sown.ids["project.rule"]):
        said_by_person = {"ids": [rule.id], "project": None, "purge": False, "preview": False, "rules_too": True}
        await run(program.services, "forget", **said_by_person)
    for words in commands:
        said = await program.command(*(sown.ids[word[1:]] if word.startswith("@") else word for word in words))
        assert not said.is_refused, said.text
    await program.services.writer.settle()


def judge(step: str, found: set[tuple[str, str]]) -> None:
    """Require that words are left where that is known, and nowhere else."""

    def is_about(fault: Fault, leak: tuple[str, str]) -> bool:
        return fnmatchcase(leak[0], fault.where) and fnmatchcase(leak[1], fault.parts)

    of_files = step in {each.name for each in PURGES}
    known = [
        each for each in KNOWN_FAULTS if fnmatchcase(step, each.after) and each.where.startswith("file ") == of_files
    ]
    left = sorted(leak for leak in found if not any(is_about(fault, leak) for fault in known))
    assert not left, f"After the step {step}, words are left: {left}"
    mended = [fault for fault in known if not any(is_about(fault, leak) for leak in found)]
    assert not mended, f"After the step {step}, this is mended; remove it from the list: {mended}"


async def test_no_word_of_what_is_forgotten_is_in_any_reply(serve: Serve, tmp_path: Path) -> None:
    async with sown_in(serve, tmp_path) as (program, sown):
        before = Walk(program, sown, "before")
        await before.everything()
        # Or nothing would show that a word is gone, or that a new tool, resource or command answers at all.
        assert {part for _, part in before.found} == sown.words.of.keys()
        offered = {*(f"tool {name}" for name in AGENTS_TOOLS), *(f"command {name}" for name in commands())}
        assert offered - before.answered == {
            f"command {name}" for name in {*NOT_RUN, *NEED_SHARED_LESSONS, *NEED_A_FILE, *NEED_A_PERSON}
        }
        assert {name for name, count in program.logs().items() if not count} == EMPTY_LOGS
        await forget(program, sown, FORGET)
        async with program.agent(GARDENER) as agent:
            await agent.call("delete_memory", memory_id=sown.ids["deleted"])
        after = Walk(program, sown, "forgetting")
        await after.everything()
    judge(after.step, after.found)


async def test_no_word_of_what_is_purged_is_in_any_file(serve: Serve, tmp_path: Path) -> None:
    async with sown_in(serve, tmp_path) as (program, sown):
        assert {part for _, part in Walk(program, sown, "").files()} == sown.words.of.keys()
        async with program.agent(GARDENER) as agent:
            await agent.call("delete_memory", memory_id=sown.ids["deleted"])
        for step in PURGES:
            await forget(program, sown, step.commands)
            walk = Walk(program, sown, step.name)
            judge(step.name, {each for each in walk.files() if fnmatchcase(each[0].removeprefix("file "), step.files)})
        replies = Walk(program, sown, "replies")
        await replies.everything(options=False)
    judge(replies.step, replies.found)
