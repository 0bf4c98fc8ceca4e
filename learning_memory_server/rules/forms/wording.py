"""Describe a pattern in words, for a person's consent."""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

from learning_memory_server.model.rule import CallForm, MessageForm, Pattern, When
from learning_memory_server.rules.forms import signs, vocabulary
from learning_memory_server.shell import programs

_SHOWN: Final = 8
_ACTS: Final = {
    CallForm(vocabulary.COMMIT): "a commit",
    CallForm(vocabulary.CREATE): "a pull request",
    CallForm(vocabulary.EDIT): "an edited pull request",
}
_FORMS: Final = {
    MessageForm.CONVENTIONAL: "whose message is not a conventional commit",
    MessageForm.ONE_LINE: "whose message has more than one line",
    MessageForm.LATIN: "whose message is not in Latin letters",
    MessageForm.NO_EMOJI: "whose message has an emoji",
}


def in_words(pattern: Pattern, when: When) -> str:
    """Return when a pattern is broken: "before `git push`, unless you ask for it in the same turn"."""
    if when is When.DONE or not (pattern.broken or pattern.files or pattern.contents):
        return f"at the end of work, if {_not_run(pattern.first)}" if pattern.first else ""
    acts = [*_calls(pattern), *_edits(pattern)]
    text = f"before {' or '.join(acts)}"
    if pattern.first:
        text += f", if {_not_run(pattern.first)}"
    return f"{text}, unless you ask for it in the same turn" if pattern.asked else text


def _calls(pattern: Pattern) -> Iterator[str]:
    if not pattern.broken:
        return
    acts = {_ACTS.get(each) for each in pattern.broken}
    if (named := _named(pattern.texts)) and None not in acts:
        yield f"{_listed(sorted(filter(None, acts)), 'or')} whose message {named}"
        return
    by_others: dict[tuple[tuple[str, ...], ...], list[str]] = {}
    for each in pattern.broken:
        by_others.setdefault((each.having, _shown(each), each.on), []).append(_code(" ".join(each.words)))
    text = ", ".join(_call(names, *others) for others, names in by_others.items())
    if pattern.texts:
        text += f" whose message has {_listed((_quoted(each) for each in pattern.texts), 'or')}"
    yield f"{text} {_FORMS[pattern.form]}" if pattern.form else text


def _named(texts: tuple[str, ...]) -> str:
    """Return a description of a message with one of the texts that name an AI."""
    if any(each in texts for each in signs.ANY_AUTHOR):
        return "names a co-author"
    if set(texts) <= set(signs.ATTRIBUTIONS):
        return "names an AI as author" if texts else ""
    return "names an AI" if set(texts) <= set(signs.MENTIONS) else ""


def _call(names: Iterable[str], having: tuple[str, ...], lacking: tuple[str, ...], branches: tuple[str, ...]) -> str:
    text = _listed(dict.fromkeys(names), "")
    if branches:
        text += f" on {_listed(map(_code, branches), 'or')}"
    if having:
        text += f" with {_listed(map(_code, having), 'or')}"
    return f"{text} without {_listed(map(_code, lacking), 'or')}" if lacking else text


def _shown(form: CallForm) -> tuple[str, ...]:
    """Return the words that a call must lack, without the options that are excluded in every rule."""
    known = vocabulary.LOOKS.get(form.words, ()), vocabulary.LOOKS.get(form.words[:1], ())
    hidden = {*vocabulary.DRY, *chain(*known), *vocabulary.ELSEWHERE.get(form.words[0] if form.words else "", ())}
    return tuple(each for each in form.lacking if each not in hidden)


def _edits(pattern: Pattern) -> Iterator[str]:
    files = _listed(map(_code, pattern.files), "or")
    if pattern.contents:
        added = _listed(map(_code, pattern.contents), "or")
        yield f"an edit{f' of {files}' if files else ''} that adds {added}"
    elif files:
        yield f"an edit of {files}"


def _not_run(forms: Iterable[CallForm]) -> str:
    names = [needed(each) for each in forms]
    has = "has not run" if len(names) == 1 else "have not all run"
    return f"{_listed(names, 'and')} {has} since the last edit"


def needed(form: CallForm) -> str:
    """Return the required earlier step: "a linter", "`make test`"."""
    known = {having: name for name, having in vocabulary.CHECKED.items()}
    if not form.words:
        return (
            known.get(form.having)
            or f"a command with {_listed((_code(each.strip('*')) for each in form.having), 'or')}"
        )
    is_script = form.words[0] in vocabulary.NEED_RUN and form.having and form.having[0] not in programs.SCRIPTS
    return _code(" ".join((*form.words, *(("run",) if is_script else ()), *form.having[:1])))


def _listed(names: Iterable[str], last: str) -> str:
    found = list(names)
    if len(found) > _SHOWN:
        return ", ".join(found[: _SHOWN - 1]) + f" {last or 'or'} {len(found) - _SHOWN + 1} more"
    if len(found) < 2 or not last:
        return ", ".join(found)
    return f"{', '.join(found[:-1])} {last} {found[-1]}"


def _code(text: str) -> str:
    return f"`{text.replace('=PUT', ' PUT')}`" if text else "any command"


def _quoted(text: str) -> str:
    return f'"{text}"'
