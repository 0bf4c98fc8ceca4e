"""What `--json` prints is what the reference says, and nothing else."""

import json
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from pydantic import TypeAdapter

from learning_memory_server.cli.app import declared
from scripts.documents import DOCUMENTS, FailureDocument
from tests.cli.kept import ERROR, MEMORIES, VALUE
from tests.command_line import old_entry, printed
from tests.index.engines.double import serving
from tests.lessons.errors.written import failed, ran, write_transcript

CALLS = {
    "start": ["--yes"],
    "demo": [],
    "setup": ["cursor --print", "cursor --yes", "cursor --remove --yes"],
    "status": ["", "--week"],
    "report": [""],
    "rules": ["", "--all"],
    "doctor": ["--quick"],
    "list": ["", "--limit 3"],
    "show": ["ghap_20260101_000007_abcdef", VALUE, MEMORIES[0], ERROR, "full_0"],
    "search": ["flaky --lexical", "flaky --explain", "SQLite --only memories --explain", "x --only values"],
    "clusters": ["full"],
    "values": [""],
    "failures": ["", "--project garden"],
    "review": [""],
    "retrospective recent": [""],
    "retrospective past": [""],
    "retrospective keep": ["{sentences}"],
    "calibration": ["", "--project garden"],
    "context": [""],
    "settings": [""],
    "project list": [""],
    "dashboard": ["--no-open"],
    "backup": ["", "{new}"],
    "memories": [""],
    "import": [
        "{lines} --project orchard --dry-run",
        "{lines} --project orchard",
        "{archive} --dry-run",
        "{archive} --apply-deletions --yes",
    ],
    "learn-from": ["{transcript}", "{transcript} --yes"],
    "reindex": ["", "strategy"],
    "migrate": ["--to {server}", "--leave {server}"],
    "forget": ["ghap_20260101_000001_abcdef --dry-run", f"{VALUE} --yes", f"{ERROR} --yes", "--purge --backups --yes"],
    "scan": ["", "--backups"],
    "uninstall": ["--yes", "--yes --data --export {home}"],
}
"""In this order. What `demo` prints is checked where the demo is."""


def test_every_command_that_takes_json_has_a_documented_document() -> None:
    def found(commands: dict[str, Any], path: str = "") -> set[str]:
        names = set()
        for name, command in commands.items():
            if any("--json" in parameter.opts for parameter in command.params):
                names.add(f"{path}{name}")
            names |= found(getattr(command, "commands", {}), f"{path}{name} ")
        return names

    assert found(declared()) == DOCUMENTS.keys()
    assert CALLS.keys() == DOCUMENTS.keys()


@pytest.mark.usefixtures("kept")
@pytest.mark.slow
def test_each_document_is_valid_by_type(run: Any, tmp_path: Path, write_lines: Any) -> None:
    archive = tmp_path / "other.tar.gz"
    assert run("backup", str(archive)).exit_code == 0
    # What is forgotten after the export differs from the archive, and the file has a line more than the journal.
    assert run("forget", MEMORIES[1], "--yes").exit_code == 0
    transcript = write_transcript(tmp_path / "one.jsonl", failed("python x.py"), ran("python3 x.py"))
    places = {
        "lines": write_lines(old_entry(50)),
        "archive": str(archive),
        "new": str(tmp_path / "new.tar"),
        "transcript": str(transcript),
        "home": str(tmp_path / "home"),
        "sentences": str(tmp_path / "sentences.jsonl"),
    }
    sentence = {"text": "Look at one run", "evidence": ["ghap_20260101_000007_abcdef"]}
    Path(places["sentences"]).write_text(json.dumps(sentence), "utf-8")
    with serving() as server:
        places["server"] = server.url
        for command, calls in CALLS.items():
            for options in calls:
                done = printed(run(*command.split(), *(part.format(**places) for part in options.split()), "--json"))
                assert problems(command, json.loads(done)) == [], (command, options)


@pytest.mark.parametrize(
    ("arguments", "status", "error"),
    [
        (["show", "ghap_2099"], 1, {"type": "not_found"}),
        (["list", "--since", "soon"], 1, {"type": "validation_error"}),
        (["list", "--limit", "many"], 2, {"type": "validation_error"}),
        (["list", "--limt", "3"], 2, {"type": "validation_error"}),
        (["lst"], 2, {"type": "validation_error"}),
        (["hub", "stats"], 2, {"type": "validation_error"}),
    ],
)
def test_with_json_a_failure_is_the_document(
    arguments: list[str], status: int, error: dict[str, str], run: Any
) -> None:
    done = run(*arguments, "--json")
    assert (done.exit_code, done.stderr) == (status, "")
    document = json.loads(done.stdout)
    assert faults(FailureDocument, document) == []
    assert document["error"].items() >= error.items()


def test_with_json_a_wrong_setting_is_the_document(run: Any) -> None:
    done = printed(run("status", "--json", LEARNING_MEMORY_LOG_LEVEL="loud"), 1)
    assert "LEARNING_MEMORY_LOG_LEVEL" in json.loads(done)["error"]["message"]


def test_a_text_that_looks_like_the_option_is_not_the_option(run: Any) -> None:
    done = run("show", "--", "--json")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "--json" in done.stderr


@pytest.mark.usefixtures("kept")
@pytest.mark.slow
def test_with_json_nothing_is_asked_and_nothing_is_lost(run: Any, tmp_path: Path) -> None:
    archive = tmp_path / "other.tar.gz"
    assert run("backup", str(archive)).exit_code == 0
    assert json.loads(printed(run("forget", MEMORIES[0], "--json"), 1))["forgotten"] is False
    assert json.loads(run("memories", "--json").stdout)["total"] == len(MEMORIES)
    gone = json.loads(run("forget", MEMORIES[0], "--yes", "--json").stdout)
    assert (gone["forgotten"], [each["id"] for each in gone["found"]]) == (True, [MEMORIES[0]])
    restored = json.loads(run("import", str(archive), "--json").stdout)
    assert restored["contents"]["memory"]["forgotten_here"] == 1


def problems(command: str, document: Any) -> list[str]:
    """Return why a document is of none of a command's types; empty if it is of one."""
    found = [faults(kind, document) for kind in DOCUMENTS[command]]
    return [] if [] in found else [fault for each in found for fault in each]


def faults(kind: Any, document: Any) -> list[str]:
    """Return why a document is not of a type; empty if it is."""
    schema = closed(TypeAdapter(kind).json_schema(mode="serialization"))
    return [each.message for each in jsonschema.Draft202012Validator(schema).iter_errors(document)]


def closed(schema: Any) -> Any:
    """Return a schema by which an object has no other fields than those it names."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    parts = {name: closed(part) for name, part in schema.items()}
    return {**parts, "additionalProperties": False} if "properties" in parts else parts
