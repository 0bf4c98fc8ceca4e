"""A child cannot hang its parent: standard error goes to a file, a limit of time, one retry, and then a sentence."""

import ast
import asyncio
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, cast

import pytest
from structlog.testing import capture_logs

import learning_memory_server
from learning_memory_server.errors import LearningMemoryError
from learning_memory_server.lessons.clusters.child import ChildFitting
from learning_memory_server.lessons.clusters.fitting import FitRequest
from learning_memory_server.system import children, timeouts
from tests.support import MINUTES

PACKAGE: Final = Path(learning_memory_server.__file__).parent
MAY_START: Final = {"system/children.py", "system/git.py", "system/locking.py", "cli/clients/claude_code.py"}
"""The modules that may start another process. Every other use needs one of them."""
HUB: Final = {"hub/front/link.py"}
"""The modules that may fork: a hub, which nobody waits for."""
_STARTS: Final = {"Popen", "run", "call", "check_call", "check_output", "create_subprocess_exec", "fork", "posix_spawn"}

ANSWER: Final = (
    "pickle.load(sys.stdin.buffer); sys.stdout.buffer.write(pickle.dumps('an answer')); sys.stdout.flush()\n"
)
WAIT: Final = "import time; time.sleep(1_000)\n"
LOUD: Final = "sys.stderr.write('x' * 300_000 + '\\n'); sys.stderr.flush()\n"
GRANDCHILD: Final = "import subprocess; subprocess.Popen(['sleep', '1000'])\n"
"""What holds the pipes of a child that is killed."""
FIRST_ONLY: Final = "import os\nif not os.path.exists(sys.argv[1]):\n    open(sys.argv[1], 'w').close()\n    "
"""What comes after it happens to the first child alone."""
ANSWERING: Final = {
    "loud": LOUD + ANSWER + LOUD,
    "staying": ANSWER + WAIT,
    "dying once": FIRST_ONLY + "sys.exit(3)\n" + ANSWER,
    "late once": FIRST_ONLY + WAIT + ANSWER,
    "half an answer once": FIRST_ONLY + "sys.stdout.buffer.write(b'\\x80\\x05'); sys.exit()\n" + ANSWER,
    "nonsense once": FIRST_ONLY + "sys.stdout.buffer.write(b'cos\\nnothing\\n'); sys.exit()\n" + ANSWER,
}
FAILING: Final = {
    "late": (WAIT, "late"),
    "late with a grandchild": (GRANDCHILD + WAIT, "late"),
    "loud and late": (LOUD + WAIT, "late"),
    "raising": ("raise ValueError('a secret')\n", "ValueError"),
    "gone with a grandchild": (GRANDCHILD + "sys.exit(3)\n", "late"),
    "gone": ("sys.exit(3)\n", "?"),
    "loud and raising": (LOUD + "raise ValueError('a secret')\n", "ValueError"),
}
"""What a child does, and the reason that the log has."""
SECONDS: Final = 2.0
"""The limit of a child: an interpreter starts in a hundredth of it."""


async def fit(command: list[str]) -> Any:
    """Ask a command for clusters."""

    async def prepare() -> FitRequest:
        return cast("FitRequest", "a request")

    fitting = ChildFitting(None, 3, command, fit_seconds=SECONDS)
    try:
        return await fitting.fit(prepare)
    finally:
        await fitting.close()


def program(text: str, place: Path) -> list[str]:
    return [sys.executable, "-S", "-c", f"import pickle, sys\n{text}", str(place / "there was one")]


@pytest.fixture(autouse=True)
def short_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeouts, "CHILD_END", 0.1)


@pytest.mark.parametrize("does", ANSWERING)
async def test_a_child_that_answers_in_the_end_is_heard(does: str, tmp_path: Path) -> None:
    async with asyncio.timeout(MINUTES):
        assert await fit(program(ANSWERING[does], tmp_path)) == "an answer"


@pytest.mark.parametrize("does", FAILING)
async def test_a_child_that_does_not_is_a_sentence_after_one_retry(does: str, tmp_path: Path) -> None:
    text, reason = FAILING[does]
    with capture_logs() as logs, pytest.raises(LearningMemoryError, match=r"\.$") as caught:
        async with asyncio.timeout(MINUTES):
            await fit(program(text, tmp_path))
    assert [each["type"] for each in logs] == [reason] * children.ATTEMPTS
    assert "secret" not in f"{caught.value} {logs}"
    assert children.ATTEMPTS == 2


def calls() -> Iterator[tuple[str, ast.Call]]:
    """Yield where the package starts a process, and how."""
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            called = ast.unparse(node.func)
            is_start = node.func.attr in _STARTS and called.startswith(("subprocess.", "os.", "asyncio."))
            if is_start and called != "asyncio.run":
                yield path.relative_to(PACKAGE).as_posix(), node


def test_whoever_starts_a_process_gives_it_a_limit() -> None:
    found = list(calls())
    assert {name for name, _ in found} == MAY_START | HUB
    for name, call in found:
        if name not in HUB:
            given = {each.arg: ast.unparse(each.value) for each in call.keywords}
            is_run = cast("ast.Attribute", call.func).attr == "run"
            # `run` reads both streams at once, and kills what is late.
            assert "timeout" in given if is_run else given["stderr"] == "self._said", name


def test_every_question_to_a_child_has_a_limit() -> None:
    assert inspect.signature(children.Child.ask).parameters["seconds"].default is inspect.Parameter.empty
