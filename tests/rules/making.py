"""Rules as a person has accepted them, for tests."""

from datetime import UTC, datetime
from typing import Any, Final

from learning_memory_server.model.rule import CallForm, Origin, OriginKind, Pattern, Rule, RuleState, When

SAID: Final = datetime(2026, 2, 3, 9, tzinfo=UTC)
TRAILER: Final = Pattern(broken=(CallForm(("git", "commit")),), texts=("Co-Authored-By",))
PUSH: Final = Pattern(broken=(CallForm(("git", "push")),), asked=("push",))
LIVE: Final = Pattern(files=("live/**",))
TESTED: Final = Pattern(first=(CallForm(("make", "test")),))


def accepted(text: str, pattern: Pattern | None = None, when: When = When.CALL, **parts: Any) -> Rule:
    """Return a rule of the project `shop` whose id is made of its text."""
    parts = {"origin": Origin(OriginKind.ADDED), "project": "shop", "created_at": SAID, **parts}
    name = f"rule_{text.encode().hex()[:32].ljust(32, '0')}"
    return Rule(
        id=name,
        text=text,
        state=RuleState.ACCEPTED,
        changed_at=parts["created_at"],
        when=when,
        pattern=pattern,
        **parts,
    )
