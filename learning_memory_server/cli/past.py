"""The account of past sessions that a person reads: the commands that failed most, what fixed them, and the tasks."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from rich.text import Text

from learning_memory_server.cli import out
from learning_memory_server.learning.failures import transcripts
from learning_memory_server.learning.failures.past import Loss
from learning_memory_server.learning.failures.sanitize import tidied, whole_words
from learning_memory_server.model.lines import shortened
from learning_memory_server.redaction.gate import RedactionGate
from learning_memory_server.server.views import fields

LOSSES: Final = 6
_LOSS: Final = ("failed", "sessions", "command", "line", "fix", "fixed")
_LATEST: Final = 3  # How many sessions and refusals are told of: the last ones
_TEXT_MAX: Final = 110
_EXAMINED: Final = 2_000  # Characters of a prompt and of an answer that are looked at


class Asked(NamedTuple):
    """What a session was asked first, and how it ended."""

    at: datetime
    prompt: str
    ending: str


class Account(NamedTuple):
    """What past sessions show a person."""

    sessions: int = 0
    commands: int = 0
    failed: int = 0
    losses: Sequence[Loss] = ()
    asked: Sequence[Asked] = ()
    refusals: Sequence[str] = ()  # the calls that the person refused with words, the last one first

    def show(self, fixes: str) -> None:
        """Print it; `fixes` says what can be done with what worked in place of a command."""
        ran = f"In {out.counted(self.sessions, 'session')} your agents ran {out.counted(self.commands, 'command')}"
        out.say(f"{ran}, of which {self.failed:,} failed.", "bold")
        for each in self.losses:
            out.hanging(Text(f"{each.failed:>5,}  ", "red"), Text(out.one_line(each.sentence)))
        if not self.losses:
            out.say("No command failed in the same way in two sessions, but for work in progress.")
        if any(each.is_instead for each in self.losses):
            out.say(fixes, "dim")
        for words in self.refusals[:_LATEST]:
            out.hanging(Text("   no  ", "red"), Text(shortened(out.one_line(words), 2 * _TEXT_MAX)))
        if self.refusals:
            refusals = out.counted(len(self.refusals), "call")
            out.say(f"You refused {refusals} with words. To let agents know them: learning-memory-server review", "dim")
        for asked in self.asked:
            out.hanging(
                Text(f"{out.date(asked.at)}  ", "dim"),
                Text(f"asked: {asked.prompt}\n") + Text(f"ended: {asked.ending}", "dim"),
            )

    def document(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "losses": [fields(_LOSS, each) for each in self.losses],
            "asked": [fields(Asked, each) for each in self.asked],
            "refused": len(self.refusals),
        }


async def asked_in(files: Sequence[Path], project: str, gate: RedactionGate) -> list[Asked]:
    """Return what the last sessions in some files were asked, and how they ended, redacted; the last one first."""
    found = []
    for task in filter(None, map(transcripts.task_in, files)):
        texts = [whole_words(text, _EXAMINED) for text in (task.prompt, task.ending)]
        texts = (await gate.pass_data({"text": texts})).data["text"]
        prompt, ending = (
            shortened(out.one_line(tidied(text, project, task.folder or None)), _TEXT_MAX) for text in texts
        )
        found.append(Asked(task.at, prompt, ending))
        if len(found) == _LATEST:
            break
    return found
