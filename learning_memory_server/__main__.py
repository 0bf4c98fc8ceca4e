"""The `learning-memory-server` command."""

import os
import sys

COMPLETION = "_LEARNING_MEMORY_SERVER_COMPLETE"  # A shell asks for completions with this variable, without arguments

_WAITING = """\
learning-memory-server: This is an MCP server, and it is waiting for an MCP client on standard input.
Clients start it by themselves: `learning-memory-server setup` adds it to one; --help lists the other commands.
Ctrl-D or Ctrl-C ends it.
"""


def main() -> None:
    """Serve a session on stdio through the hub, or run the command that the arguments name.

    Nothing is imported before it is needed: a session must start within milliseconds, and a hook in fewer.
    """
    if sys.argv[1:2] == ["hook"] and sys.argv[2:3] not in (["-h"], ["--help"]) and COMPLETION not in os.environ:
        from learning_memory_server.hub.front.hook import main as hook

        hook(*sys.argv[2:3])
    from learning_memory_server.system.ending import end_on_interrupt, leave_interrupted, was_interrupted
    from learning_memory_server.system.steering import ignore_project

    try:
        end_on_interrupt()
        # Whatever this process and its children create is for this user alone, also the parents of our folders.
        os.umask(0o077)
        # Before anything reads a variable.
        ignored = ignore_project(os.environ)
        for sentence in ignored if COMPLETION not in os.environ else ():
            sys.stderr.write(f"learning-memory-server: {sentence}\n")
        _run(sys.argv[1:], is_steered=bool(ignored))
    except (Exception, KeyboardInterrupt):
        if not was_interrupted():
            raise
        leave_interrupted()


def _run(arguments: list[str], *, is_steered: bool) -> None:
    options = set(arguments)
    serves = options <= {"--direct", "--hooks"} and COMPLETION not in os.environ
    has_hooks = "--hooks" in options
    if serves or arguments == ["hub", "run"]:
        from learning_memory_server.system.ending import report_crashes

        report_crashes()
    if serves and sys.stdin is not None and sys.stdin.isatty():
        sys.stderr.write(_WAITING)
        sys.stderr.flush()
    if serves and "--direct" not in options:
        from learning_memory_server.hub.front.relay import main as front

        front(has_hooks=has_hooks, is_steered=is_steered)
    elif serves:
        from learning_memory_server.server.main import main as serve

        serve(has_hooks=has_hooks)
    elif arguments == ["hub", "run"]:
        from learning_memory_server.hub.main import main as hub

        hub()
    else:
        import gc

        # Most of a command is imports. What they make stays: looking for garbage in it takes a twentieth of the time.
        gc.set_threshold(50_000)
        from learning_memory_server.cli.app import main as run_command

        run_command()


if __name__ == "__main__":
    main()
