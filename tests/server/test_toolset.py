import pytest

from learning_memory_server.redaction.gate import RedactionGate
from learning_memory_server.server.boundary import Boundary
from learning_memory_server.server.tools.arguments import SearchLimit, Statement
from learning_memory_server.server.tools.toolset import ToolSet
from tests.support import ALICE


class Greeter:
    """A service."""

    def greet(self, name: str) -> str:
        return f"hello {name}"


def greeting_tools() -> ToolSet:
    toolset = ToolSet()

    @toolset.tool("Greet somebody", changes=False)
    async def greet(greeter: Greeter, /, *, name: Statement, times: SearchLimit = 1) -> dict[str, str]:
        """Greet somebody by name."""
        return {"greeting": " ".join([greeter.greet(name)] * times)}

    return toolset


def test_positional_parameters_are_services_and_not_in_the_schema() -> None:
    (tool,) = greeting_tools().tools
    assert tool.services == (Greeter,)
    assert tool.input_schema["properties"].keys() == {"name", "times"}
    assert tool.input_schema["required"] == ["name"]


def test_the_name_is_the_functions_and_the_description_its_docstring() -> None:
    (tool,) = greeting_tools().tools
    assert (tool.name, tool.title, tool.description) == ("greet", "Greet somebody", "Greet somebody by name.")


async def test_a_tool_gets_the_service_that_was_injected() -> None:
    result = await Boundary(greeting_tools().tools, {Greeter: Greeter(), RedactionGate: RedactionGate()}).call(
        "greet", {"name": " Ann "}, ALICE
    )
    assert result.structured == {"greeting": "hello Ann"}


async def test_a_text_is_not_copied_from_the_message_that_carries_it() -> None:
    toolset, kept = ToolSet(), list[str]()

    @toolset.tool("Keep", changes=True)
    async def keep(*, text: Statement) -> dict[str, str]:
        """Keep it."""
        kept.append(text)
        return {}

    text = " ".join(["word"] * 100)
    boundary = Boundary(toolset.tools, {RedactionGate: RedactionGate()})
    await boundary.call("keep", {"text": text}, ALICE)
    await boundary.call("keep", {"text": f" {text} "}, ALICE)
    assert kept == [text, text]
    assert kept[0] is text


def test_a_tool_whose_service_is_missing_fails_when_the_server_is_built() -> None:
    with pytest.raises(KeyError):
        Boundary(greeting_tools().tools, {RedactionGate: RedactionGate()})


async def test_the_decorated_function_stays_a_plain_function() -> None:
    (tool,) = greeting_tools().tools
    assert await tool.function(Greeter(), name="Bob", times=2) == {"greeting": "hello Bob hello Bob"}


@pytest.mark.parametrize(("changes", "idempotent"), [(True, False), (True, True), (False, False)])
def test_a_tool_that_changes_nothing_is_read_only_and_idempotent(*, changes: bool, idempotent: bool) -> None:
    toolset = ToolSet()

    @toolset.tool("Do", changes=changes, idempotent=idempotent)
    async def do() -> dict[str, str]:
        """Do it."""
        return {}

    (tool,) = toolset.tools
    assert tool.changes is changes
    assert tool.idempotent is (idempotent or not changes)
