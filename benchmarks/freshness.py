"""Measure what is said of the files of old lessons: `python -m benchmarks.freshness --data FOLDER [--json]`.

FOLDER has a folder for each project with the source archives of its releases (`pip download --no-deps --no-binary :all:
NAME==VERSION`), ten or more of at least five projects. This repository's own history is one more project: twelve
commits, evenly spread.

The rule, which is older than all figures: in each release but the last, 40 functions of at least three lines are drawn,
and a lesson is tied to each. Of every other function its author edited the file; of the rest it names the file in its
text. What happened to the function in each later release is the truth:

- same: a function of this name has the same syntax tree, docstring aside, in this file or elsewhere in the project
- gone: the project has no function of this name, in whatever class
- changed: anything else

A lesson is true where its function is the same. *Changed* is whatever is said not to be as it was, gone ones included.
The age that says that something has changed is the one that is best in all other projects.
"""

import ast
import json
import random
import subprocess
import tarfile
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from benchmarks.measuring import Option, options_of
from learning_memory_server.lessons.files.anchoring import found_files
from learning_memory_server.lessons.files.freshness import Freshness, State
from learning_memory_server.model.entry import Ghap, Lesson, Resolution
from learning_memory_server.model.vocabulary import Domain, OutcomeStatus, Strategy

ROOT = Path(__file__).parents[1]
DRAWN = 40
LEAST_LINES = 3
COMMITS = 12


class Function(NamedTuple):
    """A function of a release."""

    file: str
    name: str
    tree: str
    first: int
    last: int


@dataclass
class Release:
    """The Python files of a release, by name, and when it was made."""

    files: dict[str, bytes]
    at: datetime

    def functions(self) -> list[Function]:
        """Return all functions."""
        return [each for file, content in self.files.items() for each in functions_in(file, content)]


class Said(NamedTuple):
    """What is said of a lesson in a later release, and what is true. Each is same, changed or gone; age is in days."""

    project: str
    is_edit: bool
    truth: str
    files: str
    age: float


def functions_in(file: str, content: bytes) -> Iterator[Function]:
    """Yield the functions of a file; nothing of one that this Python cannot read."""
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first, last = node.lineno, node.end_lineno or node.lineno
            if ast.get_docstring(node) is not None:
                node.body = node.body[1:]
            yield Function(file, node.name, ast.dump(node), first, last)


def releases_in(folder: Path) -> list[Release]:
    """Return the releases of which a folder has the archives, in the order of their dates."""
    found = []
    for path in folder.glob("*.tar.gz"):
        with tarfile.open(path) as archive:
            files, at = {}, 0.0
            for member in archive:
                _, _, name = member.name.partition("/")
                if member.isfile() and name.endswith(".py"):
                    files[name] = archive.extractfile(member).read()  # type: ignore[union-attr]
                    at = max(at, member.mtime)
        # Some are made with the time 0 in all files; then the version's order is all there is.
        found.append((tuple(map(int, path.name.removesuffix(".tar.gz").rpartition("-")[2].split("."))), files, at))
    found.sort(key=lambda each: each[0])
    return [
        Release(files, datetime.fromtimestamp(at or number * 1e7, UTC)) for number, (_, files, at) in enumerate(found)
    ]


def own_history() -> list[Release]:
    """Return some commits of this repository."""
    lines = git(ROOT, "log", "--reverse", "--first-parent", "--format=%H %ct").decode().splitlines()
    chosen = [lines[round(number * (len(lines) - 1) / (COMMITS - 1))] for number in range(COMMITS)]
    found = []
    for commit, seconds in (line.split() for line in chosen):
        names = [
            name
            for name in git(ROOT, "ls-tree", "-r", "--name-only", commit).decode().splitlines()
            if name.endswith(".py")
        ]
        files = {name: git(ROOT, "show", f"{commit}:{name}") for name in names}
        found.append(Release(files, datetime.fromtimestamp(int(seconds), UTC)))
    return found


def git(folder: Path, *arguments: str) -> bytes:
    """Run git."""
    who = ("-c", "user.name=b", "-c", "user.email=b@localhost", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", "-C", str(folder), *who, *arguments], capture_output=True, check=True)
    return done.stdout


def write(root: Path, before: Mapping[str, bytes], release: Release) -> None:
    """Put a release into the folder, and commit it."""
    for name in before.keys() - release.files.keys():
        (root / name).unlink()
    for name, content in release.files.items():
        if before.get(name) != content:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(content)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "a release", "--allow-empty")


def lesson(project: str, number: int, function: Function, release: Release, root: Path) -> Ghap:
    """Return an entry about a function, anchored as the server does."""
    named = "" if number % 2 else f" in `{function.name}` of {function.file}"
    entry = Ghap(
        id=f"ghap_{release.at:%Y%m%d_%H%M%S}_{number:06x}",
        project=project,
        agent_session="",
        created_at=release.at,
        domain=Domain.DEBUGGING,
        strategy=Strategy.SYSTEMATIC_ELIMINATION,
        goal=f"Find the defect{named}",
        hypothesis="A value is read before it is set",
        action="Read it again",
        prediction="Then the test passes",
        resolution=Resolution(OutcomeStatus.CONFIRMED, "It did", release.at, lesson=Lesson("reading it")),
    )
    found = found_files(entry, str(root), {function.file: False} if number % 2 else {})
    return replace(entry, anchors=tuple(anchor for anchor, _ in found))


def fate(function: Function, later: Mapping[str, set[str]]) -> str:
    """Return what happened to a function."""
    trees = later.get(function.name)
    return "gone" if not trees else "same" if function.tree in trees else "changed"


def judged(project: str, releases: Sequence[Release], root: Path) -> Iterator[Said]:
    """Yield what is said of each lesson of a project in each later release."""
    git(root, "init", "-q")
    chance = random.Random(1)
    before: dict[str, bytes] = {}
    lessons: list[tuple[Ghap, Function, Release]] = []
    for release in releases:
        write(root, before, release)
        before = release.files
        functions, later = release.functions(), defaultdict(set)
        for each in functions:
            later[each.name].add(each.tree)
        freshness = Freshness()
        freshness.look([entry for entry, _, _ in lessons], project, str(root))
        for number, (entry, function, earlier) in enumerate(lessons):
            found = freshness.find(entry, str(root))
            said = (found.state if found else State.SAME).name.lower()
            days = (release.at - earlier.at).total_seconds() / 86_400
            yield Said(project, bool(number % 2), fate(function, later), said, days)
        long = [each for each in functions if each.last - each.first >= LEAST_LINES - 1]
        for function in chance.sample(long, min(DRAWN, len(long))):
            entry = lesson(project, len(lessons), function, release, root)
            lessons.append((entry, function, release))


def rates(pairs: Sequence[tuple[bool, bool]]) -> tuple[float, float]:
    """Return precision and recall of pairs of what is said and what is true."""
    hits = sum(said and true for said, true in pairs)
    return hits / max(sum(said for said, _ in pairs), 1), hits / max(sum(true for _, true in pairs), 1)


def best_age(others: Sequence[Said]) -> float:
    """Return the age in days from which on most is right, by F1, to call a lesson changed."""

    def f1(days: float) -> float:
        precision, recall = rates([(each.age >= days, each.truth != "same") for each in others])
        return 2 * precision * recall / max(precision + recall, 1e-9)

    return max(range(0, 3650, 30), key=f1)


def report(said: Sequence[Said]) -> dict[str, dict[str, float]]:
    """Return the figures of each way."""
    ages = {name: best_age([each for each in said if each.project != name]) for name in {each.project for each in said}}
    ways = {
        "files": [each.files for each in said],
        "age": ["changed" if each.age >= ages[each.project] else "same" for each in said],
    }
    figures = {}
    for way, words in ways.items():
        pairs = list(zip(words, (each.truth for each in said), strict=True))
        changed = rates([(word != "same", truth != "same") for word, truth in pairs])
        gone = rates([(word == "gone", truth == "gone") for word, truth in pairs])
        figures[way] = {
            "changed_precision": changed[0],
            "changed_recall": changed[1],
            "gone_precision": gone[0],
            "gone_recall": gone[1],
        }
    return figures


def main() -> None:
    """Run the benchmark."""
    options = options_of(__doc__, data=Option(Path, is_needed=True))
    projects = {folder.name: releases_in(folder) for folder in sorted(options.data.iterdir()) if folder.is_dir()}
    projects["this repository"] = own_history()
    said: list[Said] = []
    for name, releases in projects.items():
        with tempfile.TemporaryDirectory(prefix="lms-") as folder:
            said += judged(name, releases, Path(folder))
    groups = {"all": said}
    groups |= {"edited": [each for each in said if each.is_edit], "named": [each for each in said if not each.is_edit]}
    groups |= {name: [each for each in said if each.project == name] for name in projects}
    figures = {}
    for group, chosen in groups.items():
        truths = Counter(each.truth for each in chosen)
        figures[group] = report(chosen) if group not in projects else {"files": report([*chosen])["files"]}
        print(
            f"{group}: {len(chosen):,} judgements, {truths['same']:,} same, {truths['changed']:,} changed, {truths['gone']:,} gone"
        )
        for way, found in figures[group].items():
            print(f"  {way:12} " + "  ".join(f"{name} {value:.3f}" for name, value in found.items()))
    for state in State:
        true = [each.truth == "same" for each in said if each.files == state.name.lower()]
        print(f"{state.name.lower()}: {len(true):,} judgements, {sum(true) / max(len(true), 1):.3f} still true")
    if options.json:
        print(json.dumps(figures))


if __name__ == "__main__":
    main()
