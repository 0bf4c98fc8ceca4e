"""The commands `clusters` and `values`."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.journal.journal import Journal
from learning_memory_server.lessons.values.log import ValueLog, VerdictLog
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.value import ClusterId
from learning_memory_server.model.vocabulary import Axis, Stance
from tests.command_line import SUBJECTS, old_entry, printed, refusal
from tests.lessons.values.parts import value
from tests.support import NOON, numbered


@pytest.mark.slow
@pytest.mark.usefixtures("filled")
def test_clusters_shows_clusters_and_their_members(run: Any) -> None:
    assert "3 clusters of 24 experiences; 0 in none of them." in printed(run("clusters", "full"))
    members = run("show", "full_0").stdout
    assert sorted(members.count(f"Fix the {subject}") for subject in SUBJECTS) == [0, 0, 8]


@pytest.mark.slow
@pytest.mark.usefixtures("filled")
def test_clusters_of_a_project_have_ids_of_their_own(run: Any) -> None:
    everywhere = json.loads(run("clusters", "full", "--json").stdout)
    own = json.loads(run("clusters", "full", "--project", "garden", "--json").stdout)
    assert [each["size"] for each in own["clusters"]] == [8, 8, 8]
    names = [each["cluster_id"] for each in own["clusters"]]
    assert not set(names) & {each["cluster_id"] for each in everywhere["clusters"]}
    assert "label" in run("show", names[0], "--project", "garden").stdout
    assert "--project is for" in refusal(run("show", "ghap_20260101_000007_abcdef", "--project", "garden"))
    assert "elsewhere" in refusal(run("clusters", "full", "--project", "elsewhere"))


@pytest.mark.slow
def test_clusters_shows_what_is_in_none_on_request(run: Any, write_lines: Any) -> None:
    strange = old_entry(
        30,
        goal="Cook lasagne",
        hypothesis="More cheese melts faster",
        action="Grate parmesan",
        prediction="Dinner smells good",
        outcome={**old_entry()["outcome"], "result": "Burnt"},
        lesson={"what_worked": "Lower heat", "takeaway": None},
    )
    run("import", write_lines(*(old_entry(number) for number in range(24)), strange))
    shown = run("clusters", "full", "--noise")
    without = run("clusters", "full")
    assert shown.exit_code == without.exit_code == 0
    assert shown.stdout.removeprefix(without.stdout) == ("In no cluster:\nghap_20260101_000030_abcdef  Cook lasagne\n")


@pytest.mark.slow
def test_clusters_of_too_few_say_how_many_are_needed(run: Any, write_lines: Any) -> None:
    run("import", write_lines(old_entry()))
    assert printed(run("clusters", "full")).startswith("No clusters yet. Axis full has 1 of the 20 experiences ")
    assert printed(run("clusters")) == printed(run("clusters", "full"))
    assert "error" in json.loads(printed(run("clusters", "full", "--json"), 1))


@pytest.mark.parametrize("cluster", ["nonsense", "surprise_0"])
def test_a_malformed_or_unknown_cluster_id_is_an_error(cluster: str, run: Any) -> None:
    assert refusal(run("show", cluster)).startswith("error: ")


def test_values_come_from_the_journal_largest_cluster_first(run: Any, storage: Path) -> None:
    log = ValueLog(Journal(storage / "journal").values)
    for number, size in enumerate((2, 5)):
        log.add(value(f"value_{number}", size=size, cluster=ClusterId(Axis.FULL, number)))
    lines = run("values").stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["value_1", "value_0"]
    assert [line.split()[-2:] for line in lines] == [["text", "value_1"], ["text", "value_0"]]
    assert run("values", "--axis", "surprise").stdout.startswith("No values on axis surprise yet. ")


def test_values_show_the_verdicts_for_and_against_them(run: Any, storage: Path) -> None:
    journal = Journal(storage / "journal")
    entries = [numbered(n) for n in range(9)]
    ObservationCollector(journal, lambda: NOON).add_resolved(entries)
    log, verdicts = ValueLog(journal.values), VerdictLog(journal.verdicts)
    for name, supersedes in (("held", None), ("old", None), ("doubted", "old"), ("new", None)):
        log.add(replace(value(name, size=0, project="garden"), supersedes=supersedes))
    held, _, doubted, _ = log.all()
    caller = Caller("garden", "a1")
    verdicts.record(caller, held, NOON, {entry.id: Stance.SUPPORTS for entry in entries[:5]})
    verdicts.record(caller, doubted, NOON, {entry.id: Stance.CONTRADICTS for entry in entries[5:]})

    def rows(*options: str) -> list[list[str]]:
        return [line.split("  ") for line in run("values", *options).stdout.splitlines()]

    assert [[row[0], *row[2:4]] for row in rows()] == [
        ["held", "supported", "+5 -0"],
        ["new", "unattested", "+0 -0"],
        ["doubted", "contested", "+0 -4"],
    ]
    assert [row[0] for row in rows("--sort", "newest")] == ["new", "held", "doubted"]
    assert "superseded" in [row[2] for row in rows("--superseded")]
