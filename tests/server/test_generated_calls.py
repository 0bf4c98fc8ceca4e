"""Thousands of generated calls, most of them wrong somewhere: each is answered, and none fails unexpectedly."""

import random
import re

import pytest

from learning_memory_server.model.caller import Caller
from learning_memory_server.server.boundary import Boundary
from learning_memory_server.server.composition.services import Services
from learning_memory_server.server.tools.catalog import OF_APPS, WITH_HOOKS
from learning_memory_server.server.tools.hook import CallingAgents
from scripts.attack_arguments import Generator

CALLS = 5_000


@pytest.mark.slow
@pytest.mark.timeout(1800)
async def test_no_generated_call_fails_unexpectedly(indexed: Services) -> None:
    tools = [*WITH_HOOKS, *OF_APPS]
    boundary = Boundary(tools, {**indexed.injectable(), CallingAgents: CallingAgents()})
    chance, ids = random.Random(27), list[str]()  # noqa: S311 - not for secrets
    generator = Generator(chance, ids)
    answers = {"ok": 0, "refused": 0}
    for number in range(CALLS):
        tool = chance.choice(tools)
        arguments = generator.arguments(tool.input_schema)
        result = await boundary.call(tool.name, arguments, Caller("shop", f"session {number % 4}"))
        assert not re.search("failed unexpectedly|unexpected error|Unexpected", result.text), (
            tool.name,
            str(arguments)[:1_000],
        )
        answers["refused" if result.is_error else "ok"] += 1
        ids += [result.structured["id"]] if result.structured and "id" in result.structured else []
    # Both kinds, or it would show nothing.
    assert min(answers.values()) > CALLS / 10, answers
