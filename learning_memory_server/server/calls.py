"""The tool calls of a connection, the only place where a failure becomes a reply, and the log line of each call."""

import asyncio
import hashlib
import json
import os
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Container, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import KW_ONLY, InitVar, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

import structlog
from pydantic import ValidationError
from structlog.contextvars import bound_contextvars

from learning_memory_server.advice.advisor import Advisor
from learning_memory_server.errors import InvalidInputError, LearningMemoryError, did_you_mean
from learning_memory_server.hooks.event import answer_in_words, begins_session
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.vocabulary import Axis
from learning_memory_server.redaction.base import MARKER
from learning_memory_server.redaction.gate import RedactedData, RedactionGate
from learning_memory_server.server.dashboard.document import Dashboard
from learning_memory_server.server.dashboard.page import as_text, page
from learning_memory_server.server.decoding import decoded
from learning_memory_server.server.exclusion import Exclusion, sentence_of
from learning_memory_server.server.schema import TOO_LONG, flaws_of, shorten
from learning_memory_server.server.tools.catalog import HOOK, OF_APPS, TOOLS, WITH_HOOKS, CallingAgents
from learning_memory_server.server.tools.search import get_stats
from learning_memory_server.server.tools.toolset import JSON, Result, Tool
from learning_memory_server.system.imports import is_of_replaced_files
from learning_memory_server.system.waiting import in_turn

_MARKERS_COUNT: Final = (
    "Secrets in it were replaced by markers such as [redacted: password] first, and the markers count."
)


Gate = Callable[[], Awaitable[dict[str, Any] | None]]


async def _open_gate() -> None:
    """Let a call pass."""


class ToolRunner:
    """Runs tools: validates their arguments and turns every outcome into a result.

    `services` has one object for each type that a tool requests, and the gate that all arguments pass. For
    `on_replaced` see `unforeseen`.
    """

    def __init__(
        self, tools: list[Tool], services: Mapping[type, object], on_replaced: Callable[[], None] | None = None
    ) -> None:
        self._tools = {
            tool.name: (tool, {kind: services[kind] for kind in tool.services if kind is not Caller}) for tool in tools
        }
        # Not every client is offered what shows a page, and no model what programs call.
        self._named = [tool.name for tool in tools if tool.is_for_models and not tool.shows]
        self._redaction = cast("RedactionGate", services[RedactionGate])
        self._on_replaced = on_replaced
        self._writing = asyncio.Lock()
        log.debug("tools.registered", count=len(self._named))

    async def call(
        self,
        name: str,
        arguments: dict[str, Any],
        caller: Caller,
        name_call: Callable[[], str] | None = None,
        gate: Gate = _open_gate,
    ) -> Result:
        """Call a tool, log the call, and return its result or failure.

        `name_call` returns the call's name. `gate` may refuse the call, or answer in place of the tool.
        """
        tool = self._tools[name][0] if name in self._tools else None
        if tool and tool.is_for_models:
            arguments = decoded(arguments, tool.input_schema)
        wire = tool.wire if tool else JSON
        request = secrets.token_hex(4)
        # An unknown name could be any text, so it is not logged.
        with bound_contextvars(tool=name if tool else None, request=request):
            ended = partial(log_call, arguments, time.perf_counter())
            log.debug("tool.started")
            try:
                payload = await self.run(name, arguments, caller, name_call, gate)
            except LearningMemoryError as error:
                # Its message may quote an argument; only the argument's name is logged.
                named = error.arguments.intersection(tool.arguments.model_fields) if tool else ()
                ended("refused", type=error.wire_type, **({"arguments": sorted(named)} if named else {}))
                return wire.failure(error).shown()
            except asyncio.CancelledError:
                ended("cancelled")
                raise
            except Exception as error:  # noqa: BLE001 - the top level of every tool
                # The client gets only the request id; the log has the failure.
                ended("crashed", exc_info=error)
                return wire.failure(unforeseen(error, request, self._on_replaced))
            count = {"count": payload["count"]} if "count" in payload else {}
            ended("ok", map(payload.get, ("id", "cluster_id")), **count)
            reply = wire.reply(payload)
            # Whole texts stay as they were: the caller may continue from an offset in them.
            return reply if arguments.get("full_text") is True else reply.shown()

    async def run(
        self,
        name: str,
        arguments: dict[str, Any],
        caller: Caller,
        name_call: Callable[[], str] | None = None,
        gate: Gate = _open_gate,
    ) -> dict[str, Any]:
        """Redact and validate the arguments, call the tool and return its reply, or `InvalidInputError`."""
        if name not in self._tools:
            raise InvalidInputError(
                f"There is no tool {shorten(name)}; the tools are {', '.join(self._named)}."
                f"{did_you_mean(name, self._named)}"
            )
        tool, services = self._tools[name]
        reads = not tool.changes
        # What hooks say has no limits, and mostly is not kept.
        if tool.is_for_models and (flaws := list(flaws_of(arguments, tool.input_schema))):
            raise _invalid(tool, ValidationError.from_exception_data("arguments", flaws, input_type="json"))
        if name_call:
            caller = replace(caller, request=name_call())
        available = {**services, Caller: caller}
        # Nothing is awaited before this: calls come here in the order in which they were sent.
        async with in_turn(None if reads else self._writing):
            if (answer := await gate()) is not None:
                return answer
            redacted = await self._redacted(tool, arguments)
            valid = _validated(tool, redacted.data)
            log.debug("tool.validated")
            reply = await tool.function(*(available[kind] for kind in tool.services), **valid)
        payload = dict(reply)
        # A tool that stores nothing has only searched, with the markers that are stored.
        return tool.wire.with_redacted(payload, redacted.kinds) if redacted.kinds and not reads else payload

    async def _redacted(self, tool: Tool, arguments: dict[str, Any]) -> RedactedData:
        """Return the arguments without the secrets of those that may be kept."""
        passed = {name: value for name, value in arguments.items() if tool.kept is None or name in tool.kept}
        if not passed:
            return RedactedData(arguments, {})
        redacted = await self._redaction.pass_data(passed)
        # Redaction may have changed a key, so only what was not passed is added again.
        others = {name: value for name, value in arguments.items() if name not in passed}
        return redacted._replace(data={**others, **redacted.data})


def _validated(tool: Tool, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments in the types of the tool's parameters; refuse those that do not match its schema."""
    # Validated as JSON, so that strict means JSON's own types. Null means absent.
    given = {key: value for key, value in arguments.items() if value is not None}
    try:
        valid = tool.arguments.model_validate_json(_encoded(given))
    except ValidationError as error:
        raise _invalid(tool, error) from None
    return {name: _one_of(given[name], getattr(valid, name)) for name in valid.model_fields_set}


def _invalid(tool: Tool, error: ValidationError) -> InvalidInputError:
    problems = error.errors(include_url=False)
    long = (each["input"] for each in problems if each["type"] in TOO_LONG)
    is_marked = any(isinstance(each, str) and MARKER.search(each) for each in long)
    hint = _MARKERS_COUNT if is_marked else None
    names = (each["loc"][0] for each in problems)
    return InvalidInputError(tool.wire.explain(error, tool.input_schema), hint=hint, arguments=names)


def _one_of(given: object, valid: object) -> object:
    """Return the given text if it passed unchanged: a copy may take 40 MB, and the message keeps the original alive."""
    return given if type(valid) is str and given == valid else valid


def _encoded(arguments: Mapping[str, Any]) -> bytes:
    # Joined once: a text may take 40 MB.
    parts = [b"{"]
    for name, value in arguments.items():
        try:
            parts += [b"," if len(parts) > 1 else b"", json.dumps(name, ensure_ascii=False).encode(), b":"]
            parts.append(json.dumps(value, ensure_ascii=False).encode())
        except UnicodeEncodeError:
            shown = name.encode(errors="replace").decode()
            raise InvalidInputError(
                f"{shown}: contains an unpaired surrogate (such as half an emoji), which is not valid Unicode.",
                arguments=[name],
            ) from None
    return b"".join([*parts, b"}"])


@contextmanager
def for_client(on_replaced: Callable[[], None] | None = None) -> Iterator[None]:
    """Turn the failures of a request that is not a tool call into protocol errors that a client may see."""
    from mcp.shared.exceptions import MCPError
    from mcp.types import INTERNAL_ERROR

    request = secrets.token_hex(4)
    with bound_contextvars(request=request):
        try:
            yield
        except LearningMemoryError as error:
            raise MCPError(INTERNAL_ERROR, error.sentence) from None
        except Exception as error:  # noqa: BLE001 - the SDK would send the text of the exception
            log_call({}, time.perf_counter(), "crashed", exc_info=error)
            raise MCPError(INTERNAL_ERROR, unforeseen(error, request, on_replaced).sentence) from None


def unforeseen(
    error: Exception, request: str | None = None, on_replaced: Callable[[], None] | None = None
) -> LearningMemoryError:
    """Return the error for an unexpected failure, with the request id to look up.

    If the installation was replaced under this process, `on_replaced` makes room for a process of the new one.
    """
    named = f" (request {request})." if request else "."
    if is_of_replaced_files(error):
        hint = "Restart the client: a new process runs what is installed now."
        if on_replaced:
            on_replaced()
            hint = "Call again: a new process takes over, which runs what is installed now."
        return LearningMemoryError(
            f"The installation of this server was replaced while it ran, so a part of it could not be loaded{named}",
            hint=hint,
        )
    return LearningMemoryError(
        f"The server failed unexpectedly{named}",
        hint="The server's log has the details" + (" under that request id." if request else "."),
    )


log = structlog.get_logger()

_FORMS: Final = {
    "ghap_id": re.compile(r"ghap_[0-9]{8}_[0-9]{6}_[0-9a-f]{6}"),
    "value_id": re.compile(r"value_[0-9]{8}_[0-9]{6}_[0-9a-f]{6}"),
    "memory_id": re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    "cluster_id": re.compile(rf"({'|'.join(Axis)})_[0-9]{{1,9}}"),
}
_ID_ARGUMENTS: Final = ("ghap_id", "value_id", "memory_id", "cluster_id", "supersedes")


def log_call(
    arguments: Mapping[str, Any], began: float, outcome: str, returned: Iterable[object] = (), /, **facts: object
) -> None:
    """Log how a call ended, in one line. If that is an unforeseen failure, it is among the facts as `exc_info`.

    The line has the ids that the call returned or was given, by kind. Anything else could be a text.
    """
    write = log.info
    if "exc_info" in facts:
        write = log.error
    elif facts.get("type") == InvalidInputError.wire_type:
        write = log.warning  # The caller's fault
    ids: dict[str, str] = {}
    for text in (*returned, *map(arguments.get, _ID_ARGUMENTS)):
        for kind, form in _FORMS.items():
            if isinstance(text, str) and form.fullmatch(text.strip()):
                ids.setdefault(kind, text.strip())
    milliseconds = round(1000 * (time.perf_counter() - began), 1)
    write("tool.called", outcome=outcome, **facts, milliseconds=milliseconds, **ids)


TOOL_USE: Final = "claudecode/toolUseId"  # The key of Claude Code's id of a call, as its hooks know it


@dataclass
class Calls:
    """Runs the calls of one connection, inside of `around`.

    `front` is the id of a front that repeats unanswered calls, with the ids in `asked_again`. The first reply and each
    of `get_stats` have the `note`. For `on_replaced` see `unforeseen`.
    """

    services: InitVar[Mapping[type, object]]
    caller: Caller
    _: KW_ONLY
    around: Callable[[], AbstractContextManager[None]] = nullcontext
    front: str | None = None
    asked_again: Container[object] = ()
    has_hooks: InitVar[bool] = False
    note: str = ""
    on_replaced: Callable[[], None] | None = None

    def __post_init__(self, services: Mapping[type, object], has_hooks: bool) -> None:
        self.tools = WITH_HOOKS if has_hooks else TOOLS
        # Which clients render pages is known only once they have said hello; the others do not see those tools.
        self._agents = CallingAgents()
        self._boundary = ToolRunner(
            [*self.tools, *OF_APPS], {**services, CallingAgents: self._agents}, self.on_replaced
        )
        self._dashboard = cast("Dashboard", services[Dashboard])
        self._advisor = cast("Advisor", services[Advisor])
        self._exclusion = cast("Exclusion", services[Exclusion])
        self._untold = self.note
        self._names_calls = False

    async def session_context(self) -> str:
        """Return what a new session of the caller would be shown."""
        folder = self.caller.folder
        if pattern := await self._exclusion.find(folder):
            return sentence_of(pattern, folder)
        place = await self._advisor.observer.place(folder, folder) if folder else ""
        has_rules = self._advisor.has_rules(self._advisor.sessions.hear(self.caller, ""))
        return await self._advisor.room.context(self.caller, place, has_rules=has_rules)

    async def dashboard(self) -> str:
        """Return the page that shows a person what was learned in the caller's project."""
        if pattern := await self._exclusion.find(self.caller.folder):
            raise InvalidInputError(sentence_of(pattern, self.caller.folder))
        document = await self._dashboard.document(self.caller.project, {self.caller.project: self.caller.folder})
        return page(await asyncio.to_thread(as_text, document))

    async def call(self, identity: object, tool: str, arguments: dict[str, Any], *, tool_use: object = None) -> Result:
        """Call a tool and return its result or failure. For `tool_use` see `TOOL_USE`."""
        front = self.front
        self._names_calls |= tool_use is not None
        name_call = partial(_name_of, front, identity, tool, arguments) if front else None
        with self.around():
            result = await self._boundary.call(
                tool,
                arguments,
                replace(
                    self.caller,
                    agent=self._agents.get(tool_use) if isinstance(tool_use, str) else None,
                    names_calls=self._names_calls,
                    again=identity in self.asked_again,
                ),
                name_call,
                partial(self._left_out, tool, arguments),
            )
        note = self.note if tool == get_stats.__name__ else self._untold
        if not note or tool == HOOK or result.is_error:
            return result
        self._untold = ""
        return result.with_note(note)

    async def _left_out(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any] | None:
        """Return the answer to a hook in a folder that is left out, else None; refuse all other calls there."""
        event = arguments.get("event") if tool == HOOK else None
        event = event if isinstance(event, dict) else {}
        # A session may go to another folder, or read a file there.
        named = [str(event.get("folder", "")), str(Path(str(event.get("file", ""))).parent)]
        pattern = await self._exclusion.find(self.caller.folder, *filter(os.path.isabs, named))
        if not pattern:
            return None
        if tool != HOOK:
            hint = "Go on without this memory, and do not call its tools here again."
            raise InvalidInputError(sentence_of(pattern, self.caller.folder), hint=hint)
        is_told = begins_session(event) and await self._exclusion.says_first(self.caller.folder)
        said = sentence_of(pattern, self.caller.folder) if is_told else ""
        return {"text": answer_in_words(event, said)}


def _name_of(front: str, identity: object, tool: str, arguments: dict[str, Any]) -> str:
    """Return a name for a call. If a client reuses an id for a different call, the names differ."""
    # Escaping could turn each character of a long text into six bytes.
    content = json.dumps([front, identity, tool, arguments], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:24]
