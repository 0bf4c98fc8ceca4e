"""The site has every document, and its links hold."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from scripts.site import ROOT, collect

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def collected(tmp_path: Path) -> Callable[[dict[str, str]], dict[str, str]]:
    """Write the documents of a project, collect them and return the pages."""

    def run(documents: dict[str, str]) -> dict[str, str]:
        root, target = tmp_path / "project", tmp_path / "site"
        given = dict.fromkeys(
            ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "journal/README.md"), ""
        )
        for name, text in (given | documents).items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        collect(root, target)
        return {path.relative_to(target).as_posix(): path.read_text("utf-8") for path in target.rglob("*.md")}

    return run


def test_links_between_documents_lead_to_their_pages(
    collected: Callable[[dict[str, str]], dict[str, str]],
) -> None:
    pages = collected(
        {
            "README.md": "[a](docs/deep/a.md#part) [all](docs/deep) [journal](journal/README.md)",
            "docs/deep/a.md": "[home](../../README.md) [b](../b.md)",
            "docs/deep/README.md": "[a](a.md)",
            "docs/b.md": "[web](https://example.com/x.md) [here](#part)",
        }
    )

    assert pages["index.md"] == "[a](deep/a.md#part) [all](deep/README.md) [journal](journal.md)"
    assert pages["deep/a.md"] == "[home](../index.md) [b](../b.md)"
    assert pages["deep/README.md"] == "[a](a.md)"
    assert pages["b.md"] == "[web](https://example.com/x.md) [here](#part)"


def test_a_link_to_a_file_that_is_not_a_page_becomes_its_text(
    collected: Callable[[dict[str, str]], dict[str, str]],
) -> None:
    pages = collected({"README.md": "See [the table](pyproject.toml).", "pyproject.toml": ""})

    assert pages["index.md"] == "See the table."


def test_code_stays_as_it_is(collected: Callable[[dict[str, str]], dict[str, str]]) -> None:
    text = "[b](docs/b.md)\n\n```md\n[b](docs/b.md)\n```\n\n[b](docs/b.md)\n"
    pages = collected({"README.md": text, "docs/b.md": ""})

    assert pages["index.md"] == "[b](b.md)\n\n```md\n[b](docs/b.md)\n```\n\n[b](b.md)\n"


def test_a_dead_link_is_an_error(collected: Callable[[dict[str, str]], dict[str, str]]) -> None:
    with pytest.raises(FileNotFoundError, match=r"README.md has a link to docs/gone.md"):
        collected({"README.md": "[gone](docs/gone.md)"})


def test_what_was_collected_before_is_removed(tmp_path: Path) -> None:
    (tmp_path / "old.md").write_text("", "utf-8")
    collect(ROOT, tmp_path)

    assert not (tmp_path / "old.md").exists()
    assert (tmp_path / "index.md").exists()


def test_the_navigation_names_every_page(tmp_path: Path) -> None:
    collect(ROOT, tmp_path)
    named = re.findall(r"([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.MULTILINE)

    assert sorted(named) == sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.md"))


@pytest.mark.slow
def test_the_site_builds_strictly_has_a_search_index_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    pages, site = tmp_path / "build" / "site-source", tmp_path / "build" / "site"
    collect(ROOT, pages)
    (tmp_path / "mkdocs.yml").write_text((ROOT / "mkdocs.yml").read_text("utf-8"), "utf-8")
    subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"], check=True, cwd=tmp_path)
    html = "".join(path.read_text("utf-8") for path in site.rglob("*.html"))
    loaded = re.findall(r"<(?:script|link|img|iframe)[^>]*(?:src|href)=\"?(https?://[^\s\">]+)", html)

    assert (site / "search" / "search_index.json").stat().st_size > 0
    assert loaded == []
