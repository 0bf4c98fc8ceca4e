"""The command `doctor`: runs the checks from the interpreter to the engine, shows what they find, and repairs."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Final

import typer
from rich.text import Text

from learning_memory_server.cli.clients.places import this_machine
from learning_memory_server.cli.doctor.clients import check_client, check_clients
from learning_memory_server.cli.doctor.engine import check_engine
from learning_memory_server.cli.doctor.finding import Level, green, red, yellow
from learning_memory_server.cli.doctor.folders import check_folders, check_settings_file
from learning_memory_server.cli.doctor.hub import check_hub, check_model_of_hub
from learning_memory_server.cli.doctor.journal import check_journal
from learning_memory_server.cli.doctor.model import check_model
from learning_memory_server.cli.doctor.project import check_claim, check_files
from learning_memory_server.cli.doctor.redaction import check_redaction
from learning_memory_server.cli.doctor.reranker import check_reranker
from learning_memory_server.cli.doctor.server import check_elsewhere
from learning_memory_server.cli.terminal import counted, output, show_hanging, show_json, working
from learning_memory_server.errors import InvalidSettingsError, LearningMemoryError
from learning_memory_server.model.lines import one_line
from learning_memory_server.server.composition.logging import configure_logging
from learning_memory_server.server.settings import load_settings, unknown_variables
from learning_memory_server.system.ipc.socket_security import has_hubs
from learning_memory_server.system.paths import config_file

if TYPE_CHECKING:
    from learning_memory_server.cli.clients.names import ClientName
    from learning_memory_server.cli.doctor.finding import Finding, Repair
    from learning_memory_server.embedding.base import Embedder
    from learning_memory_server.server.settings import Settings

_TICKS: Final = {Level.GREEN: "✓", Level.YELLOW: "!", Level.RED: "✗"}
_PLAIN_TICKS: Final = {Level.GREEN: "ok", Level.YELLOW: "!!", Level.RED: "XX"}
_TOPIC_WIDTH: Final = 12
_OWN_ADVICE: Final = re.compile(r" ?Run `learning-memory-server doctor`[^.]*\.")
"""Advice that many errors give, and that is useless inside the doctor."""


async def examine(
    *, quick: bool, fix: bool = False, client: ClientName | None = None, as_json: bool = False
) -> bool:
    """Print what each check finds. Return whether there are no problems.

    Args:
        quick: Do not load the models, and do not start the server as clients do. The engine is not opened then,
            because its vectors belong to a model.
        fix: Repair what is safe to repair, then check again.
        client: Check this client, and nothing else.
        as_json: Print a `DoctorDocument`.
    """
    configure_logging("critical")
    show = _keep_silent if as_json else _show
    if client:
        findings = await _look(check_client(client, this_machine(), quick=quick), show)
        return _conclude(findings, [], as_json=as_json)
    findings = await _look(_checks(quick=quick), show)
    repairs = [
        (finding.topic, finding.repair)
        for finding in findings
        if fix and finding.repair and (finding.question is None or _agrees(finding.question))
    ]
    repaired: list[Finding] = []
    for topic, repair in repairs:
        repaired.append(await _repair(topic, repair))
        show(repaired[-1])
    if repairs:
        if not as_json:
            output().print()
        findings = await _look(_checks(quick=quick), show)
    return _conclude(findings, repaired, as_json=as_json)


def _agrees(question: str) -> bool:
    """Return whether a person says yes. An agent that runs this command has no terminal."""
    return sys.stdin.isatty() and typer.confirm(question, err=True)


def _as_data(finding: Finding) -> dict[str, str]:
    sentence = one_line(_OWN_ADVICE.sub("", finding.sentence))
    return {"level": finding.level.value, "topic": finding.topic, "sentence": sentence}


def _keep_silent(_finding: Finding) -> None:
    """Show nothing yet: the document at the end has every finding."""


async def _look(checks: AsyncIterator[Finding], show: Callable[[Finding], None]) -> list[Finding]:
    findings = []
    while True:
        with working("Checking"):
            finding = await anext(checks, None)
        if finding is None:
            break
        show(finding)
        findings.append(finding)
    return findings


async def _repair(topic: str, repair: Repair) -> Finding:
    try:
        with working("Repairing"):
            sentence = await repair()
    except (LearningMemoryError, OSError) as error:
        reason = error.sentence if isinstance(error, LearningMemoryError) else str(error.strerror)
        return red(topic, f"Not repaired: {reason}")
    return green(topic, f"Repaired: {sentence}")


def _conclude(findings: list[Finding], repairs: list[Finding], *, as_json: bool) -> bool:
    levels = [finding.level for finding in findings]
    problems, doubts = levels.count(Level.RED), levels.count(Level.YELLOW)
    if as_json:
        show_json(
            {
                "problems": problems,
                "warnings": doubts,
                "findings": [_as_data(finding) for finding in findings],
                "repairs": [_as_data(finding) for finding in repairs],
            }
        )
    elif problems:
        output().print(
            Text(f"\n{counted(problems, 'problem')} and {counted(doubts, 'warning')}.", "bold red")
        )
    elif doubts:
        output().print(Text(f"\nNo problems; {counted(doubts, 'warning')}.", "bold yellow"))
    else:
        output().print(Text("\nEverything is in order.", "bold green"))
    return not problems


async def _checks(*, quick: bool) -> AsyncIterator[Finding]:
    for finding in _check_python():
        yield finding
    for sentence in unknown_variables(os.environ):
        yield yellow("settings", sentence)
    for finding in check_files(os.environ):
        yield finding
    try:
        settings = load_settings()
    except InvalidSettingsError as error:
        yield red("settings", f"{error.message} The server does not start until this is corrected.")
        yield yellow("the rest", "Not checked, because it depends on the settings.")
        return
    file = config_file()
    yield green(
        "settings", f"Read from {file} and the environment." if file.exists() else "No settings file."
    )
    async for finding in _check_layers(settings, quick=quick):
        yield finding
    # Last, because a client's server takes the data, as any session does.
    async for finding in check_clients(this_machine(), quick=quick):
        yield finding


async def _check_layers(settings: Settings, *, quick: bool) -> AsyncIterator[Finding]:
    @cache
    def load() -> Embedder:
        from learning_memory_server.server.composition.backends import load_model  # noqa: PLC0415 - half a second

        # Without an exporter: unlike a server, the doctor makes no export.
        return load_model(settings)

    for finding in check_redaction(settings):
        yield finding
    sound = True
    # Of servers before the engine is opened, which makes an owner where there is none.
    without_engine = (
        check_settings_file(),
        check_folders(settings),
        check_journal(settings),
        check_claim(settings, os.environ),
    )
    for finding in chain(*without_engine, check_elsewhere(settings)):
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
        yield yellow("engine", "Not opened: correct what is red above first.")
    else:
        async for finding in check_engine(settings, load):
            yield finding


def _check_python() -> Iterator[Finding]:
    yield green("python", f"{'.'.join(map(str, sys.version_info[:3]))} on {sys.platform}.")
    if not has_hubs():
        yield yellow(
            "python", "This system has no hub: run learning-memory-server --direct, one session at a time."
        )


def _show(finding: Finding) -> None:
    console = output()
    ticks = _TICKS if console.encoding.lower().startswith("utf") else _PLAIN_TICKS
    lead = Text.assemble(
        (f"{ticks[finding.level]} ", f"bold {finding.level}"), (f"{finding.topic:<{_TOPIC_WIDTH}} ", "bold")
    )
    show_hanging(console, lead, Text(one_line(_OWN_ADVICE.sub("", finding.sentence))))
