"""Compare agents with this memory and without it on trap tasks: `python -m benchmarks.arena [--agent COMMAND]`.

A tool has a rule that cannot be guessed. An agent meets it in variant a of a task; in variant b, with other names and
values, the benchmark counts how many of its calls fail until it has done what it was asked to, as the tool sees them.
There are eight families, whose rules differ in kind: state, order, calendar, encoding, flags, environment, messages,
limits. The arms are described in `benchmarks/arena/arms.py`.

Without --agent, a scripted agent plays (`benchmarks/arena/scripted.py`): that shows what arrives, and nothing about
agents. With it, each run of the command is a session in a folder and a home of its own. You are told what all runs may
cost, and asked, before they start. For Claude Code:

    python -m benchmarks.arena --agent "claude -p {prompt} --output-format json --allowedTools Bash,Read,Write,Edit,\
mcp__plugin_learning-memory_memory" --variable ANTHROPIC_API_KEY

The arm `hooks` is set up for clients that read Claude Code's settings. Others need --install, and --notes for theirs.
An agent that looks through this machine may find the rules in this package: where that matters, run it in a container.

`play FAMILY [a|b]` opens a shell with a tool, for you to find its rule. `check` tests all families.
"""

import argparse
import json
import sys

from benchmarks.arena.arms import ARMS, SCRIPTED, Agent, Run
from benchmarks.arena.families import FAMILIES
from benchmarks.arena.runner import check, count_of, play_all, play_by_hand, print_report, report_of

INSTALL = ("claude plugin marketplace add {market}", "claude plugin install learning-memory@learning-memory-server")


def main() -> None:
    """Run the benchmark, or what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=("run", "play", "check"), default="run")
    parser.add_argument("family", nargs="?", choices=FAMILIES, help="for `play`")
    parser.add_argument("variant", nargs="?", choices="ab", default="a", help="for `play`")
    parser.add_argument("--agent", default=SCRIPTED, metavar="COMMAND", help="the agent, with {prompt} in it")
    parser.add_argument("--arms", default=",".join(ARMS), metavar="NAMES")
    parser.add_argument("--families", default=",".join(FAMILIES), metavar="NAMES")
    parser.add_argument("--repeats", type=int, default=1, metavar="N")
    parser.add_argument("--minutes", type=float, default=10.0, metavar="N", help="minutes after which a run is ended")
    parser.add_argument("--dollars", type=float, default=0.5, metavar="N", help="the cost of a run, for the estimate")
    parser.add_argument(
        "--variable", action="append", default=[], metavar="NAME", help="of this shell, passed on to the agent"
    )
    parser.add_argument("--install", action="append", default=[], metavar="COMMAND", help="that installs the memory")
    parser.add_argument("--notes", default="CLAUDE.md", metavar="FILE", help="that the agent reads by itself")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument("--json", action="store_true", help="the last line is one JSON object")
    options = parser.parse_args()
    if options.what == "check":
        wrong = [each for kind in FAMILIES for variant in "ab" for each in check(kind, variant)]
        print("\n".join(wrong) or f"{len(FAMILIES)} families: fresh fails, naive fails, the known solution passes")
        sys.exit(bool(wrong))
    if options.what == "play":
        play_by_hand(options.family or next(iter(FAMILIES)), options.variant)
        return
    arms, kinds = options.arms.split(","), options.families.split(",")
    if unknown := {*arms, *kinds} - {*ARMS, *FAMILIES}:
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    if "{prompt}" not in options.agent:
        parser.error("the agent's command has no {prompt}")
    if "file" in arms and "installed" not in arms:
        parser.error("the file is as long as what the memory says in the arm installed, which must be played too")
    install = tuple(options.install) or INSTALL
    agent = Agent(options.agent, install, options.notes, tuple(options.variable), options.minutes)
    count = count_of(arms, kinds, options.repeats)
    if not agent.is_scripted and not (options.yes or is_wanted(count, options)):
        sys.exit("Nothing was started.")
    runs = play_all(arms, kinds, options.repeats, agent, show)
    report = report_of(runs, agent)
    print_report(report)
    if options.json:
        print(json.dumps(report))


def is_wanted(count: int, options: argparse.Namespace) -> bool:
    """Say what is about to be started and what it may cost, and ask."""
    print(
        f"{count} runs of: {options.agent}\nEach may take {options.minutes:g} minutes, all of them "
        f"{count * options.minutes / 60:.1f} hours. At ${options.dollars:g} a run, which is an assumption, that is "
        f"${count * options.dollars:.2f}."
    )
    return sys.stdin.isatty() and input("Start them? [y/N] ").strip().lower() == "y"


def show(run: Run) -> None:
    """Print what came of a run."""
    came = "solved" if run.solved else "not solved"
    cost = f", ${run.dollars:.2f}" if run.dollars is not None else ""
    print(
        f"{run.arm:10}{run.family:12}{run.variant}  {came:11}{run.failed:>3} of {run.calls:<3} calls failed"
        f"{run.seconds:7.1f} s{run.told:>6} bytes told, {run.ended}{cost}: {run.said[:60]}",
        flush=True,
    )


if __name__ == "__main__":
    main()
