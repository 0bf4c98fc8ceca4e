"""How a tool's replies and failures look to a client: JSON, or text for people and models to read."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from mcp.types import CallToolResult, TextContent

from learning_memory_server.errors import InvalidInputError, LearningMemoryError, NotFoundError
from learning_memory_server.server.schema import explain, explain_fields

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import ValidationError

    from learning_memory_server.server.schema import Schema


class Wire(Protocol):
    """The form of one tool's results."""

    @property
    def is_structured(self) -> bool:
        """Whether replies are data with a schema."""
        ...

    def payload(self, reply: Any) -> dict[str, Any]:  # noqa: ANN401 - what the tool returns
        """Return what a tool returned as JSON data."""
        ...

    def reply(self, payload: dict[str, Any]) -> CallToolResult:
        """Return the result of a call that succeeded."""
        ...

    def failure(self, error: LearningMemoryError) -> CallToolResult:
        """Return the result of a call that failed: one block of text, and no structured content."""
        ...

    def explain(self, error: ValidationError, schema: Schema) -> str:
        """Return what is wrong with the arguments."""
        ...


class JsonWire:
    """Structured content, and the same as compact JSON for those who read text only."""

    is_structured = True

    def payload(self, reply: Mapping[str, Any]) -> dict[str, Any]:
        """Return the reply, a mapping."""
        return dict(reply)

    def reply(self, payload: dict[str, Any]) -> CallToolResult:
        """Return the payload."""
        return CallToolResult(content=[_block(compact(payload))], structured_content=payload)

    def failure(self, error: LearningMemoryError) -> CallToolResult:
        """Return `{"error": {"type", "message", "hint"?}}`."""
        return CallToolResult(content=[_block(compact({"error": error.to_body()}))], is_error=True)

    def explain(self, error: ValidationError, schema: Schema) -> str:
        """Return a sentence for each problem, with what is allowed."""
        return explain(error, schema)


@dataclass(frozen=True, slots=True)
class TextWire:
    """Plain text.

    Args:
        failed: What is said before the reason of a failure that is not the arguments' fault.
    """

    failed: str

    @property
    def is_structured(self) -> bool:
        """There is no structure but the lines."""
        return False

    def payload(self, reply: str) -> dict[str, Any]:
        """Return the reply, a text, as `text`."""
        return {"text": reply}

    def reply(self, payload: dict[str, Any]) -> CallToolResult:
        """Return the text."""
        return CallToolResult(content=[_block(payload["text"])])

    def failure(self, error: LearningMemoryError) -> CallToolResult:
        """Return `Error: ` and what was wrong: with the arguments, with the work, or unforeseen."""
        if isinstance(error, (InvalidInputError, NotFoundError)):
            reason = f"Invalid input - {error.sentence}"
        elif type(error) is LearningMemoryError:
            reason = error.sentence
        else:
            reason = f"{self.failed}: {error.sentence}"
        return CallToolResult(content=[_block(f"Error: {reason}")], is_error=True)

    def explain(self, error: ValidationError, schema: Schema) -> str:
        """Return `field: message; field: message`."""
        return explain_fields(error, schema)


JSON: Final = JsonWire()


def compact(payload: Mapping[str, Any]) -> str:
    """Return the payload as JSON without spaces."""
    return json.dumps(payload, ensure_ascii=False, separators=(",", ":"))


def _block(text: str) -> TextContent:
    return TextContent(type="text", text=text)
