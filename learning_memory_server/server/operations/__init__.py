"""The operations of a person's commands, run by the command or the hub: coroutine functions of JSON-like values."""

import asyncio
import zlib
from base64 import b64encode
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

import msgspec
from pydantic import ValidationError

from learning_memory_server.errors import InvalidInputError
from learning_memory_server.index.queries import ExperienceQuery, MemoryQuery
from learning_memory_server.model.answer import Said
from learning_memory_server.model.caller import Caller
from learning_memory_server.server.calls import ToolRunner
from learning_memory_server.server.composition.services import Services
from learning_memory_server.server.dashboard.page import as_text
from learning_memory_server.server.operations import erasing, importing, indexing, ruling
from learning_memory_server.server.operations.report import Report
from learning_memory_server.server.schema import name_of
from learning_memory_server.server.tools.catalog import TOOLS
from learning_memory_server.server.tools.toolset import arguments_of
from learning_memory_server.server.views.found_views import found_views

Operation = Callable[..., Awaitable[dict[str, Any]]]


async def call(
    services: Services, _report: Report, *, tool: str, arguments: dict[str, Any], project: str, session: str
) -> dict[str, Any]:
    """Call a tool as an agent would and return its reply."""
    boundary = ToolRunner(TOOLS, services.injectable())
    return await boundary.run(tool, arguments, Caller(project, session))


async def search(
    services: Services,
    _report: Report,
    *,
    entries: dict[str, Any] | None,
    memories: dict[str, Any] | None,
    explain: bool,
) -> dict[str, Any]:
    """Search by the fields of an `ExperienceQuery`, of a `MemoryQuery` or of both; see `found_views`."""
    reply: dict[str, Any] = {"entries": [], "memories": []}
    try:
        asked = msgspec.convert(memories, MemoryQuery | None)
        query = msgspec.convert(entries, ExperienceQuery | None)
    except msgspec.ValidationError as error:
        raise InvalidInputError(f"search: {error}.") from None
    texts = await services.memory_searcher.search(asked) if asked else None
    found = await services.searcher.search_experiences(query) if query else None
    if asked and texts:
        reply |= {"memories": found_views(asked, texts, found, explain=explain), "mode": texts.mode.value}
    if query and found:
        reply |= {"entries": found_views(query, found, texts, explain=explain), "mode": found.mode.value}
    return reply


async def page_data(
    services: Services,
    report: Report,
    *,
    project: str | None,
    folders: dict[str, str],
    past: list[dict[str, Any]] = [],  # noqa: B006 - it is only read
    suggestions: list[dict[str, Any]] = [],  # noqa: B006 - it is only read
) -> dict[str, Any]:
    """Gather the data of the page, of one project or of all, as compressed JSON text in base64.

    `past` has the lines of the report about past sessions, which the hub does not read, and `suggestions` the sentences
    that may become rules.
    """
    report("Gathering what was learned")
    document = await services.dashboard.document(project, folders, past, suggestions)

    def packed() -> str:
        return b64encode(zlib.compress(as_text(document).encode())).decode()

    # Megabytes, which others should not wait for; nor for a reply with them.
    return {"document": await asyncio.to_thread(packed)}


async def join(services: Services, report: Report, *, folder: str, project: str) -> dict[str, Any]:
    """Read the shared lessons of a repository from now on. The reply counts them, and names what is left out."""
    report("Reading the repository")
    joined = await services.shared.join(Path(folder), project)
    return {"lessons": len(joined.entries), "left_out": joined.left_out}


async def unjoin(services: Services, _report: Report, *, folder: str) -> dict[str, Any]:
    """Forget the shared lessons of a repository."""
    left = await services.shared.leave(Path(folder))
    return {"folder": left.folder, "project": left.project}


async def answer(services: Services, _report: Report, *, ids: list[str], said: str, project: str) -> dict[str, Any]:
    """Keep a person's answer to things of a project that may be told only with a yes."""
    known = services.review.known(project)
    first, *more = [known.get(each) or services.review.find(each, project) for each in ids]
    services.review.answer(first, Said(said), services.clock(), *more)
    return {"answered": len(ids)}


async def split(services: Services, _report: Report, *, name: str) -> dict[str, Any]:
    """Take back that an entry is the same as another one, which the reply names."""
    entry = services.collector.split(name)
    return {"id": entry.id, "same_as": entry.same_as}


OPERATIONS: Final[dict[str, Operation]] = {
    operation.__name__: operation
    for operation in (
        *(importing.add_records, importing.apply_deletions),
        *(indexing.compare, indexing.complete, indexing.reindex),
        *(indexing.leave, indexing.migrate),
        *(page_data, search),
        *(join, unjoin, answer, split),
        *(ruling.rule, ruling.suggest, ruling.rules_off, ruling.what_agents_see),
        *(call, erasing.forget, erasing.redact_stored),
    )
}


async def operate(services: Services, report: Report, name: str, fields: dict[str, Any]) -> dict[str, Any]:
    """Run an operation; the reply's `redacted` counts secrets. `InvalidInputError` if it is of another version."""
    operation = OPERATIONS.get(name)
    if operation is None:
        raise InvalidInputError(f"There is no operation {name!r}; there are {', '.join(sorted(OPERATIONS))}.")
    try:
        arguments_of(operation).model_validate(fields)
    except ValidationError as error:
        flaw = error.errors(include_url=False)[0]
        raise InvalidInputError(f"{name}: {name_of(flaw['loc'])}: {flaw['msg']}.") from None
    if operation is not importing.add_records:
        # `call` redacts its tool's arguments itself; the others store nothing that they are given.
        return await operation(services, report, **fields)
    redacted = await importing.redacted_records(services, **fields)
    reply = await operation(services, report, **redacted.data)
    return {**reply, "redacted": redacted.kinds} if redacted.kinds and reply["added"] else reply
