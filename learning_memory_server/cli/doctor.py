"""`doctor`: every layer in turn, from the interpreter to the engine."""

from __future__ import annotations

import os
import re
import sys
from functools import cache
from typing import TYPE_CHECKING, Final

from rich.text import Text

from learning_memory_server.cli.access import configure_logging
from learning_memory_server.cli.check_engine import check_engine
from learning_memory_server.cli.check_folders import check_folders
from learning_memory_server.cli.check_hub import check_hub, check_model_of_hub
from learning_memory_server.cli.check_journal import check_journal
from learning_memory_server.cli.check_model import check_model
from learning_memory_server.cli.check_reranker import check_reranker
from learning_memory_server.cli.finding import Level, green, red, yellow
from learning_memory_server.cli.terminal import counted, one_line, output, show_hanging, working
from learning_memory_server.errors import InvalidSettingsError, LearningMemoryError
from learning_memory_server.paths import config_file
from learning_memory_server.server.config import load_settings, unknown_variables

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from learning_memory_server.cli.finding import Finding
    from learning_memory_server.embedding.base import Embedder
    from learning_memory_server.server.config import Settings

_OLDEST_PYTHON: Final = (3, 11)
_TICKS: Final = {Level.GREEN: "✓", Level.YELLOW: "!", Level.RED: "✗"}
_PLAIN_TICKS: Final = {Level.GREEN: "ok", Level.YELLOW: "!!", Level.RED: "XX"}
_TOPIC_WIDTH: Final = 12
_OWN_ADVICE: Final = re.compile(r" ?Run `learning-memory-server doctor`[^.]*\.")
"""What errors say of use elsewhere: the advice to run what is running helps nobody."""


async def examine(*, quick: bool, fix: bool = False) -> bool:
    """Print what every check found, as it is found, and tell whether nothing is in the way.

    Args:
        quick: Leave the model unloaded; the engine is not opened then, because its vectors belong to a model.
        fix: Repair what is safe to repair, and look again.
    """
    configure_logging(verbose=False)
    findings = await _look(quick=quick)
    repairs = [finding for finding in findings if finding.repair] if fix else []
    for finding in repairs:
        await _repair(finding)
    if repairs:
        output().print()
        findings = await _look(quick=quick)
    return _conclude([finding.level for finding in findings])


async def _look(*, quick: bool) -> list[Finding]:
    findings = []
    checks = _checks(quick=quick)
    while True:
        with working("Looking"):
            finding = await anext(checks, None)
        if finding is None:
            break
        _show(finding)
        findings.append(finding)
    return findings


async def _repair(finding: Finding) -> None:
    assert finding.repair is not None  # noqa: S101 - who calls this has looked
    try:
        with working("Repairing"):
            sentence = await finding.repair()
    except (LearningMemoryError, OSError) as error:
        reason = error.sentence if isinstance(error, LearningMemoryError) else str(error.strerror)
        _show(red(finding.topic, f"Not repaired: {reason}"))
    else:
        _show(green(finding.topic, f"Repaired: {sentence}"))


def _conclude(levels: list[Level]) -> bool:
    problems, doubts = levels.count(Level.RED), levels.count(Level.YELLOW)
    if problems:
        output().print(
            Text(f"\n{counted(problems, 'problem')} and {counted(doubts, 'warning')}.", "bold red")
        )
    elif doubts:
        output().print(Text(f"\nIt works; {counted(doubts, 'warning')}.", "bold yellow"))
    else:
        output().print(Text("\nEverything is in order.", "bold green"))
    return not problems


async def _checks(*, quick: bool) -> AsyncIterator[Finding]:
    for finding in _check_python():
        yield finding
    for sentence in unknown_variables(os.environ):
        yield yellow("settings", sentence)
    try:
        settings = load_settings()
    except InvalidSettingsError as error:
        yield red("settings", f"{error.message} The server does not start until this is corrected.")
        yield yellow("the rest", "Not checked: where things are depends on the settings.")
        return
    file = config_file()
    yield green(
        "settings", f"Read from {file} and the environment." if file.exists() else "No settings file."
    )
    async for finding in _check_layers(settings, quick=quick):
        yield finding


async def _check_layers(settings: Settings, *, quick: bool) -> AsyncIterator[Finding]:
    @cache
    def load() -> Embedder:
        from learning_memory_server.server.services import load_model  # noqa: PLC0415 - half a second

        # As the server does, but without making an export.
        return load_model(settings)

    sound = True
    for finding in (*check_folders(settings), *check_journal(settings)):
        sound = sound and finding.level is not Level.RED
        yield finding
    finding, hub = check_hub(settings)
    yield finding
    of_hub = check_model_of_hub(hub) if hub else None
    async for finding in check_model(settings, load, quick=quick, of_hub=of_hub):
        sound = sound and finding.level is not Level.RED
        yield finding
    if settings.reranker_model:
        for finding in check_reranker(settings.reranker_model, quick=quick):
            yield finding
    if quick:
        yield green("engine", "Not opened (--quick).")
    elif not sound:
        yield yellow("engine", "Not opened: it needs what is red above, so correct that first.")
    else:
        async for finding in check_engine(settings, load):
            yield finding


def _check_python() -> Iterator[Finding]:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < _OLDEST_PYTHON:
        yield red("python", f"{version} is too old; install Python 3.11 or later.")
    else:
        yield green("python", f"{version} on {sys.platform}.")
    if not hasattr(os, "fork"):
        yield yellow("python", "Here there is no hub: use learning-memory-server --direct, one at a time.")


def _show(finding: Finding) -> None:
    console = output()
    ticks = _TICKS if console.encoding.lower().startswith("utf") else _PLAIN_TICKS
    lead = Text.assemble(
        (f"{ticks[finding.level]} ", f"bold {finding.level}"), (f"{finding.topic:<{_TOPIC_WIDTH}} ", "bold")
    )
    show_hanging(console, lead, Text(one_line(_OWN_ADVICE.sub("", finding.sentence))))
