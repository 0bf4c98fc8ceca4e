"""The site has every document, and its links hold: `collect` refuses a link that leads nowhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.site import ROOT, collect


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
