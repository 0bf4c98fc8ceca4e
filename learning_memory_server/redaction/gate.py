"""The gate before the store: it removes secrets from the JSON-like data of calls and imports."""

import asyncio
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from learning_memory_server.errors import InvalidSettingsError
from learning_memory_server.redaction.base import Redacted, Redactor, word_set

_INDEX: Final = re.compile(r"\[\d+\]")

_PLAIN: Final = word_set(
    "goal hypothesis action prediction note notes result surprise root_cause description lesson what_worked takeaway "
    "text query title command runs event prompt folder output stderr error source tags id created_at changed_at resolved_at at "
    "date timestamp project agent_session agent session domain strategy status category kind language ghap_id "
    "memory_id cluster_id same_as replaces words request requests history resolution data records entries event level tool outcome type"
)
"""Our own field names. They do not announce secrets, so their texts are searched once, without the name."""


_NAME_MAX: Final = 200  # Maximum length of a key that is searched together with its text
_ID: Final = re.compile(
    r"(?:ghap|value)_\d{8}_\d{6}_[0-9a-f]{6}|(?:verdict|advice)_[0-9a-f]{24}|rule_[0-9a-f]{32}|shared_[0-9a-f]{16}|failure_[0-9a-f]{16}(?:_[0-9a-f]{12})?|(?:full|strategy|surprise|root_cause)_\d{1,9}"
)
"""One of our ids. Its digits may match a user's pattern, but it is never a secret."""
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_MOMENT: Final = re.compile(
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d:?\d\d)?)?", re.IGNORECASE
)
_FORMS: Final = {
    **dict.fromkeys(("id", "memory_id", "replaces"), _UUID),
    **dict.fromkeys(("agent_session", "agent"), re.compile(r"[0-9a-f]{16}")),
    **dict.fromkeys(
        "since date_from date_to timestamp date at created_at changed_at resolved_at captured_at".split(), _MOMENT
    ),
}
"""The fields with values that are not secrets, and the form of each value."""


class RedactedData(NamedTuple):
    """Redacted data, with the number of secrets by kind, and by location, such as `metadata.tags[0]`."""

    data: Any
    kinds: Mapping[str, int]
    places: Mapping[str, Mapping[str, int]] = MappingProxyType({})


def redact_data(redactor: Redactor, data: Any, kept: Collection[str] = ()) -> RedactedData:
    """Return data without secrets in its texts and keys. The text of a key is searched together with the key.

    Keys that become equal are numbered. Ids, times and the locations in `kept`, such as `history[].at`, are unchanged.
    """
    walk = _Walk(redactor, frozenset(kept))
    redacted = walk.redacted(data, "", "")
    kinds = sum(walk.places.values(), Counter[str]())
    return RedactedData(redacted, dict(sorted(kinds.items())), walk.places)


class _Walk:
    """A walk through data that records the locations of secrets."""

    def __init__(self, redactor: Redactor, kept: frozenset[str]) -> None:
        self._redactor = redactor
        self._kept = kept
        self.places: dict[str, Counter[str]] = {}

    def redacted(self, data: Any, name: str, place: str) -> Any:
        """Return a part of the data without secrets, given its key `name` and location `place` ("" for all data)."""
        if self._kept and _INDEX.sub("[]", place) in self._kept:
            return data
        if isinstance(data, str):
            return self._text(data, name, place)
        if isinstance(data, list | tuple):
            return [self.redacted(item, name, f"{place}[{number}]") for number, item in enumerate(data)]
        if not isinstance(data, dict):
            return data
        # One call per level: data may be nested nearly as deep as Python's stack allows.
        redacted: dict[Any, Any] = {}
        numbers = Counter[str]()
        for key, value in data.items():
            free, kinds = self._key(key, redacted, data, numbers)
            inside = f"{place}.{free}" if place else str(free)
            self._note(inside, kinds)
            redacted[free] = self.redacted(value, key if isinstance(key, str) else name, inside)
        return redacted

    def _key(
        self, key: Any, taken: Collection[Any], given: Collection[Any], numbers: Counter[str]
    ) -> tuple[Any, Mapping[str, int]]:
        """Return a key without secrets, numbered if it would be one that is there, and what was in it.

        `numbers` has the last number of each key: thousands of secrets are replaced by the same text.
        """
        is_text = isinstance(key, str) and key not in _PLAIN and not _is_ours(key)
        now = self._redactor.redact(key) if is_text else Redacted(key)
        free = now.text
        while free in taken or (free != key and free in given):
            numbers[now.text] += 1
            free = f"{now.text} {numbers[now.text] + 1}"
        return free, now.kinds

    def _text(self, text: str, name: str, place: str) -> str:
        if _is_ours(text, name):
            return text
        redacted = _redacted_text(self._redactor, text, name)
        self._note(place, redacted.kinds)
        return redacted.text

    def _note(self, place: str, kinds: Mapping[str, int]) -> None:
        if kinds:
            self.places.setdefault(place, Counter()).update(kinds)


def _is_ours(text: str, name: str = "") -> bool:
    """Whether a text is one of our ids, or has the form that its name requires: an id, a session or a time."""
    text = text.strip()
    form = _FORMS.get(name)
    return _ID.fullmatch(text) is not None or (form is not None and form.fullmatch(text) is not None)


def _redacted_text(redactor: Redactor, text: str, name: str) -> Redacted:
    """Return a named text without its secrets."""
    result = redactor.redact(text)
    if (
        not result.kinds
        and 0 < len(name) <= _NAME_MAX
        and name not in _PLAIN
        and '"' not in name + text
        and "\n" not in name + text
    ):
        before = f'"{name}": "'
        in_context = redactor.redact(f'{before}{text}"')
        if in_context.text.startswith(before) and in_context.text.endswith('"'):
            return Redacted(in_context.text[len(before) : -1], in_context.kinds)
    return result


def _redact_texts(redactor: Redactor, texts: Iterable[str]) -> list[str]:
    return [each if _is_ours(each) else redactor.redact(each).text for each in texts]


_AT_ONCE: Final = 5_000  # Characters to search on the event loop, in up to 30 ms; longer texts use a thread


class RedactionGate:
    """Removes the secrets from data.

    Args:
        redactor: Replaces secrets; None passes everything.
        is_bounded: Whether the redactor is fast on short texts; with a user's patterns, it may not be.
    """

    def __init__(self, redactor: Redactor | None = None, *, is_bounded: bool = True) -> None:
        self._redactor = redactor
        self._is_bounded = is_bounded

    async def pass_data(self, data: Any) -> RedactedData:
        """Return JSON-like data without its secrets, and the number of replaced secrets by kind."""
        if self._redactor is None:
            return RedactedData(data, {})
        if self._is_bounded and _characters(data) <= _AT_ONCE:
            return redact_data(self._redactor, data)
        return await asyncio.to_thread(redact_data, self._redactor, data)

    async def pass_texts(self, *texts: str) -> list[str]:
        """Return unnamed texts without their secrets; see `pass_data`."""
        if self._redactor is None:
            return list(texts)
        if self._is_bounded and sum(map(len, texts)) <= _AT_ONCE:
            return _redact_texts(self._redactor, texts)
        return await asyncio.to_thread(_redact_texts, self._redactor, texts)

    @property
    def redactor(self) -> Redactor:
        """The redactor. Raises InvalidSettingsError if redaction is off."""
        if self._redactor is None:
            raise InvalidSettingsError(
                "Redaction is off (redaction = false), so secrets are neither looked for nor kept out of what is stored.",
                hint="Set LEARNING_MEMORY_REDACTION=true, or `redaction = true` in the settings file. A running hub "
                "keeps its settings: `learning-memory-server hub stop` ends it. Then run the command again.",
            )
        return self._redactor

    def describe(self) -> str:
        """Return the state of redaction, in words."""
        return "own patterns" if self._redactor else "off"


def listed(kinds: Mapping[str, int]) -> str:
    """Format counts by kind, such as `1 github token, 2 passwords`."""
    return ", ".join(f"{count:,} {kind}{'s' if count > 1 else ''}" for kind, count in kinds.items())


def _characters(data: Any) -> int:
    if isinstance(data, str):
        return len(data)
    if isinstance(data, dict):
        return sum(_characters(key) + _characters(value) for key, value in data.items())
    if isinstance(data, list | tuple):
        return sum(map(_characters, data))
    return 0
