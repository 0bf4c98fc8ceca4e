"""Rules about files that must not be edited."""

import re
from typing import Final

from learning_memory_server.model.rule import Pattern
from learning_memory_server.rules.forms import signs
from learning_memory_server.rules.forms.sentences import Sentence

_VERB: Final = r"(?:edit|modif|chang|touch|alter|writ|overwrit|updat|delet|tamper|rewrit)\w*\b"
_OTHER: Final = r"(?:read|creat|open|view|mov|renam|remov|add|commit|stag|format)\w*\b"
_AND: Final = r"\s*(?:,? or|,? and|,? nor|,|/)\s*"
_EDITS: Final = re.compile(
    rf"^(?:be )?(?:(?:hand-?|manually |directly )*{_OTHER}{_AND})*(?:hand-?|manually |directly )*{_VERB}(?:{_AND}(?:{_VERB}|{_OTHER}))*\s*",
    re.IGNORECASE,
)
_BARE: Final = re.compile(
    r"^(?:be )?(?:hand-?|manually |directly )*(?:edit|modif|chang|touch|alter|overwrit)\w*(?:\s*(?:,|/|,? or|,? and)\s*(?:edit|modif|chang|touch|delet|commit)\w*)*(?: (?:it|them|these|this|those))?(?: files?)?$",
    re.IGNORECASE,
)
_NAME: Final = re.compile(
    r"`([^`\s]+)`|(?<![\w/.*@-])((?:[\w.*@-]+/)+[\w.*-]*|\.env(?:\.[\w*]+)*|[\w*-]+(?:\.[\w*-]+)+)(?![\w/(])"
)
_REST: Final = re.compile(
    r"(?:\b(?:files?|folders?|director(?:y|ies)|contents?|of|in|inside|under|within|from|into|to|or|and|nor|with|code|generated|auto-?generated|by|hand|manual|itself|lock|lock ?files?|lockfiles?|"
    r"vendored|vendor|built|build|artifacts?|output|e\.?g|i\.?e|such as|like|including|is|are|be|it|them|matching|ending|extension|existing|source)\b|[`/,.()\s\"':&-])*",
    re.IGNORECASE,
)
_NEW_ONES: Final = re.compile(
    r"\b(?:existing|applied|already|old|past|previous|committed|merged|released|shipped|historic\w*|public|signature|format|schema of|structure|api|names?|section|version|line|contract)\b",
    re.IGNORECASE,
)
_MIGRATION: Final = re.compile(r"\bmigrations?\b", re.IGNORECASE)
_GENERATED: Final = re.compile(r"\b(?:auto-?)?generated\b", re.IGNORECASE)
_LOCKS: Final = re.compile(r"\block ?-?files?\b", re.IGNORECASE)
_NO_NAME: Final = re.compile(r"[()<>={}|;$#\\]|::|\*\*\*|:\w")
_FOLDER: Final = r"`?[\w.@-]+/[\w.@/*-]*`?"
_PLACED: Final = re.compile(
    rf"(?:please |always |only )*(?:work|edit|write|change|make (?:your |all )?(?:changes|edits))(?: only)? (?:in|inside|under) {_FOLDER}"
    rf"(?:,|,? and|,? but) (?:not|never) (?:in|inside|under) (?P<what>{_FOLDER})\.?",
    re.IGNORECASE,
)
_FROZEN: Final = re.compile(r"\b(?:read[- ]only|off[- ]limits|immutable)\b", re.IGNORECASE)
_MARKED: Final = re.compile(
    r"\b(?:generated|vendored|read-only|produced|built|managed|compiled|synced|owned)\b", re.IGNORECASE
)


def edited(sentence: Sentence) -> Pattern | None:
    """Match "never edit `dist/`", "do not touch generated files", "`schema.ts` is generated, do not edit it"."""
    globs: list[str] = []
    for ban in sentence.bans():
        if ban.is_asked:
            return None
        if _FROZEN.search(sentence.text) and _NAME.match(ban.core):
            globs += _globs(ban.core)
        elif _BARE.match(ban.core):
            globs += _globs(_marked(sentence))
        elif (found := _EDITS.match(ban.core)) and not _NEW_ONES.search(ban.what):
            globs += _globs(ban.core[found.end() :])
    return Pattern(files=tuple(dict.fromkeys(globs))) if globs else None


def placed(sentence: Sentence) -> Pattern | None:
    """Match "work in `staging/`, not in `live/`". Only `live/` is forbidden: other folders may hold tests."""
    found = _PLACED.fullmatch(sentence.text)
    globs = _globs(found["what"]) if found else []
    return Pattern(files=tuple(globs)) if globs else None


def _marked(sentence: Sentence) -> str:
    """Return the subject of a clause that gives the reason: "`x` is generated"."""
    for clause in sentence.clauses:
        if (found := _MARKED.search(clause)) and not _MIGRATION.search(clause):
            head = re.split(r"\b(?:is|are)\b", clause[: found.start()])[0]
            if head.strip() and _NAME.search(head):
                return head
    return ""


def _globs(text: str) -> list[str]:
    """Return the globs of the files that a text names; empty if the text contains anything else."""
    names = [name for each in _NAME.finditer(text) if (name := _glob(each[1] or each[2]))]
    rest = _NAME.sub(" ", text)
    if len(names) != len(_NAME.findall(text)) or not _REST.fullmatch(rest):
        return []
    if any(_MIGRATION.search(each) for each in (*names, text)) and not _GENERATED.search(text):
        return []
    if names:
        return names
    if _LOCKS.search(text):
        return list(signs.LOCKS)
    return list(signs.GENERATED) if _GENERATED.search(text) else []


def _glob(name: str) -> str:
    """Return the glob for a name, empty if it is not the name of a file."""
    name = name.removeprefix("./").removeprefix("@/").rstrip(".,;:")
    if name.startswith(signs.NO_FILES) or name in signs.NO_NAMES or _NO_NAME.search(name):
        return ""
    last = name.rstrip("/").rpartition("/")[2]
    is_file = last.rpartition(".")[2].lower() in signs.SUFFIXES and "." in last
    is_dotted = bool(re.fullmatch(r"\.[a-z][\w.*-]+", last))
    is_known = last in signs.NAMES
    return name if is_file or is_dotted or is_known or "/" in name else ""
