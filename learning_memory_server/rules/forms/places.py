"""The folder to which a sentence is limited: "use pnpm in web/, not npm"."""

import re
from typing import Final, NamedTuple

_NAME: Final = r"(?:\./)?(?:[\w@-][\w@.-]*/)*[\w@-][\w@.-]*"
_IN: Final = re.compile(
    r"(?P<before>\b(?i:not|except|but|unless|only|outside|other than)\s+)?"
    r"\b(?i:in|inside|within|under)\s+(?:the\s+)?"
    rf"(?:`(?P<code>{_NAME})/?`(?P<kind>\s+(?:folder|directory|subfolder|package)\b)?"
    rf"|(?P<path>{_NAME})/(?=[\s,.;:)]|$)"
    r"|(?P<deep>[a-z][\w-]*(?:/[a-z][\w-]*)+)(?=[\s,.;:)]|$)"
    rf"|(?P<named>{_NAME})\s+(?:folder|directory|subfolder)\b)"
)
_BRANCHES: Final = ("origin/", "upstream/", "refs/")


class Placed(NamedTuple):
    """A sentence without the words that name its folder; `folder` is empty if there is none."""

    text: str
    folder: str = ""
    is_clear: bool = True  # whether it is limited to at most one folder


def placed(text: str) -> Placed:
    """Return a sentence and the folder to which its words limit it."""
    found = [each for each in _IN.finditer(text) if _folder(each)]
    if not found:
        return Placed(text)
    folders = {_folder(each) for each in found}
    if len(folders) > 1 or any(each["before"] for each in found) or re.search(r"/`?\s*(?:,|and|or)\s*`?\w+/", text):
        return Placed(text, is_clear=False)
    rest = text
    for each in reversed(found):
        rest = rest[: each.start()] + rest[each.end() :]
    rest = re.sub(r"\s+([,.;:])", r"\1", rest)
    rest = re.sub(r",(?:\s*,)+", ",", rest)
    return Placed(re.sub(r"\s{2,}", " ", re.sub(r"^[\s,:]+|,\s*(?=[.;]|$)", "", rest)).strip(), folders.pop())


def _folder(found: re.Match[str]) -> str:
    code = found["code"] or ""
    is_folder = "/" in found[0].partition("`")[2] or found["kind"]
    name = (code if is_folder else "") or found["path"] or found["deep"] or found["named"] or ""
    name = name.removeprefix("./").rstrip("/")
    is_file = not (found["path"] or found["named"] or found["kind"]) and "." in name.rpartition("/")[2]
    is_other = name.startswith(_BRANCHES) or ".." in name.split("/") or (is_file and not found[0].endswith("/`"))
    return "" if is_other else name
