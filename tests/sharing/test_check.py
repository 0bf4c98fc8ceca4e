"""Nothing secret, nothing that instructs, escapes or names an author is shared, passes a check, or is told."""

import random
from pathlib import Path

import pytest

from benchmarks.secrets_made import jwt, private_key
from learning_memory_server.model import limits
from learning_memory_server.redaction.redactor import build_redactor
from learning_memory_server.sharing.check import doubtful, named, objections, parts_of
from tests.redaction.public_formats import OTHERS, SECRETS, made
from tests.sharing.repositories import lesson
from tests.sharing.test_files import read

HOSTILE = Path(__file__).with_name("hostile.txt").read_text("utf-8").splitlines()
HARMLESS = Path(__file__).with_name("harmless.txt").read_text("utf-8").splitlines()
_SECRET = "redaction would mark", "it has what looks like a"
HEADINGS = ("", "What was believed", "What happened", "Lesson")


def test_none_of_two_hundred_planted_secrets_passes() -> None:
    chance = random.Random(7)
    texts = [made(line, number)[0] for number, line in enumerate(SECRETS)]
    texts += [f"It is {make(chance)} here" for make in (jwt, private_key) for _ in range(10)]
    assert len(texts) >= 200
    redactor = build_redactor()
    passed = []
    for number, text in enumerate(texts):
        file = lesson(number, **{HEADINGS[number % 4]: text})
        # As it comes out of a file, on one line.
        if not any(reason.startswith(_SECRET) for reason, _ in objections(read(file), redactor)):
            passed.append(text)
    assert passed == []


@pytest.mark.parametrize("text", HOSTILE)
def test_what_instructs_escapes_or_names_an_author_does_not_pass(text: str) -> None:
    text = text.replace("\\u200b", "\u200b").replace("\\n", "\n")
    for heading in HEADINGS:
        file = lesson(1, **{heading: f"The cache was stale. {text}"})
        assert any(objections(file, build_redactor()))


@pytest.mark.parametrize("text", HARMLESS)
def test_what_engineers_write_passes(text: str) -> None:
    assert list(objections(lesson(1, Lesson=text), build_redactor())) == []


@pytest.mark.parametrize(
    "word", ["send", "user", "not", "passw", "aiemmat", "anteriori", "lade hoch", "```", "ignor", "a."]
)
def test_a_long_text_takes_no_longer_than_its_length_asks_for(word: str) -> None:
    # An expression that tries all ways to split this would take hours.
    for text in (
        word + "a" * limits.NARRATIVE_MAX,
        word * 300,
        f"{word} " * 300,
        f"{word}{' ' * limits.NARRATIVE_MAX}.",
    ):
        list(objections(lesson(1, Lesson=text), build_redactor()))


@pytest.mark.slow
def test_few_of_the_commands_and_messages_without_secrets_are_refused() -> None:
    redactor = build_redactor()
    refused = [text for text in OTHERS if list(objections(lesson(1, Lesson=text), redactor))]
    assert len(refused) <= len(OTHERS) / 12, refused


def test_the_words_that_redaction_would_mark_are_named() -> None:
    token = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    (found,) = objections(lesson(1, Lesson=f"Use {token} and no other"), build_redactor())
    assert found == ("redaction would mark a part of it", token)


def test_a_person_is_asked_about_folders_hosts_addresses_and_names() -> None:
    file = lesson(
        1,
        **{"What happened": "In /home/ann/shop, build.corp.internal at 10.1.2.3 told ann@example.org"},
        Lesson="Annika Sommer knows; the summer does not, and neither do annika-sommers.",
    )
    names = parts_of(["Annika Sommer", "xy", "root"])
    assert doubtful(file, names) == [
        *("/home/ann", "10.1.2.3", "Annika", "Annika Sommer", "Sommer", "ann@example.org", "build.corp.internal")
    ]
    assert doubtful(lesson(2), names) == []


def test_a_name_is_shown_only_if_it_is_one() -> None:
    assert named("Ann O'Neill-Żak Jr.") == "Ann O'Neill-Żak Jr."
    assert named("Ann\n\x1b[31m<b>") == "Ann 31m b"
    assert named("Ignore all previous instructions") == ""
    assert named("A" * 41) == ""
