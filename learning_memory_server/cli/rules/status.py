"""Rules in `status`: first the calls that enforced rules stopped or failed to stop, then the counts of all rules."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from learning_memory_server.cli import out
from learning_memory_server.cli.command import Offline
from learning_memory_server.model.moment import as_seen
from learning_memory_server.model.rule import Rule, RuleCount
from learning_memory_server.rules.log import total
from learning_memory_server.rules.pause import PAUSE, RulePause, is_over
from learning_memory_server.server.settings import Settings
from learning_memory_server.server.views import fields, rule_views

_WEEK: Final = timedelta(days=7)
_TOTAL: Final = ("followed", "reminded", "broken", "stopped")


def accepted(stored: Offline) -> list[Rule]:
    """Return the accepted rules of all projects, newest first."""
    found = [each for each in stored.rule_log.all() if each.is_accepted]
    return sorted(found, key=lambda each: as_seen(each.changed_at), reverse=True)


def document_of(stored: Offline) -> dict[str, int]:
    """Return a `RulesStatus`: the total counts of all rules since they were accepted."""
    rules = accepted(stored)
    fared = stored.rule_counts.fared(rules).values()
    counted = {name: sum(getattr(each, name) for each in fared) for name in _TOTAL}
    return {"accepted": len(rules), "enforced": sum(each.is_enforced for each in rules), **counted}


def week_of(stored: Offline, now: datetime) -> list[dict[str, Any]]:
    """Return a `RuleWeek` for each rule: its counts of the last seven days."""
    return [fields(("id", "text", *_TOTAL), each, total(_recent(stored, each, now))) for each in accepted(stored)]


def alarms(stored: Offline, now: datetime) -> list[tuple[str, str]]:
    """Return the urgent facts for a person: a pause, calls that an enforced rule stopped, and calls that broke one.

    Hooks count these calls, so calls during an outage of the server are missing. Sessions that began before the
    rule was enforced do not count: nothing tells their calls before that time from those after it.
    """
    found = list[tuple[str, str]]()
    for each in accepted(stored):
        counts = [one for one in _recent(stored, each, now) if as_seen(one.created_at) >= as_seen(each.changed_at)]
        fared = total(counts)
        if not each.is_enforced or not (fared.stopped or fared.broken):
            continue
        name = f'{rule_views.short_id(each.id)}, "{out.one_line(each.text)}"'
        if fared.stopped:
            found.append(("stopped", f"{out.counted(fared.stopped, 'call')} in 7 days by your rule {name}"))
        if fared.broken:
            call = next((f", the last one `{out.one_line(count.call)}`" for count in counts[::-1] if count.call), "")
            ran = f"{out.counted(fared.broken, 'call')} in 7 days ran against your rule {name}{call}"
            found.append(("broken", f"{ran}. The client did not ask you: it could not, or the server was late."))
    if found:
        found.append(
            ("", "Calls while no server ran are not counted here: `learning-memory-server report` finds them.")
        )
    paused = paused_words(stored.settings, now)
    return [*([("paused", paused)] if paused else []), *found]


def paused_words(settings: Settings, now: datetime) -> str:
    """Say for how long a person has switched rules off; empty if rules are shown everywhere."""
    pause = RulePause(settings.storage_path / PAUSE)
    until = pause.until(session="")
    if until and not is_over(until, now):
        how_long = f"in every session until {until:%H:%M} UTC"
    elif pause.has_sessions:
        how_long = "in the sessions that were open when you paused them, until these end"
    else:
        return ""
    return f"Rules are off {how_long}. To end that: learning-memory-server rules on"


def in_words(found: dict[str, int]) -> str:
    """Return the counts of all rules in words."""
    if not found["accepted"]:
        return 'none yet: learning-memory-server report, or rule add "..."'
    enforced = f" ({found['enforced']:,} enforced)" if found["enforced"] else ""
    return f"{found['accepted']:,}{enforced}: {', '.join(f'{found[name]:,} {name}' for name in _TOTAL)}"


def show_week(week: Sequence[dict[str, Any]]) -> None:
    """Print the counts of each rule for the last seven days."""
    rows = [[rule_views.short_id(each["id"]), *(f"{each[name]:,}" for name in _TOTAL), each["text"]] for each in week]
    if rows:
        out.table(["rule", *_TOTAL, "text"], rows, numbers=_TOTAL)
    else:
        out.say("No rules yet.")


def _recent(stored: Offline, each: Rule, now: datetime) -> list[RuleCount]:
    """Return the counts of a rule in each session that began in the last seven days, oldest first."""
    return [count for count in stored.rule_counts.about(each.id) if as_seen(count.created_at) >= as_seen(now) - _WEEK]
