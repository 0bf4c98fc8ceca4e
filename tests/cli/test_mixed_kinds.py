"""A search ranks entries, memories, values and errors against each other: the demo's entries, and invented notes."""

import re
from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree

import pytest

from tests.command_line import Run, printed

pytestmark = pytest.mark.slow

NOTES = (
    "Deployment: the build machine in the basement runs the release script every Monday at nine.",
    "We chose SQLite over Postgres for the desktop app: one file, and no server to run.",
    "The staging database is built anew every Monday night from last week's backup.",
    "Design meeting: the new logo is green, and the font is Inter.",
    "Release checklist: raise the version, write the changelog, tag the commit, and let the build machine publish it.",
    "Alice owns the payment service, and Bob owns the search page.",
)
QUERIES = {
    "flaky test on the build machine": ("", "(?i)test|build", "Release checklist|Deployment|staging|cryptography"),
    "how do we release a new version": ("Release checklist", "Release checklist|Upgrade", "staging|SQLite|logo"),
    "why did we choose SQLite": ("We chose SQLite", "We chose SQLite", "staging|logo|Alice"),
    "stale cache after a write": ("restart", "restart|old price|old styles|generated file|cache hit", "async|token"),
    "tests must not share state": ("Tests must not share state", "(?i)test", "staging|Deployment|account twice"),
    "ModuleNotFoundError": (
        "ModuleNotFoundError",
        "ModuleNotFoundError|import error",
        "permission denied|missing header",
    ),
    "page is slow because of too many queries": ("order list page", "(?i)quer|order list", "Alice|cache hit|async"),
    "calendar wrong in another timezone": (
        "timezone",
        "time|calendar|nightly|daily",
        "staging|account twice|old price",
    ),
    "who owns the payment service": ("Alice owns", "Alice owns", "Deployment|logo|SQLite|deployed service"),
    "what colour is the logo": ("Design meeting", "Design meeting", "Alice|Deployment|old styles"),
    "when is the staging database rebuilt": ("The staging database", "The staging database", "Deployment|SQLite"),
    "deploy failed on Monday": ("", "(?i)deploy", "logo|Alice|last hours of the day"),
    "recipe for lasagne": ("Nothing matches well", "Nothing matches well", "the nearest of anything"),
}
"""What the first line has, what each line that is not marked as weak has, and what no such line has."""


@pytest.fixture
def example(run: Run) -> Iterator[dict[str, str]]:
    """Return the variables of a store with the demo's entries and values, and the model that comes with the package."""
    told = printed(run("demo", "--keep"))
    folder = Path(re.search(r"STORAGE_PATH=(\S+)", told)[1])  # type: ignore[index]
    here = {"STORAGE_PATH": str(folder), "PROJECT": "demo", "EMBEDDING_BACKEND": "sentence-transformers"}
    yield {f"LEARNING_MEMORY_{name}": value for name, value in here.items()}
    rmtree(folder)


def test_what_is_about_the_question_comes_first_and_is_not_weak_whatever_it_is(
    run: Run, example: dict[str, str]
) -> None:
    for note in NOTES:
        printed(run("add", note, **example))
    for query, (first, about, others) in QUERIES.items():
        *lines, count = printed(run("search", query, **example)).splitlines()
        weak = [line for line in lines if "  weak  " in line]
        sound = [line for line in lines if "  weak  " not in line]
        assert first in lines[0], (query, lines)
        assert not [line for line in sound if not re.search(about, line)], (query, sound)
        assert not [line for line in sound if re.search(others, line)], (query, sound)
        assert len(weak) <= 5, query
        assert "strong" not in "".join(lines), query
        assert "mode: hybrid" in count
