"""The loop is free: no event keeps it waiting for a disk of others, a pattern on a long text, or many files."""

import os
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from learning_memory_server.advice import names
from learning_memory_server.lessons.files import anchoring
from tests.laws.program import Program
from tests.laws.test_forgotten import EVENTS

pytestmark = pytest.mark.slow

CLIENTS: Final = ("", "codex", "gemini", "copilot", "cursor")
LONG: Final = 600_000
"""Characters of each text that a client gives: several of them are as much as a hub reads."""
EXAMINED: Final = 250_000
"""Characters that a pattern may run over in the loop's thread: the longest is a prompt with what hooks said."""
_AUDITED: Final = {
    "open",
    "os.listdir",
    "os.scandir",
    "os.chdir",
    "os.mkdir",
    "os.remove",
    "os.rename",
    "subprocess.Popen",
}
_UNAUDITED: Final = ("stat", "lstat", "readlink", "access", "statvfs")
"""What the audit says nothing of."""
_RUNS: Final = ("match", "fullmatch", "search", "findall", "finditer", "split", "sub", "subn")
CODE: Final = tuple(
    {os.path.realpath(each) for each in (sys.prefix, sys.base_prefix, str(Path(__file__).parents[2]), *sys.path)}
)
"""Where modules are: each is read once."""

_audits: list[Callable[[str, Any], None]] = []


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    for each in _audits:
        if event in _AUDITED and arguments:
            each(event, arguments[0])


sys.addaudithook(_audit)


@contextmanager
def touched(own: tuple[Path, ...], monkeypatch: pytest.MonkeyPatch) -> Iterator[set[str]]:
    """Collect what this thread asks of a disk besides modules, and folders of its own."""
    found, here = set[str](), threading.get_ident()
    allowed = (*CODE, *map(str, own), "/dev/null")

    def note(event: str, path: object) -> None:
        if threading.get_ident() != here or isinstance(path, int):
            return
        name = os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else repr(path)
        # The folders above the data are looked at by whoever asks where that is.
        is_own = name.startswith(allowed) or any(f"{each}/".startswith(name.rstrip("/") + "/") for each in own)
        if name.startswith("/") and not is_own:
            frame = sys._getframe(2)
            while frame.f_back and "learning_memory_server/" not in frame.f_code.co_filename:
                frame = frame.f_back
            found.add(f"{event} {name} in {Path(frame.f_code.co_filename).name}:{frame.f_code.co_name}")

    def noting(name: str, as_it_is: Callable[..., Any]) -> Callable[..., Any]:
        def ask(path: object, *arguments: Any, **options: Any) -> Any:
            note(name, path)
            return as_it_is(path, *arguments, **options)

        return ask

    with monkeypatch.context() as changed:
        for name in _UNAUDITED:
            changed.setattr(os, name, noting(name, getattr(os, name)))
        _audits.append(note)
        try:
            yield found
        finally:
            _audits.remove(note)


class Watched:
    """A pattern that says how long the texts are on which it runs in the loop's thread."""

    def __init__(self, pattern: re.Pattern[str], note: Callable[[str, int], None]) -> None:
        self._pattern = pattern
        self._note = note

    def __getattr__(self, name: str) -> Any:
        as_it_is = getattr(self._pattern, name)
        if name not in _RUNS:
            return as_it_is

        def run(*arguments: Any, **options: Any) -> Any:
            text = arguments[1 if name.startswith("sub") else 0] if arguments else options["string"]
            self._note(self._pattern.pattern, len(text))
            return as_it_is(*arguments, **options)

        return run


@contextmanager
def patterns_watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, int]]:
    """Collect the patterns of this program that run over long texts in this thread, and how long these are."""
    found, here = dict[str, int](), threading.get_ident()

    def note(pattern: str, length: int) -> None:
        if length > EXAMINED and threading.get_ident() == here:
            found[pattern[:80]] = length

    with monkeypatch.context() as changed:
        modules = [each for name, each in sys.modules.items() if name.startswith("learning_memory_server.")]
        for module in modules:
            for name, value in list(vars(module).items()):
                if isinstance(value, re.Pattern):
                    changed.setattr(module, name, Watched(value, note))
        compile_one = re._compile  # type: ignore[attr-defined]
        changed.setattr(re, "_compile", lambda *given: _watched(compile_one(*given), note))
        from learning_memory_server.hooks import event

        for dialect in event._DIALECTS.values():
            if dialect.written:
                before = dialect.written
                object.__setattr__(dialect, "written", Watched(before, note))
        try:
            yield found
        finally:
            for dialect in event._DIALECTS.values():
                if isinstance(dialect.written, Watched):
                    object.__setattr__(dialect, "written", dialect.written._pattern)


def _watched(pattern: Any, note: Callable[[str, int], None]) -> Any:
    """Return a pattern as `re.sub` and the like find it: watched, unless a module wants to keep it."""
    caller = sys._getframe(2).f_code.co_name
    return Watched(pattern, note) if caller in _RUNS else pattern


def given(event: str, folder: Path, text: str) -> dict[str, Any]:
    """Return what a client says of an event, with a text wherever there can be one."""
    return {
        "hook_event_name": event,
        "session_id": f"session of {event} {len(text)}",
        "cwd": str(folder),
        "source": "startup",
        "prompt": f"{text} src/part.py",
        "last_assistant_message": text,
        "tool_name": "Bash",
        "tool_input": {
            "command": f"pytest {text}",
            "file_path": str(folder / "a.py"),
            "content": text,
            "new_string": text,
        },
        "tool_response": {
            "stdout": text,
            "stderr": text,
            "llmContent": f"Output: {text}\nExit Code: 1",
            "filePath": "a.py",
        },
        "tool_result": {"text_result_for_llm": f"{text}\n<shellId: 1 completed with exit code 1>"},
        "error": f"Exit code 1\n{text}" if event == "PostToolUseFailure" else "",
        "file_path": str(folder / "CLAUDE.md"),
    }


def situations(folder: Path, text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield what every client says of every event, of a command and of a file."""
    for client in CLIENTS:
        for event in (*EVENTS, "BeforeAgent", "AfterTool", "SessionEnd"):
            yield client, given(event, folder, text)
            yield client, {**given(event, folder, text), "tool_name": "Edit"}
            shell = {"gemini": "run_shell_command", "copilot": "run_in_terminal"}.get(client, "Bash")
            yield client, {**given(event, folder, text), "tool_name": shell, "tool_response": f"Output: {text}"}


async def test_no_event_asks_a_disk_of_others_in_the_loops_thread(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "CLAUDE.md").write_text("Never push.")
    own = (program.storage, Path(program.place.socket).parent)
    with touched(own, monkeypatch) as found:
        for client, said in situations(folder, "build"):
            names._programs.cache_clear()  # As in a hub of which this is the first event
            await program.hook(said, folder, client=client, project="garden")
    assert found == set()


async def test_no_pattern_runs_over_a_long_text_in_the_loops_thread(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with patterns_watched(monkeypatch) as found:
        for client, said in situations(tmp_path, "x y" * (LONG // 3)):
            await program.hook(said, tmp_path, client=client, project="garden")
    assert found == {}


class Counted(list[str]):
    """The files of a repository, and how often all of them were looked at."""

    looks = 0

    def __iter__(self) -> Iterator[str]:
        self.looks += 1
        return super().__iter__()


def test_the_files_of_a_repository_are_looked_at_once_however_many_words_a_text_has() -> None:
    tracked = Counted([f"src/part{number}.py" for number in range(100)])
    texts = " ".join(f"part{number}.py" for number in range(100))
    found = set(anchoring._paths(texts, tracked))
    assert {*tracked} <= found
    assert tracked.looks == 2  # This test has looked at them, too
