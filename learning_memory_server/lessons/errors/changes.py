"""The change from a failed command to one that succeeded: edits of some kinds, and other operands."""

from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Final, Literal

from learning_memory_server.lessons.errors.parse import ASSIGNMENT, Command, Step, head, is_typo, program, subcommand

_DIFFERENT_MAX: Final = 8  # Words that may differ besides an edit: with more, it is another command

EditKind = Literal["program", "typo", "option", "without", "variable", "leave"]


@dataclass(frozen=True, slots=True)
class Edit:
    """A change from one command to another."""

    kind: EditKind
    old: tuple[str, ...] = ()  # the words that were replaced or left out
    new: tuple[str, ...] = ()  # the words in their place
    about: tuple[str, ...] = ()  # the program, and its sub-command if options were changed
    place: int = field(default=0, compare=False)  # where options were put, in words after the program

    @property
    def is_small(self) -> bool:
        """Whether one word changed."""
        kept = Counter(self.old) & Counter(self.new)
        sizes = [(Counter(words) - kept).total() for words in (self.old, self.new)]
        return max(sizes) <= 1 or self.new == ("docker", "compose")


@dataclass(frozen=True, slots=True)
class Change:
    """The change from a failed command to one that succeeded."""

    edits: frozenset[Edit] = frozenset()  # The changes of kinds that are known; none if the command is the same
    is_exact: bool = True  # whether nothing else differs; else operands do


def change(failed: Command, succeeded: Command) -> Change | None:
    """Return what was changed, None if it is anything but operands and edits of a known kind."""
    mine, theirs = failed.steps, list(succeeded.steps)
    if not (failed.is_certain and succeeded.is_certain) or not mine or not theirs:
        return Change() if failed.text == succeeded.text else None
    left, entered = mine[0].folder, theirs[0].folder
    if left and not any(step.folder for step in theirs) and len(mine) > 1:
        # What came after the folder never ran if there was none, so what else differs says nothing against it.
        rest = change(replace(failed, steps=failed.steps[1:]), succeeded) or Change(is_exact=False)
        left_out = Edit("leave", ("cd", left, "&&"))
        return Change(rest.edits | {left_out}, rest.is_exact and not rest.edits)
    is_more = len(theirs) == len(mine) + 1
    # What enters a folder or installs something before the command is no edit of it.
    added = theirs.pop(1 if entered and entered == left else 0) if is_more else None
    if len(mine) != len(theirs) or (added and (added.redirections or theirs[0].joined not in {"", "&&"})):
        return None
    edits, is_exact = set[Edit](), True
    for number, (one, other) in enumerate(zip(mine, theirs, strict=True)):
        found = Change() if one.words == other.words else _step_change(one, other)
        if found is None or (number and one.joined != other.joined) or one.redirections != other.redirections:
            return None
        edits |= found.edits
        is_exact &= found.is_exact
    return Change(frozenset(edits), is_exact and len(edits) + is_more <= 1) if edits or is_exact else None


def _step_change(one: Step, other: Step) -> Change | None:
    mine, theirs, ours, others = one.words[: one.start], other.words[: other.start], one.call, other.call
    added = [word for word in theirs if word not in mine]
    is_more = [word for word in theirs if word in mine] == list(mine) and len(added) <= 1
    if not ours or not others or not is_more or (added and not ASSIGNMENT.match(added[0])):
        return None
    (length, name), (other_length, other_name) = head(ours), head(others)
    edits = [Edit("variable", (), (added[0],), (name,))] if added else []
    if ours[:length] != others[:other_length]:
        edits.append(_program_edit(ours[:length], others[:other_length], name))
        if name not in {other_name, program([other_name])}:
            edits[-1] = Edit("typo", (ours[0],), (others[0],))
            if length > 1 or other_length > 1 or not is_typo(ours[0], others[0]):
                return None
    rest = _rest_change(ours[length:], others[other_length:], name)
    return rest and Change(rest.edits.union(edits), rest.is_exact)


def _program_edit(old: tuple[str, ...], new: tuple[str, ...], name: str) -> Edit:
    """Return the edit without what both ways to call the program end with: `python -m x` may be `python3 -m x`.

    What a runner runs is its own: `python -m x` may be `uv run x`.
    """
    if old[-2:-1] == new[-2:-1] == ("-m",):
        while len(old) == len(new) > 1 and old[-1] == new[-1]:
            old, new = old[:-1], new[:-1]
    return Edit("program", old, new, (name,) if len(new) > 1 else ())


def _rest_change(old: tuple[str, ...], new: tuple[str, ...], name: str) -> Change | None:
    """Return what was changed in the words after the program."""
    mine, theirs = subcommand(name, old), subcommand(name, new)
    edits = set()
    about = (name, *theirs)
    if mine != theirs:
        wrong = [pair for pair in zip_longest(mine, theirs, fillvalue="") if pair[0] != pair[1]]
        if len(wrong) != 1 or not is_typo(*wrong[0]):
            return None
        edits.add(Edit("typo", (wrong[0][0],), (wrong[0][1],), (name,)))
        old = tuple(wrong[0][1] if word == wrong[0][0] else word for word in old)
    gone, come = Counter(old) - Counter(new), Counter(new) - Counter(old)
    less, more = [[word for word in words if word.startswith("-") and word != "-"] for words in (gone, come)]
    if len(less) > 1 or len(more) > 1 or gone.total() + come.total() > _DIFFERENT_MAX:
        return None
    for option, changed, words in ((less, gone, old), (more, come, new)):
        if option and (value := _value_of(option[0], words)) and value in changed and not option[0].count("="):
            option.append(value)
        changed.subtract(option)
    if less and more:
        if not is_typo(less[0], more[0]) or less[1:] != more[1:]:
            return None
        edits.add(Edit("typo", (less[0],), (more[0],), about))
    elif more:
        edits.add(Edit("option", (), tuple(more), about, new.index(more[0])))
    elif less:
        edits.add(Edit("without", tuple(less), (), about))
    is_exact = not +gone and not +come and (bool(edits) or old == new)
    return Change(frozenset(edits), is_exact)


def _value_of(option: str, words: tuple[str, ...]) -> str | None:
    following = words[words.index(option) + 1 :][:1]
    return following[0] if following and not following[0].startswith("-") else None


def applied(command: Command, edit: Edit) -> str | None:
    """Return the command's text with an edit, None if the edit says nothing about it."""
    text, found = command.text, command.steps
    if not command.is_certain or not found:
        return None
    first = found[0]
    if edit.kind == "leave":
        fits = len(found) > 1 and first.folder == edit.old[1]
        return text[found[1].places[0][0] :] if fits else None
    changed = text
    for step in reversed(found):
        if place := _place(step, edit):
            new = _SPACED.get(edit.kind, "{}").format(" ".join(edit.new))
            changed = changed[: place[0]] + new + changed[place[1] :]
    return changed if changed != text else None


_SPACED: Final = {"option": " {}", "variable": "{} "}


def _place(step: Step, edit: Edit) -> tuple[int, int] | None:  # noqa: PLR0911 - one for each kind of edit
    """Return where in the text an edit changes a step, None if it does not."""
    start, size = step.start, len(edit.old)
    words = step.call
    if not words:
        return None
    length, name = head(words)
    about = (name, *subcommand(name, words[length:]))
    if edit.kind == "program" or (edit.kind == "typo" and not edit.about):
        fits = words[:size] == edit.old and size <= length and (not edit.about or edit.about == (name,))
        return (step.places[start][0], step.places[start + size - 1][1]) if fits else None
    if edit.about != about[: len(edit.about)]:
        return None
    if edit.kind == "variable":
        is_set = any(word.partition("=")[0] == edit.new[0].partition("=")[0] for word in step.words)
        return None if is_set else (step.places[0][0],) * 2
    if edit.kind == "option":
        if edit.new[0].partition("=")[0] in {word.partition("=")[0] for word in words}:
            return None
        at = start + length + min(edit.place, len(words) - length)
        return (step.places[at - 1][1],) * 2
    for number in range(start + length, len(step.words) - size + 1):
        if step.words[number : number + size] == edit.old:
            before = step.places[number - 1][1] if edit.kind == "without" else step.places[number][0]
            return before, step.places[number + size - 1][1]
    return None
