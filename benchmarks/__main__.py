"""Run all benchmarks and write one page of what they say: `make bench`, or `python -m benchmarks [NAME ...]`.

Each runs by itself, one after the other, and its output stands in `build/bench.md`, with its seconds, the version
and the commit. --data FOLDER has the recorded data, by the names below; without it, those benchmarks are left out that
need some, and the page says so. One that takes longer than --minutes is ended, and the page says that, too. Other
memories (`benchmarks.memories`) take part in `recurrence` where they are installed.
"""

import argparse
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from learning_memory_server.version import VERSION

HERE: Final = Path(__file__).parent
PAGE: Final = Path("build") / "bench.md"
_SESSIONS: Final = "agent-sessions-dev.jsonl.gz"
_ENTRIES: Final = "ghap-predecessor.jsonl"
_DATA: Final = {
    "account": {"--sessions": _SESSIONS},
    "causes": {"--data": "reflexion-ghap-300.jsonl.gz"},
    "clustering": {"--data": ""},
    "experiences": {"--data": _ENTRIES},
    "freshness": {"--data": "releases"},
    "lessons": {"--sessions": _SESSIONS, "--entries": _ENTRIES},
    "names": {"--entries": _ENTRIES},
    "questions": {"--data": "questions-demo.json"},
    "replay": {"--data": _ENTRIES},
    "recurrence": {"--sessions": _SESSIONS, "--entries": _ENTRIES},
    "retrieval": {"--data": ""},
    "rules": {"--data": ""},
    "thresholds": {"--data": ""},
}
"""What each is given of --data: the whole folder, or a file or folder in it."""
_NEEDED: Final = frozenset(
    {"account", "causes", "clustering", "experiences", "freshness", "questions", "replay", "retrieval", "rules"}
)
_WITH_TORCH: Final = frozenset({"embedding"})


def main() -> None:
    """Run the benchmarks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=names(), metavar="NAME")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--minutes", type=float, default=60.0, help="that one may take")
    options = parser.parse_args()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    made = f"Version {VERSION}, commit {commit.stdout.strip() or 'unknown'}, {datetime.now(UTC):%Y-%m-%d}"
    machine = f"Python {platform.python_version()}, {platform.system()}"
    parts = [f"# Benchmarks\n\n{made}, {machine}. What the figures mean is in each module's text.\n"]
    PAGE.parent.mkdir(exist_ok=True)
    for name in options.names:
        print(name, flush=True)
        parts.append(section(name, options.data, options.minutes))
        # After each: the rest may take hours.
        PAGE.write_text("\n".join(parts), "utf-8")


def names() -> list[str]:
    """Return the benchmarks: the modules that can be run."""
    return sorted(path.stem for path in HERE.glob("[!_]*.py") if "\ndef main() -> None:" in path.read_text("utf-8"))


def section(name: str, data: Path | None, minutes: float) -> str:
    """Run one and return its part of the page."""
    given = {option: data / file for option, file in _DATA.get(name, {}).items()} if data else {}
    arguments = [part for option, path in given.items() if path.exists() for part in (option, str(path))]
    if name in _NEEDED and not arguments:
        return f"## {name}\n\nNot run: its data is not here.\n"
    if name in _WITH_TORCH and find_spec("sentence_transformers") is None:
        return f"## {name}\n\nNot run: sentence-transformers is not installed.\n"
    if name == "recurrence":
        files = sorted((HERE / "memories").glob("[!_]*.py"))
        arguments += [part for file in files for part in ("--memory", str(file))]
    began = time.monotonic()
    said = _output(["-m", f"benchmarks.{name}", *arguments], minutes)
    return f"## {name}\n\n{time.monotonic() - began:.0f} seconds.\n\n```\n{said}\n```\n"


def _output(arguments: Sequence[str], minutes: float) -> str:
    try:
        ran = subprocess.run(
            [sys.executable, *arguments], capture_output=True, text=True, check=False, timeout=60 * minutes
        )
    except subprocess.TimeoutExpired as late:
        # Bytes, although text was asked for.
        said = late.stdout.decode("utf-8", "replace") if isinstance(late.stdout, bytes) else ""
        return f"{said}\nEnded after {minutes:g} minutes.".strip()
    lines = ran.stdout.strip()
    return lines if not ran.returncode else f"{lines}\nFAILED: {ran.stderr.strip().splitlines()[-1:]}".strip()


if __name__ == "__main__":
    main()
