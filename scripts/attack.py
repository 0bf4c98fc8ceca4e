"""Attacks the server as its clients do, kills its hub meanwhile, and checks that nothing was lost.

    python -m scripts.attack [--calls N] [--kills N] [--seconds MAX] [--seed S]

Sessions over stdio send generated calls and frames, and the hub is killed with SIGKILL at even distances. At the end
every acknowledged write must be in the journal and in the index, none twice; every request must have been answered
exactly once under its id; no call may have crashed; and no process may be left. The exit code is 0 if all of this
holds, otherwise 1. No model is loaded.

Data goes to a temporary folder, in RAM where there is room: the hub waits for the disk at every write, which a kill
does not test, because the system keeps what a killed process has written.
"""

import argparse
import asyncio
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Final

from learning_memory_server.system.locking import holder, is_locked_by
from learning_memory_server.system.paths import LOCK
from scripts.attack_checks import check_index, check_journal, check_log
from scripts.attack_requests import Attempt, Requests

_SESSIONS: Final = 6
_AHEAD: Final = 12
"""Requests of a session that may be unanswered at the same time."""
_ERAS: Final = ("2026-07-28", "2025-11-25")
_ANSWER_SECONDS: Final = 60.0
_END_SECONDS: Final = 30.0
_PROGRAM: Final = (sys.executable, "-m", "learning_memory_server")
_SHM: Final = Path("/dev/shm")  # noqa: S108 - a folder for this process alone is created in it
_NEEDED: Final = 2 << 30
"""Bytes that must be free in RAM before the data goes there: 50,000 calls leave a tenth of that."""
_SHOWN: Final = 5
"""Examples of a failure that are printed."""


class Session:
    """A front, and a client that attacks it.

    Args:
        environment: The front's variables.
        requests: What to send.
        folder: Where the front's stderr goes.
    """

    def __init__(self, environment: dict[str, str], requests: Requests, folder: Path) -> None:
        self.requests = requests
        self.sent: dict[str | int, Attempt] = {}
        self.answers: Counter[str | int | None] = Counter()
        self.nulls = 0
        self.lines = 0
        self.acknowledged: list[tuple[Attempt, str]] = []
        """Writes, each with the id in its reply."""
        self._free = threading.Semaphore(_AHEAD)
        self._all = threading.Event()
        with (folder / f"front-{requests.session}.log").open("wb") as log:
            self.process = subprocess.Popen(  # noqa: S603 - this project's program
                _PROGRAM, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=environment, cwd=folder
            )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def attack(self, calls: int, until: float, *, with_too_long: bool) -> None:
        """Send so many lines, or fewer if the time is up."""
        with suppress(BrokenPipeError):
            for attempt in self.requests.initialize():
                self._send(attempt)
            if with_too_long:
                self._send(self.requests.too_long())
            while self.lines < calls and time.monotonic() < until:
                for attempt in self.requests.next():
                    self._send(attempt)

    def unanswered(self) -> list[str | int]:
        """Return the ids of requests that have no answer."""
        return [
            identity
            for identity, attempt in list(self.sent.items())
            if not self.answers[identity] and not attempt.may_be_silent
        ]

    def end(self) -> Iterator[str]:
        """Wait for all answers, leave, and yield what was wrong."""
        until = time.monotonic() + _ANSWER_SECONDS
        while self.unanswered() and time.monotonic() < until and self.process.poll() is None:
            time.sleep(0.05)
        assert self.process.stdin is not None  # noqa: S101 - it is a pipe
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            code = self.process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = None
        self._reader.join(_END_SECONDS)
        if self.process.stdout:
            self.process.stdout.close()
        name = f"session {self.requests.session}"
        if code != 0:
            yield (
                f"{name}: the front outlived its client" if code is None else f"{name}: the front exited with {code}"
            )
        for identity in self.unanswered():
            yield f"{name}: no answer to {self.sent[identity].line[:200]!r}"
        for answered, count in self.answers.items():
            if answered is not None and answered not in self.sent:
                yield f"{name}: an answer to {answered!r}, which nobody asked"
            elif answered is not None and count > 1:
                yield f"{name}: {count} answers to {self.sent[answered].line[:200]!r}"
        if self.answers[None] != self.nulls:
            yield f"{name}: {self.answers[None]} answers without an id, not {self.nulls}"

    def _send(self, attempt: Attempt) -> None:
        assert self.process.stdin is not None  # noqa: S101 - it is a pipe
        if attempt.identity is not None:
            # `end` reports what was never answered.
            if not attempt.may_be_silent:
                self._free.acquire(timeout=_ANSWER_SECONDS)
            self.sent[attempt.identity] = attempt
        self.nulls += attempt.nulls
        self.lines += 1
        self.process.stdin.write(attempt.line + b"\n")
        self.process.stdin.flush()

    def _read(self) -> None:
        stdout: IO[bytes] | None = self.process.stdout
        assert stdout is not None  # noqa: S101 - it is a pipe
        for line in stdout:
            answer = json.loads(line)
            if "method" in answer:
                continue
            identity = answer["id"]
            self.answers[identity] += 1
            attempt = self.sent.get(identity)
            if attempt and self.answers[identity] == 1:
                if not attempt.may_be_silent:
                    self._free.release()
                self._note(attempt, answer.get("result") or {})

    def _note(self, attempt: Attempt, result: dict[str, Any]) -> None:
        if not attempt.tool or result.get("isError", True):
            return
        reply = result.get("structuredContent") or {}
        if attempt.tool in {"add_memory", "delete_memory"}:
            text = result["content"][0]["text"]
            reply = {"id": text.partition("ID: ")[2].split("\n")[0]}
            if attempt.tool == "add_memory":
                self.requests.memory_ids.append(reply["id"])
        self.requests.learn(attempt, reply)
        if attempt.tool in {"start_ghap", "update_ghap", "resolve_ghap", "add_memory", "delete_memory", "store_value"}:
            self.acknowledged.append((attempt, reply["id"]))


class Killer:
    """Kills the hub at even distances of a run.

    Args:
        journal: The journal whose holder is the hub.
        kills: How often.
    """

    def __init__(self, journal: Path, kills: int) -> None:
        self._journal = journal
        self._kills = kills
        self._last = 0
        self.done = 0

    def keep_up(self, progress: float) -> None:
        """Kill the hub once if as much of the run is over, and it was not killed since it started."""
        if self.done >= self._kills or progress < (self.done + 1) / (self._kills + 1):
            return
        pid = (holder(self._journal) or {}).get("pid")
        if isinstance(pid, int) and pid != self._last and is_locked_by(self._journal / LOCK, pid):
            self._last = pid
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                self.done += 1


def attack(storage: Path, runtime: Path, options: argparse.Namespace) -> tuple[list[str], str]:
    """Attack a server over an empty folder, and return what was wrong and a summary."""
    environment = _environment(storage, runtime)
    begun = time.monotonic()
    until = begun + options.seconds
    sessions = [
        Session(
            {**environment, "CLAUDE_CODE_SESSION_ID": f"session {number}"},
            Requests(random.Random(options.seed * 1000 + number), number, _ERAS[number % 2]),  # noqa: S311
            storage.parent,
        )
        for number in range(_SESSIONS)
    ]
    share = -(-options.calls // _SESSIONS)
    threads = [
        threading.Thread(target=each.attack, args=(share, until), kwargs={"with_too_long": each is sessions[0]})
        for each in sessions
    ]
    killer = Killer(storage / "journal", options.kills)
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        sent = sum(each.lines for each in sessions) / options.calls
        killer.keep_up(max(sent, (time.monotonic() - begun) / options.seconds))
        time.sleep(0.02)
    took = time.monotonic() - begun
    wrong = [sentence for each in sessions for sentence in each.end()]
    wrong += _end_hub(environment, storage)
    written = [each for session in sessions for each in session.acknowledged]
    wrong += check_log(storage / "hub.log")
    wrong += check_journal(storage / "journal", written)
    wrong += asyncio.run(check_index(storage))
    if killer.done < options.kills:
        wrong.append(f"the hub was killed only {killer.done} times")
    lines = sum(each.lines for each in sessions)
    answers = sum(sum(each.answers.values()) for each in sessions)
    summary = (
        f"{lines:,} calls and frames in {took:.0f} s by {_SESSIONS} sessions, {answers:,} answers, {killer.done} kills, "
        f"{len(written):,} acknowledged writes, seed {options.seed}: {len(wrong)} failures"
    )
    return wrong, summary


def processes_on(storage: Path) -> list[int]:
    """Return the processes that work on the data; none where there is no /proc."""
    wanted = f"LEARNING_MEMORY_STORAGE_PATH={storage}".encode()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
    return found


def _end_hub(environment: dict[str, str], storage: Path) -> Iterator[str]:
    done = subprocess.run(  # noqa: S603 - this project's program
        [*_PROGRAM, "hub", "stop"], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        yield f"`hub stop` failed: {done.stderr}"
    until = time.monotonic() + _END_SECONDS
    while (left := processes_on(storage)) and time.monotonic() < until:
        time.sleep(0.05)
    for pid in left:
        yield f"process {pid} is left"
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _environment(storage: Path, runtime: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LEARNING_MEMORY_", "CLAUDE_"))}
    return {
        **kept,
        "XDG_RUNTIME_DIR": str(runtime),
        "LEARNING_MEMORY_CONFIG": os.devnull,
        "LEARNING_MEMORY_STORAGE_PATH": str(storage),
        "LEARNING_MEMORY_PROJECT": "attack",
        "LEARNING_MEMORY_EMBEDDING_BACKEND": "hashing",
        "LEARNING_MEMORY_LOG_LEVEL": "warning",
        "LEARNING_MEMORY_HUB_IDLE_MINUTES": "2",
        "PYTHONPATH": os.pathsep.join(filter(None, [str(Path.cwd()), os.environ.get("PYTHONPATH")])),
    }


def main(arguments: list[str] | None = None) -> int:
    """Attack, print what was wrong and a summary, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m scripts.attack", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--calls", type=int, default=50_000, help="calls and frames to send (50000)")
    parser.add_argument("--kills", type=int, default=60, help="how often to kill the hub (60)")
    parser.add_argument("--seconds", type=float, default=900.0, help="stop sending after this time (900)")
    parser.add_argument("--seed", type=int, default=1, help="the same seed makes the same requests (1)")
    options = parser.parse_args(arguments)
    in_ram = _SHM.is_dir() and shutil.disk_usage(_SHM).free >= _NEEDED
    with tempfile.TemporaryDirectory(prefix="lms-", dir=_SHM if in_ram else None) as folder:
        storage, runtime = Path(folder).resolve() / "data", Path(folder).resolve() / "run"
        for each in (storage, runtime):
            each.mkdir(mode=0o700)
        wrong, summary = attack(storage, runtime, options)
    for sentence in wrong[:_SHOWN]:
        print(sentence)
    print(summary)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
