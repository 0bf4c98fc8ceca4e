"""The account of the past that `start` shows, to be judged by line: `python -m benchmarks.account --sessions FILE`.

The recorded sessions of each project (formats: `benchmarks.recorded`) are split, in time order, into pasts of --each
sessions. The account of each is printed as a person reads it. A line is true if what it says happened. It is useful if
its reader would act on it, or says that it is good to know.
--part odd has the pasts that show which kinds of lines are false or useless, --part even those that check a change.
"""

import argparse
import asyncio
from collections import defaultdict
from pathlib import Path
from typing import Final

from benchmarks.recorded import read_sessions
from benchmarks.recurring import Session
from learning_memory_server.lessons.errors.learner import Learner
from learning_memory_server.lessons.errors.report import report
from learning_memory_server.model.limits import REPORT_LINES
from learning_memory_server.redaction.gate import RedactionGate
from learning_memory_server.redaction.redactor import build_redactor

_PARTS: Final = {"all": (0, 1), "odd": (1,), "even": (0,)}


def main() -> None:
    """Print the accounts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=Path, action="append", required=True)
    parser.add_argument("--each", type=int, default=25)
    parser.add_argument("--part", choices=_PARTS, default="all")
    options = parser.parse_args()
    projects = defaultdict[str, list[Session]](list)
    for path in options.sessions:
        for session in read_sessions(path):
            projects[session.project].append(session)
    shown = 0
    for project, sessions in sorted(projects.items()):
        for number, begin in enumerate(range(0, len(sessions), options.each), 1):
            if number % 2 in _PARTS[options.part]:
                shown += asyncio.run(_show(f"{project} {number}", sessions[begin : begin + options.each]))
    print(f"\n{shown} lines")


async def _show(name: str, sessions: list[Session]) -> int:
    """Print the account of a past, and return how many lines it has."""
    learner = Learner(RedactionGate(build_redactor()))
    for session in sessions:
        for ran in session.calls:
            await learner.saw(ran)
    found = report(learner.failures, REPORT_LINES)
    print(f"\n{name}: {len(sessions)} sessions")
    for line in found:
        print(f"{line.label:>12}  {line.text}")
    return len(found)


if __name__ == "__main__":
    main()
