"""What `--json` prints is what the reference says, and nothing else."""

import json
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
import typer.main
from pydantic import TypeAdapter

from learning_memory_server.cli.app import app
from learning_memory_server.views.documents import DOCUMENTS
from tests.cli.kept import MEMORIES, VALUE

CALLS = {
    "status": [""],
    "doctor": ["--quick"],
    "list": ["", "--limit 3"],
    "show": ["ghap_20260101_000007_abcdef", VALUE, MEMORIES[0], "full_0"],
    "search": ["flaky --lexical", "flaky --explain"],
    "clusters": ["full", "full --members full_0"],
    "values": [""],
    "calibration": ["", "--project garden"],
    "memories": [""],
    "memories search": ["SQLite", "SQLite --explain"],
    "scan": ["", "--backups"],
    "hub status": [""],
}


def test_every_command_that_takes_json_has_a_documented_document() -> None:
    def found(group: Any, path: str = "") -> set[str]:
        names = set()
        for name, command in getattr(group, "commands", {}).items():
            if any("--json" in parameter.opts for parameter in command.params):
                names.add(f"{path}{name}")
            names |= found(command, f"{path}{name} ")
        return names

    assert found(typer.main.get_command(app)) == DOCUMENTS.keys()
    assert CALLS.keys() == DOCUMENTS.keys()


@pytest.mark.usefixtures("kept")
@pytest.mark.slow
def test_each_document_is_valid_by_its_type(run: Any) -> None:
    for command, calls in CALLS.items():
        schemas = [closed(TypeAdapter(kind).json_schema(mode="serialization")) for kind in DOCUMENTS[command]]
        for options in calls:
            done = run(*command.split(), *options.split(), "--json")
            assert done.exit_code == 0, done.output
            document = json.loads(done.stdout)
            validators = [jsonschema.Draft202012Validator(schema) for schema in schemas]
            problems = [[each.message for each in one.iter_errors(document)] for one in validators]
            assert [] in problems, (command, options, problems)


def closed(schema: Any) -> Any:
    """Return a schema by which an object has no other fields than those it names."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    parts = {name: closed(part) for name, part in schema.items()}
    return {**parts, "additionalProperties": False} if "properties" in parts else parts
