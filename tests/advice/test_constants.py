"""Every number and list of words that decides what is shown stands in one file, says where it is from, and matters."""

import ast
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

import pytest

import learning_memory_server
from learning_memory_server.advice import constants
from tests.advice.situations import Stage, read_golden, staged

PACKAGE: Final = Path(learning_memory_server.__file__).parent
ROOMS: Final = ("advice", "rules", "hooks", "shell")
OPEN: Final = {"advice/constants.py", "advice/budget.py"}
PLAIN: Final = {0, 1, 2}
WORDS: Final = 3
ALLOWED: Final = {
    "advice/asking/transcript.py TAIL": "how much is read",
    "advice/asking/transcript.py _COMPARED": "how messages are told apart",
    "advice/asking/past.py _ANSWER_MAX": "how much an agent reads at once",
    "advice/asking/past.py _DIGITS": "the length of an id",
    "advice/asking/past.py _EXAMINED": "how much is read",
    "advice/candidates.py SCORE_DIGITS": "how a score is written",
    "advice/filters.py FILTERS": "names of functions",
    "advice/finder.py _LOOK": "how often a loop looks",
    "advice/matters.py _terms_in": "the size of a cache",
    "advice/sessions.py _CALLS": "how many are remembered",
    "advice/sessions.py _TASKS": "how many are remembered",
    "hooks/event.py _KINDS": "clients' names of events",
    "hooks/event.py _OTHER_NAMES": "clients' names of events",
    "hooks/event.py _SESSION": "clients' keys",
    "hooks/event.py _OUTPUT": "clients' keys",
    "hooks/edits.py _FILE": "clients' keys",
    "hooks/edits.py _NEW": "clients' keys",
    "hooks/edits.py texts_in": "keys of an event",
    "hooks/edits.py _EDIT_MAX": "how much is read",
    "hooks/event.py _DIALECTS": "clients",
    "hooks/event.py _SHELLS": "clients' names of tools",
    "hooks/event.py _COMMAND_MAX": "how much is read",
    "hooks/event.py _CALL_MAX": "how much is read",
    "hooks/event.py _PATH_MAX": "how much is read",
    "hooks/event.py _PROMPT_MAX": "how much is read",
    "hooks/event.py event_of": "keys of an event",
    "rules/suggesting/files.py _FOLDERS": "how much is read",
    "rules/suggesting/markdown.py _COMMAND": "how much is read",
    "rules/suggesting/markdown.py _COMMANDS": "how much is read",
    "rules/past/past.py _MISSING": "how many checks are named",
    "rules/past/past.py _SELDOM": "how a count is worded",
    "rules/past/past.py _UNITS": "names of calls",
    "rules/past/events.py _BY_CLIENT": "how texts of the client begin",
    "rules/past/events.py EDITS": "clients' names of tools",
    "rules/past/events.py _PROMPT_MAX": "how much is read",
    "rules/forms/table.py READ_MAX": "how much is read",
    "rules/forms/places.py _BRANCHES": "names of git",
    "rules/forms/given.py _SHOWN": "how much a person reads at once",
    "rules/forms/phrases.py": "the words of sentences, of which patterns are made that a person sees before they count",
    "rules/forms/signs.py": "the same: names of files, and words of messages and prompts",
    "rules/forms/vocabulary.py": "the same: programs and their options",
    "rules/forms/wording.py _SHOWN": "how much a person reads at once",
    "rules/folders.py _POINTER_MAX": "how much is read",
    "rules/folders.py _WORKTREES": "how much is read",
    "rules/patterns/messages.py _EMOJI_NAMES": "names of emojis",
    "shell/shortening.py LONG_MAX": "how much is read",
    "shell/shortening.py _PART_MAX": "how much is read",
    "shell/masking.py": "characters",
    "shell/programs.py": "options of programs",
    "shell/uses.py": "the same",
    "shell/wrappers.py": "programs that run others",
    "shell/parser.py READ_MAX": "how much is read",
    "shell/naming.py": "programs, and words that name what they do",
    "shell/steps.py STEPS_READ_MAX": "how much is read",
    "shell/steps.py _SAYING": "programs",
    "shell/steps.py _UNREADABLE": "words of the shell",
    "shell/steps.py _COMMANDS": "the parser's names",
    "shell/steps.py _PLAIN": "the parser's names",
    "shell/steps.py _LOOPS": "the parser's names",
    "shell/steps.py _BLOCKS": "the parser's names",
    "shell/steps.py _OPERATORS": "signs of the shell",
    "shell/steps.py _BODIES": "words of the shell",
    "shell/steps.py _EXPANSION": "the parser's names",
    "shell/steps.py Steps": "signs of the shell",
    "shell/steps.py read_steps": "the size of a cache",
    "shell/script.py TEXTS_MAX": "how much is read",
    "shell/script.py COMMANDS_MAX": "how much is read",
    "shell/script.py _HERE": "programs",
    "shell/calls.py _FIND": "options of a program",
    "shell/calls.py _STDIN": "names of a file",
    "shell/redirections.py _WRITING": "signs of the shell",
    "shell/statements.py _STATEMENTS": "the parser's names",
    "shell/statements.py _SUBSHELLS": "the parser's names",
    "shell/statements.py _ENDS": "words of the shell",
    "shell/words.py _ANSI_NAMES": "escapes of the shell",
    "shell/words.py _PARTS": "the parser's names",
    "shell/words.py _EXPANSIONS": "the parser's names",
    "shell/words.py _DEEP": "how much is read",
    "shell/words.py _echoed": "options of a program",
    "shell/words.py _of_ansi": "escapes of the shell",
    "rules/patterns/messages.py _OTHERS_IN": "what a message in Latin letters is",
    "rules/patterns/asking.py READ_MAX": "how much is read",
    "rules/patterns/asking.py BLOCK_MAX": "how much is read",
    "rules/patterns/prompts.py": "words of a language",
    "rules/suggesting/written.py _LEAST": "which line of a file has a sentence; agents are shown nothing of it",
    "rules/suggesting/written.py _BEGINNING": "the same",
    "rules/suggesting/suggestions.py _COMMON": "when two sentences are one question to a person; agents are shown nothing of it",
    "rules/suggesting/suggestions.py _HEX": "the length of an id",
}
"""What is no decision, by file and top-level name, and why; a file alone allows all of it."""
OF_QUESTIONS: Final = frozenset({"OWN_PARAGRAPH", "REMARK_MAX", "CONCEDED_WITHIN", "FAILED_BEFORE", "NEAR_ENTRIES"})
"""Numbers that decide when an agent is asked, which `test_asking` moves."""
_ORIGIN: Final = re.compile(r"\. [^.]+?, 20\d\d-\d\d: .*\d")
"""The set, the date, and a figure, after what it is."""


def _decisions(path: Path) -> Iterator[tuple[str, int]]:
    """Yield the numbers and lists of words of a file: the name of what they are in, and the line."""
    for statement in ast.parse(path.read_text("utf-8")).body:
        for node in ast.walk(statement):
            if _is_number(node) or _is_list(node):
                yield _name_of(statement), getattr(node, "lineno", 0)


def _is_number(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Constant)
        and isinstance(node.value, int | float)
        and not isinstance(node.value, bool)
        and node.value not in PLAIN
    )


def _is_list(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        called = node.func
        return isinstance(called, ast.Attribute) and called.attr == "split" and isinstance(called.value, ast.Constant)
    if not isinstance(node, ast.Tuple | ast.List | ast.Set | ast.Dict):
        return False
    parts = node.keys if isinstance(node, ast.Dict) else node.elts
    return sum(isinstance(each, ast.Constant) and isinstance(each.value, str) for each in parts) >= WORDS


def _name_of(statement: ast.stmt) -> str:
    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        return statement.target.id
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        return statement.targets[0].id
    return getattr(statement, "name", "")


def test_what_decides_stands_in_one_file() -> None:
    found, used = [], set[str]()
    for room in ROOMS:
        for path in sorted((PACKAGE / room).rglob("*.py")):
            file = path.relative_to(PACKAGE).as_posix()
            if file in OPEN:
                continue
            for name, line in _decisions(path):
                keys = {file, f"{file} {name}"} & ALLOWED.keys()
                used |= keys
                found += [] if keys else [f"{file}:{line} {name}"]
    assert found == []
    assert used == ALLOWED.keys()


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ("LEAST = 0.3", True),
        ("def is_near(score):\n    return score > 7", True),
        ('if word in {"a", "b", "c"}: pass', True),
        ('WORDS = "a b c".split()', True),
        ('KEYS = {"a": x, "b": y, "c": z}', True),
        ("FIRST = texts[1:2] or 0.0", False),
        ('PAIR = ("a", "b")', False),
        ("IS_ON = True", False),
    ],
)
def test_a_number_or_a_list_is_found_wherever_it_stands(tmp_path: Path, text: str, is_found: bool) -> None:
    path = tmp_path / "module.py"
    path.write_text(text, "utf-8")
    assert bool(list(_decisions(path))) is is_found


def _origins() -> dict[str, str]:
    """Return what is said of each constant: the comment on its lines, or the text after it."""
    text = Path(constants.__file__).read_text("utf-8")
    lines, body = text.splitlines(), ast.parse(text).body
    found = {}
    for statement, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            own = "\n".join(lines[statement.lineno - 1 : statement.end_lineno])
            doc = (
                str(after.value.value) if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
            )
            found[statement.target.id] = f"{own.partition('# ')[2]} {doc}".strip()
    return found


def test_each_says_what_it_is_and_on_which_set_it_was_chosen_when_and_with_which_figure() -> None:
    origins = _origins()
    assert origins.keys() == {name for name in vars(constants) if name.isupper()}
    assert [f"{name}: {origin}" for name, origin in origins.items() if not _ORIGIN.search(origin)] == []


def _numbers() -> dict[str, float]:
    """Return the numbers but for those of questions, which `test_asking` moves."""
    numbers = {name: value for name, value in vars(constants).items() if isinstance(value, int | float)}
    return {name: value for name, value in numbers.items() if name.isupper() and name not in OF_QUESTIONS}


def _moved(value: float) -> Iterator[float]:
    """Yield a number a fifth less and a fifth more, whole numbers by at least one."""
    for sign in (-1, 1):
        yield value + sign * (max(1, round(value / 5)) if isinstance(value, int) else value / 5)


@pytest.fixture
async def stages(tmp_path: Path) -> AsyncIterator[list[tuple[Stage, list[str]]]]:
    """All situations, each with what is shown."""
    async with AsyncExitStack() as opened:
        found = []
        for number, golden in enumerate(read_golden()):
            (folder := tmp_path / str(number)).mkdir()
            stage = await opened.enter_async_context(staged(golden, folder))
            found.append((stage, await stage.shown()))
        yield found


async def _changes(stages: list[tuple[Stage, list[str]]]) -> bool:
    for stage, shown in stages:
        if await stage.shown_again() != shown:
            return True
    return False


@pytest.mark.slow
async def test_each_number_moved_by_a_fifth_changes_what_is_shown_somewhere(
    stages: list[tuple[Stage, list[str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not await _changes(stages)
    without_effect = []
    for name, value in _numbers().items():
        has_effect = False
        for moved in _moved(value):
            with monkeypatch.context() as patched:
                patched.setattr(constants, name, moved)
                has_effect = has_effect or await _changes(stages)
        without_effect += [] if has_effect else [name]
    assert without_effect == []
