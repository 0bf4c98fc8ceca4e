"""`show` and `clusters`: all details of one item, and recurring topics."""

import json
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Final

import typer
from rich.text import Text

from learning_memory_server.cli import command, out
from learning_memory_server.cli.given import times_given
from learning_memory_server.cli.listing import entry_record, notes_here
from learning_memory_server.errors import InsufficientDataError, InvalidInputError, NotFoundError
from learning_memory_server.lessons.values.log import Standing
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.failure import Failure
from learning_memory_server.model.limits import LISTING_MAX
from learning_memory_server.model.memory import Memory, replaced_among
from learning_memory_server.model.project import name_among
from learning_memory_server.model.value import ClusterId, Value
from learning_memory_server.model.vocabulary import Axis
from learning_memory_server.server.views import entry_views

Fact = tuple[str, str | Text | None]

_AXES: Final = (Axis.ROOT_CAUSE, Axis.FULL)  # The axes to search for clusters by default
_COLUMNS: Final = 28  # Columns of a candidate's text: with a memory's id and kind, a line has 80

commands = command.Commands()


@commands.command(example="ghap_20260301_120000_ffffff")
async def show(
    name: Annotated[str, typer.Argument(metavar="ID", help="An id; the beginning of it is enough.")],
    project: command.ProjectOption = None,
) -> command.Result:
    """Show everything about one entry, value, memory, error or cluster, and when agents were given it.

    With --project, a cluster of that project's experiences.
    """
    stored = command.Offline(command.open_settings())
    project, found = command.chosen_project(project, stored), _find(name, stored)
    if project and not isinstance(found, ClusterId):
        raise InvalidInputError("--project is for the ids of clusters.")
    kind: str
    display: Callable[[dict[str, Any]], None]
    if isinstance(found, ClusterId):
        kind, view, display = "cluster", await _read_cluster(found, project), _show_members
    elif isinstance(found, Ghap):
        view = entry_views.whole_entry(found) | notes_here([found], stored)[found.id]
        kind, display = "entry", _show_entry
    elif isinstance(found, Memory):
        kind, view, display = "memory", _memory_view(found, stored), _show_memory
    elif isinstance(found, list):
        from learning_memory_server.server.views import failure_views

        kind, view, display = "error", failure_views.repeated_error(found), _show_error
    else:
        from learning_memory_server.server.views import value_views

        kind, view, display = "value", value_views.value(found), _show_value
        # All ids; listings have at most five of each.
        view["evidence"]["member_ids"] = list(found.value.evidence.member_ids)
        view |= {"supported_by": list(found.supporting), "contradicted_by": list(found.contradicting)}
    # In full if another project has the same short name, and always for programs.
    named = {"project": name_among(view["project"], stored.projects.all())} if "project" in view else {}
    display(view | named)
    given = times_given(stored, _id_of(found)) if isinstance(found, Ghap | Standing) else ""
    if given:
        out.say()
        out.facts([("given", given)])
    if isinstance(found, Ghap) and found.resolution:
        is_never = stored.answers.is_never(found.id)
        how = "No agent is told of it, as you said; to answer anew:" if is_never else "If it is wrong or outdated:"
        undo = f"  learning-memory-server review {found.id}{'' if is_never else ' --never'}"
        out.say(f"\n{how}")
        out.say(undo, "green", is_line=True)
    return command.Result({"kind": kind, kind: view, **({"given": given} if given else {})})


def _id_of(found: Ghap | Standing) -> str:
    return found.id if isinstance(found, Ghap) else found.value.id


def _memory_view(found: Memory, stored: command.Offline) -> dict[str, Any]:
    from learning_memory_server.server.views import memory_views

    return memory_views.memory(found, replaced_among(stored.memory_log.all()).get(found.id, ""))


def _find(name: str, stored: command.Offline) -> Ghap | Standing | Memory | ClusterId | list[Failure]:
    """Return the entry, value with its standing, memory, failures of an error, or cluster id for an id.

    An id may be shortened if it stays unique, except for clusters.
    """
    name = name.strip()
    if not name:
        raise InvalidInputError("ID: is empty.", hint="`learning-memory-server list` shows ids.")
    try:
        return ClusterId.parse(name)
    except InvalidInputError:
        pass
    known: dict[str, tuple[str, Ghap | Value | Memory | list[Failure], str]] = {
        # After a crash, a resolved entry may still have an open file; the resolved one wins.
        **{each.id: ("open entry", each, each.goal) for each in stored.journal.open_entries()},
        **{each.id: ("entry", each, each.goal) for each in stored.collector.list_resolved()},
        **{each.id: ("value", each, each.text) for each in stored.value_log.all()},
        **{each.id: ("memory", each, each.title or each.text) for each in stored.memory_log.all()},
        **{each[-1].error: ("error", each, each[-1].signature) for each in stored.failure_log.errors()},
    }
    found = [name] if name in known else [each for each in sorted(known) if each.startswith(name)]
    if not found:
        raise _nothing(name, [kind for kind, *_ in known.values()], stored)
    if len(found) > 1:
        shown = [
            f"  {each}  {kind}: {out.shortened(text, _COLUMNS)}"
            for each in found[: out.SHOWN]
            for kind, _, text in [known[each]]
        ]
        rest = [f"  ... and {len(found) - out.SHOWN:,} more"] if len(found) > out.SHOWN else []
        lines = "\n".join([f"{len(found):,} ids begin with {out.one_line(name)!r}:", *shown, *rest])
        raise InvalidInputError(lines, hint="Give more of the id.")
    _, thing, _ = known[found[0]]
    return stored.standings([thing])[0] if isinstance(thing, Value) else thing


def _nothing(name: str, kinds: Sequence[str], stored: command.Offline) -> NotFoundError:
    forgotten = (stored.collector.forgotten_ids(), stored.value_log.forgotten_ids(), stored.memory_log.forgotten_ids())
    if any(name in ids for ids in forgotten):
        return NotFoundError(f"{out.one_line(name)} was forgotten.")
    places = ", ".join(
        out.counted(kinds.count(kind), kind) for kind in ("entry", "open entry", "value", "memory", "error")
    )
    return NotFoundError(
        f"No id begins with {out.one_line(name)!r}. Looked among {places} in {stored.journal.path}.",
        hint="`list`, `search`, `values`, `memories` and `failures` show ids; a cluster's is like full_0, from `clusters`.",
    )


def _show_entry(entry: dict[str, Any]) -> None:
    facts: list[Fact] = [
        ("entry", out.identity(entry["id"])),
        ("outcome", out.coloured(entry.get("outcome_status", "open"))),
        ("tier", out.coloured(entry.get("confidence_tier", ""))),
    ]
    facts += [(name, out.one_line(entry[name])) for name in ("domain", "strategy", "project") if name in entry]
    facts += [(name, _moment(entry[f"{name}_at"])) for name in ("created", "resolved") if f"{name}_at" in entry]
    confidences = ("first_confidence", "confidence")
    facts += [(name.replace("_", " "), f"{entry[name]:g}") for name in confidences if name in entry]
    cause, lesson = entry.get("root_cause"), entry.get("lesson", {})
    story = {
        **{name: entry.get(name) for name in ("goal", "hypothesis", "action", "prediction")},
        "result": entry.get("outcome_result"),
        "they said": entry.get("words"),
        "surprise": entry.get("surprise"),
        "root cause": cause and f"{cause['category']}: {cause['description']}",
        "worked": lesson.get("what_worked"),
        "takeaway": lesson.get("takeaway"),
    }
    facts += story.items()
    facts += [("note", note) for note in entry.get("notes", ())]
    facts += [("run", out.one_line(run)) for run in entry.get("runs", ())]
    facts += [("met", out.one_line(error)) for error in entry.get("errors", ())]
    facts += [("file", out.one_line(file)) for file in entry.get("files", ())]
    facts += [("freshness", out.one_line(entry.get("freshness", "")))]
    facts += [("superseded", out.identity(entry.get("superseded_by", "")))]
    if "afterwards" in entry:
        facts += [("written", "afterwards: it counts in no calibration")]
    if "same_as" in entry:
        facts += [("same as", f"{out.one_line(entry['same_as'])}, says its agent; `split` takes that back")]
    for earlier in entry.get("history", ()):
        facts.append(("until", _moment(earlier["at"])))
        facts += [(f"  {name}", earlier[name]) for name in ("hypothesis", "action", "prediction")]
    out.facts(facts)


def _show_value(value: dict[str, Any]) -> None:
    from learning_memory_server.cli.values import status_of

    support, evidence = value["support"], value["evidence"]
    facts: list[Fact] = [
        ("value", out.identity(value["id"])),
        ("text", value["text"]),
        ("status", status_of(value)),
        ("cluster", f"{value['cluster_id']}, of {value['cluster_size']} experiences when it was accepted"),
        ("project", out.one_line(value["project"])),
        ("created", _moment(value["created_at"])),
        ("distance", f"{evidence['centroid_distance']} to the centroid; at most {evidence['threshold']}"),
        ("support", "{:.2f} to {:.2f} (95 % interval)".format(*support["interval"])),
        ("for", _ids(value["supported_by"])),
        ("against", _ids(value["contradicted_by"])),
        ("members", _ids(evidence["member_ids"])),
        ("supersedes", out.identity(value.get("supersedes", ""))),
        ("superseded", out.identity(value.get("superseded_by", ""))),
    ]
    out.facts(facts)


def _show_memory(memory: dict[str, Any]) -> None:
    metadata = dict(memory["metadata"])
    tags = metadata.pop("tags", None)
    facts: list[Fact] = [
        ("memory", out.identity(memory["id"])),
        *((name, out.one_line(str(metadata.pop(name)))) for name in ("title", "source") if name in metadata),
        *([("tags", out.one_line(", ".join(map(str, tags))))] if isinstance(tags, list) and tags else []),
        ("project", out.one_line(memory["project"])),
        ("date", _moment(memory["date"])),
        ("added", _moment(memory["created_at"])),
        ("characters", f"{memory['characters']:,}"),
        *((name.replace("_", " "), memory.get(name)) for name in ("replaces", "replaced_by")),
    ]
    metadata.pop("timestamp", None)
    facts += [
        (out.one_line(name), out.one_line(json.dumps(value, ensure_ascii=False))) for name, value in metadata.items()
    ]
    out.facts(facts)
    out.say()
    out.say(out.text_lines(memory["text"]))


def _show_error(error: dict[str, Any]) -> None:
    from learning_memory_server.cli.failures import worked_next

    facts: list[Fact] = [
        ("error", out.identity(error["id"])),
        ("signature", out.one_line(error["signature"])),
        ("project", out.one_line(error["project"])),
        ("times", f"{error['times']:,}"),
        ("sessions", f"{error['sessions']:,}"),
        ("line", out.one_line(error["line"])),
        *([("figures", out.one_line(worked_next(error)))] if "followed" in error else []),
    ]
    for failure in error["failures"]:
        facts += [
            ("failed", _moment(failure["at"])),
            ("  command", out.one_line(failure["command"])),
            ("  next", out.one_line(failure.get("worked", "nothing worked"))),
        ]
    out.facts(facts)


def _moment(text: str) -> str:
    return f"{out.date_and_time(text)} UTC"


def _ids(ids: list[str]) -> str:
    return ", ".join(map(out.one_line, ids)) or "none"


@commands.command(example="root_cause")
async def clusters(
    axis: Annotated[
        Axis | None,
        typer.Argument(metavar="[AXIS]", help="full, strategy, surprise or root_cause; else root_cause, then full."),
    ] = None,
    project: command.ProjectOption = None,
    noise: Annotated[
        bool, typer.Option("--noise", help="Also show experiences that are in no cluster: the newest 50.")
    ] = False,
) -> command.Result:
    """Show what keeps recurring on an axis: clusters of similar experiences.

    Without an axis, root_cause is shown, or full if it has no clusters. Axis
    full and strategy need 20 entries. root_cause and surprise need 8 that have
    one.
    With --project, only that project's experiences are clustered, and the clusters
    have ids of their own. `show` lists the experiences of one.
    """
    from learning_memory_server.cli.access import open_connection

    settings = command.open_settings()
    project = command.chosen_project(project, command.Offline(settings))
    async with open_connection(settings, "clusters") as connection:
        await connection.run("complete")
        found = {}
        for each in [axis] if axis else _AXES:
            try:
                found = await connection.call_for_all(
                    "get_clusters", "clusters", "noise", axis=each, project=project, include_noise=noise
                )
            except InsufficientDataError as error:
                if not out.is_for_people() and each in {axis, _AXES[-1]}:
                    raise  # Programs have this error's code
                found = {"axis": each.value, "clusters": [], "explanation": error.message}
            if found.get("clusters"):
                break
    document = {name: value for name, value in found.items() if name not in {"offset", "truncated", "stored_text"}}
    if "total" in found:
        if axis is None:
            out.say(f"On axis {found['axis']}:", "bold")
        _show_clusters(found)
    else:
        out.say(f"No clusters yet. {found['explanation']}")
    return command.Result({**document, "count": len(found["clusters"])})


async def _read_cluster(cluster_id: ClusterId, project: str | None) -> dict[str, Any]:
    """Return a cluster of one project or of all, with its experiences. The label comes from the list of clusters."""
    from learning_memory_server.cli.access import open_connection

    async with open_connection(command.open_settings(), "clusters") as connection:
        await connection.run("complete")
        found = await connection.call_for_all("get_clusters", "clusters", axis=cluster_id.axis, project=project)
        reply = await connection.call_for_all(
            "get_cluster_members", "members", cluster_id=str(cluster_id), limit=LISTING_MAX
        )
    # A session may write between the two calls, so that the cluster may have changed.
    facts: dict[str, Any] = next((each for each in found["clusters"] if each["cluster_id"] == str(cluster_id)), {})
    return {
        **facts,
        "cluster_id": str(cluster_id),
        "axis": cluster_id.axis.value,
        "members": reply["members"],
        "count": len(reply["members"]),
    }


def _show_members(cluster: dict[str, Any]) -> None:
    facts: list[tuple[str, str | Text]] = [
        ("cluster", out.identity(cluster["cluster_id"])),
        ("experiences", f"{cluster['count']:,}"),
    ]
    if "label" in cluster:
        facts += [
            ("label", out.one_line(cluster["label"])),
            ("outcomes", _counts(cluster["outcomes"])),
            ("seen", f"{cluster['first_seen']} to {cluster['last_seen']}"),
        ]
    out.facts([*facts, ("root causes", _counts(cluster.get("root_causes", {})))])
    out.say()
    out.records(map(entry_record, cluster["members"]))


def _show_clusters(found: dict[str, Any]) -> None:
    out.records(
        out.Record(
            [
                out.identity(cluster["cluster_id"]),
                out.counted(cluster["size"], "experience"),
                _counts(cluster["outcomes"]),
                f"last {cluster['last_seen']}",
            ],
            cluster["label"],
            " / ".join(entry["goal"] for entry in cluster["exemplars"]),
        )
        for cluster in found["clusters"]
    )
    out.say(
        f"{out.counted(len(found['clusters']), 'cluster')} of {out.counted(found['total'], 'experience')}; "
        f"{found['noise_count']} in none of them."
    )
    if noise := found.get("noise"):
        newest = "" if len(noise) == found["noise_count"] else f", the newest {len(noise)}"
        out.say(f"In no cluster{newest}:")
        out.records(out.Record([out.identity(entry["id"])], entry["goal"]) for entry in noise)
    if "explanation" in found:
        out.say(found["explanation"], "yellow")


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{out.one_line(name)} {count}" for name, count in counts.items())
