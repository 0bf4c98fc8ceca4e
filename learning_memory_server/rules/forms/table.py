"""Convert the most common kinds of sentences to patterns. Other sentences get none: a false pattern is worse."""

from collections.abc import Callable
from typing import Final, NamedTuple

from learning_memory_server.model.rule import Pattern, When
from learning_memory_server.rules.forms import (
    checks as check_forms,
    files as file_forms,
    git as git_forms,
    instead as command_forms,
    messages as message_forms,
    wording,
)
from learning_memory_server.rules.forms.places import placed
from learning_memory_server.rules.forms.sentences import Sentence, read_sentence

in_words: Final = wording.in_words


class Formed(NamedTuple):
    """The pattern of a sentence, and when agents are shown the rule."""

    when: When
    pattern: Pattern
    folder: str = ""  # the folder to which the sentence limits the rule


_FORMS: Final[tuple[tuple[When, Callable[[Sentence], Pattern | None]], ...]] = (
    (When.CALL, message_forms.trailer),
    (When.DONE, check_forms.done),
    (When.DONE, check_forms.delivered),
    (When.CALL, check_forms.first),
    (When.CALL, git_forms.force),
    (When.CALL, git_forms.branch),
    (When.CALL, git_forms.add_all),
    (When.CALL, git_forms.no_verify),
    (When.CALL, git_forms.unasked),
    (When.CALL, git_forms.squash),
    (When.CALL, message_forms.message),
    (When.FILE, file_forms.edited),
    (When.FILE, file_forms.placed),
    (When.CALL, command_forms.instead),
    (When.CALL, command_forms.never),
)
"""Each parser with the time at which its rules are shown, in order of priority."""

READ_MAX: Final = 600


def form_of(sentence: str) -> Formed | None:
    """Return the pattern of a sentence of a known kind; None for any other sentence."""
    if len(sentence) > READ_MAX:
        return None
    formed, place = _formed(sentence), placed(sentence)
    # Globs of files contain the folder, and checks may run anywhere: only bans on calls are limited to a folder.
    if formed and (formed.when is not When.CALL or formed.pattern.first):
        return formed
    if not place.is_clear:
        return None
    limited = _formed(place.text) if place.folder else None
    if limited and limited.when is When.CALL and not limited.pattern.first:
        return limited._replace(folder=place.folder)
    return None if place.folder else formed


def _formed(sentence: str) -> Formed | None:
    read = read_sentence(sentence)
    if read is None:
        return None
    for when, form in _FORMS:
        if pattern := form(read):
            return Formed(when, pattern)
    return None
