"""Patterns from command-line options: a command as a person would type it, and a glob of files."""

import posixpath
import shlex
from typing import Final

from learning_memory_server.errors import InvalidInputError
from learning_memory_server.model.rule import CallForm
from learning_memory_server.rules.patterns.globs import relative
from learning_memory_server.rules.patterns.looking import is_meant
from learning_memory_server.rules.patterns.matching import matches
from learning_memory_server.shell import calls, programs
from learning_memory_server.shell.script import read

_OPERATORS: Final = frozenset("();<>|&")
_WRITES: Final = frozenset("<>")
_ANY: Final = frozenset("*?[")
_EXPANDED: Final = frozenset("$`")
_BRACES: Final = frozenset("{}")
_SHOWN: Final = 80
_EXAMPLE: Final = "Name a program, then its sub-command and options, such as 'git push --force'."


def call_form(text: str) -> CallForm:
    """Return the form of a command as a person would type it: `git -C app push` stands for any `git push`."""
    words = _words(text)
    if not words or words[0].startswith("-"):
        raise InvalidInputError("--call: must begin with a program.", hint=_EXAMPLE)
    if calls.is_assignment(words[0]):
        raise InvalidInputError(
            f"--call: begins with a variable, {_shown(words[0])}, and must begin with a program.",
            hint=f"Leave it out: the rule is about the command with any variables. {_EXAMPLE}",
        )
    if any(_EXPANDED & set(each) for each in words):
        raise InvalidInputError("--call: must not have a variable or a command in it.", hint=_EXAMPLE)
    if starred := next((each for each in words if _ANY & set(each) and (len(each) > 1 or each is words[0])), ""):
        raise InvalidInputError(
            f"--call: has a wildcard in {_shown(starred)}, and words are compared whole.",
            hint="A rule about a program is about all of its calls: name 'npm', and not 'npm*'.",
        )
    commands = read(text).commands
    form = _form(tuple(words)) if commands else CallForm(())
    if not form.words or not any(matches(form, each) and is_meant(form, each) for each in commands):
        raise InvalidInputError(f"--call: no call would be like {_shown(text)}.", hint=_EXAMPLE)
    return form


def _words(text: str) -> list[str]:
    """Return the words of one command. Raises InvalidInputError if operators join several commands."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
    lexer.commenters = ""
    try:
        words = list(lexer)
        whole = shlex.split(text)
    except ValueError:
        raise InvalidInputError("--call: has a quote without its end.", hint=_EXAMPLE) from None
    operators = [each for each in words if each and _OPERATORS.issuperset(each)]
    if any(_WRITES & set(each) for each in operators):
        raise InvalidInputError(
            "--call: must not write or read a file with > or <.", hint="For a rule about a file use --file."
        )
    if operators or "\n" in text.strip():
        raise InvalidInputError(
            f"--call: must be one command, and {_shown(text)} is several.",
            hint="Name the one that breaks the rule: it is found in a chain, too.",
        )
    return whole


def _form(words: tuple[str, ...]) -> CallForm:
    """Return the form of a command, without options that only set its folder."""
    program = words[0].rpartition("/")[2]
    plain = (program, *words[1:])
    call, own = calls.parsed(plain), calls.parsed(plain, most=1)
    where = set(programs.FOLDERS.get(program, "").split())
    if program in programs.GLOBAL_ONLY and call.operands:
        where |= {name for name, _ in own.options}
    if not any(value or name in where for name, value in call.options):
        return CallForm(words)
    letters = call.letters - {each[1] for each in where if len(each) == 2}
    options = [f"{name}={value}" if value else name for name, value in call.options if name not in where]
    spelt = {letter for each in options for letter in each.partition("=")[0] if not each.startswith("--")}
    return CallForm((words[0], *call.operands, *options, *(f"-{each}" for each in sorted(letters - spelt))))


def glob_of(text: str, root: str = "") -> str:
    """Return a person's glob of files, relative to a project's root."""
    given = text.strip().replace("\\", "/")
    path = posixpath.expanduser(given)
    if not path:
        raise InvalidInputError("--file: is empty.", hint="Name a file, a folder with a slash, or a glob: 'dist/'.")
    if _EXPANDED & set(path) or _BRACES & set(path):
        raise InvalidInputError(
            f"--file: {_shown(given)} has a sign that no glob has.",
            hint="Allowed are *, ? and ** for any folders. For several files make several rules.",
        )
    found = relative(path, posixpath.normpath(root) if root else "")
    if not found:
        raise InvalidInputError(
            f"--file: {_shown(given)} is not inside of this project, and a rule about files is about its own.",
            hint="Name a file as it is called from the project's folder, such as 'src/gen/**'; '**' is any.",
        )
    return f"{found}/" if path.endswith("/") and not found.endswith("/") else found


def _shown(text: str) -> str:
    """Return a text on one line, shortened for a message."""
    return " ".join(text.split())[:_SHOWN]
