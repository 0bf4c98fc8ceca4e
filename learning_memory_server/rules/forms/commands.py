"""Commands in a sentence, and the calls that they stand for."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from learning_memory_server.model.rule import CallForm
from learning_memory_server.rules.forms import vocabulary
from learning_memory_server.rules.patterns.matching import matches
from learning_memory_server.shell import calls, options, programs
from learning_memory_server.shell.script import read

CODE: Final = re.compile(r"`([^`]+)`")
_SCRIPT: Final = re.compile(r"[a-z][\w-]*(?::[\w-]+)+")
_PATH: Final = re.compile(r"(?:\./|[\w.-]+/)[\w./-]+\.(?:sh|py|js|ts|rb|pl)")
_PLACEHOLDER: Final = re.compile(r"<.*>|\[.*\]|\{.*\}|\.{3}|…|\*+|[A-Z_]{2,}|file|files|path|\$\w+")
CHAINED: Final = re.compile(r" {0,2}(?:&&|\|\||[;|]) {0,2}")
_PLAIN_WORDS: Final = rf"(?:\s+(?:{'|'.join(sorted(vocabulary.SUBCOMMANDS))}|--?\w[\w-]*)(?![\w-]))*"


def _plain(programs: Iterable[str]) -> re.Pattern[str]:
    names = "|".join(sorted(map(re.escape, programs), key=len, reverse=True))
    return re.compile(rf"(?<![\w./-])(?i:{names})(?![\w/-]|\.\w){_PLAIN_WORDS}")


TERM: Final = rf"`[^`]+`|{_plain(vocabulary.PLAIN).pattern}"
COMPARED: Final = rf"`[^`]+`|{_plain(vocabulary.BOTH).pattern}"


def commands_in(text: str, term: str = TERM) -> list[str] | None:
    """Return the commands of a list such as "`npm`, yarn or `npx`"; None if an item is not a command."""
    found: list[str] = []
    spaced = "".join(
        each if each.startswith("`") else each.replace("/", " / ") for each in re.split(r"(`[^`]*`)", text)
    )
    for each in re.finditer(rf"(?P<term>{term})|(?P<other>[^\s,/&]+)", spaced):
        if each["other"] and each["other"].lower() not in vocabulary.JOINS:
            return None
        if each["term"] is None:
            continue
        is_code = each["term"].startswith("`")
        for command in CHAINED.split(each["term"].strip("` $") if is_code else each["term"].lower()):
            if not is_command(command):
                return None
            found.append(command)
    return found or None


def is_command(text: str) -> bool:
    """Whether a text is a command: a known program, a package script, or the path of a script."""
    words = text.split()
    if not words or not re.fullmatch(r"[\w./:@+-]+", words[0]):
        return False
    name = words[0].removeprefix("./")
    return name in vocabulary.SHELLED | vocabulary.PIPED or bool(_PATH.fullmatch(words[0]))


def outside(text: str) -> str:
    """Return a text without code spans."""
    return CODE.sub(" ", text)


def is_script(text: str) -> bool:
    """Whether a text is the name of a package script, such as `build:binaries`."""
    return bool(_SCRIPT.fullmatch(text))


def forbidden(command: str, wanted: Sequence[str] = ()) -> tuple[CallForm, ...]:
    """Return the call forms of a forbidden command; empty if the command has too many uses.

    A `wanted` command that extends the forbidden one is not forbidden. If no form can distinguish the two, the result
    is empty.
    """
    forms = tuple(_forms(command, wanted))
    allowed = [each for text in wanted for each in read(text).commands]
    return () if any(matches(form, each) for form in forms for each in allowed) else forms


def _forms(command: str, wanted: Sequence[str]) -> Iterator[CallForm]:
    words = _words(command)
    subs = tuple(_until_option(words))
    given = tuple(words[len(subs) :])
    if not subs or (subs[0] in vocabulary.PIPED and len(words) == 1):
        return
    lacking = vocabulary.LOOKS.get(subs, vocabulary.ELSEWHERE.get(subs[0], ()) if len(words) == 1 else ())
    for more in filter(None, (_beyond(command, each) for each in wanted)):
        if not all(map(_is_name, more)):
            return
        lacking = (*lacking, *more)
    for name in vocabulary.ALIASES.get(subs[0], (subs[0],)):
        if len(given) == 1:
            names = options.same(calls.parsed((name, *subs[1:], *given)), given[0])
            having = tuple(sorted(names, key=lambda each: (-len(each), each)))
            yield CallForm((name, *subs[1:]), having, lacking)
        else:
            yield CallForm((name, *subs[1:], *given), lacking=lacking)


def _beyond(command: str, wanted: str) -> tuple[str, ...]:
    """Return the words that a wanted command has in addition to a shorter one; none if the two differ in other words.

    An empty word means that the commands are the same.
    """
    one, two = (calls.parsed(tuple(_words(each))) for each in (command, wanted))
    rest = two.operands[len(one.operands) :]
    if one.program in programs.TARGETS:
        rest = [each for each in two.operands if each not in one.operands]
    is_same = one.program == two.program and len(rest) + len(one.operands) == len(two.operands)
    is_within = two.operands[: len(one.operands)] == one.operands or one.program in programs.TARGETS
    if not (is_same and is_within and options.names(one) <= options.names(two)):
        return ()
    return (*rest, *sorted(options.names(two) - options.names(one))) or ("",)


def _is_name(word: str) -> bool:
    """Whether a word is the same in each call, unlike the number in `git log -5`."""
    return bool(word) and not word.removeprefix("-").isdigit()


def needed(command: str) -> CallForm | None:
    """Return the form of the calls that run a command: its program, and its last sub-command at any position."""
    words = _unwrapped(_words(command))
    subs = list(_until_option(words))
    if not subs:
        return None
    if _PATH.fullmatch(subs[0]):
        return CallForm((), (f"*{subs[0].rpartition('/')[2]}*",))
    if subs[0] in vocabulary.INTERPRETERS:
        named = [each for each in words[1:] if "/" in each or "." in each]
        return CallForm((), (f"*{named[0].rpartition('/')[2]}*",)) if named else None
    own = [each for each in subs[1:] if not re.search(r"[./]", each) and each not in {"run", "run-script"}]
    if not own or subs[0] in vocabulary.ONE_USE:
        return CallForm((subs[0],))
    name = "test" if own[0] == "t" else own[0]
    return CallForm((subs[0],), (name, f"{name}:*", f"{name}-*", *(("t",) if name == "test" else ())))


def followed(command: str, instead_of: Iterable[str] = ()) -> tuple[CallForm, ...]:
    """Return the form of a wanted command, including its options if it extends a forbidden command."""
    words = _words(command)
    if not words:
        return ()
    call = calls.parsed(tuple(words), most=1)
    named = (words[0], *_until_option(words[call.starts[0] :] if call.starts else ()))
    has_more = any(_beyond(each, command) for each in instead_of)
    return (CallForm((*named, *(sorted(options.names(calls.parsed(tuple(words)))) if has_more else ()))),)


def _unwrapped(words: list[str]) -> list[str]:
    """Return the words of a wrapped command, such as the one after `uv run`."""
    commands = read(" ".join(words)).commands
    return list(commands[-1].words) if len(commands) > 1 else words


def _words(command: str) -> list[str]:
    return [each for each in command.split() if not _PLACEHOLDER.fullmatch(each)]


def _until_option(words: Iterable[str]) -> Iterator[str]:
    for each in words:
        if each.startswith("-"):
            return
        yield each
