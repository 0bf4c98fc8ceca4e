"""Triggers: events of an agent's session that may be a reason for advice."""

from dataclasses import dataclass
from typing import Final

from learning_memory_server.model.advice import TriggerKind
from learning_memory_server.model.entry import Ghap

RESUMED: Final = "resume"  # The source of a session that begins with the context that it had


@dataclass(frozen=True, slots=True)
class Trigger:
    """An event of a session, as its client or a call of a tool says it. Unknown fields are empty."""

    kind: TriggerKind
    context: str = ""  # a hash of the client's name of the session
    key: str = ""  # the client's id of the call; a trigger with the same key is answered in the same way
    folder: str = ""  # the working directory
    folders: tuple[str, ...] = ()  # of the project, the top folder first, if somebody has looked
    transcript: str = ""  # the file that the client writes the session to
    text: str = ""  # a prompt, a subagent's task, or how the agent ends its work
    kind_of_agent: str = ""  # of a subagent
    command: str = ""
    output: str = ""
    error: str = ""  # what the client says of a command that failed
    file: str = ""  # what a tool has read or edited, or is about to edit, mostly an absolute path
    content: str = ""  # the new text of an edit
    before: str = ""  # the text that it replaces
    loads: tuple[str, ...] = ()  # the names of the files of rules that the client loads at a start
    source: str = ""  # why a session begins
    is_edit: bool = False  # the file was edited, or made
    is_background: bool = False  # the command goes on, so that nothing is known of its end
    is_unknown: bool = False  # the client does not say if the command succeeded
    is_again: bool = False  # the agent goes on because of this hook, or the client may say late that a session began
    has_no_prompts: bool = False  # the client passes on nothing that is shown at prompts
    entry: Ghap | None = None  # the entry that a call has just started or updated

    @property
    def is_of_entry(self) -> bool:
        """Whether it is a call that has started or updated an entry."""
        return self.kind in {TriggerKind.ENTRY_START, TriggerKind.ENTRY_UPDATE}
