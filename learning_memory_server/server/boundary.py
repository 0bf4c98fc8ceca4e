"""The one place where a tool's failure becomes a reply."""

from __future__ import annotations

import json
import secrets
import time
from typing import TYPE_CHECKING, Any, Final

import structlog
from pydantic import ValidationError

from learning_memory_server.domain.caller import Caller
from learning_memory_server.errors import InvalidInputError, LearningMemoryError
from learning_memory_server.server.progress import Progress
from learning_memory_server.server.schema import did_you_mean, shorten
from learning_memory_server.server.wire import JSON

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp.types import CallToolResult

    from learning_memory_server.server.tools.toolset import Tool

log = structlog.get_logger()

_OF_THE_CALL: Final = (Caller, Progress)
"""What tools ask for like services, and every call brings along."""


class Boundary:
    """Runs tools: arguments are validated before, and every outcome is a result after.

    Args:
        tools: The tools there are.
        services: One object for each type that a tool asks for, but for what a call brings along.

    Raises:
        KeyError: If a tool asks for a service that is not there.
    """

    def __init__(self, tools: list[Tool], services: Mapping[type, object]) -> None:
        self._tools = {
            tool.name: (tool, {kind: services[kind] for kind in tool.services if kind not in _OF_THE_CALL})
            for tool in tools
        }

    async def call(
        self, name: str, arguments: dict[str, Any], caller: Caller, progress: Progress | None = None
    ) -> CallToolResult:
        """Call a tool and return its result, or its failure, in the form that the tool's results have."""
        wire = self._tools[name][0].wire if name in self._tools else JSON
        request = secrets.token_hex(4)
        started = time.perf_counter()
        with structlog.contextvars.bound_contextvars(tool=name, request=request):
            try:
                payload = await self.run(name, arguments, caller, progress)
            except LearningMemoryError as error:
                log.info("tool.refused", type=error.wire_type, message=error.message)
                return wire.failure(error)
            except Exception:
                # Nothing of an unforeseen failure reaches the client but the number to look it up by.
                log.exception("tool.crashed")
                return wire.failure(unforeseen(request))
            log.info("tool.called", milliseconds=round(1000 * (time.perf_counter() - started), 1))
            return wire.reply(payload)

    async def run(
        self, name: str, arguments: dict[str, Any], caller: Caller, progress: Progress | None = None
    ) -> dict[str, Any]:
        """Validate the arguments, call the tool and return its reply.

        Raises:
            InvalidInputError: If there is no such tool, or it takes other arguments.
            LearningMemoryError: What the tool raises.
        """
        if name not in self._tools:
            raise InvalidInputError(
                f"There is no tool {shorten(name)}; the tools are {', '.join(self._tools)}."
                f"{did_you_mean(name, self._tools)}"
            )
        tool, services = self._tools[name]
        available = {**services, Caller: caller, Progress: progress or Progress()}
        return tool.wire.payload(
            await tool.function(*(available[kind] for kind in tool.services), **_validated(tool, arguments))
        )


def _validated(tool: Tool, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments as the tool takes them.

    Raises:
        InvalidInputError: If it takes others.
    """
    try:
        # As JSON, because that is what a client sends: strictness then means JSON's own types. And null
        # means absent.
        given = {key: value for key, value in arguments.items() if value is not None}
        valid = tool.arguments.model_validate_json(_encoded(given))
    except ValidationError as error:
        raise InvalidInputError(tool.wire.explain(error, tool.input_schema)) from None
    return {name: _one_of(given[name], getattr(valid, name)) for name in valid.model_fields_set}


def _one_of(given: object, valid: object) -> object:
    """Return a text as it was given, if it is the same: the message holds it anyway, and a second may have 40 MB."""
    return given if type(valid) is str and given == valid else valid


def _encoded(arguments: Mapping[str, Any]) -> bytes:
    # Joined once, because a text among them may have 40 MB.
    parts = [b"{"]
    for name, value in arguments.items():
        try:
            parts += [b"," if len(parts) > 1 else b"", json.dumps(name).encode(), b":"]
            parts.append(json.dumps(value, ensure_ascii=False).encode())
        except UnicodeEncodeError:
            raise InvalidInputError(
                f"{name}: holds half of a surrogate pair, such as an emoji that was cut; it is no Unicode text."
            ) from None
    return b"".join([*parts, b"}"])


def unforeseen(request: str | None = None) -> LearningMemoryError:
    """Return what is said of a failure that only the log knows, under the request's number if it has one."""
    return LearningMemoryError(
        "The server failed in an unforeseen way" + (f" (request {request})." if request else "."),
        hint="The server's log has the details" + (" under that number." if request else "."),
    )
