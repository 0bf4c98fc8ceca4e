"""Check shared lessons, when they are shared, in CI, and when they are read: refusals, and questions to a person."""

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

from learning_memory_server.model.lines import one_line
from learning_memory_server.redaction.base import Redactor
from learning_memory_server.redaction.values import has_all_sorts, is_random
from learning_memory_server.sharing.files import SharedFile
from learning_memory_server.system.invisible import bare, hides


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    """Return an expression for each reason to refuse a text without combining marks, which could disguise words."""
    found = tomllib.loads(Path(__file__).with_name("refused.toml").read_text("utf-8"))
    return {
        reason: re.compile(bare("|".join(f"(?:{each})" for each in patterns)), re.IGNORECASE | re.MULTILINE)
        for reason, patterns in found.items()
    }


_NOT_A_NAME: Final = re.compile(r"[^\w .'-]+|_")
_NAME_MAX: Final = 40
_RANDOM: Final = re.compile(r"\b[A-Za-z0-9]{12,}\b")
_KEY_LEAST: Final = 24  # Minimum letters and digits of a key that lacks mixed case: a short commit hash is not a key
_ALPHABETS: Final = re.compile(r"LATIN|CYRILLIC|GREEK|ARMENIAN|CHEROKEE")  # Scripts with similar letters


def objections(file: SharedFile, redactor: Redactor) -> Iterator[tuple[str, str]]:
    """Yield the reasons against sharing or reading a file, each with the offending words, which may be secret."""
    yield from dict(each for text in file.texts.values() for each in _objections(text, redactor)).items()


def _objections(text: str, redactor: Redactor) -> Iterator[tuple[str, str]]:
    redacted, plain = redactor.redact(text), bare(text)
    if redacted.kinds:
        yield "redaction would mark a part of it", " ".join(each for each in text.split() if each not in redacted.text)
    elif random := [word for word in _RANDOM.findall(plain) if _is_random(word)]:
        yield "it has what looks like a secret", ", ".join(random)
    if hides(text) or one_line(text) != " ".join(text.split()):
        yield "it has invisible characters", ""
    if mixed := [word for word in re.findall(r"\w+", plain) if not word.isascii() and len(_alphabets(word)) > 1]:
        yield "it has words of more than one alphabet", ", ".join(mixed)
    for reason, pattern in _patterns().items():
        if found := pattern.search(plain):
            yield reason, one_line(found[0])


@lru_cache
def named(name: str) -> str:
    """Return the name of an author or a branch in a form safe to show; empty if it may be more than a name."""
    plain = " ".join(_NOT_A_NAME.sub(" ", name).split())
    return "" if len(plain) > _NAME_MAX or any(each.search(bare(plain)) for each in _patterns().values()) else plain


_NAME: Final = re.compile(r"[\w@+./-]{1,120}")
_THREE_WORDS: Final = re.compile(r"(?<![^\W\d_])(?:[^\W\d_]{2,}+[@+._-]++){2}[^\W\d_]{2}")
_ENDING: Final = re.compile(r"\.\w{1,6}$")
_SEAMS: Final = re.compile(r"(?<=[a-z])(?=[A-Z])|[@+./_-]+")


@lru_cache
def told_name(name: str) -> str:
    """Return the name of a file or a branch if it is safe to show to an agent; empty if it may contain a message."""
    # With spaces, three consecutive words would form a sentence.
    if not _NAME.fullmatch(name) or _THREE_WORDS.search(_ENDING.sub("", name)):
        return ""
    words = bare(_SEAMS.sub(" ", name))
    return "" if any(each.search(words) for each in _patterns().values()) else name


def _is_random(word: str) -> bool:
    return is_random(word) and (has_all_sorts(word) or (len(word) >= _KEY_LEAST and not word.isalpha()))


def _alphabets(word: str) -> set[str]:
    return {match[0] for letter in word if (match := _ALPHABETS.match(unicodedata.name(letter, "")))}


_ASKED: Final = re.compile(
    r"(?:/home/|/Users/|/root\b|[A-Za-z]:\\+Users\\+|/var/home/)[\w.-]*"
    r"|\b(?:10|127|192\.168|172\.(?:1[6-9]|2\d|3[01])|169\.254)(?:\.\d{1,3}){2,3}\b"
    r"|\b[\w-]{1,64}(?:\.[\w-]{1,64}){0,8}\.(?:local|lan|internal|corp|intranet|home|private|localdomain)\b"
    r"|[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+",
    re.IGNORECASE,
)
_NAME_LEAST: Final = 3
_ORDINARY: Final = re.compile(
    "root|user|test|admin|dev|build|git|main|ubuntu|runner|nobody|github|actions|bot", re.IGNORECASE
)


def doubtful(file: SharedFile, names: Iterable[str]) -> list[str]:
    """Return the words to ask a person about: home folders, private hosts, addresses, and these names."""
    text = " ".join(file.texts.values())
    found = [match[0] for match in _ASKED.finditer(text)]
    known = [name for name in set(names) if len(name) >= _NAME_LEAST and not _ORDINARY.fullmatch(name)]
    found += [name for name in known if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE)]
    return sorted(set(found))


def parts_of(names: Iterable[str]) -> set[str]:
    """Return names and their parts, since people are called by either."""
    return {part for name in names for part in (name, *re.split(r"[\s.@]+", name.partition("@")[0]))}
