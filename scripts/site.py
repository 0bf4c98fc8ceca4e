"""Collect the project's documents for `mkdocs build`: the same files, with links that hold on the site.

On the site README.md is the first page. A link to a file that is not a page, such as pyproject.toml, becomes its text.
"""

from __future__ import annotations

import os.path
import re
import shutil
from pathlib import Path, PurePosixPath
from typing import Final

ROOT: Final = Path(__file__).parents[1]
SOURCE: Final = ROOT / "build" / "site-source"
"""Where `mkdocs.yml` expects the pages."""
_OUTSIDE_DOCS: Final = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
    "FORMAT.md": "shared-lessons.md",
    "journal/README.md": "journal.md",
}
_LINK: Final = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
_FENCED: Final = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def main() -> None:
    """Write the pages of the site."""
    collect(ROOT, SOURCE)


def collect(root: Path, target: Path) -> None:
    """Write every page of a project to a folder, which is emptied first.

    Raises:
        FileNotFoundError: If a link leads to a file that does not exist.
    """
    pages = _pages(root)
    shutil.rmtree(target, ignore_errors=True)
    for source, page in pages.items():
        path = target / page
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_linked((root / source).read_text("utf-8"), source, pages, root), "utf-8")


def _pages(root: Path) -> dict[PurePosixPath, PurePosixPath]:
    """Return the place of each document on the site, by its place in the project."""
    pages = {PurePosixPath(source): PurePosixPath(page) for source, page in _OUTSIDE_DOCS.items()}
    for path in sorted((root / "docs").rglob("*.md")):
        source = PurePosixPath(path.relative_to(root).as_posix())
        pages[source] = source.relative_to("docs")
    return pages


def _linked(text: str, source: PurePosixPath, pages: dict[PurePosixPath, PurePosixPath], root: Path) -> str:
    """Return a document with its links as they hold on the site. Code blocks stay as they are."""

    def link(found: re.Match[str]) -> str:
        picture, words, target = found.groups()
        path, _, anchor = target.partition("#")
        if picture or "://" in target or not path:
            return found[0]
        place = PurePosixPath(os.path.normpath(source.parent / path))
        if place / "README.md" in pages:
            place /= "README.md"
        if place in pages:
            shown = os.path.relpath(pages[place], pages[source].parent)
            return f"[{words}]({shown}{'#' + anchor if anchor else ''})"
        if not (root / place).exists():
            raise FileNotFoundError(f"{source} has a link to {target}, which does not exist.")
        return words

    kept = _FENCED.findall(text)
    prose = (_LINK.sub(link, part) for part in _FENCED.split(text))
    return "".join(part + block for part, block in zip(prose, [*kept, ""], strict=True))


if __name__ == "__main__":
    main()
