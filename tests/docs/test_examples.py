"""Every example on a page is held against the code, or says that it is not run.

Shell blocks are run by `test_commands.py`, and the tutorial's exchange by `test_exchange.py`. `scripts.reference`
writes the generated pages. All other blocks are checked here, as are the JSON and TOML in sentences and tables. A
block that cannot be checked has a comment above it, `<!-- not run: reason -->`.
"""

import base64
import hmac
import json
import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from learning_memory_server.cli.clients.catalog import CLIENTS, SERVER, Launch, new_entry
from learning_memory_server.index.document import Collection
from learning_memory_server.server.settings import Settings, load_settings
from learning_memory_server.sharing.files import SharedFile, parse
from learning_memory_server.system.paths import APPLICATION
from learning_memory_server.version import JOURNAL_FORMAT
from scripts.exchange import PAGE, documented
from tests.docs.test_documents import CODE, DOCUMENTS, FENCE, PACKAGE, ROOT, prose
from tests.processes import python

CLIENTS_PAGE: Final = ROOT / "docs" / "how-to" / "clients.md"
MARKED: Final = re.compile(r"^<!-- not run: [^>]+ -->\n```.*?^```\n", re.MULTILINE | re.DOTALL)
CHECKED_ELSEWHERE: Final = {"sh", "shell", "bash", "console"}
PICTURES: Final = {"docs/explain/architecture.md", "docs/explain/concepts.md"}


def examples() -> Iterator[tuple[str, str, str]]:
    """The page, the language and the text of each block that is neither a shell's nor marked as not run."""
    for path in DOCUMENTS:
        text = MARKED.sub("", path.read_text("utf-8"))
        for language, block in FENCE.findall(text):
            if language not in CHECKED_ELSEWHERE:
                yield str(path.relative_to(ROOT)), language, block


def reads_as_settings(tmp_path: Path, block: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(block, "utf-8")
    file.chmod(0o600)
    table = tomllib.loads(block)

    settings = load_settings({"HOME": str(tmp_path), "LEARNING_MEMORY_CONFIG": str(file)})

    defaults = Settings(storage_path=settings.storage_path)
    assert table
    assert [name for name in table if getattr(settings, name) == getattr(defaults, name)] == []


def is_part_of_the_exchange(_: Path, block: str) -> None:
    """The README's reply has some fields of one item that the tutorial's server answered with."""
    exchange = documented(PAGE.read_text("utf-8"))
    replies = [json.loads(text) for text in re.findall(r"^\{\n.*?^\}$", exchange, re.MULTILINE | re.DOTALL)]
    answered = [item.items() for reply in replies for item in reply.get("related", ())]
    shown = json.loads(block)["related"]

    assert shown
    assert all(any(item.items() <= other for other in answered) for item in shown)


def is_a_line_of_the_journal(_: Path, block: str) -> None:
    line = json.loads(block)
    written = next((ROOT / "journal" / "entries").glob("*.jsonl")).read_text("utf-8").splitlines()[0]

    assert block.strip() == json.dumps(line, sort_keys=True, separators=(",", ":"))
    assert line.keys() == json.loads(written).keys()
    assert line["v"] == JOURNAL_FORMAT


def makes_a_token(tmp_path: Path, block: str) -> None:
    header, claims, signature = python(block, cwd=tmp_path).strip().split(".")
    signed = hmac.digest(b"a long random text", f"{header}.{claims}".encode(), "sha256")
    access = json.loads(base64.urlsafe_b64decode(claims + "=="))["access"]
    # A server's collection is named after ours, its variant and a number: `qdrant_catalog.py`.
    name = access[0]["collection"].split("-")

    assert base64.urlsafe_b64decode(signature + "=") == signed
    assert json.loads(base64.urlsafe_b64decode(header + "=="))["alg"] == "HS256"
    assert access[0]["access"] == "rw"
    assert name == [Collection(name[0]), name[1], "1"]


def is_said_of_rules(_: Path, block: str) -> None:
    """`test_rules_in_readme.py` plays it."""
    assert block


def is_the_instructions(_: Path, block: str) -> None:
    """`make docs` writes this page, and `make check` fails if it is not what the server says."""
    assert block


CHECKS: Final[dict[tuple[str, str], Callable[[Path, str], None]]] = {
    ("README.md", "json"): is_part_of_the_exchange,
    ("README.md", "text"): is_said_of_rules,
    ("journal/README.md", "json"): is_a_line_of_the_journal,
    ("docs/explain/data.md", "toml"): reads_as_settings,
    ("docs/how-to/clients.md", "toml"): reads_as_settings,
    ("docs/how-to/qdrant.md", "toml"): reads_as_settings,
    ("docs/how-to/qdrant.md", "python"): makes_a_token,
    ("docs/reference/tools.md", "text"): is_the_instructions,
}
"""How the blocks of a language on a page are checked."""


@pytest.mark.parametrize(("page", "language", "block"), list(examples()))
def test_an_example_is_what_the_code_says(page: str, language: str, block: str, tmp_path: Path) -> None:
    if language == "text" and (page in PICTURES or page == str(PAGE.relative_to(ROOT))):
        return
    assert (page, language) in CHECKS, f"add a check of this block, or a comment that says why it is not run: {block}"
    CHECKS[page, language](tmp_path, block)


def test_each_check_has_an_example() -> None:
    assert CHECKS.keys() <= {(page, language) for page, language, _ in examples()}


def entry(client: str) -> dict[str, Any]:
    """What `setup` writes into a client's file, if its program is on the path."""
    made = new_entry(CLIENTS[client], Launch(APPLICATION), {})
    return {CLIENTS[client].section: {SERVER: {name: value for name, value in made.items() if value}}}


def test_the_files_on_the_page_of_clients_are_as_setup_writes_them() -> None:
    shown = [json.loads(span) for span in CODE.findall(prose(CLIENTS_PAGE)) if span.startswith("{")]

    assert shown == [entry("opencode"), entry("cursor")]
    assert entry("claude-desktop") == entry("cursor")


def test_the_command_for_vs_code_adds_the_server_of_its_file() -> None:
    (given,) = re.findall(r"`code --add-mcp '([^']+)'`", prose(CLIENTS_PAGE))
    server = json.loads(given)

    assert {"type": "stdio", **server} == {"name": SERVER, **entry("vscode")["servers"][SERVER]}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_settings_in_sentences_are_settings(document: Path, tmp_path: Path) -> None:
    for number, span in enumerate(CODE.findall(prose(document))):
        if re.fullmatch(r"[a-z_]+ = .+", span):
            (folder := tmp_path / str(number)).mkdir()
            reads_as_settings(folder, span)


@pytest.fixture(scope="module")
def source() -> str:
    """The program's code, with the parts of each text joined."""
    text = "\n".join(path.read_text("utf-8") for path in sorted((ROOT / PACKAGE).rglob("*.py")))
    return re.sub(r"\"\s*\n\s*f?\"", "", text)


def quoted() -> list[str]:
    """The fixed parts of the texts that an agent sees, by the page of clients."""
    section = CLIENTS_PAGE.read_text("utf-8").split("## What an agent sees, and when\n")[1].split("\n## ")[0]
    texts = [span for span in CODE.findall(section) if "..." in span or span.endswith(".")]
    parts = [
        part.strip(" ():,") for text in texts for part in re.split(r"\.\.\.|ghap_|\d+ \w+|\d{4}-\d\d-\d\d\.", text)
    ]
    return [part for part in parts if " " in part]


@pytest.mark.parametrize("part", quoted())
def test_the_texts_that_an_agent_sees_are_in_the_program(part: str, source: str) -> None:
    assert part in source


def test_the_example_of_a_shared_lesson_keeps_its_format() -> None:
    indented = re.findall(r"(?:^(?: {4}.*)?\n)+", (ROOT / "FORMAT.md").read_text("utf-8"), re.MULTILINE)
    text = re.sub(r"^ {4}", "", max(indented, key=len).strip("\n"), flags=re.MULTILINE)
    digits, date = (re.findall(rf"{name}: ([0-9a-f-]+)", text)[0] for name in ("id", "date"))

    file = parse(f"{date}-{digits[:16]}.md", text.encode())

    assert isinstance(file, SharedFile), file
    assert file.content == digits
