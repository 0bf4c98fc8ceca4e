"""Calls that the user refused: which words can be shown again, and the stored record of such a call."""

from learning_memory_server.lessons.errors.sanitize import tidied
from learning_memory_server.lessons.errors.transcripts import Refused
from learning_memory_server.model import limits
from learning_memory_server.model.lines import one_line, shortened
from learning_memory_server.model.memory import Refusal
from learning_memory_server.redaction.gate import RedactionGate


def can_be_kept(words: str) -> bool:
    """Whether words can be shown again: one short line, printable and without an address."""
    is_line = 0 < len(words) <= limits.REFUSAL_WORDS_MAX and words == one_line(words)
    return is_line and not any(mark in words.casefold() for mark in ("://", "www."))


async def refusal_of(refused: Refused, session: str, project: str, folder: str, gate: RedactionGate) -> Refusal:
    """Return the redacted record of a refused call, without folders of this machine; `session` is a hash."""
    given = {"call": tidied(one_line(refused.call), project, folder), "words": refused.words}
    call, words = (await gate.pass_data(given)).data.values()
    return Refusal(refused.tool, shortened(call, limits.COMMAND_MAX), words, refused.at, sessions=(session,))
