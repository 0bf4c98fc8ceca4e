"""The command `doctor`: run the checks from the interpreter to the engine, show the findings, and repair."""

import os
from collections.abc import Iterator
from functools import cache
from itertools import chain
from typing import Annotated, Final

import typer
from rich.text import Text

from learning_memory_server.cli import out
from learning_memory_server.cli.clients.catalog import CLIENTS, Client, client_called, client_names, this_machine
from learning_memory_server.cli.command import Commands, Result
from learning_memory_server.cli.doctor import Finding, Level, Repair, about, all_sound, green, red, storage, yellow
from learning_memory_server.cli.doctor.clients import check_client, check_clients
from learning_memory_server.cli.doctor.model import check_model, check_reranker
from learning_memory_server.cli.doctor.settings import (
    check_claim,
    check_files,
    check_folders,
    check_projects,
    check_python,
    check_redaction,
    check_settings_file,
    check_stores,
)
from learning_memory_server.embedding.base import Embedder
from learning_memory_server.errors import ForeignDataError, InvalidSettingsError, LearningMemoryError
from learning_memory_server.server.composition.logging import configure_logging
from learning_memory_server.server.settings import Settings, load_settings, setting_notices
from learning_memory_server.server.views import fields
from learning_memory_server.system.ownership import refuse_foreign
from learning_memory_server.system.paths import config_file

_TICKS: Final = {Level.GREEN: "✓", Level.INFO: "·", Level.YELLOW: "!", Level.RED: "✗"}
_PLAIN_TICKS: Final = {Level.GREEN: "ok", Level.INFO: "--", Level.YELLOW: "!!", Level.RED: "XX"}
_TOPIC_WIDTH: Final = 12

commands = Commands()


@commands.command(example="--fix")
def doctor(
    quick: Annotated[bool, typer.Option("--quick", help="Load no model and start no server.")] = False,
    fix: Annotated[bool, typer.Option("--fix", help="Repair what is safe to repair, then check again.")] = False,
    client: Annotated[
        Client | None,
        typer.Option(
            "--client",
            help=f"Check this client, and nothing else. One of {', '.join(CLIENTS)}.",
            parser=client_called,
            autocompletion=client_names,
        ),
    ] = None,
) -> Result:
    """Find out what is wrong, and what to do about it. The exit code is 1 if there is a problem.

    Checks every layer.
    For each client that has this server, it starts the server as that client
    does, with the environment that the client passes on, and lists its tools.

    --fix makes folders and files private, and completes or rebuilds the index.
    It asks what only you know: whether a folder is a project that it may be,
    or whether the storage folder was moved here or copied. It never changes
    the journal's content.
    """
    configure_logging("critical")

    findings = _look(client, quick=quick)
    agreed = [(each, repair) for each in findings if fix and not client and (repair := each.agreed())]
    repaired = [_repaired(finding, repair) for finding, repair in agreed]
    if repaired:
        out.say()
        findings = _look(client, quick=quick)
    levels = [finding.level for finding in findings]
    problems, warnings = levels.count(Level.RED), levels.count(Level.YELLOW)
    if problems:
        out.say(f"\n{out.counted(problems, 'problem')} and {out.counted(warnings, 'warning')}.", "bold red")
    elif warnings:
        out.say(f"\nNo problems; {out.counted(warnings, 'warning')}.", "bold yellow")
    else:
        out.say("\nEverything is in order.", "bold green")
    if not problems and {each.level for each in findings if each.topic == "client"} == {Level.INFO}:
        out.say("But no client has the memory yet.", "bold yellow")
    found, repairs = (
        [fields(("level", "topic", "sentence"), each, sentence=out.one_line(each.sentence)) for each in some]
        for some in (findings, repaired)
    )
    document = {"problems": problems, "warnings": warnings, "findings": found, "repairs": repairs}
    return Result(document, not problems)


def _look(client: Client | None, *, quick: bool) -> list[Finding]:
    checks = _checks(client, quick=quick)
    findings: list[Finding] = []
    while True:
        with out.working("Checking"):
            finding = next(checks, None)
        if finding is None:
            return findings
        _show(finding)
        findings.append(finding)


def _repaired(finding: Finding, repair: Repair) -> Finding:
    try:
        with out.working("Repairing"):
            done = green(f"Repaired: {repair()}", topic=finding.topic)
    except (LearningMemoryError, OSError) as error:
        reason = error.in_doctor if isinstance(error, LearningMemoryError) else str(error.strerror)
        done = red(f"Not repaired: {reason}", topic=finding.topic)
    _show(done)
    return done


def _checks(client: Client | None, *, quick: bool) -> Iterator[Finding]:
    """Run the checks of one client, or all checks."""
    machine = this_machine()
    if client:
        yield from about("project", check_files(os.environ))
        yield from about("client", check_client(client, machine, quick=quick))
        return
    yield from about("python", check_python())
    yield from about("settings", map(yellow, setting_notices()))
    yield from about("project", check_files(os.environ))
    try:
        settings = load_settings()
    except InvalidSettingsError as error:
        yield red(f"{error.message} The server does not start until this is corrected.", topic="settings")
        yield yellow("Not checked, because it depends on the settings.", topic="the rest")
        return
    file = config_file()
    read = f"Read from {file} and the environment." if file.exists() else "No settings file."
    yield green(read, topic="settings")
    yield from about("redaction", check_redaction(settings))
    try:
        refuse_foreign(settings.journal_directory, settings.storage_path)
    except ForeignDataError as error:
        yield red(error.message, topic="storage")
        yield yellow("Not checked, because it depends on the data.", topic="the rest")
        return
    sound = yield from all_sound(
        chain(
            about("settings", check_settings_file()),
            check_folders(settings),
            about("storage", check_stores(settings)),
            about("journal", storage.check_journal(settings)),
            about("project", check_claim(settings, os.environ)),
            about("project", check_projects(settings)),
            about("shared", storage.check_shared(settings)),
            # Before the engine is opened, which creates a missing owner.
            about("server", storage.check_elsewhere(settings)),
        )
    )
    yield from _check_models(settings, sound=sound, quick=quick)
    # Last, because a client's server locks the data like any session.
    yield from about("client", check_clients(machine, quick=quick))


def _check_models(settings: Settings, *, sound: bool, quick: bool) -> Iterator[Finding]:
    """Check the hub, the model and the engine; the engine only if the earlier checks are `sound`."""

    @cache
    def load() -> Embedder:
        from learning_memory_server.server.composition.backends import load_model

        return load_model(settings)

    finding, hub = storage.check_hub(settings)
    yield from about("hub", [finding])
    sound = (yield from all_sound(about("model", check_model(settings, load, quick=quick, hub=hub)))) and sound
    if settings.reranker_model:
        yield from about("re-ranker", check_reranker(settings.reranker_model))
    if quick:
        yield green("Not opened (--quick).", topic="engine")
    elif not sound:
        yield yellow("Not opened: correct what is red above first.", topic="engine")
    else:
        yield from about("engine", storage.check_engine(settings, load))


def _show(finding: Finding) -> None:
    ticks = _TICKS if out.stdout().encoding.lower().startswith("utf") else _PLAIN_TICKS
    colour = "cyan" if finding.level is Level.INFO else finding.level
    lead = Text.assemble((f"{ticks[finding.level]} ", f"bold {colour}"), (f"{finding.topic:<{_TOPIC_WIDTH}} ", "bold"))
    out.hanging(lead, Text(out.one_line(finding.sentence)))
