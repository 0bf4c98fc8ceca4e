"""Measure hooks: `python -m benchmarks.hooks [--entries N] [--runs N] [--json]`.

- Inside the hub: milliseconds from a call of the tool `hook` to its result, with redaction, journal and model, at half
  and at 95 % of the runs. The commands, outputs and prompts differ from run to run. The baseline is an event that is
  answered with nothing.
- The command: milliseconds of `hook` with a hub running, next to those of a bare interpreter, their runs alternating.
- What the agent is told: bytes and tokens of the longest of each kind, and of a session of 4 prompts and 40 commands, 5
  of which fail, in a project with lessons about all of them. Tokens are estimated from those of the packaged model,
  with the ratio that was measured for the tools' descriptions.
"""

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.measuring import options_of, percentile, taking_turns, timed
from benchmarks.population import ENTRY, populate, themes
from learning_memory_server.embedding.base import DEFAULT_MODEL
from learning_memory_server.embedding.loading import load_packaged
from learning_memory_server.embedding.source import model_folder
from learning_memory_server.embedding.tokens import ModelTokens
from learning_memory_server.hub.front import hook
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.moment import utc_now
from learning_memory_server.model.rule import CallForm, Origin, OriginKind, Pattern, Rule, RuleState, When
from learning_memory_server.server.calls import Calls
from learning_memory_server.server.composition.logging import configure_logging
from learning_memory_server.server.composition.services import Services, open_services
from learning_memory_server.server.settings import Settings

CEILING_MS = {
    "UserPromptSubmit": 25.0,
    "PostToolUseFailure": 40.0,
    "PreToolUse of Bash": 5.0,
    "PreToolUse of Bash with thirty rules": 5.0,
    "PreToolUse of Write with thirty rules": 5.0,
}
"""The goal for the 95th percentile, where the model is asked about texts of the event; 20 for the others."""
OTHERS_MS = 20.0
TOKENS = 4_211 / 6_530
"""o200k_base's tokens for one of the packaged model's, in the tools' descriptions."""
HERE = str(Path.cwd())
CALLER = Caller("benchmark", "a" * 16, folder=HERE)
LOG = "tests/test_cart.py::test_total[{}] FAILED\n"
OUTPUT = "".join(LOG.format(number) for number in range(200)) + "= 200 failed, 5 passed in 0.12s ="
MISSING = {
    "folder": HERE,
    "command": "python tools/seed.py",
    "error": "Exit code 1\nModuleNotFoundError: No module named 'shop'",
}
TIED = {
    "folder": HERE,
    "command": "bin/press feed data.csv",
    "error": "Exit code 4\npress: error: feed schema mismatch at 'column{number}'",
}
TIES = {
    "status": "confirmed",
    "result": "It worked with --schema v2",
    "lesson": {
        "what_worked": "the option",
        "takeaway": "bin/press feed says schema mismatch as long as --schema is missing",
    },
}
GIVEN: Mapping[str, Mapping[str, str]] = {
    "SubagentStop": {},
    "SessionStart": {},
    "UserPromptSubmit": {"prompt": "please have a look: {theme}, and say what was done about it in run {number}"},
    "PreToolUse": {},
    "PostToolUse": {"folder": HERE, "command": "pytest -q tests/t{number}.py", "output": OUTPUT},
    "PostToolUse of Read": {"folder": str(Path.cwd()), "file": "README.md"},
    "PostToolUse of Edit": {"folder": str(Path.cwd()), "file": "README.md", "edit": "true"},
    "PostToolUseFailure": {
        "folder": HERE,
        "command": "pytest -q tests/t{number}.py",
        "error": "Exit code 1\nE   ValueError: the cart {number} has no total\n" + OUTPUT,
    },
    "PostToolUseFailure with a tied lesson": {**TIED, "session": "told {number}"},
    "Stop": {},
    "PreToolUse of Bash": {"folder": HERE, "command": "cd app && git push origin {number}"},
    "PreToolUse of Bash with thirty rules": {
        "folder": HERE,
        "command": "cd app && make test{number} && git add -A && git commit -m 'Mend it' && git push origin {number}",
        "call": "toolu_{number}",
    },
    "PreToolUse of Bash, denied": {
        "folder": HERE,
        "command": "cd app && git push --force0 origin {number}",
        "call": "toolu_{number}",
        "session": "denied {number}",
    },
    "PreToolUse of Write with thirty rules": {
        "folder": HERE,
        "file": f"{HERE}/src/f{{number}}.py",
        "content": "total = round(price, 1)\n" * 4_000,
        "call": "toolu_w{number}",
    },
}
RULES = 30
BASELINE = "SubagentStop"


def main() -> None:
    """Run the benchmark."""
    options = options_of(__doc__, entries=1_000, runs=100)
    configure_logging("error")
    with tempfile.TemporaryDirectory(prefix="lms-") as folder:
        report = asyncio.run(inside(Path(folder), options.entries, options.runs))
    with tempfile.TemporaryDirectory(prefix="lms-") as folder:
        report["command"] = as_command(Path(folder), max(options.runs // 4, 10))
    if options.json:
        print(json.dumps(report))


async def inside(storage: Path, entries: int, runs: int) -> dict[str, Any]:
    """Measure each event in a process that has everything loaded, and print the figures."""
    await populate(storage, entries, load_packaged())
    figures: dict[str, Any] = {}
    longest: dict[str, str] = {}
    async with open_services(Settings(storage_path=storage), purpose="a benchmark", load=load_packaged) as services:
        await services.writer.complete()
        calls = Calls(services.injectable(), CALLER, has_hooks=True)
        await calls.call(0, "start_ghap", dict(ENTRY))
        await learn_ties(services, runs + 5)
        for event, given in GIVEN.items():
            if "rules" in event or "denied" in event:
                services.rule_log.add_new(rules())
            taken = []
            # The first runs load what is loaded once, and are not counted.
            for number in range(runs + 5):
                theme = themes()[number % len(themes())]
                texts = {
                    name: text.replace("{theme}", theme).replace("{number}", str(number))
                    for name, text in given.items()
                }
                began = time.perf_counter()
                result = await calls.call(
                    number,
                    "hook",
                    {
                        "event": {
                            "event": event.replace(",", " ").partition(" ")[0],
                            "session": f"s{number // 10}",
                            **texts,
                        }
                    },
                )
                taken.append((time.perf_counter() - began) * 1e3)
                longest[event] = max(longest.get(event, ""), result.text, key=len)
            figures[event] = {"p50": percentile(taken[5:], 0.5), "p95": percentile(taken[5:], 0.95)}
        told = await told_in_a_session(services)
    counter = ModelTokens(model_folder(DEFAULT_MODEL))
    print(f"inside the hub, {entries} entries, {runs} runs")
    for event, found in figures.items():
        said = json.loads(longest[event]).get("hookSpecificOutput", {})
        text = said.get("additionalContext", said.get("permissionDecisionReason", ""))
        (tokens,) = counter.count([text]) if text else (0,)
        found |= {"bytes": len(text.encode()), "tokens": round(tokens * TOKENS)}
        goal = CEILING_MS.get(event, OTHERS_MS)
        name = f"{event} (nothing to do)" if event == BASELINE else event
        print(
            f"  {name:38} p50 {found['p50']:6.1f} ms   p95 {found['p95']:6.1f} (goal {goal:.0f})   "
            f"longest {found['bytes']:4} bytes, about {found['tokens']} tokens"
        )
    tokens = round(sum(counter.count(told)) * TOKENS)
    size = sum(len(text.encode()) for text in told)
    print(f"  a session of 40 commands, 5 of which fail: told {len(told)} times, {size} bytes, about {tokens} tokens")
    return {"entries": entries, "events": figures, "session": {"told": len(told), "bytes": size, "tokens": tokens}}


def rules() -> list[Rule]:
    """Return rules of all kinds of patterns; one is broken by a push with `--force0`."""
    at = utc_now()
    patterns = [
        lambda number: Pattern(broken=(CallForm(("git", "push"), having=(f"--force{number}",)),), asked=("push",)),
        lambda number: Pattern(broken=(CallForm(("git", "commit")),), texts=(f"Co-Authored-By: {number}",)),
        lambda number: Pattern(files=(f"live{number}/**", f"*.lock{number}")),
        lambda number: Pattern(files=("src/**",), contents=(f"print({number}",)),
        lambda number: Pattern(broken=(CallForm((f"npm{number}",)),), about=(CallForm(("pnpm",)),)),
    ]
    return [
        Rule(
            f"rule_{number:032x}",
            f"The rule with the number {number}",
            CALLER.project,
            RuleState.ACCEPTED,
            Origin(OriginKind.ADDED),
            at,
            at,
            When.CALL,
            patterns[number % len(patterns)](number),
        )
        for number in range(RULES)
    ]


async def learn_ties(services: Services, count: int) -> None:
    """Let another session learn from as many errors, each with a lesson of its own."""
    calls = Calls(services.injectable(), replace(CALLER, session="b" * 16), has_hooks=True)
    for number in range(count):
        await calls.call(0, "start_ghap", {**ENTRY, "goal": "Feed the press with bin/press"})
        met = {name: text.replace("{number}", str(number)) for name, text in TIED.items()}
        await calls.call(0, "hook", {"event": {"event": "PostToolUseFailure", **met}})
        await calls.call(0, "resolve_ghap", {**TIES, "result": f"{number}: feed schema mismatch at a column"})
    await services.writer.complete()


async def told_in_a_session(services: Services) -> list[str]:
    """Return what an agent is told in the longest session that is likely, in a project that has lessons about it."""
    calls = Calls(services.injectable(), replace(CALLER, project="project-0"), has_hooks=True)
    told: list[str] = []

    async def happens(event: str, **given: str) -> None:
        said = {"event": event, "session": "s", "folder": CALLER.folder, **given}
        result = await calls.call(0, "hook", {"event": said})
        if said := json.loads(result.text or "{}").get("hookSpecificOutput"):
            told.append(said["additionalContext"])

    await happens("SessionStart")
    for theme in themes()[:20:5]:
        await happens("UserPromptSubmit", prompt=f"{theme}. Find out why, please.")
    failing = [
        MISSING,
        *({"command": "make all", "error": f"Exit code 1\nmake: {theme}"} for theme in themes()[20:36:4]),
    ]
    for number in range(40):
        if number % 8:
            await happens("PostToolUse", command=f"pytest -q tests/t{number}.py", output="= 5 passed in 0.12s =")
        else:
            await happens("PostToolUseFailure", **failing[number // 8])
    await happens("Stop")
    return told


def as_command(storage: Path, runs: int) -> dict[str, float]:
    """Measure the command next to a bare interpreter, and print the figures."""
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("LEARNING_MEMORY_")},
        "LEARNING_MEMORY_STORAGE_PATH": str(storage / "data"),
        "LEARNING_MEMORY_EMBEDDING_BACKEND": "hashing",
        "LEARNING_MEMORY_HUB_IDLE_MINUTES": "1",
        "XDG_RUNTIME_DIR": str(storage),
        "HOME": str(storage),
    }
    given = b'{"hook_event_name":"SessionStart","session_id":"s1","cwd":"/tmp"}'
    script = Path(sys.executable).with_name("learning-memory-server")
    commands = {
        "bare": [sys.executable, "-I", "-S", "-c", "pass"],
        "as the plugin runs it": [sys.executable, "-I", "-S", str(hook.__file__)],
        "as installed": [str(script), "hook"],
    }
    # The front starts a hub, and waits for it.
    subprocess.run([str(script), "search", "anything"], env=environment, capture_output=True, check=True)
    run = partial(subprocess.run, env=environment, input=given, capture_output=True, check=True)
    try:
        works = {name: partial(timed, partial(run, command)) for name, command in commands.items()}
        seconds = taking_turns(works, runs)
    finally:
        subprocess.run([str(script), "hub", "stop"], env=environment, capture_output=True, check=True)
    medians = {name: statistics.median(taken) for name, taken in seconds.items()}
    print(f"the command, {runs} runs")
    for name, median in medians.items():
        print(f"  {name:30} median {median * 1e3:6.1f} ms   {median / medians['bare']:.2f} times a bare start")
    return {name: median / medians["bare"] for name, median in medians.items()}


if __name__ == "__main__":
    main()
