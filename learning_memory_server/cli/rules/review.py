"""`review`: answer suggestions for rules, and other people's lessons."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Final

import typer
from rich.text import Text

from learning_memory_server.cli import out
from learning_memory_server.cli.access import open_connection
from learning_memory_server.cli.command import (
    Commands,
    Offline,
    Result,
    chosen_project,
    current_project,
    open_settings_here,
)
from learning_memory_server.cli.maintenance.learning import read_lesson, read_moments
from learning_memory_server.cli.rules.answers import SuggestionAnswers, from_words, show_limits
from learning_memory_server.cli.rules.keeping import sentence
from learning_memory_server.cli.rules.person import only_you
from learning_memory_server.cli.rules.report import show_skipped
from learning_memory_server.errors import InvalidInputError, NotFoundError
from learning_memory_server.model import limits
from learning_memory_server.model.answer import Said
from learning_memory_server.model.moment import utc_now
from learning_memory_server.model.rule import OriginKind
from learning_memory_server.rules.past.report import Offered, PastReport
from learning_memory_server.rules.suggesting import suggestions
from learning_memory_server.server.settings import Settings
from learning_memory_server.server.views import fields, rule_views
from learning_memory_server.sharing.review import Answerable

_MOST: Final = limits.RETROSPECTIVE_MAX  # How many are asked about at once
_SAID: Final = {"y": Said.YES, "n": Said.NEVER, "l": Said.LATER, "u": Said.UNDO}  # Of a lesson
_KEYS: Final = {"y": "yes", "e": "edit", "n": "no", "l": "later", "d": "yes, but keep only the sentence", "u": "undo"}
_OF_RULES: Final = "yenld"
ANSWERS: Final = {"yes": "y", "no": "n", "later": "l", "undo": "u"}  # Words of the command line, with their keys

commands = Commands()


@dataclass(frozen=True, slots=True)
class _Item:
    """An item without an answer: a suggestion for a rule, or another person's lesson."""

    offered: Offered | None = None
    lesson: Answerable | None = None

    def view(self) -> dict[str, object]:
        """Return the item for `review --json`."""
        if self.lesson:
            return fields(Answerable, self.lesson)
        assert self.offered
        each = self.offered.suggestion
        return {
            "id": each.id,
            "kind": "rule",
            "project": each.project,
            "text": each.text,
            "about": rule_views.when_of(each),
            "fared": self.fared,
            "is_told": False,
        }

    @property
    def fared(self) -> str:
        """The origin of the item, and its record in past sessions."""
        if self.lesson:
            return f"{self.lesson.fared}, since {out.date(self.lesson.since)}"
        assert self.offered
        past = self.offered.past
        said = f"; {past.in_words} in past sessions" if past and past.broken else ""
        return f"{from_words(self.offered.suggestion)}{said}"

    @property
    def where(self) -> str:
        """The scope of the rule; empty for a lesson, which belongs to this project."""
        return rule_views.where_of(self.offered.suggestion) if self.offered else ""

    @property
    def keys(self) -> str:
        """The keys that can answer it."""
        return "".join(_SAID) if self.lesson else _OF_RULES


@commands.command(json_help="Print one JSON document, and ask nothing.")
async def review(
    ids: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ID]...", help="Ids from the list, after `yes`, `no`, `later` or `undo`; also a lesson of yours."
        ),
    ] = None,
    never: Annotated[
        bool, typer.Option("--never", help="Never give this lesson as advice; searches still find it.")
    ] = False,
    project: Annotated[
        str | None,
        typer.Option("--project", metavar="NAME", help="Only lessons of this project, none of this folder's files."),
    ] = None,
) -> Result:
    """Answer what waits for your yes: sentences of yours as rules, and lessons of others as advice.

    Suggests rules from CLAUDE.md and files like it, from feedback memories,
    from calls that you refused, and from past sessions. Also suggests
    values, lessons that came again although shown, and an agent's sentences
    from a `retrospective`. Shows at most fifteen, with the places where
    each is said. One key answers: y yes, e edit, n no, l later, d yes
    without your own words and the call that you refused, u undo; for
    several, such as `y 1 3 n 2`. With ids, such as `review yes ID ID no
    ID`, shows what the answers will do, and asks once. Only a person in a
    terminal can answer; elsewhere, all are listed.
    """
    settings = open_settings_here()
    stored, here = Offline(settings), current_project(settings)
    project = chosen_project(project, stored) or here
    if ids:
        keys = _by_answer(ids, never=never)
        for each in keys:
            if not each.startswith(suggestions.PREFIX):
                stored.review.find(each, project)  # An unknown id is an error without a terminal, too
        only_you("review", *ids, "--never" if never else "")
        left = await _answer_named(settings, stored, keys, project, is_sure=never)
    else:
        # The files and the sessions of another project are read in its folder.
        past = await _past(settings) if project == here else PastReport()
        items = _waiting(stored, past, project)
        show_skipped(past)
        if not items or not out.is_a_person():
            return _listed(items)
        left = len(items) - await _answer_all(settings, items[:_MOST], past, project)
    still = f"{out.counted(left, 'thing')} still {'waits' if left == 1 else 'wait'}; `review --json` lists all."
    out.say(still if left else "Nothing waits any more.")
    return Result({"waiting": left})


async def _past(settings: Settings) -> PastReport:
    """Return the suggestions here. Those of an agent get the words of the person, which only transcripts have."""
    past = (await read_lesson(settings)).past
    if not out.is_a_person() or all(each.suggestion.origin.kind is not OriginKind.PAST for each in past.suggestions):
        return past
    moments, _ = await read_moments(settings)

    def quoted(each: Offered) -> Offered:
        given = each.suggestion
        words = next((moment.words for moment in reversed(moments) if moment.id in given.evidence), "")
        is_agents = given.origin.kind is OriginKind.PAST
        return replace(each, suggestion=replace(given, words=words)) if is_agents and words else each

    return replace(past, suggestions=tuple(map(quoted, past.suggestions)))


def _by_answer(words: Sequence[str], *, never: bool) -> dict[str, str]:
    """Return the answer's key for each id, as in `yes ID ID no ID`; an empty key for ids without an answer."""
    found, key = dict[str, str](), "n" if never else ""
    for place, word in enumerate(words):
        if word not in ANSWERS:
            found[word] = key
        elif never:
            raise InvalidInputError("Give either --never or an answer before the ids.")
        elif place + 1 == len(words) or words[place + 1] in ANSWERS:
            raise InvalidInputError(f"{word} to which ids? For example: review {word} ID ID")
        else:
            key = ANSWERS[word]
    if "" in found.values() and len(words) > 1:
        raise InvalidInputError("An answer comes before its ids. For example: review yes ID ID no ID")
    return found


async def _answer_named(
    settings: Settings, stored: Offline, keys: Mapping[str, str], project: str, *, is_sure: bool
) -> int:
    """Store the answers to items given by id, after one question unless `is_sure`. Return how many still wait."""
    has_suggestion = any(name.startswith(suggestions.PREFIX) for name in keys)
    past = await _past(settings) if has_suggestion else PastReport()
    named = [(key, _find(name, stored, past, project)) for name, key in keys.items()]
    if not all(keys.values()):
        said = _ask_for([item for _, item in named])
    else:
        for key, item in named:
            _require_answerable(key, item)
        said = named if is_sure or _agrees(named, past) else []
    await _keep(settings, said, past, project)
    answered = sum(key != "u" for key, item in said if item.offered)
    return len(_waiting(Offline(settings), past, project)) - answered


def _find(name: str, stored: Offline, past: PastReport, project: str) -> _Item:
    """Return the waiting item with an id or a shortened id. Raises `NotFoundError` if there is none."""
    if not name.startswith(suggestions.PREFIX):
        return _Item(lesson=stored.review.find(name, project))
    found = [each for each in past.suggestions if each.suggestion.id.startswith(name)]
    if len(found) != 1:
        raise NotFoundError(
            f"{len(found) or 'No'} suggestions of this project have an id that begins with {name!r}.",
            hint="It may be answered already. `learning-memory-server review --json` shows the ids.",
        )
    return _Item(offered=found[0])


def _require_answerable(key: str, item: _Item) -> None:
    if key not in item.keys:
        can = ", ".join(word for word, each in ANSWERS.items() if each in item.keys)
        raise InvalidInputError(f"{item.view()['id']} can be answered with {can}, not with {_KEYS[key]}.")


def _agrees(named: Sequence[tuple[str, _Item]], past: PastReport) -> bool:
    """Show the effects of the answers, and ask once. The default is no, because pasted text may end with Enter."""
    _show([item for _, item in named], [_KEYS[key] for key, _ in named])
    accepted = {number: item.offered for number, (key, item) in enumerate(named, 1) if item.offered and key == "y"}
    show_limits(accepted, past)
    if out.agrees(f"Keep {'this answer' if len(named) == 1 else f'these {len(named):,} answers'}?"):
        return True
    out.say("Nothing was kept.")
    return False


def suggested(past: PastReport) -> list[dict[str, object]]:
    """Return the suggestions without an answer, for the page."""
    items = [_Item(offered=each) for each in past.suggestions]
    return [{**each.view(), "where": each.where} for each in items]


def _waiting(stored: Offline, past: PastReport, project: str) -> list[_Item]:
    offered = [_Item(offered=each) for each in past.suggestions]
    return [*offered, *(_Item(lesson=each) for each in stored.review.waiting(project, utc_now()))]


def _listed(items: Sequence[_Item]) -> Result:
    views = [each.view() for each in items]
    out.records(
        out.Record(
            [out.identity(str(each["id"])), str(each["kind"]), item.where],
            str(each["about"]),
            f"{each['text']} ({item.fared})",
        )
        for each, item in zip(views, items, strict=True)
    )
    if not items:
        out.say("Nothing waits for an answer.")
    return Result({"results": views, "count": len(items)})


def _show(items: Sequence[_Item], answers: Sequence[str] = ()) -> None:
    """Print the items with their numbers, and with their answers if given."""
    for number, each in enumerate(items, 1):
        view = each.view()
        lead = f"{number:>2}  {f'{answers[number - 1]:<5}  ' if answers else ''}"
        out.say()
        out.hanging(Text(lead, "bold"), Text(out.one_line(str(view["text"])), "bold"))
        words = each.offered.suggestion.words if each.offered else ""
        facts = [("words", "" if words == view["text"] else words), ("when", str(view["about"]))]
        facts += [("where", each.where), ("from", each.fared)]
        for label, said in facts:
            if said:
                out.hanging(Text(f"    {label:<5}  ", "dim"), Text(out.one_line(said)))


async def _answer_all(settings: Settings, items: Sequence[_Item], past: PastReport, project: str) -> int:
    """Show the items, ask once, and store the answers. Return the number of answers."""
    _show(items)
    show_limits({number: each.offered for number, each in enumerate(items, 1) if each.offered}, past)
    said = _ask_for(items)
    await _keep(settings, said, past, project)
    return len([key for key, _ in said if key != "u"])


async def _keep(settings: Settings, said: Sequence[tuple[str, _Item]], past: PastReport, project: str) -> None:
    """Store the answers, given as keys and items."""
    answers, lessons = SuggestionAnswers(past, utc_now()), list[tuple[Answerable, Said]]()
    for key, item in said:
        if item.lesson:
            lessons.append((item.lesson, _SAID[key]))
            continue
        assert item.offered
        if key == "n":
            answers.decline(item.offered.suggestion)
        elif key == "l":
            answers.postpone(item.offered.suggestion)
        else:
            text = _edited(settings, item.offered.suggestion.text) if key == "e" else ""
            answers.accept(item.offered, text=text, drops_words=key == "d" or bool(text and _drops_words()))
    await answers.write(settings, "review")
    await _answer_lessons(settings, lessons, project)


def _edited(settings: Settings, text: str) -> str:
    """Ask for a person's version of a sentence, and repeat the question with the reason if it is invalid."""
    while True:
        said = typer.prompt(f"Your sentence, in place of: {out.one_line(text)}\n", err=True)
        try:
            return sentence(settings, said)
        except InvalidInputError as refusal:
            out.failure(refusal)


def _drops_words() -> bool:
    """Ask whether a rule keeps the sentence from before the edit; the default is yes."""
    return not typer.confirm("Keep the earlier sentence, for you alone, in `rule show`?", default=True, err=True)


def _ask_for(items: Sequence[_Item]) -> list[tuple[str, _Item]]:
    """Ask for a key for each item, as in `y 1 3 n 2`, until the input is valid."""
    keys = "".join(key for key in _KEYS if any(key in each.keys for each in items))
    meanings = ", ".join(f"{key} {_KEYS[key]}" for key in keys)
    example = "" if len(items) == 1 else "; such as y 1 2, or y all"
    while True:
        said = typer.prompt(f"Tell agents? ({meanings}{example})", default="", show_default=False, err=True)
        try:
            return _understood(said, items)
        except InvalidInputError as refusal:
            out.notice(refusal.message)


def _understood(said: str, items: Sequence[_Item]) -> list[tuple[str, _Item]]:
    # `y1`, `y 1` and `y 1,3` are all accepted.
    words = re.findall(r"[a-z]+|\d+|[^\s,]", said.casefold())
    found, key = dict[int, str](), ""
    for place, word in enumerate(words):
        if word in _KEYS:
            key = word
            if len(items) == 1:
                found[0] = key
            elif not words[place + 1 : place + 2] or words[place + 1] in _KEYS:
                raise InvalidInputError(f"{word} for which of them? Type, for example, {word} 1 2, or {word} all.")
            continue
        numbers = range(len(items)) if word == "all" else [int(word) - 1] if word.isdecimal() else []
        if not key or not numbers or not 0 <= numbers[0] < len(items):
            raise InvalidInputError(f"{word} is neither a key nor a number from 1 to {len(items)}.")
        found |= dict.fromkeys(numbers, key)
    for number, chosen in found.items():
        if chosen not in items[number].keys:
            raise InvalidInputError(
                f"{number + 1} can be answered with {', '.join(items[number].keys)}, not with {chosen}."
            )
    return [(chosen, items[number]) for number, chosen in found.items()]


async def _answer_lessons(settings: Settings, said: Sequence[tuple[Answerable, Said]], project: str) -> None:
    if said:
        async with open_connection(settings, "review") as connection:
            for each, answer in said:
                await connection.run("answer", ids=[each.id], said=answer.value, project=project)
