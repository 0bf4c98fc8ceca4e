"""Experiences on three topics, enough of each for a cluster."""

import pytest

from learning_memory_server.server.composition.services import Services
from tests.acceptance.hubs import apart
from tests.server.agent import Agent, agent_of

TOPICS = {
    "cache": "the price cache returns stale totals after every deploy",
    "login": "session cookies vanish when users open a second browser window",
    "build": "compiler flags differ between laptop and continuous integration machine",
}
SIZES = {"cache": 10, "login": 8, "build": 6}
VALUE = "cache works again: the price cache returns stale totals after every deploy"


async def resolve_topic(agent: Agent, topic: str, count: int) -> list[str]:
    """Resolve entries that share the words of a topic, and return their ids."""
    belief = TOPICS[topic]
    return [
        await agent.resolve_new(
            entry={
                "domain": "debugging",
                "strategy": "root-cause-analysis",
                "goal": f"{topic} goal: {belief}",
                "hypothesis": belief,
                "action": f"look at it, {apart(number)}",
                "prediction": f"{topic} works again",
            },
            status="falsified",
            result=f"still broken, {apart(number)}",
            surprise=f"{topic} surprise: {belief}",
            root_cause={"category": "oversight", "description": f"{topic} cause: {belief}"},
        )
        for number in range(count)
    ]


async def resolve_topics(agent: Agent) -> dict[str, list[str]]:
    """Resolve enough entries of each topic, and return their ids."""
    return {topic: await resolve_topic(agent, topic, count) for topic, count in SIZES.items()}


@pytest.fixture
async def topics(indexed: Services) -> dict[str, list[str]]:
    """The ids of the entries of each topic."""
    async with agent_of(indexed) as agent:
        return await resolve_topics(agent)
