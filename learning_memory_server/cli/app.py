"""The command line: its help, and the module of each command."""

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
doctor          doctor.command           Find out what is wrong, and what to do about it. The exit code is 1 if there is a problem.
status          hub                      Show how much is stored, where, what the last session was given, and which process is using it.
settings        configuring              Show each setting, where its value comes from, and the file in which you change it.
uninstall       start                    Undo `start` and `setup`: leave every client, end the hub, and remove what can be made again.
# See what agents learned
search          searching                Search everything by your own words: entries, values, memories and errors of commands.
list            listing                  List what agents learned, newest first: GHAP entries, each a guess and what happened.
show            showing                  Show everything about one entry, value, memory, error or cluster, and when agents were given it.
values          values                   List values, the principles learned from clusters, and the verdicts on each.
memories        searching                List memories, the texts that agents kept, the last one added first.
clusters        showing                  Show what keeps recurring on an axis: clusters of similar experiences.
failures        failures                 List errors of commands, the last seen first, and what worked next.
report          maintenance.learning     Show which of your rules agents broke in past sessions, which commands keep failing, and which calls you refused.
calibration     calibration              Say whether agents are as sure as they may be, and how many hypotheses held.
context         context                  Show what a new session of this project should know, or nothing if there is nothing.
dashboard       dashboard                Draw what was learned: one page with decisions, errors, clusters, values and everything else.
project         projects                 The projects, what they are called, and which are one.
# Tell agents something
rule            rules.group              Tell agents what to do or not to do, in your own words (`rule add`); try, change, enforce, export or retire a rule.
rules           rules.group              List your rules in this project, and how often agents followed and broke each rule.
review          rules.review             Answer what waits for your yes: sentences of yours as rules, and lessons of others as advice.
retrospective   retrospective            For an agent that looks back: read what went wrong, and suggest rules, which you answer in `review`.
add             adding                   Keep a text as a memory, which agents find when they search.
resolve         resolving                Close an entry that its agent left open.
split           resolving                Take back what an agent said: that an entry is the same as an earlier one.
# Bring in, keep, move, forget
learn-from      maintenance.learning     Learn from Claude Code's past sessions of this project which commands failed, and what worked next.
backup          maintenance.exporting    Write everything to one file, to keep it or to `import` it on another machine.
import          maintenance.importing    Import a backup, after showing what will change; or resolved GHAP entries from a JSONL file.
forget          maintenance.erasing      Delete entries, values, memories and errors for good: nothing finds them any more, and no import restores them.
scan            maintenance.erasing      Find secrets that were stored before redaction knew them, and replace them with markers.
# Share with a team
share           sharing                  Write lessons into this repository, one file each, for others to review: show them, ask, and write.
join            sharing                  Read the shared lessons of this repository; run it once in each clone.
leave           sharing                  Stop reading the shared lessons of this repository, and remove them from the index and from all replies.
# The machinery
hub             hub                      The process that serves all sessions and owns their data.
reindex         maintenance.indexing     Rebuild the index from the journal.
migrate         maintenance.indexing     Copy the index to a Qdrant server or cluster, or back. The journal stays where it is.
hook            hub                      Answer a client's hook: JSON on stdin, and JSON or nothing on stdout.
"""
"""The name, module and first help line of each command, in groups with a heading."""
_FORMER: Final = """
why             context                  `status`, or `show ID`
lessons         sharing                  `share --check`
download-model  maintenance.indexing     `setup --model MODEL`
"""
"""The former commands: name, module that still declares it, and the command that replaced it."""
_FIRST: Final = set(
    "start setup doctor status settings uninstall search list show values report dashboard rule rules review add "
    "backup forget".split()
)
"""The commands that answer a person's questions or that messages recommend.

`start` includes `setup` and `learn-from`, and agents and hooks need no command.
"""
_SHOWS_ALL: Final = f"{__name__}.all"  # The key in the program's context for whether its help shows all commands

_OTHER_NAMES: Final = {
    "restore": "`import`",
    "export": "`backup`",
    "owner": "`doctor`",
    "promote": "`rule export`",
    "hub status": "`status`",
    "memories search": "`search --only memories`",
    "replay": "`python -m benchmarks.replay`",
    "remember": "`add` for a text that agents find, or `rule add` for a sentence that they follow",
    "rules add": "`rule add`",
    "rule list": "`rules`",
    "config": "`settings`",
    "configure": "`settings`",
    "log": "`hub logs`",
    "logs": "`hub logs`",
    "stop": "`hub stop`",
    "delete": "`forget`",
    "remove": "`forget`",
    "rm": "`forget`",
    "undo": "`uninstall` for what `start` and `setup` did, `rule retire` for a rule, or `forget` for what is stored",
    "install": "`start`",
    "init": "`start`",
    "find": "`search`",
    "ls": "`list`",
    "version": "`--version`",
    "update": "what installed it: docs/how-to/install.md says how",
    "upgrade": "what installed it: docs/how-to/install.md says how",
    "restart": "`hub stop`: the next session starts another hub",
    "serve": "`learning-memory-server` without a command, as clients do",
}
"""Names that people may try, and the command to use instead."""


class _Declared(PlainCommand):
    """A placeholder in the list of commands. It imports the command's module only when the command is called."""

    def __init__(self, name: str, module: str, summary: str, *, now: str = "") -> None:
        super().__init__(name, help=summary, hidden=bool(now))
        self.now = now  # The command that has replaced this one; empty if there is none
        self._called = name
        self._module = f"{__package__}.{module}"

    def load(self) -> Any:
        with fast_imports():
            # It would import a library for tracebacks, which takes a tenth of a command's start and is not needed.
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
        for line in _FORMER.strip().splitlines():
            name, module, now = line.split(maxsplit=2)
            self.add_command(_Declared(name, module, "", now=now))

    def shown(self, ctx: Any) -> dict[str, Any]:
        """Return the commands in the help: a selection, or all."""
        everything = super().shown(ctx).items()
        return {name: command for name, command in everything if ctx.meta.get(_SHOWS_ALL) or name in _FIRST}

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Import the command that the arguments name."""
        for asked in (" ".join(args[:2]), args[0]):
            if asked in _OTHER_NAMES:
                ctx.fail(f"There is no command '{asked}'. Use {_OTHER_NAMES[asked]}.")
        name, command, rest = super().resolve_command(ctx, args)
        if not isinstance(command, _Declared):
            return name, command, rest
        if command.now and not ctx.resilient_parsing:
            typer.echo(f"`{name}` is {command.now} now.", err=True)
        return name, command.load(), rest


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    # Its boxes take space, and break words in a narrow terminal.
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def declared() -> dict[str, Any]:
    """Return all commands by name, as declared in their modules, without those that were replaced."""
    group: Any = typer.main.get_command(app)
    kept = {name: command for name, command in group.commands.items() if isinstance(command, _Declared)}
    return {name: command.load() for name, command in kept.items() if not command.now}


@app.command("help", cls=PlainCommand, hidden=True)
def help_(
    context: typer.Context, everything: Annotated[bool, typer.Option("--all", help="Show all commands.")] = False
) -> None:
    """Show what `--help` shows, or all commands."""
    assert context.parent
    context.meta[_SHOWS_ALL] = everything
    typer.echo(context.parent.get_help())


def main() -> None:
    """Run the command in the arguments, and end the process."""
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

    `learning-memory-server help --all` shows all commands. `--help` after a
    command shows its options and an example.

    Without a command this is the MCP server on stdio, as clients start it. All
    sessions share one process, the hub, which owns the data. With --direct as
    the only argument, the server runs without a hub (for tests, debugging and
    sandboxes).
    """
