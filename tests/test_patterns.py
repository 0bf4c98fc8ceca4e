"""What is done with the words of others takes time in proportion to them: `re` holds every session meanwhile."""

import ast
import importlib
import inspect
import pkgutil
import re
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, partial
from itertools import count
from types import ModuleType
from typing import Any, Final

import pytest

import learning_memory_server
from learning_memory_server.cli.clients import json_text, toml_text
from learning_memory_server.hooks import edits
from learning_memory_server.hooks.event import event_of
from learning_memory_server.index.memory_chunks import blocks
from learning_memory_server.index.ranking.terms import terms
from learning_memory_server.lessons.errors import brief, figures, outcomes, sanitize
from learning_memory_server.lessons.errors.watch import Ran
from learning_memory_server.model.caller import normalised_remote
from learning_memory_server.model.lines import one_line
from learning_memory_server.recall.recall import with_iso_dates
from learning_memory_server.redaction.redactor import build_redactor
from learning_memory_server.rules.forms.table import form_of
from learning_memory_server.rules.suggesting.files import fitting
from learning_memory_server.rules.suggesting.markdown import sentences
from learning_memory_server.sharing import files
from learning_memory_server.shell.steps import read_steps
from learning_memory_server.system.invisible import shown
from learning_memory_server.system.ipc import jsonrpc
from tests.support import NOON

SHORT, LONG = 1_000, 10_000
MOST = 20
"""Ten times as long a text may take so many times as long."""
FLOOR = 0.02
"""Seconds below which nothing is compared: with the square of its length, a text takes longer than this."""
UNITS: Final = (
    *("a", "A", "0", "_", "é", "中", " ", "\n", "\t", "\r\n", "\x1b[", "\0"),
    *("/", "\\", ".", "-", ":", "=", "'", '"', "`", "(", "[", "{", "<", ">", "@", "#", "$", "%", "|", ";", ",", "*"),
    *(
        "a ",
        " \n",
        "\n ",
        "a\n",
        "a=",
        "a.",
        "a/",
        "../",
        "a-",
        "--a ",
        "a:",
        '"a',
        '\\"',
        "0.",
        "0:",
        "$(",
        "a@",
        "x=y ",
    ),
    *('"""', "'''", "\u201c", "\u2018", "${", "${-", "unknown ", "option ", "down ", "secret", "。"),
    *("Error", "error: ", "http://", '{"a":', "/*", "//", "<<a\n", "[redacted: "),
)
"""One of each class of characters, and what patterns look for."""


def modules() -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(learning_memory_server.__path__, "learning_memory_server."):
        if not found.name.endswith(("__main__", ".front.hook")):
            yield importlib.import_module(found.name)


def patterns_in(value: object) -> Iterator[re.Pattern[str]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from patterns_in(each)
    elif isinstance(value, tuple | list | set | frozenset):
        for each in value:
            yield from patterns_in(each)
    elif type(value).__module__.startswith("learning_memory_server") and not isinstance(value, type):
        for name in {
            *getattr(value, "__dict__", ()),
            *(s for c in type(value).__mro__ for s in getattr(c, "__slots__", ())),
        }:
            yield from patterns_in(getattr(value, name, None))


@cache
def names_in(module: ModuleType) -> tuple[Counter[str], dict[str, list[str]]]:
    """Return how often a module reads each name, and which attributes it takes of each."""
    read, taken = Counter[str](), defaultdict[str, list[str]](list)
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            read[node.id] += 1
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            taken[node.value.id].append(node.attr)
    return read, taken


def methods(module: ModuleType, name: str) -> set[str]:
    """Return by which of its methods a module calls a pattern; every one that searches if it is used otherwise."""
    read, taken = names_in(module)
    called = taken[name]
    return set(called) if called and len(called) == read[name] and ANCHORED.issuperset(called) else {"finditer"}


def patterns() -> dict[str, tuple[re.Pattern[str], ModuleType, str]]:
    found: dict[tuple[str, int], tuple[str, re.Pattern[str], ModuleType, str]] = {}
    for module in modules():
        for name, value in vars(module).items():
            for number, each in enumerate(patterns_in(value)):
                if isinstance(each.pattern, str):
                    key = f"{module.__name__.partition('.')[2]}.{name}" + (f"[{number}]" if number else "")
                    found.setdefault((each.pattern, each.flags), (key, each, module, name))
    return {key: (each, module, name) for key, each, module, name in found.values()}


ANCHORED: Final = {"match", "fullmatch"}
PATTERNS = patterns()


def seconds(work: Callable[[str], Any], text: str) -> float:
    began = time.thread_time()
    work(text)
    return time.thread_time() - began


def search_all(pattern: re.Pattern[str], text: str) -> None:
    deque(pattern.finditer(text), 0)


def takes_too_long(work: Callable[[str], Any], unit: str) -> bool:
    """Return whether a text that is ten times as long takes more than so many times as long, at best."""
    for end in ("", "!"):
        short, long = [(unit * length)[:length] + end for length in (SHORT, LONG)]
        if seconds(work, long) > FLOOR:
            most = max(MOST * min(seconds(work, short) for _ in range(5)), FLOOR)
            if all(seconds(work, long) > most for _ in range(4)):
                return True
    return False


@pytest.mark.parametrize("name", PATTERNS)
def test_a_pattern_takes_time_in_proportion_to_what_it_reads(name: str) -> None:
    pattern, module, variable = PATTERNS[name]
    for method in methods(module, variable):
        work = getattr(pattern, method) if method in ANCHORED else partial(search_all, pattern)
        assert next((unit for unit in UNITS if takes_too_long(work, unit)), None) is None


def ran(text: str) -> None:
    for has_failed in (None, False):
        about = Ran("shop", "s1", "make; echo status $?", text, has_failed, NOON).with_known_end()
        assert about.is_in_doubt in {True, False}


def answered(client: str, text: str) -> None:
    tool = {"tool_name": "Bash", "tool_input": {"command": text}, "tool_response": f"Output: {text}"}
    event_of({"hook_event_name": "PostToolUse", "prompt": text, **tool}, client)


def read_as_json(text: str) -> None:
    with suppress(ValueError):
        json_text.parse('{"a":' + text)


def read_as_toml(text: str) -> None:
    with suppress(ValueError, RecursionError):
        toml_text.parse("a = " + text)


REDACTOR = build_redactor()
READERS: Final[dict[str, Callable[[str], Any]]] = {
    "the line that names an error": sanitize.error_line,
    "whether an output shows an error": sanitize.shows_error,
    "the last line": sanitize.last_line,
    "the plain form of a command": lambda text: figures.plain_command.__wrapped__(f"git commit -m {text}"),
    "a command as a person reads it": lambda text: brief.brief(f"git commit {text}", ""),
    "the same error": sanitize.alike,
    "the signature of an error": sanitize.normalized,
    "a text without folders": lambda text: sanitize.tidied(text, "shop", "/srv/shop"),
    "a command": read_steps,
    "whether a command checks": outcomes.is_check,
    "how tests ended": outcomes.counts_in,
    "an exit status": outcomes.exit_status,
    "how a command ended": ran,
    "a remote": normalised_remote,
    "a memory in blocks": lambda text: deque(blocks(text), 0),
    "dates": with_iso_dates,
    "terms": terms,
    "one line": one_line,
    "invisible characters": shown,
    "secrets": REDACTOR.redact,
    "a hook of Claude Code": partial(answered, ""),
    "a hook of Gemini CLI": partial(answered, "gemini"),
    "a hook of Copilot": partial(answered, "copilot"),
    "a patch": lambda text: edits.edit_in("apply_patch", {"command": text}),
    "a message": lambda text: jsonrpc.read(text.encode()),
    "a shared lesson": lambda text: files.parse("2026-01-01-0123456789abcdef.md", text.encode()),
    "the form of a sentence": form_of,
    "a sentence that fits a rule": fitting,
    "the sentences of a file of rules": lambda text: deque(sentences(text), 0),
    "settings in JSON": read_as_json,
    "settings in TOML": read_as_toml,
}
"""What is read of others, and by what."""


@pytest.mark.parametrize("name", READERS)
def test_a_reader_takes_time_in_proportion_to_what_it_reads(name: str) -> None:
    times = count()

    def work(text: str) -> None:
        # A text of its own: what was read before is remembered.
        READERS[name](f"{text}{next(times)}")

    assert next((unit for unit in UNITS if takes_too_long(work, unit)), None) is None


def test_of_an_output_the_ends_are_looked_at_however_long_it_is() -> None:
    ends = [sanitize.ends(f"first\n{'x' * length}\nlast") for length in (10, 100_000, 10_000_000)]
    assert {(each[:6], each[-5:]) for each in ends} == {("first\n", "\nlast")}
    assert len(ends[1]) == len(ends[2]) < 100_000
