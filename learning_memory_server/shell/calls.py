"""Parse the words of a command: its program, operands, options, inner commands, messages and written files."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import dropwhile, takewhile
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from learning_memory_server.shell import programs, wrappers

Words = tuple[str, ...]
Files = Callable[[str], str | None]
"""Returns the content that the script has written to a file, None if unknown."""
_FIND: Final = {"-exec", "-execdir", "-ok", "-okdir"}
_LOOKS: Final = {"-v", "-V"}  # `command -v git` does not run git
_STDIN: Final = frozenset(("-", "/dev/stdin", ""))  # The parser drops a `-` before a heredoc


@dataclass(slots=True)
class Call:
    """The parts of a command."""

    program: str
    operands: list[str] = field(default_factory=list)  # including sub-commands
    options: list[tuple[str, str]] = field(default_factory=list)  # each with its value, empty if there is none
    letters: set[str] = field(default_factory=set)  # of short options, which may be combined
    starts: list[int] = field(default_factory=list)  # the index of each operand among the words

    def values(self, names: frozenset[str]) -> list[str]:
        """Return the values of the options with these names."""
        return [value for name, value in self.options if name in names]

    def has(self, name: str) -> bool:
        """Whether the call has an option."""
        return any(name == each for each, _ in self.options)


class Inner(NamedTuple):
    """A command within a command: its words, or a text for a shell."""

    words: Words = ()
    text: str = ""


def parsed(words: Words, more: str = "", most: int | None = None) -> Call:
    """Parse a command. `more` lists additional options with values, and parsing stops after `most` operands."""
    call = Call(words[0] if words else "")
    program = call.program
    own = frozenset(more.split())
    values = _values(program) | own
    is_passing, at = program in programs.PASSING, 1
    while at < len(words) and (most is None or len(call.operands) < most):
        word = words[at]
        at += 1
        if word == "--":
            if is_passing:
                continue
            call.operands += words[at:]
            call.starts += range(at, len(words))
            break
        if word == "-" or not (word.startswith("-") or word in values):
            if word.startswith("+") and program == "cargo":
                continue  # A toolchain, such as `cargo +nightly`
            call.operands.append(word)
            call.starts.append(at - 1)
            values = _values_behind(program, call.operands, values) | own
        else:
            at += _read_option(call, word, words[at] if at < len(words) else "", values)
    return call


def _read_option(call: Call, word: str, following: str, values: frozenset[str]) -> int:
    """Parse an option, and return the number of following words that are its value."""
    name, is_given, value = word.partition("=")
    if word.startswith("--") or call.program in programs.WHOLE or word in values:
        takes = not is_given and name in values
        call.options.append((name, following if takes else value))
        if len(word) == 2:
            call.letters.add(word[1])
        return int(takes)
    for place, letter in enumerate(word[1:], 2):
        call.letters.add(letter)
        if f"-{letter}" in values:
            call.options.append((f"-{letter}", word[place:] or following))
            return int(not word[place:])
    call.options.append((name, value))
    return 0


@cache
def _values(name: str) -> frozenset[str]:
    return frozenset(programs.VALUES.get(name, "").split())


def _values_behind(program: str, operands: Sequence[str], values: frozenset[str]) -> frozenset[str]:
    """Return the options that take a value after one more operand."""
    if len(operands) == 1 and program in programs.GLOBAL_ONLY:
        values = frozenset()
    return values | _values(" ".join((program, *operands))) if len(operands) <= 2 else values


def found_in(table: Mapping[str, object], call: Call) -> str:
    """Return the longest key of a table that a command begins with: a program, perhaps with sub-commands."""
    for length in (2, 1, 0):
        key = " ".join((call.program, *call.operands[:length]))
        if key in table:
            return key
    return ""


def inner(words: Words, given: str | None, files: Files) -> Iterator[Inner]:
    """Yield the inner commands of a command, as far as known; `given` is its input, `files` are earlier writes."""
    program = words[0]
    if program == "find":
        yield from _found(words)
    elif program in wrappers.SHELLS:
        yield from _of_shell(words, given, files)
    elif program == "trap" and len(words) > 2:
        yield Inner(text=words[1])
    elif program.rstrip(".0123456789") in wrappers.PYTHONS:
        yield from _module(words)
    elif program in {"source", "."} and words[1:]:
        yield Inner(text=files(words[1]) or "")
    else:
        yield from _wrapped(words, given)


def _module(words: Words) -> Iterator[Inner]:
    """Yield the module that an interpreter runs as a program."""
    call = parsed(words, "-m -W -X -c", most=1)
    names = call.values(frozenset({"-m"}))
    if names and not call.has("-c"):
        behind = words.index("-m") + 2 if "-m" in words else len(words)
        yield Inner((names[0], *words[behind:]))


def _found(words: Words) -> Iterator[Inner]:
    rest = iter(words)
    for word in rest:
        if word in _FIND:
            yield Inner(tuple(takewhile(lambda each: each not in {";", "+"}, rest)))


def _of_shell(words: Words, given: str | None, files: Files) -> Iterator[Inner]:
    call = parsed(words, wrappers.SHELL_VALUES)
    if "c" in call.letters:
        yield from (Inner(text=value) for name, value in call.options if name == "-c")
    elif given is not None and (not call.operands or "s" in call.letters):
        yield Inner(text=given)
    elif call.operands:
        yield Inner(text=files(call.operands[0]) or "")


def _wrapped(words: Words, given: str | None) -> Iterator[Inner]:
    key = found_in(wrappers.WRAPPERS, parsed(words, most=2))
    wrapper = wrappers.WRAPPERS.get(key)
    if wrapper is None or (words[0] == "command" and _LOOKS & set(words[1:2])):
        return
    own = key.count(" ")
    skipped = own + wrapper.skip
    call = parsed(words, wrapper.values, most=skipped + 1)
    if scripts := call.values(frozenset(wrapper.script.split())):
        yield Inner(text=scripts[0])
        return
    rest = words[call.starts[skipped] :] if len(call.starts) > skipped else ()
    if wrapper.assigns:
        rest = tuple(dropwhile(is_assignment, rest))
    if rest and rest[0] == "--":
        rest = rest[1:]
    if wrapper.is_text and (rest or given):
        yield Inner(text=" ".join(rest) or given or "")
    elif rest:
        yield Inner(tuple(rest))


def wrapped(words: Words, names: frozenset[str]) -> Words:
    """Return the inner command of a wrapper in `names`; empty for any other command."""
    if not words or words[0].partition(" ")[0] not in {each.partition(" ")[0] for each in names}:
        return ()
    if found_in(wrappers.WRAPPERS, parsed(words, most=2)) not in names:
        return ()
    return next((each.words for each in _wrapped(words, None)), ())


def is_assignment(word: str) -> bool:
    """Whether a word is an assignment `NAME=value`."""
    name, is_given, _ = word.partition("=")
    return bool(is_given) and name.isidentifier()


def texts_of(call: Call, given: str | None, files: Files) -> Words:
    """Return a command's messages and bodies, a title before its body. Several messages of git are joined."""
    names = programs.TEXTS.get(found_in(programs.TEXTS, call), frozenset())
    if not names:
        return ()
    ordered = sorted(call.options, key=lambda option: option[0] not in programs.TITLES)
    found = [value for name, value in ordered if name in names]
    for name, file in call.options:
        if name in programs.FILED and name not in names:
            found.append((given if file in _STDIN else files(file)) or "")
    found = [each for each in found if each]
    if call.program == "git" and found:
        trailers = "\n".join(call.values(frozenset({programs.TRAILER})))
        found = ["\n\n".join([*found, *([trailers] if trailers else [])])]
    return tuple(found)


def written_by(call: Call) -> Iterator[str]:
    """Yield the files that a command writes or removes, as far as its words show."""
    key = found_in(programs.WRITES, call)
    which = programs.WRITES.get(key)
    operands = [each for each in call.operands[key.count(" ") :] if each]
    if _keeps(call, key):
        return
    if which is None:
        yield from call.values(programs.OUTPUTS) if call.program in programs.FETCHING else ()
        return
    if call.program in programs.IN_PLACE:
        if not ("i" in call.letters or call.has("--in-place")):
            return
        operands = operands[0 if _has_script(call) else 1 :]
    if which != programs.LAST:
        yield from operands
        if call.program == "mv" and operands:
            yield from _into(operands, operands[-1])
        return
    if folders := call.values(frozenset({"-t", "--target-directory"})):
        operands = [*operands, f"{folders[0]}/"]
    if operands[1:] and not _is_remote(operands[-1]):
        yield operands[-1]
        # rsync copies the content of a folder with a trailing slash
        yield from _into([each for each in operands if call.program != "rsync" or not each.endswith("/")], operands[-1])


def _keeps(call: Call, key: str) -> bool:
    """Whether a command changes no files."""
    is_dry = key in programs.DRY and (call.has("--dry-run") or "n" in call.letters)
    return is_dry or (key == "git rm" and call.has("--cached"))


def _is_remote(operand: str) -> bool:
    """Whether an operand is a file on another machine: `host:/srv`."""
    return ":" in operand[2:].partition("/")[0]


def _has_script(call: Call) -> bool:
    return "e" in call.letters or any(name in programs.SCRIPTED for name, _ in call.options)


def _into(operands: Sequence[str], folder: str) -> Iterator[str]:
    """Yield the target files in a folder, in case the target is a folder."""
    if folder.endswith("/") or operands[2:] or folder == ".":
        yield from (str(PurePosixPath(folder, PurePosixPath(each).name)) for each in operands if each != folder)
