"""Rules about commit messages and pull requests: co-authors, mentions of AI, and style."""

import re
from typing import Final

from learning_memory_server.model.rule import CallForm, MessageForm, Pattern
from learning_memory_server.rules.forms import phrases, signs, vocabulary
from learning_memory_server.rules.forms.sentences import Ban, Sentence

_COMMIT: Final = CallForm(vocabulary.COMMIT)
_REQUESTS: Final = (CallForm(vocabulary.CREATE), CallForm(vocabulary.EDIT))
_IN_COMMITS: Final = re.compile(r"\bcommits?\b|\bcommitting\b|\btrailers?\b|提交|커밋", re.IGNORECASE)
_IN_REQUESTS: Final = re.compile(r"(?<!\w)prs?(?!\w)|\bpull[- ]requests?\b", re.IGNORECASE)

_AUTHOR: Final = re.compile(r"co-?\s?author\w*(?:[- ]by)?", re.IGNORECASE)
_AI: Final = r"(?:claude(?: code)?|anthropic|ai(?![\w-]*\.)|llms?|chatgpt|copilot|codex|cursor|agents?)"
_AI_AUTHOR: Final = re.compile(
    rf"\b{_AI}\b(?:/\w+)?[^,;]{{0,12}}?\bco-?\s?author\w*|yourself (?:\w+ ){{0,2}}?co-?author\w*|"
    rf"co-?\s?author\w*(?:[- ]by)?[:`\"]*\s*(?:(?:lines?|trailers?|tags?|footers?|for|with|from|naming|by|credits?)\s+)*[<`\"]?{_AI}\b(?:/{_AI})?",
    re.IGNORECASE,
)
_NAMED: Final = re.compile(rf"\b{_AI}\b", re.IGNORECASE)
_GENERATED: Final = re.compile(
    rf"generated (?:with|by)|\b{_AI}(?:[- ](?:generated|related))?(?:'s)? (?:\w+ )?(?:attributions?|trailers?|credits?|signatures?|footers?|mentions?|branding|references?|watermarks?|taglines?)|"
    rf"(?:attributions?|mention\w*|credit\w*|referenc\w*|sign\w*|traces?) (?:\w+ ){{0,2}}?(?:to |of |for |as )?{_AI}\b",
    re.IGNORECASE,
)
_WITHOUT: Final = re.compile(
    r"\b(?:creat|writ|mak|keep|use)\w*\b[^,;]*\b(?:commits?|messages?|prs?|pull requests?)\b[^,;]*\bwithout\b(?P<what>.+)",
    re.IGNORECASE,
)
_ONLY_THERE: Final = re.compile(r"attribution|generated (?:with|by) \W?claude", re.IGNORECASE)
_LEAVES_OUT: Final = re.compile(
    r"\b(?:remov|strip|omit|forget|skip|drop|miss|leav|amend|rewrit|edit|chang|alter|touch|modif)\w*", re.IGNORECASE
)


def trailer(sentence: Sentence) -> Pattern | None:
    """Match "no Co-Authored-By in commits", "never mention AI in commit messages or pull requests"."""
    in_commits, in_requests = _IN_COMMITS.search(sentence.text), _IN_REQUESTS.search(sentence.text)
    without = (found["what"] for each in sentence.clauses if (found := _WITHOUT.search(each)))
    for ban in (*sentence.bans(), *(Ban(each, each) for each in without)):
        has_author, is_generated = _AUTHOR.search(ban.what), _GENERATED.search(ban.what)
        is_known = in_commits or in_requests or _ONLY_THERE.search(ban.what)
        is_about = has_author or (is_generated and is_known)
        if not is_about or ban.is_asked or _LEAVES_OUT.match(ban.what):
            continue
        broken = [_COMMIT] if in_commits or not in_requests else []
        broken += _REQUESTS if in_requests or not (in_commits or has_author) else ()
        return Pattern(tuple(broken), texts=_texts(ban))
    if _AUTHOR.search(sentence.text) and _is_banned_elsewhere(sentence.text):
        return Pattern((_COMMIT,), texts=_texts(Ban(sentence.text, "")))
    return None


def _is_banned_elsewhere(text: str) -> bool:
    """Whether a sentence in German, Chinese or Korean forbids a trailer."""
    return bool(re.search(phrases.TRAILER_ELSEWHERE, text, re.IGNORECASE))


def _texts(ban: Ban) -> tuple[str, ...]:
    """Return the forbidden texts: trailers of any author, unless the sentence speaks only of an AI."""
    is_any = bool(_AUTHOR.search(_AI_AUTHOR.sub(" ", ban.what)))
    is_wide = bool(_NAMED.search(_AI_AUTHOR.sub(" ", ban.what)) or _GENERATED.search(ban.what))
    found = signs.MENTIONS if is_wide else signs.ATTRIBUTIONS
    if is_any:
        return (*signs.ANY_AUTHOR, *(each for each in found if not each.startswith("Co-Authored-By")))
    return found


_MESSAGES: Final = re.compile(
    r"\bcommit(?:-\w+| msgs?| messages?| subjects?| titles?|s\b)|\bcommitting\b|\b(?:pr|pull request) titles?",
    re.IGNORECASE,
)
_WANTED: Final = re.compile(
    r"\b(?:use|follow\w*|must|always|write|written|should|keep|need|have to|are|in|only)\b", re.IGNORECASE
)
_KINDS: Final = (
    (
        MessageForm.CONVENTIONAL,
        re.compile(
            r"\bconventional[- ]commits?\b|\bconventional commit\b|\b(?:in |the )?conventional (?:format|style|form)\b|\bconventional commit (?:format|style)\b",
            re.IGNORECASE,
        ),
    ),
    (
        MessageForm.ONE_LINE,
        re.compile(
            r"\b(?:one|single|1)[- ]lin(?:e|er|ers)\b(?! (?:subject|summary|title))|\bone line\b(?! (?:subject|summary|title))|\bsubject line only\b|\bno body\b",
            re.IGNORECASE,
        ),
    ),
    (MessageForm.LATIN, re.compile(r"\b(?:in|only|auf) englis(?:h|ch)\b|\benglish (?:only|commit)", re.IGNORECASE)),
)
_OTHERWISE: Final = re.compile(
    r"\b(?:not|never|no longer|don't|except|unless|if|prefer\w*|or|can|may|could|explain\w*|describ\w*|then|followed by|why)\b",
    re.IGNORECASE,
)
_LABEL: Final = re.compile(r"(?:git )?commits?(?: (?:messages?|msgs?))?", re.IGNORECASE)
_EMOJI: Final = re.compile(r"\b(?:emojis?|gitmoji)\b", re.IGNORECASE)
_TELLS: Final = re.compile(
    r"\b(?:so|reads?|generat\w+|release notes|releases? are|semantic-release|changelog|commitlint (?:checks|enforces)|is enforced by|are squashed|parsed)\b",
    re.IGNORECASE,
)


def message(sentence: Sentence) -> Pattern | None:
    """Match "conventional commits", "one-line commit messages", "commit messages in English", "no emoji in commits"."""
    text = sentence.text
    if list(sentence.exceptions()):
        return None
    for ban in sentence.bans():
        if (
            _EMOJI.search(ban.core)
            and _MESSAGES.search(text)
            and not ban.is_asked
            and re.match(
                r"(?:use |add |put |include |have |contain )?(?:unicode |such )?(?:emojis?|gitmoji)\b",
                ban.core,
                re.IGNORECASE,
            )
        ):
            return Pattern(_written(text), form=MessageForm.NO_EMOJI)
    label = ""
    for each in sentence.clauses:
        clause, label = f"{label} {each}", each if _LABEL.fullmatch(each) else ""
        if _OTHERWISE.search(clause):
            continue
        for kind, words in _KINDS:
            is_about = _MESSAGES.search(clause) or (kind is MessageForm.CONVENTIONAL)
            if words.search(clause) and is_about and _is_wanted(clause, text):
                return Pattern((_COMMIT,), form=kind)
    return None


def _is_wanted(clause: str, text: str) -> bool:
    """Whether a clause is an instruction about messages, not a description."""
    return (
        bool(_WANTED.search(clause) or len(clause.split()) <= signs.LABEL_MAX)
        and not _TELLS.search(clause)
        and bool(_MESSAGES.search(text) or _KINDS[0][1].search(text))
    )


_TITLES: Final = re.compile(r"\b(?:prs?|pull requests?) titles?", re.IGNORECASE)


def _written(text: str) -> tuple[CallForm, ...]:
    """Return the forms of commits, and of pull requests if a sentence is also about their texts."""
    return (_COMMIT, *(_REQUESTS if _IN_REQUESTS.search(_TITLES.sub(" ", text)) else ()))
