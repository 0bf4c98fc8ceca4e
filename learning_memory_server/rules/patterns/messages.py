"""Whether a commit message or the body of a pull request conforms to a rule."""

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

from learning_memory_server.model.rule import MessageForm

_CONVENTIONAL: Final = re.compile(r"(?:[^\w\s/-]{1,9} ?|:\w{1,40}: ?)?[\w/-]{1,40}(\([^)]*\))?!?: ")
_OF_GIT: Final = re.compile(r"(merge|revert)\b|(fixup|squash|amend)!", re.IGNORECASE)
_NAMED_EMOJI: Final = re.compile(r"(?<!\S):([a-z][a-z_]+):(?!\S)")
_EMOJI_NAMES: Final = frozenset(
    """
    adhesive_bandage airplane alembic alien ambulance arrow_down arrow_up art bar_chart beers bento boom bookmark bricks
    broom bug building_construction bulb busts_in_silhouette camera_flash card_file_box chart_with_upwards_trend
    children_crossing clapper closed_lock_with_key clown_face coffin construction construction_worker dizzy egg fire
    fireworks gear globe_with_meridians goal_net green_heart hammer heart heavy_minus_sign heavy_plus_sign iphone
    joy label lipstick lock loud_sound mag memo money_with_wings monocle_face mute necktie ok_hand package
    page_facing_up party_popper passport_control pencil pencil2 poop pushpin recycle rewind robot rocket rotating_light
    safety_vest see_no_evil seedling shirt smile smiley sparkles speech_balloon star stethoscope tada technologist
    test_tube thread thumbsup triangular_flag_on_post truck twisted_rightwards_arrows up wastebasket warning wheelchair
    white_check_mark wink wrench x zap
    """.split()
)
"""Names of emojis in messages; other words between colons may be part of a route."""
_AFTER_NAME: Final = re.compile(
    r"(?:[\s,/\[\]-]*+(?:code|opus|sonnet|haiku|fable|cli|agents?|bot|ai|assistant|pro|flash|chat|gpt|[ov]?\d[\w.]*+|\([^()]*+\)))*+"
    r"\s*(?:<.*)?$"
)
"""Text that may follow the name of an AI, but not a person's first name."""
_TRAILER: Final = re.compile(r"[\w-]+: ?\S.*")
_BLANK: Final = re.compile(r"\n[ \t]*\n")
_GENERATED: Final = "generated "
_BEGINNING: Final = re.compile(r"(?:^|[.!?]\s)[^\w\n]*", re.MULTILINE)
_EMOJI: Final = re.compile("[\U0001f000-\U0001faff\u2600-\u2712\u2714-\u2716\u2719-\u27bf\u2b50\u2b55\ufe0f]")
_UNKNOWN: Final = ("$", "`")
_OTHERS_IN: Final = 5


def breaks(form: MessageForm, texts: Sequence[str]) -> bool | None:
    """Whether a message violates a form; None if it cannot be determined."""
    given = [each.strip() for each in texts if each.strip()]
    if not given:
        return None
    match form:
        case MessageForm.CONVENTIONAL:
            return _is_unconventional(given[0].split("\n", 1)[0])
        case MessageForm.ONE_LINE:
            return any(len([line for line in each.splitlines() if line.strip()]) > 1 for each in given)
        case MessageForm.LATIN:
            return any(map(_is_of_other_letters, given))
        case MessageForm.NO_EMOJI:
            return any(map(_has_emoji, given))


def names(marks: Sequence[str], message: str) -> bool:
    """Whether a message has one of some marks: a trailer at its end, the beginning of a line, or other words."""
    text = message.casefold()
    trailers = _trailers(text)
    return any(_has_mark(each.casefold(), text, trailers) for each in marks)


def _has_mark(mark: str, text: str, trailers: Sequence[str]) -> bool:
    key, is_trailer, name = mark.partition(":")
    if is_trailer:
        found = (each.removeprefix(f"{key}:").lstrip() for each in trailers if each.startswith(f"{key}:"))
        name = name.strip()
        return any(not name or _is_named(each, name) for each in found)
    if mark.startswith("@"):
        return any(mark in each for each in trailers)
    if mark.startswith(_GENERATED):
        return any(text.startswith(mark, begin.end()) for begin in _BEGINNING.finditer(text))
    return mark in text.replace(f"{_GENERATED}with", "").replace(f"{_GENERATED}by", "")


def _is_named(author: str, name: str) -> bool:
    return author.startswith(name) and bool(_AFTER_NAME.match(author[len(name) :]))


def _trailers(text: str) -> list[str]:
    """Return the lines of the last paragraph, and of other paragraphs that consist of trailers."""
    blocks = [[line.strip() for line in each.splitlines()] for each in _BLANK.split(text.strip())]
    found = [each for each in blocks[:-1] if all(map(_TRAILER.fullmatch, each))]
    return [line for each in (*found, *blocks[-1:]) for line in each]


def _has_emoji(text: str) -> bool:
    names = _NAMED_EMOJI.finditer(text)
    return bool(_EMOJI.search(text)) or any(not each.start() or each[1] in _EMOJI_NAMES for each in names)


def _is_unconventional(line: str) -> bool | None:
    if _CONVENTIONAL.match(line) or _OF_GIT.match(line):
        return False
    # A variable may contain the beginning
    return None if any(mark in line.partition(": ")[0] for mark in _UNKNOWN) else True


def _is_of_other_letters(text: str) -> bool:
    letters = [each for each in text if each.isalpha()]
    others = [each for each in letters if not unicodedata.name(each, "").startswith(("LATIN", "FULLWIDTH LATIN"))]
    return bool(others) and len(others) * _OTHERS_IN >= len(letters)
