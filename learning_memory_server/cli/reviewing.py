"""`review`: what agents are shown only with a person's yes. `resolve`: how an entry ended that was left open."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer

from learning_memory_server.cli import out
from learning_memory_server.cli.access import Connection, open_connection
from learning_memory_server.cli.command import Commands, Offline, Result, current_project, open_settings
from learning_memory_server.cli.sharing import RULE_MAX, change_rules, rules_of
from learning_memory_server.errors import InvalidInputError
from learning_memory_server.model.answer import Said
from learning_memory_server.model.moment import utc_now
from learning_memory_server.model.vocabulary import OutcomeStatus, RootCauseCategory
from learning_memory_server.rules.review import Waiting
from learning_memory_server.server.views import fields
from learning_memory_server.sharing.promote import LEARNED, Rule, promoted
from learning_memory_server.sharing.tree import top_of
from learning_memory_server.system.files import read

_MOST: Final = 10  # How many are asked about at once: a person reads no more with care
_SAID: Final = {"y": Said.YES, **{each.value: each for each in Said}}

commands = Commands()


@commands.command(json_help="Print one JSON document, and ask nothing.")
async def review(
    name: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="An id from the list, or with --never a lesson of yours.")
    ] = None,
    never: Annotated[bool, typer.Option("--never", help="Never give it as advice; searches find it.")] = False,
) -> Result:
    """Answer which advice agents may get: lessons of others, and imported ones.

    Shows at most ten, the oldest first. `y` lets agents get it, `rule` also
    writes it into a file that clients load. `never` and `later` do not, `undo`
    takes an answer back. Only a person in a terminal can answer; elsewhere,
    all are listed.
    """
    settings = open_settings()
    project, stored = current_project(settings), Offline(settings)
    if name is None:
        items = stored.review.waiting(project, utc_now())
        asked = items[:_MOST]
        if not asked or not out.is_a_person():
            return _listed(items)
    else:
        out.only_a_person("This")
        asked = [stored.review.find(name, project)]
    async with open_connection(settings, "review") as connection:
        asking = _Asking(connection, project, top_of(Path.cwd()))
        if never:
            await asking.keep(asked[0], Said.NEVER)
        else:
            await asking.each(asked)
    left = len(Offline(settings).review.waiting(project, utc_now()))
    out.say(f"{out.counted(left, 'thing')} still {'waits' if left == 1 else 'wait'}; `review --json` lists all.")
    return Result({"waiting": left})


@commands.command(example='ghap_20260301_120000_ffffff abandoned "Nobody needs it any more."')
async def resolve(
    name: Annotated[str, typer.Argument(metavar="ID", help="An open entry; `status` lists them.")],
    outcome: Annotated[OutcomeStatus, typer.Argument(metavar="OUTCOME", help="How it ended.")],
    result: Annotated[str, typer.Argument(metavar="[RESULT]", help="What happened.")] = "Closed by a person.",
    surprise: Annotated[str | None, typer.Option(help="What contradicted the prediction.")] = None,
    category: Annotated[RootCauseCategory | None, typer.Option(help="The kind of root cause.")] = None,
    cause: Annotated[str | None, typer.Option(help="Why the hypothesis was wrong.")] = None,
    takeaway: Annotated[str | None, typer.Option(help="A rule for next time.")] = None,
) -> None:
    """Close an entry that its agent left open, as `resolve_ghap` does for agents.

    A falsified one needs --surprise, --category and --cause.
    """
    given: dict[str, object] = {"status": outcome.value, "result": result, "surprise": surprise}
    given |= {"root_cause": {"category": category, "description": cause}} if category or cause else {}
    given |= {"lesson": {"takeaway": takeaway}} if takeaway else {}
    async with open_connection(open_settings(), "resolve") as connection:
        reply = await connection.call("resolve_ghap", ghap_id=name, **given)
    out.say(f"{reply['id']} is {reply['status']}.")


def _listed(items: Sequence[Waiting]) -> Result:
    out.records(
        out.Record([out.identity(each.id), each.kind, out.date(each.since)], each.about, f"{each.text} ({each.fared})")
        for each in items
    )
    if not items:
        out.say("Nothing waits for an answer.")
    return Result({"results": [fields(Waiting, each) for each in items], "count": len(items)})


@dataclass(frozen=True, slots=True)
class _Asking:
    """Shows one thing after the other to a person, and keeps the answers."""

    connection: Connection
    project: str
    top: Path

    async def each(self, items: Sequence[Waiting]) -> None:
        """Ask about each; `undo` takes the answer before back, and asks again."""
        place = 0
        while place < len(items):
            said = self._answer(items[place], f"{place + 1} of {len(items)}")
            if said is Said.UNDO and len(items) > 1:
                place = max(place - 1, 0)
            await self.keep(items[place], said)
            place += said is not Said.UNDO or len(items) == 1

    def _answer(self, item: Waiting, place: str) -> Said:
        out.say()
        out.facts(
            [
                (place, out.identity(item.id)),
                ("about", item.about),
                (item.kind.value, item.text),
                ("from", f"{item.fared}, since {out.date(item.since)}"),
            ]
        )
        while True:
            said = typer.prompt("Tell agents? y, rule, never, later or undo", default="later", err=True)
            if answer := _SAID.get(said.strip().casefold()):
                return answer

    async def keep(self, item: Waiting, said: Said) -> None:
        """Keep an answer, or say why that cannot be done."""
        try:
            if said is Said.RULE or item.id in promoted((read(self.top / LEARNED) or b"").decode("utf-8", "replace")):
                self._change_rule(item, said)
            await self.connection.run("answer", ids=[item.id], said=said.value, project=self.project)
        except InvalidInputError as refusal:
            out.failure(refusal)

    def _change_rule(self, item: Waiting, said: Said) -> None:
        text = out.one_line(item.text)
        rule = Rule(item.id, text, f"approved {utc_now():%Y-%m-%d}")
        is_wanted = said is Said.RULE
        if is_wanted and len(text) > RULE_MAX:
            raise InvalidInputError(f"{item.id} cannot become a rule: it is too long.")
        change_rules(self.top, [rule] if is_wanted else [], () if is_wanted else (item.id,))
        if is_wanted is not (item.id in promoted(rules_of(self.top))):
            raise InvalidInputError(f"{LEARNED} was left as it is, so nothing was answered.")
