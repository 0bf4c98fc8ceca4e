"""A person's answers to the question whether agents may get something unsolicited. They stay on this machine."""

from learning_memory_server.journal.records import Records
from learning_memory_server.model.answer import Answer, Said


class Answers(Records[Answer]):
    """The answers in the journal."""

    def said(self, name: str) -> Said | None:
        """Return what a person has said last of something, None if nothing, or if that was taken back."""
        found = self.find(name)
        return found.said if found and found.said is not Said.UNDO else None

    def is_yes(self, name: str) -> bool:
        """Return whether agents may be told something because a person has said so."""
        return self.said(name) in {Said.YES, Said.RULE}

    def is_never(self, name: str) -> bool:
        """Return whether a person wants a thing never shown unsolicited."""
        return self.said(name) is Said.NEVER
