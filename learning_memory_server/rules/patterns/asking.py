"""Whether a prompt asks for something: a clause of the person has the word as its verb, or the prompt is only a yes."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from learning_memory_server.rules.patterns import prompts

if TYPE_CHECKING:
    from Stemmer import Stemmer

READ_MAX: Final = 4_000
BLOCK_MAX: Final = 200
"""Maximum characters of a prompt, and of a paragraph that a person typed."""
_COMMAND: Final = re.compile(r"<command-name>/?(?:[\w-]+:)?([\w-]+)</command-name>")
_PASTED: Final = re.compile(
    r"^[ \t]*(?:```|~~~|>|diff --git |@@ |--- |\+\+\+ |\+(?=\S)|#{1,6} |\||[$%\u276f⎿●✓✗⏺│╭] ?|<[a-z/!])|"
    r"</?(?:local-command|bash-|command-|system-|task-)",
    re.MULTILINE | re.IGNORECASE,
)
_BLANK: Final = re.compile(r"\n[ \t]*\n")
_CODE: Final = re.compile(
    r"(?:(?<!\w)(?P<before>\w{1,12})[ \t]{1,4}|(?P<start>^[ \t]{0,9}))?`{1,2}(?P<text>[^`\n]*)`{1,2}", re.MULTILINE
)
_QUOTE: Final = re.compile(
    r"\"(?!--)[^\"\n]*\"|[\u201c\u201e][^\u201d\u201c\n]*[\u201d\u201c]|(?<!\w)'(?!--)[^'\n]*'(?!\w)"
)
_REQUEST: Final = re.compile(r"\b(?:pull|merge)[ -]requests?\b")
_SENTENCE: Final = re.compile(r"((?<=\S)[.!?;]+(?=\s|$)|\n|[\u3002\uff01\uff1f\uff1b])")
_JOINT: Final = re.compile(
    r"(,|\uff0c|:(?=\s|$)|\s[-\u2013\u2014]+\s|[()]|&+|\+(?=\s)|\b(?:and then|and|or|then|but|und dann|und)\b)"
)
_WORD: Final = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)?")
_LEAD: Final = rf"[\s\W]*(?:(?:{prompts.LEADS})\b[\s,]*)*"
_LED: Final = re.compile(_LEAD)
_MADE: Final = re.compile(rf"{prompts.MADE_WITH}\s+(?:{prompts.BETWEEN}\s+){{0,3}}")
_GIT: Final = re.compile(r"(?:git|gh)\s+(?:pr\s+)?|/(?:[\w-]+:)?")
_WITH: Final = re.compile(
    r"\b(?:use|run|try|call|execute|do|start|with|via|using|mit|nimm|verwende)\b(?:\s+[^\s]+){0,3}?\s+"
)
_WISH: Final = re.compile(prompts.WISHES)
_OTHERWISE: Final = re.compile(prompts.OTHERWISE)
_YES: Final = re.compile(prompts.YES_PHRASES)
_FOREIGN_NOT: Final = re.compile(prompts.FOREIGN_NOT)
_FOREIGN_CLAUSE: Final = re.compile(r"[.,!?\n\uff0c\u3002\uff01\uff1f\u3001]")


class _Clause(NamedTuple):
    joint: str  # the conjunction before it in the sentence
    text: str
    is_question: bool = False
    is_label: bool = False  # whether a colon follows

    @property
    def words(self) -> list[str]:
        """The words of the clause."""
        return _WORD.findall(self.text)


def is_asked(words: Iterable[str], prompt: str) -> bool:
    """Whether a person's own text asks for an act that has one of the names in `words`."""
    wanted = {each.casefold() for each in words}
    text = voice(prompt)
    if _is_yes(text):
        return True
    joined = [each for each in wanted if not each.isascii()]  # Chinese and Korean words may be part of longer words
    return _is_asked(text, wanted) or any(_is_asked_in_foreign(each, text) for each in joined)


def voice(prompt: str) -> str:
    """Return the person's own text in lower case: up to the first quote, fence, diff or long paragraph."""
    if command := _COMMAND.search(prompt[:READ_MAX]):
        return command[1].replace("-", " ")
    text = prompt[:READ_MAX].replace("\u2019", "'")
    if found := _PASTED.search(text):
        text = text[: found.start()]
    blocks = _BLANK.split(text)
    own = next((at for at, each in enumerate(blocks) if len(each.strip()) > BLOCK_MAX), len(blocks))
    text = _QUOTE.sub("x", _CODE.sub(_said, "\n".join(blocks[:own])))
    return _REQUEST.sub("pr", text.casefold().replace("--no-verify", "bypass hooks"))


def _said(code: re.Match[str]) -> str:
    """Return code that stands for itself, as in "run `git push`"; other code becomes a placeholder for a name."""
    before, start, text = code["before"] or "", code["start"] or "", code["text"]
    is_meant = start or not code.start() or before.casefold() in prompts.CODE_BEFORE
    return f"{before} {start}{text if is_meant else 'x'}"


def _is_yes(text: str) -> bool:
    """Whether a text is only a yes to the agent's question."""
    if len(text.split()) > prompts.YES_MAX or "?" in text:
        return False
    rest, phrases = _YES.subn(" ", text)
    found = _WORD.findall(rest)
    has_yes = phrases > 0 or any(each in prompts.YES for each in found)
    return has_yes and all(each in prompts.YES | prompts.YES_FILLERS for each in found)


def _is_asked(text: str, wanted: set[str]) -> bool:
    is_negated = is_denied = is_noun = False  # from the previous clause
    for clause in _clauses(text):
        words = clause.words
        if not clause.joint or clause.joint in prompts.PARTING:
            is_negated = is_denied = is_noun = False
        verb, rest = ("", []) if clause.is_question else _verb(clause.text)
        is_bare = bool(verb) and not rest
        is_negated = is_negated and (clause.joint in prompts.CARRYING or (is_bare and is_denied))
        is_wish = bool(verb) and not (is_negated or (is_bare and (is_noun or clause.is_label)))
        if (is_wish and _is_meant(verb, rest, clause, wanted)) or (
            not (is_negated or clause.is_question) and _is_used(clause.text, wanted)
        ):
            return True
        is_done = is_wish and verb in prompts.DOING
        if not is_done:
            is_negated, is_denied = is_negated or _negates(words), any(each in prompts.DOING for each in words)
        is_noun = not is_done and bool(words) and words[-1] in prompts.DOING
    return False


def _clauses(text: str) -> Iterator[_Clause]:
    pieces = [*_SENTENCE.split(text), ""]
    for sentence, end in zip(pieces[::2], pieces[1::2], strict=False):
        is_question = end.startswith(("?", "\uff1f")) and not _WISH.search(sentence)
        parts = ["", *_JOINT.split(sentence), ""]
        for joint, part, following in zip(parts[::2], parts[1::2], parts[2::2], strict=False):
            yield _Clause(joint.strip(), part.strip(), is_question, following.strip() == ":")


def _verb(text: str) -> tuple[str, list[str]]:
    """Return the main verb of a clause, or the noun of phrases such as "make a commit", and the words after it."""
    led = _LED.match(text)
    text = text[led.end() if led else 0 :]
    made = _MADE.match(text)
    for start in (*((made.end(),) if made else ()), 0):
        git = _GIT.match(text, start)
        found = _WORD.findall(text[git.end() if git else start :])
        if found[:1] and found[0] in prompts.GOING_ON and found[1:] and found[1].endswith("ing"):
            return _stem(found[1]), found[2:]
        if found and (not start or found[0].removesuffix("s") in prompts.DOING | prompts.NOUNS):
            return found[0], found[1:]
    return "", []


def _is_meant(verb: str, rest: Sequence[str], clause: _Clause, wanted: set[str]) -> bool:
    """Whether a verb, with the words after it, is one of the wanted ones."""
    if not {verb, verb.removesuffix("s")} & wanted:
        return False
    needed = prompts.NEEDING.get(verb)
    if needed and needed.isdisjoint(rest):
        return False
    follows = not rest or verb not in prompts.DOING or rest[0] in prompts.FOLLOWING | prompts.DOING
    return follows and not _OTHERWISE.search(clause.text.partition(verb)[2])


def _is_used(text: str, wanted: set[str]) -> bool:
    """Whether a clause asks for a program or an option: "install it with npm", "push with force"."""
    named = {each for each in wanted if each not in prompts.DOING or each in prompts.NEEDING}
    found = named and _WITH.search(text)
    if not found or any(map(_is_no, _WORD.findall(text))):
        return False
    words = _WORD.findall(text[found.end() :])
    return not named.isdisjoint(words[: prompts.NEAR])


def _negates(words: Sequence[str]) -> bool:
    """Whether a clause begins with a negation, or has one before the name of an act."""
    at = next((at for at, each in enumerate(words) if _is_no(each)), None)
    return at is not None and (at <= 1 or any(each in prompts.DOING for each in map(_stem, words[at:])))


def _is_no(word: str) -> bool:
    return word in prompts.NEGATIONS or word.endswith("n't")


def _is_asked_in_foreign(word: str, text: str) -> bool:
    form = re.compile(f"{prompts.FOREIGN_BEFORE}{re.escape(word)}{prompts.FOREIGN_BEHIND}")
    clauses = (each.strip() for each in _FOREIGN_CLAUSE.split(text))
    return any(form.search(each) and not _FOREIGN_NOT.search(each) for each in clauses)


def _stem(word: str) -> str:
    return str(_stemmer().stemWord(word))


@cache
def _stemmer() -> "Stemmer":
    from Stemmer import Stemmer

    return Stemmer("english")
