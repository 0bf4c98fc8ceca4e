"""Triggers: events of an agent's session that may lead to advice."""

from dataclasses import dataclass
from typing import Final

from learning_memory_server.model.advice import TriggerKind
from learning_memory_server.model.entry import Ghap

RESUMED: Final = "resume"  # The source of a session that starts with its earlier context


@dataclass(frozen=True, slots=True)
class Trigger:
    """An event of a session, as reported by its client or a tool call. Unknown fields are empty."""

    kind: TriggerKind
    context: str = ""  # a hash of the client's name for the session
    key: str = ""  # the client's id of the call; triggers with the same key get the same answer
    folder: str = ""  # the working directory
    folders: tuple[str, ...] = ()  # of the project, the top folder first; empty if not determined
    transcript: str = ""  # the file to which the client writes the session
    text: str = ""  # a prompt, a subagent's task, or the agent's last message
    kind_of_agent: str = ""  # of a subagent
    command: str = ""
    output: str = ""
    error: str = ""  # the client's report of a failed command
    file: str = ""  # a file that a tool has read or edited, or is about to edit, usually an absolute path
    content: str = ""  # the new text of an edit
    before: str = ""  # the text that the edit replaces
    loads: tuple[str, ...] = ()  # the names of the instruction files that the client loads at a start
    source: str = ""  # why the session starts
    is_edit: bool = False  # the file was edited or created
    is_background: bool = False  # the command is still running, so its end is unknown
    is_unknown: bool = False  # the client does not report whether the command succeeded
    is_again: bool = False  # the agent continues because of this hook, or the client may report a session's start late
    has_no_prompts: bool = False  # the client does not pass on advice at prompts
    entry: Ghap | None = None  # the entry that a call has just started or updated

    @property
    def is_of_entry(self) -> bool:
        """Whether it is a call that started or updated an entry."""
        return self.kind in {TriggerKind.ENTRY_START, TriggerKind.ENTRY_UPDATE}
