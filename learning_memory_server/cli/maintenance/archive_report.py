"""What an import of an archive shows: what will change, and what was done; as lines or as JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from learning_memory_server.cli.terminal import counted, date_and_time, show_facts, show_first, show_notice
from learning_memory_server.journal.archive.comparison import Numbering
from learning_memory_server.model.lines import one_line
from learning_memory_server.redaction.gate import listed

if TYPE_CHECKING:
    from learning_memory_server.journal.archive.comparison import Comparison, Difference
    from learning_memory_server.journal.archive.contents import Contents
    from learning_memory_server.journal.archive.manifest import Manifest

_NUMBERING: Final = {
    Numbering.NEW: "new",
    Numbering.THERE: "already there",
    Numbering.SKIPPED: "skipped: clusters here are numbered already",
}


@dataclass(slots=True)
class Done:
    """What an import did.

    Args:
        imported: How many things of each sort.
        backup: The backup that was made first, if one was needed.
        forgotten: How many things were forgotten here; None if there was nothing to forget.
        noted: How many ids unknown here were recorded as forgotten.
        redacted: How many secrets of each kind were left out.
        index: A phrase about the index.
        seconds: How long it took.
    """

    imported: dict[str, int] = field(default_factory=dict)
    backup: Path | None = None
    forgotten: int | None = None
    noted: int = 0
    redacted: dict[str, int] = field(default_factory=dict)
    index: str = ""
    seconds: float = 0.0


@dataclass(slots=True)
class ArchiveReport:
    """An archive next to what is here, and what was done.

    Args:
        path: The archive.
        manifest: Its description.
        theirs: Its content.
        comparison: What of it is new here.
        apply_deletions: Whether what it records as forgotten is forgotten here.
        done: What was done; None if nothing was.
    """

    path: Path
    manifest: Manifest
    theirs: Contents
    comparison: Comparison
    apply_deletions: bool
    done: Done | None = None

    def show_comparison(self) -> None:
        """Print what an import changes."""
        about = f"{date_and_time(self.manifest.created_at)}, by version {one_line(self.manifest.program)}"
        if self.manifest.project is not None:
            about += f", project {one_line(self.manifest.project)} only"
        facts: list[tuple[str, str | Text]] = [("archive", f"{self.path.name}: {about}")]
        for sort, difference in self.comparison.sorts.items():
            facts.append((sort, _described(difference)))
        if self.comparison.numbering is not Numbering.NONE:
            facts.append(("cluster numbers", _NUMBERING[self.comparison.numbering]))
        if doomed := sum(map(len, self.comparison.doomed.values())):
            what = (
                "will be forgotten"
                if self.apply_deletions
                else "kept; `import --apply-deletions` forgets them"
            )
            facts.append(
                ("forgotten there", Text(f"{counted(doomed, 'item')} present here: {what}", "yellow"))
            )
        if never := sum(map(len, self.comparison.never.values())):
            facts.append(("forgotten there", f"{counted(never, 'item')} unknown here: never imported"))
        facts += [
            ("changed", f"{one_line(change)} ({count}x)")
            for change, count in self.theirs.changes.most_common()
        ]
        if self.theirs.rejections:
            facts.append(("rejected", Text(counted(len(self.theirs.rejections), "line"), "red")))
        show_first([one_line(reason) for reason in self.theirs.rejections], "yellow")
        show_facts(facts)
        for sort, difference in self.comparison.sorts.items():
            show_first(
                [f"{sort} {one_line(name)} differs; ours is kept" for name in difference.differing], "yellow"
            )
        if set_aside := self.manifest.damaged_lines:
            show_notice(
                f"{counted(set_aside, 'line')} could not be read when this archive was made; see damaged/ in it."
            )

    def show_done(self) -> None:
        """Print what was done, if anything was."""
        if (done := self.done) is None:
            return
        facts: list[tuple[str, str | Text]] = [
            ("imported", Text(counted(done.imported.get("entry", 0), "entry"), "green"))
        ]
        if done.forgotten is not None:
            facts.append(
                ("forgotten", f"{done.forgotten:,} here; {counted(done.noted, 'unknown id')} recorded")
            )
        facts += [("", counted(count, sort)) for sort, count in done.imported.items() if sort != "entry"]
        if done.redacted:
            facts.append(("redacted", Text(listed(done.redacted), "yellow")))
        facts.append(("index", done.index))
        show_facts([*facts, ("took", f"{done.seconds:.1f} s")])

    def document(self) -> dict[str, Any]:
        """Return an `ArchiveDocument`."""
        done = self.done
        return {
            "archive": self.path.name,
            "created_at": self.manifest.created_at.isoformat(),
            "program": self.manifest.program,
            "project": self.manifest.project,
            "damaged_lines": self.manifest.damaged_lines,
            "contents": {
                sort: {
                    "new": len(each.new),
                    "there": len(each.there),
                    "differing": each.differing,
                    "forgotten_here": len(each.forgotten_here),
                }
                for sort, each in self.comparison.sorts.items()
            },
            "cluster_numbers": self.comparison.numbering.value,
            "forgotten_there": {
                "present": sum(map(len, self.comparison.doomed.values())),
                "unknown": sum(map(len, self.comparison.never.values())),
            },
            "changes": dict(self.theirs.changes),
            "rejected": self.theirs.rejections,
            "applied": done is not None,
            **({} if done is None else _done_facts(done)),
        }


def _done_facts(done: Done) -> dict[str, Any]:
    return {
        "backup": str(done.backup) if done.backup else None,
        "imported": done.imported,
        "forgotten": done.forgotten or 0,
        "noted": done.noted,
        "redacted": done.redacted,
        "index": done.index,
        "seconds": round(done.seconds, 1),
    }


def _described(difference: Difference) -> Text:
    parts = [
        (difference.new, "new", "green"),
        (difference.there, "already there", ""),
        (difference.differing, "differing (ours is kept)", "yellow"),
        (difference.forgotten_here, "forgotten here (not imported)", "yellow"),
    ]
    said = [Text(f"{len(ids):,} {what}", colour) for ids, what, colour in parts if ids or what == "new"]
    return Text(", ").join(said)
