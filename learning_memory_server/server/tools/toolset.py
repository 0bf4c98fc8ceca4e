"""Tools as plain functions: the signature is the schema, the docstring is the prompt."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, get_type_hints

from pydantic import BaseModel, ConfigDict, TypeAdapter, create_model

from learning_memory_server.server.schema import advertised_schema, lean_schema
from learning_memory_server.server.wire import JSON

if TYPE_CHECKING:
    from learning_memory_server.capture.memories.store import ReportProgress
    from learning_memory_server.server.wire import Wire

    Reply = Mapping[str, Any] | str
    F = TypeVar("F", bound=Callable[..., Awaitable[Reply]])


@dataclass(frozen=True, slots=True)
class Progress:
    """Tells the client how far a call is, if it asked for that; tools request it like a service."""

    report: ReportProgress | None = None


class Arguments(BaseModel):
    """What a client can send: exactly these fields, and no value is converted."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


@dataclass(frozen=True)
class Tool:
    """A registered tool."""

    function: Callable[..., Awaitable[Reply]]  # takes services by position and the client's arguments by name
    services: tuple[type, ...]  # the types of the services, in order
    title: str
    changes: bool
    destroys: bool  # whether a call permanently removes stored data
    idempotent: bool  # whether repeating a call changes nothing more
    wire: Wire = JSON
    is_for_models: bool = True  # whether models see it
    # The arguments that may be stored, and lose their secrets for that; None for all.
    kept: frozenset[str] | None = None
    # The URI of the page that a client with MCP Apps renders when it is called; None for none.
    shows: str | None = None

    @property
    def name(self) -> str:
        """The name that clients call."""
        return self.function.__name__

    @property
    def description(self) -> str:
        """The docstring, which is the model's prompt."""
        return inspect.getdoc(self.function) or ""

    @cached_property
    def arguments(self) -> type[Arguments]:
        """The model of the client's arguments. Making all of them would take a tenth of a hub's start."""
        hints = get_type_hints(self.function, include_extras=True)
        fields: dict[str, Any] = {
            p.name: (hints[p.name], ... if p.default is p.empty else p.default)
            for p in inspect.signature(self.function).parameters.values()
            if p.kind is p.KEYWORD_ONLY
        }
        return create_model(self.name, __base__=Arguments, **fields)

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        """The JSON schema of the arguments, by which they are checked."""
        return lean_schema(self.arguments.model_json_schema())

    @cached_property
    def advertised_schema(self) -> dict[str, Any]:
        """The JSON schema of the arguments as clients put it into each context."""
        return advertised_schema(self.input_schema)

    @cached_property
    def output_schema(self) -> dict[str, Any] | None:
        """The JSON schema of the reply, from the function's return annotation; None if the reply is text."""
        if not self.wire.is_structured:
            return None
        returned = get_type_hints(self.function)["return"]
        return lean_schema(TypeAdapter(returned).json_schema(mode="serialization"))


class ToolSet:
    """Collects a module's tools. The decorated functions stay plain functions, so tests can call them directly.

    Parameters before `/` are services, injected by type when the server is built. The others are the client's
    arguments.
    """

    def __init__(self) -> None:
        self.tools: list[Tool] = []

    def tool(
        self,
        title: str,
        *,
        changes: bool,
        idempotent: bool = False,
        destroys: bool = False,
        wire: Wire = JSON,
        for_models: bool = True,
        kept: Collection[str] | None = None,
        shows: str | None = None,
    ) -> Callable[[F], F]:
        """Register a function as a tool; see `Tool`."""

        def register(function: F) -> F:
            hints = get_type_hints(function, include_extras=True)
            parameters = inspect.signature(function).parameters.values()
            self.tools.append(
                Tool(
                    function=function,
                    services=tuple(hints[p.name] for p in parameters if p.kind is p.POSITIONAL_ONLY),
                    title=title,
                    changes=changes,
                    destroys=destroys,
                    idempotent=idempotent or not changes,
                    wire=wire,
                    is_for_models=for_models,
                    kept=None if kept is None else frozenset(kept),
                    shows=shows,
                )
            )
            return function

        return register
