"""Rules about commands: one instead of another, one that is forbidden, one to run before others."""

import re
from collections.abc import Iterator
from typing import Final

from learning_memory_server.model.rule import CallForm, Pattern
from learning_memory_server.rules.forms import phrases, vocabulary
from learning_memory_server.rules.forms.commands import (
    CHAINED,
    CODE,
    COMPARED,
    TERM,
    commands_in,
    followed,
    forbidden,
    is_script,
    outside,
)
from learning_memory_server.rules.forms.sentences import Ban, Sentence
from learning_memory_server.shell import wrappers

_LISTED: Final = rf"(?:{COMPARED})(?:\s*(?:,|/|&|,? or|,? and|,? nor)\s*(?:{COMPARED}))*"
_ASIDE: Final = re.compile(r" ?\((?:[^()`]|`[^`]*`)*+\)")
_INSTEAD: Final = re.compile(
    rf"(?P<wanted>{_LISTED})(?P<middle>[^`.;]{{0,30}}?)\s*(?:,\s*)?(?:instead of|rather than|in place of|in favou?r of|(?:and |,)? ?(?:not|never)|over)\s+"
    rf"(?:(?:using|use|running|run|calling|call|plain|raw|bare|direct|directly|the|a|invoking|with|via)\s+)*(?P<other>{_LISTED})(?P<rest>.*)$"
)
_INSTEAD_FIRST: Final = re.compile(
    rf"\binstead of\s+(?:(?:using|use|running|run|calling|call|plain|raw)\s+)*(?P<other>{_LISTED})\s*,\s*(?:please |always )*(?:use|run|call|prefer)\s+(?P<wanted>{_LISTED})(?P<rest>.*)$",
    re.IGNORECASE,
)
_WISH: Final = re.compile(
    rf"(?:(?:{phrases.LEADS}|always|only|must|should|need to|have to|make sure to|exclusively|this (?:project|repo\w*|code ?base)|the (?:project|repo\w*))[\s,]+)*"
    r"(?:(?:uses?|using|run|call|execute|invoke|go with|stick (?:to|with))\s+|run (?:scripts|tests|commands|everything) (?:with|via|using)\s+|(?P<aim>(?:install|add|manage) (?:\w+ )?)(?:with|via|using)\s+|default to (?:using )?)?(?:the )?",
    re.IGNORECASE,
)
_SOFT: Final = re.compile(
    r"\b(?:prefer\w*|consider|can|could|may|might|usually|when possible|if possible|where possible|try)\b",
    re.IGNORECASE,
)
_TELLS: Final = re.compile(
    r"\b(?:still|was|were|used to|because of an?|builds? with|migrat\w+|legacy|why|docs?|documentation|readme|example)\b",
    re.IGNORECASE,
)
_AIM: Final = re.compile(
    r"^(?:for|to|when)\s+(?P<scope>[^,`]{1,40}?),?\s+(?=(?:please |always )*(?:use|run)\b)", re.IGNORECASE
)


def instead(sentence: Sentence) -> Pattern | None:
    """Match "use pnpm instead of npm", "`bun`, not `node`", "instead of pip, use uv"."""
    if list(sentence.exceptions()) or _SOFT.search(sentence.text):
        return None
    found = [
        pattern for part in sentence.parts for clause in _PAIRS.split(_wish_in(part)) if (pattern := _of_clause(clause))
    ]
    broken, about = ([form for each in found for form in getattr(each, name)] for name in ("broken", "about"))
    return Pattern(tuple(broken), tuple(about)) if broken else None


_PAIRS: Final = re.compile(rf",\s+(?=(?:{_LISTED})\s+instead of)")


def _wish_in(part: tuple[str, ...]) -> str:
    """Return a part, starting at the clause that says which command to use."""
    texts = [_ASIDE.sub("", ", ".join(part[at:])) for at in range(len(part))]
    return next(
        (each for each in texts if (found := _INSTEAD.search(each)) and _WISH.fullmatch(each[: found.start()])),
        texts[0],
    )


def _of_clause(clause: str) -> Pattern | None:
    found = _INSTEAD.search(clause) or _INSTEAD_FIRST.search(clause)
    if not found or _TELLS.search(outside(clause)):
        return None
    before, scope = clause[: found.start()], found.groupdict().get("middle") or ""
    if aim := _AIM.match(before):
        before, scope = before[aim.end() :], f"{scope} {aim['scope']}"
    wish = _WISH.fullmatch(before)
    if found.re is _INSTEAD and not wish:
        return None
    return _replaced(found["wanted"], found["other"], found["rest"], f"{scope} {(wish and wish['aim']) or ''}")


def _replaced(wanted: str, other: str, rest: str, middle: str) -> Pattern | None:
    new, old = commands_in(wanted, COMPARED), commands_in(other, COMPARED)
    scope = re.sub(rf"^\W*(?:{phrases.REASONS})\b.*|[;.].*", "", rest, flags=re.IGNORECASE)
    scope = f"{middle} {scope}"
    if not new or not old or not _is_of_all(scope, old) or _is_run_by_another(new, old):
        return None
    if any(tuple(each.split()) in vocabulary.HARMLESS and each.split()[0] == new[0].split()[0] for each in old):
        return None
    broken = tuple(form for each in old for form in _in_scope(each, scope, new))
    return Pattern(broken, tuple(form for each in new for form in followed(each, old))) if broken else None


def _is_of_all(scope: str, old: list[str]) -> bool:
    """Whether the words after the commands do not limit the rule, because they name only the usual uses."""
    text = re.sub(rf"\b(?:{phrases.FILLERS})\b", " ", scope, flags=re.IGNORECASE)
    text = re.sub(phrases.ALL_USES, " ", " ".join(text.split()), flags=re.IGNORECASE)
    if not text.strip(" ,.!()-"):
        return True
    uses = {use for each in old for use in vocabulary.USES.get(each.split()[0], ())}
    is_whole = all(each.split()[0] in vocabulary.USES or len(each.split()) > 1 for each in old)
    words = set(re.findall(r"[a-z]+", text.lower())) - vocabulary.USE_FILLERS
    return is_whole and (words <= uses or all(len(each.split()) > 1 for each in old))


def _in_scope(command: str, scope: str, wanted: list[str]) -> tuple[CallForm, ...]:
    """Return the call forms of a command; only its install calls if the sentence is limited to them."""
    is_same = any(each.split()[0] == command for each in wanted)
    if (options := vocabulary.SEARCHES.get(command)) and not is_same:
        return (CallForm((command,), options),)
    installs = vocabulary.INSTALLS.get(command, ())
    if (
        installs
        and re.search(r"\b(?:install\w*|add\w*)\b", scope)
        and not re.search(r"\b(?:run\w*|scripts|commands)\b", scope)
    ):
        return tuple(CallForm((command, each)) for each in installs)
    return forbidden(command, wanted)


def _is_run_by_another(wanted: list[str], banned: list[str]) -> bool:
    """Whether a wanted command runs a forbidden one: `uv run python` is also a call of `python`."""
    managers = vocabulary.USES.keys() | wrappers.WRAPPERS.keys()
    wrapping = [each for each in wanted if _runs_another(each.split())]
    return any(f" {old} " in f" {new} " or old.split()[0] not in managers for new in wrapping for old in banned)


def _runs_another(words: list[str]) -> bool:
    is_module = words[0] in vocabulary.INTERPRETERS and words[1:2] == ["-m"]
    return is_module or bool({words[0], " ".join(words[:2])} & wrappers.WRAPPERS.keys())


_RUN: Final = re.compile(
    r"^(?:(?:use|run|call|invoke|execute|type|do|try|using|running|calling|(?:delete|remove)(?: files?| things| folders?| directories)? (?:with|using|via)|install with|directly|raw|plain|bare|`?command`?|commands?) )*(?P<terms>.+?)"
    r"(?: (?:commands?|directly|itself|alone|yourself|to (?:install|manage|add|update|run|delete|remove) (?:\w+ ?){0,3}|for (?:anything|everything)))*$",
    re.IGNORECASE,
)


def never(sentence: Sentence) -> Pattern | None:
    """Match "never use `npm`", "no `git reset --hard`", "`yarn` is forbidden", "never run `build:all` directly"."""
    broken: list[CallForm] = []
    asked: set[bool] = set()
    if _TELLS.search(outside(sentence.text)):
        return None
    for ban in sentence.bans():
        others = [each for each in CODE.findall(sentence.text) if f"`{each}`" not in ban.what]
        forms = _of_ban(ban, [each for chain in others for each in CHAINED.split(chain) if each])
        broken += forms
        asked |= {ban.is_asked} if forms else set()
    named = {" ".join(form.words) for form in broken}
    others = [each for each in CODE.findall(sentence.text) if not any(each.startswith(name) for name in named)]
    if not broken or len(asked) != 1 or _is_run_by_another(others, sorted(named)):
        return None
    words = tuple(dict.fromkeys(word for form in broken for word in _asked_words(form))) if True in asked else ()
    if True in asked and not words:
        return None
    return Pattern(tuple(dict.fromkeys(broken)), _wanted_beside(sentence, broken), asked=words)


def _of_ban(ban: Ban, others: list[str]) -> list[CallForm]:
    text = _ASIDE.sub("", ban.core)
    if re.search(r"\b(?:instead of|rather than)\b", text):
        return []
    found = _RUN.match(text)
    terms = found["terms"] if found else ""
    script = terms.strip("` ")
    if is_script(script) and terms.startswith("`") and re.match(r"(?:use|run|call|invoke|execute)\b", ban.what):
        return [CallForm((each,), (script,)) for each in vocabulary.RUNNERS]
    commands = commands_in(terms, TERM)
    return [form for each in commands or () for form in forbidden(each, others)]


def _asked_words(form: CallForm) -> Iterator[str]:
    yield from [each for each in form.words if each.isalpha()][-1:]


def _wanted_beside(sentence: Sentence, broken: list[CallForm]) -> tuple[CallForm, ...]:
    """Return the call forms of the commands that the sentence wants instead."""
    banned = {form.words[0] for form in broken}
    for clause in sentence.clauses:
        found = re.match(rf"(?:always |please |instead )*(?:use|run)\s+(?P<terms>{_LISTED})", clause, re.IGNORECASE)
        commands = commands_in(found["terms"], COMPARED) if found else None
        if commands and not banned & {each.split()[0] for each in commands}:
            return tuple(form for each in commands for form in followed(each))
    return ()
