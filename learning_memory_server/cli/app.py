"""The command line: its help, and where each command is."""

from importlib import import_module
from typing import Annotated, Any, Final

import typer

from learning_memory_server.cli.endings import FailuresAsSentences, run_to_the_end
from learning_memory_server.cli.help import PlainCommand, PlainGroup
from learning_memory_server.system.imports import fast_imports
from learning_memory_server.system.paths import APPLICATION
from learning_memory_server.version import VERSION

_COMMANDS: Final = """
# Begin
start           start                    Begin here: add this server to the clients on this machine, and learn from this project's past sessions.
demo            demo                     Show what the server does, with example entries in a temporary folder.
setup           setup                    Add this server to a client, for all projects: show the change, ask, and make it.
doctor          doctor.command           Check every layer, and say what is wrong and what to do about it. The exit code is 1 if there is a problem.
report          maintenance.learning     Show which of your rules agents broke in past sessions, which commands keep failing, and which calls you refused.
status          hub                      Show what is stored, where, and which process is using it.
uninstall       start                    Undo `start` and `setup`: leave every client, end the hub, and remove what can be made again.
# See what was learned
search          searching                Search everything: entries, values, memories and errors of commands.
list            listing                  List resolved GHAP entries, newest first.
show            showing                  Show everything about one entry, value, memory, error or cluster.
memories        searching                List memories, the texts that agents kept, the last one added first.
values          values                   List values, the principles learned from clusters, and the verdicts on each.
clusters        showing                  Show what keeps recurring on an axis: clusters of similar experiences.
failures        failures                 List errors of commands, the last seen first, and what worked next.
calibration     calibration              Say whether agents are as sure as they may be, and how many hypotheses held.
context         context                  Show what a new session of this project should know, or nothing if there is nothing.
why             context                  Show the advice that the last session of this project was given, and the rule for each.
dashboard       dashboard                Draw what was learned: one page with a map of experiences, calibration, values and everything else.
project         projects                 The projects, what they are called, and which are one.
review          rules.review              Decide what agents are reminded of: sentences of yours as rules, and lessons of others as advice.
rules           rules.group              List your rules in this project, and how often agents followed and broke each rule.
rule            rules.group              Make, show, try, change, enforce, export or retire a rule.
resolve         resolving                Close an entry that its agent left open, as `resolve_ghap` does for agents.
# Bring in, keep, move, forget
learn-from      maintenance.learning     Learn from Claude Code's past sessions of this project which commands failed, and what worked next.
backup          maintenance.exporting    Write everything in the journal to one file: entries, also open ones, values, verdicts, memories and failures.
import          maintenance.importing    Import a backup, after showing what will change; or resolved GHAP entries from a JSONL file.
forget          maintenance.erasing      Forget entries, values, memories and errors for good: nothing finds them any more, and no import restores them.
scan            maintenance.erasing      Find secrets that were stored before redaction knew them, and replace them with markers.
# Share with a team
share           sharing                  Write lessons into this repository, one file each, for others to review: show them, ask, and write.
join            sharing                  Read the shared lessons of this repository; run it once in each clone.
leave           sharing                  Stop reading the shared lessons of this repository, and remove them from the index and from all replies.
lessons         sharing                  The shared lessons in the files of a repository.
# The machinery
hub             hub                      The process that serves all sessions and owns their data.
reindex         maintenance.indexing     Rebuild the index from the journal.
migrate         maintenance.indexing     Copy the index to a Qdrant server or cluster, or back. The journal stays where it is.
download-model  maintenance.indexing     Download a model from huggingface.co, and load it once to check that it works.
hook            hub                      Answer a client's hook: JSON on stdin, and JSON or nothing on stdout.
"""
"""The name of each command, the module that declares it, and the first line of its help, in groups with a heading."""
_FIRST: Final = set("start report rules rule status doctor search show dashboard forget".split())
"""What a person needs in the first weeks: begin, look at what was learned, find out what is wrong, and take it back.

`start` does what `setup` and `learn-from` do apart, and agents and hooks need no command.
"""
_SHOWS_ALL: Final = f"{__name__}.all"  # Where the program's context says whether its help shows all commands

_OTHER_NAMES: Final = {
    "restore": "import",
    "export": "backup",
    "owner": "doctor",
    "promote": "rule export",
    "hub status": "status",
    "memories search": "search --only memories",
    "replay": "python -m benchmarks.replay",
}
"""What people may look for, and the command that does it."""


class _Declared(PlainCommand):
    """Stands for a command in the list of commands, so that its module is imported only if it is called for."""

    def __init__(self, name: str, module: str, summary: str) -> None:
        super().__init__(name, help=summary)
        self._called = name
        self._module = f"{__package__}.{module}"

    def load(self) -> Any:
        with fast_imports():
            # It would import what draws tracebacks for people, a tenth of a command's start. None is drawn.
            import_module("structlog")
        declared = import_module(self._module).commands
        return typer.main.get_group(declared).commands[self._called]


class _Commands(FailuresAsSentences, PlainGroup):
    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.groups = {}
        heading = ""
        for line in _COMMANDS.strip().splitlines():
            if line.startswith("# "):
                heading = line.removeprefix("# ")
                continue
            name, module, summary = line.split(maxsplit=2)
            self.add_command(_Declared(name, module, summary))
            self.groups[name] = heading

    def shown(self, ctx: Any) -> dict[str, Any]:
        """Return the commands that the help shows: the first ones, or all."""
        everything = super().shown(ctx).items()
        return {name: command for name, command in everything if ctx.meta.get(_SHOWS_ALL) or name in _FIRST}

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Import the command that the arguments name."""
        for asked in (" ".join(args[:2]), args[0]):
            if asked in _OTHER_NAMES:
                ctx.fail(f"There is no command '{asked}'. Use '{_OTHER_NAMES[asked]}'.")
        name, command, rest = super().resolve_command(ctx, args)
        return name, command.load() if isinstance(command, _Declared) else command, rest


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    # Its boxes take room, and break words in a narrow terminal.
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def declared() -> dict[str, Any]:
    """Return every command by its name, as its module declares it."""
    group: Any = typer.main.get_command(app)
    return {name: command.load() for name, command in group.commands.items() if isinstance(command, _Declared)}


@app.command("help", cls=PlainCommand, hidden=True)
def help_(
    context: typer.Context, everything: Annotated[bool, typer.Option("--all", help="Show all commands.")] = False
) -> None:
    """Show what `--help` shows, or all commands."""
    assert context.parent
    context.meta[_SHOWS_ALL] = everything
    typer.echo(context.parent.get_help())


def main() -> None:
    """Run the command that the arguments name, and end the process."""
    run_to_the_end(app)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"{APPLICATION} {VERSION}")
        raise typer.Exit


@app.callback()
def options(
    _version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """A memory for coding agents that keeps what they believed, what happened, and what they learned.

    Without a command this is the MCP server on stdio, as clients start it. All
    sessions share one process, the hub, which owns the data; the first session
    starts it. With --direct as the only argument, the server runs without a hub
    and owns the data itself (for tests, debugging and sandboxes).

    Commands that search or change the data work through the hub too, and start
    it if none runs. Commands that only read the journal start nothing.

    `learning-memory-server help --all` shows all commands.
    """
