"""Content that a client loads itself: rules in its instruction files, and lessons that were written there."""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from learning_memory_server.model.advice import TriggerKind
from learning_memory_server.model.rule import Rule
from learning_memory_server.model.trigger import Trigger
from learning_memory_server.sharing.promote import LEARNED, promoted
from learning_memory_server.system.files import read

_IMPORTED: Final = "@AGENTS.md"  # An import in an instruction file: the client loads this file, too
_BEGINNINGS: Final = re.compile(
    r"\n\s*\n|^[ \t]*(?:[-*+>#|]+|\d+[.)])\s|(?<=[.!?:;])\s|\s[-\u2013\u2014]\s", re.MULTILINE
)
"""The possible beginnings of a sentence."""
_MARKS: Final = {**dict.fromkeys(map(ord, "*_`\"'"), ""), **dict.fromkeys(map(ord, "#>-|"), " ")}


def loaded_at(trigger: Trigger, folder: str, rules: Iterable[Rule]) -> set[str]:
    """Return the ids of the rules and lessons that a client loads now or at a session's start. Blocks.

    A rule counts if its sentence is in a file; a lesson if the file has the mark that earlier versions wrote.
    """
    texts = [_text_of(Path(trigger.file))] if trigger.kind is TriggerKind.LOADED else _texts_at_start(trigger, folder)
    found = {name for text in texts for name in promoted(text)}
    plain = [_plain(text) for text in texts if text]
    return found | {each.id for each in rules if any(_is_in(each, text) for text in plain)}


def _texts_at_start(trigger: Trigger, folder: str) -> list[str]:
    here = Path(folder) if folder else None
    folders = [*((here, *here.parents) if here else ()), Path.home() / ".claude"]
    texts = [_text_of(each / name) for each in folders for name in trigger.loads]
    if trigger.folder and trigger.context:
        # Claude Code loads this file before plugin hooks run. Files about some paths only trigger such hooks later.
        learned = _text_of(Path(trigger.folder, LEARNED))
        texts.append("" if learned.startswith("---") else learned)
    return texts


def _is_in(rule: Rule, text: str) -> bool:
    """Whether a rule's sentence is in a text as a whole sentence: "never use tabs" does not contain "use tabs"."""
    said = filter(None, (_plain(rule.text), _plain(rule.words)))
    return any(f"\n{each}" in f"\n{text}" for each in said)


def _plain(text: str) -> str:
    """Return the sentences of a text, one per line, in lower case and without Markdown marks."""
    lines = (" ".join(each.translate(_MARKS).split()).strip(" .") for each in _BEGINNINGS.split(text.casefold()))
    return "\n".join(filter(None, lines))


def _text_of(file: Path) -> str:
    """Return the text of a regular file or of a link to one, and of the file that it imports; empty if unreadable."""
    text = _beginning(file)
    return f"{text}\n\n{_beginning(file.parent / 'AGENTS.md')}" if _IMPORTED in text else text


def _beginning(file: Path) -> str:
    try:
        return (read(Path(os.path.realpath(file))) or b"").decode("utf-8", "replace")
    except ValueError:
        return ""  # Invalid file name
