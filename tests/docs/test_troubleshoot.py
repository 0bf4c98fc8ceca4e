"""The messages on the page of problems are those of the program."""

import re
from typing import Final

import pytest

from tests.docs.test_documents import PACKAGE, ROOT

PAGE: Final = ROOT / "docs" / "how-to" / "troubleshoot.md"
MESSAGE: Final = re.compile(r"`([^`]* [^`]*)`")
FEWEST: Final = 35


def messages() -> list[str]:
    """The messages in the first column of each table."""
    rows = [line.split(" | ")[0] for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| ")]
    return [message for row in rows for message in MESSAGE.findall(row)]


@pytest.fixture(scope="module")
def source() -> str:
    """The program's code, with the parts of each text joined."""
    text = "\n".join(path.read_text("utf-8") for path in sorted((ROOT / PACKAGE).rglob("*.py")))
    return re.sub(r"\"\s*\n\s*f?\"", "", text)


def test_the_page_has_the_messages_that_people_meet() -> None:
    assert len(messages()) >= FEWEST


@pytest.mark.parametrize("message", [message for message in messages() if "..." not in message and '"' not in message])
def test_a_message_of_the_page_is_in_the_program(message: str, source: str) -> None:
    assert message.removesuffix(":").removesuffix(": false") in source
