"""Claude Code plays trap tasks with a scripted model: the memory is installed, and what it says arrives."""

import json
import threading

import pytest

from benchmarks.arena.__main__ import INSTALL
from benchmarks.arena.arms import Agent
from benchmarks.arena.families import made
from benchmarks.arena.runner import play_all
from tests.claude_code.conftest import ClaudeCode
from tests.claude_code.model import Block, Said, ScriptedModel, run, say, use
from tests.claude_code.test_sessions import TOOLS, load

pytestmark = pytest.mark.slow


def test_claude_code_is_told_in_variant_b_what_it_met_in_variant_a(
    claude: ClaudeCode, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = (made("environment", variant) for variant in "ab")
    begun = {"goal": a.prompt[:60], "hypothesis": a.words.belief, "action": "Try it", "prediction": "It prints"}
    end = {"status": "falsified", "result": "Only another way worked", "surprise": "The tape was not stuck"}
    cause = {"category": "misleading-symptom", "description": "The tool has a rule of its own"}
    lesson = {"what_worked": "What the takeaway says", "takeaway": a.words.rule}

    def known_if_told(text: str) -> Block:
        told = json.dumps(model.requests[-1]["messages"])
        return run(b.filled((b.words.known if text in told else b.words.naive)[0]))

    learned: list[Said] = [run(a.filled(a.words.naive[0])), run(a.filled(a.words.known[0])), say("Done.")]
    hooks: list[Said] = [
        *learned,
        run(b.filled(b.words.naive[0])),
        run(b.filled(b.words.known[0])),  # Without an entry, it is told nothing
        say("Done."),
    ]
    start = use(f"{TOOLS}start_ghap", domain="debugging", strategy="read-the-error", **begun)
    resolve = use(f"{TOOLS}resolve_ghap", **end, root_cause=cause, lesson=lesson)
    installed: list[Said] = [
        load(),
        start,
        *learned[:2],
        resolve,
        say("Done."),
        lambda: known_if_told(a.words.rule),
        say("Done."),
    ]
    model = ScriptedModel([*hooks, *installed, lambda: known_if_told(a.words.rule), say("Done.")])
    threading.Thread(target=model.serve_forever, daemon=True).start()
    monkeypatch.setenv("PATH", claude.environment()["PATH"])
    monkeypatch.setenv("ANTHROPIC_BASE_URL", model.url)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    allowed = "Bash,mcp__plugin_learning-memory_memory"
    command = f"claude -p {{prompt}} --output-format json --allowedTools {allowed}"
    agent = Agent(command, INSTALL, variables=("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"), minutes=2)

    try:
        runs = play_all(("hooks", "installed", "file"), ("environment",), 1, agent, lambda _: None)
    finally:
        model.shutdown()
        model.server_close()

    assert all(each.solved and each.ended == "exit 0" and each.said == "Done." for each in runs), runs
    assert [(each.arm, each.variant, each.failed) for each in runs] == [
        ("hooks", "a", 1),
        ("hooks", "b", 1),
        ("installed", "a", 1),
        ("installed", "b", 0),
        ("file", "b", 0),
    ]
