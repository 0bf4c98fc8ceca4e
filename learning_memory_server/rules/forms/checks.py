"""Rules about checks: commands to run before a commit, before a push, or before the end of work."""

import re
from typing import Final

from learning_memory_server.model.rule import CallForm, Pattern
from learning_memory_server.rules.forms import phrases, vocabulary
from learning_memory_server.rules.forms.commands import CODE, TERM, commands_in, needed, outside
from learning_memory_server.rules.forms.sentences import Sentence

_BEFORE: Final = r"\b(?:before|prior to)\s+(?:you |we )?(?:(?:every|each|any|all|the|a|new|making|creating|doing|make|create|do|your) )*(?:`?git )?"
_WITHOUT: Final = r"(?: code| changes| anything)? (?:without|unless|until|before)\b"
_BUT: Final = r"\b(?:never|don't|do not|must not) (?:(?:ever|run|use) )?(?:`?git )?"
_COMMITTING: Final = tuple(
    (re.compile(text, re.IGNORECASE), words)
    for text, words in (
        (rf"{_BEFORE}commit(?:s|ting)?\b`?(?: or push\w*)?|{_BUT}commit`?{_WITHOUT}", vocabulary.COMMIT),
        (rf"{_BEFORE}push(?:es|ing)?\b`?|{_BUT}push`?{_WITHOUT}", vocabulary.PUSH),
        (
            rf"{_BEFORE}(?:open|creat|submit|rais)(?:e|t?ing)?\s+(?:(?:a|any|the|new) )*(?:prs?|pull requests?)\b",
            vocabulary.CREATE,
        ),
    )
)
_FINISHED: Final = r"(?:done|complet\w*|finish\w*|fixed|ready|works?|working|success|over)\b|(?<=finishing)|(?<=task)"
_SAYING: Final = r"(?:say|claim|declar|report|tell|mark|consider|call|announc|finish|complet|conclud|stat)(?:e|es|s|ing)?\b[^.;`]{0,60}?"
_DONE: Final = re.compile(
    rf"\b(?:before|prior to)\s+(?:you |we |ever )?{_SAYING}(?:\b{_FINISHED})|"
    rf"\b(?:never|don't|do not|must not|not)\s+(?:ever )?(?:{_SAYING}|(?:end|stop)\b[^.;`]{{0,60}}?)\b(?:without|until|before|unless)\b|"
    r"\b(?:is|are|isn't|not) (?:not )?(?:done|complete|finished) (?:until|unless|before)\b|"
    r"\b(?:at the end of|(?:when|once) (?:you are |you're )?(?:done|finished) with|after (?:finishing|completing)) "
    r"(?:every|each|any|a|the|your) (?:task|change|work|job|session)\b|"
    r"\b(?:when|once) (?:you are |you're )?(?:done|finished)\b|"
    rf"{phrases.EACH_CHANGE}|"
    r"\b(?:before|prior to) (?:finishing|completing|completion|you finish|you are done|you're done|you stop|ending|hand-?off|handing (?:off|over)|you hand (?:off|over))\b",
    re.IGNORECASE,
)
_DELIVERY: Final = r"(?:commit|push)(?:\s+(?:your|the|all|any|it|them|everything|changes?|work|code|commits?|branch|to|remote|origin|github|upstream))*"
_DELIVERIES: Final = rf"(?P<acts>{_DELIVERY}(?:\s*(?:,? and then|,? then|,? and|,|&)\s+{_DELIVERY})*)"
_ALWAYS: Final = rf"(?:(?:{phrases.LEADS}|always|must|should|automatically|remember to|make sure to)[\s,]+)*"
_DELIVERED: Final = tuple(
    re.compile(text, re.IGNORECASE)
    for text in (
        rf"{_ALWAYS}{_DELIVERIES},?\s+{phrases.WHEN_DONE}[.!]*",
        rf"{_ALWAYS}{phrases.WHEN_DONE},?\s+{_ALWAYS}{_DELIVERIES}[.!]*",
    )
)
_RUN: Final = r"(?:run|execute|verify|check|ensure|make sure|do)\b"
_ORDERS: Final = re.compile(
    rf"(?:^|[,:(]\s*)(?:(?:{phrases.LEADS}|always|must)[\s,]+)*{_RUN}|"
    r"\b(?:must|always|need to|have to|should|required|mandatory)\b|^(?:before|prior to)\b|"
    r"\b(?:never|don't|do not|not)\b.*\b(?:without|until|unless|before)\b|"
    r"\b(?:done|complete|finished|task|change|work|session)\b,? (?:(?:always|please|also) )*(?:run|execute)\b",
    re.IGNORECASE,
)
_NOT_SEEN: Final = re.compile(
    r"\b(?:if|optional\w*|consider|may|can|could|only when|in case|ci runs|hooks? runs?|automatically|pre-commit hook|husky|"
    r"lefthook|relevant|affected|related|changed|touched|manual\w*|or|either|runs|is run|are run|depending|new tests|write|"
    r"add tests|update tests|skip|slow|each package|no need|need not|needn't|"
    r"(?:don't|do not|not) (?:need|have|run|use|necessary|required)|never (?:run|use))\b",
    re.IGNORECASE,
)
"""Conditions that a pattern cannot check, and signs of a sentence that only describes something."""


def first(sentence: Sentence) -> Pattern | None:
    """Match "run `make test` before every commit", "before pushing: lint and tests"."""
    text = sentence.text
    found = [words for pattern, words in _COMMITTING if pattern.search(text)]
    if not found or _DONE.search(text):
        return None
    broken = tuple(CallForm(each, lacking=vocabulary.LOOKS.get(each, ())) for each in found)
    forms = _to_run(sentence)
    return Pattern(broken, first=forms) if forms else None


def done(sentence: Sentence) -> Pattern | None:
    """Match "run the tests before saying that it is done": a rule for the end of work."""
    forms = _to_run(sentence) if _DONE.search(sentence.text) else ()
    return Pattern(first=forms) if forms else None


def delivered(sentence: Sentence) -> Pattern | None:
    """Match "always push when done", "commit and push after each task": rules for the end of work."""
    for part in sentence.parts:
        text = ", ".join(part)
        if found := next(filter(None, (each.fullmatch(text) for each in _DELIVERED)), None):
            acts = found["acts"].lower()
            return Pattern(
                first=tuple(CallForm(each) for each in (vocabulary.COMMIT, vocabulary.PUSH) if each[1] in acts)
            )
    return None


def _to_run(sentence: Sentence) -> tuple[CallForm, ...]:
    """Return the required commands; none if the sentence has an unknown command."""
    text = re.sub(r"\bnever (?:skip|forget)\b", "", _reasonless(sentence))
    plain = outside(text)
    for each in (_DONE, *(pattern for pattern, _ in _COMMITTING)):
        text = each.sub(" ", text)
    if _NOT_SEEN.search(outside(text)) or not _ORDERS.search(plain):
        return ()
    codes = [each for code in CODE.findall(text) for each in re.split(r"\s*(?:&&|;)\s*", code)]
    codes = [each for each in codes if not re.match(r"git (?:commit|push)", each)]
    codes = codes or [each[0] for each in re.finditer(TERM, plain) if _is_check(each[0])]
    if codes:
        commands = commands_in(", ".join(f"`{each}`" for each in codes))
        forms = [needed(each) for each in commands or ()]
        return tuple(filter(None, forms)) if all(forms) else ()
    return tuple(CallForm((), vocabulary.CHECKED[each]) for each in _checks(plain))


def _is_check(command: str) -> bool:
    """Whether a command without backticks is a check: `pytest`, `cargo test`."""
    program, *rest = command.split()
    return program in vocabulary.ONE_USE or (bool(rest) and rest[0] in vocabulary.CHECKING)


def _checks(text: str) -> list[str]:
    return [name for name, (said, _) in vocabulary.CHECKS.items() if re.search(said, text, re.IGNORECASE)]


def _reasonless(sentence: Sentence) -> str:
    """Return the parts of a sentence with the time and the command, without the reason after them."""
    parts = [", ".join(part) for part in sentence.parts]
    timed = [
        at for at, part in enumerate(parts) if _DONE.search(part) or any(each.search(part) for each, _ in _COMMITTING)
    ]
    if not timed:
        return ""
    at = timed[0]
    following = parts[at + 1 : at + 2]
    is_known = bool(CODE.search(parts[at])) or (bool(_checks(parts[at])) and not _is_list(following))
    return ": ".join([parts[at], *([] if is_known else following)])


def _is_list(following: list[str]) -> bool:
    """Whether only commands follow the name of a check: then the commands specify the check."""
    rest = "".join(following)
    return bool(CODE.search(rest)) and not re.sub(r"\b(?:and|then|or)\b", "", outside(rest)).strip(" .,()")
