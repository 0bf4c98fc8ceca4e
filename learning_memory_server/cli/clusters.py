"""`clusters`: the clusters of an axis, or the experiences of one cluster."""

from typing import Annotated, Any

import typer
from rich.text import Text

from learning_memory_server.cli.access.connection import open_connection
from learning_memory_server.cli.access.reading import open_settings
from learning_memory_server.cli.command import Commands, ProjectOption, Result, chosen_project
from learning_memory_server.cli.listing import entry_facts
from learning_memory_server.cli.terminal import counted, identity, output, show_facts, show_records
from learning_memory_server.errors import InvalidInputError
from learning_memory_server.model.cluster import ClusterId
from learning_memory_server.model.limits import LISTING_MAX
from learning_memory_server.model.lines import one_line
from learning_memory_server.model.vocabulary import Axis

commands = Commands()


@commands.command()
async def clusters(
    axis: Annotated[Axis, typer.Argument(metavar="AXIS", help="full, strategy, surprise or root_cause.")],
    members: Annotated[
        str | None, typer.Option("--members", metavar="ID", help="Show the experiences of this cluster.")
    ] = None,
    project: ProjectOption = None,
    noise: Annotated[
        bool, typer.Option("--noise", help="Also show experiences that are in no cluster: the newest 50.")
    ] = False,
) -> Result:
    """Show what keeps recurring on an axis: clusters of similar experiences.

    With --project, only that project's experiences are clustered, and the clusters
    have ids of their own.
    """
    wanted = None if members is None else ClusterId.parse(members)
    if wanted is not None and wanted.axis is not axis:
        raise InvalidInputError(
            f"--members: {wanted} is a cluster of axis {wanted.axis}, not of {axis}.",
            hint=f"Run: learning-memory-server clusters {wanted.axis} --members {wanted}",
        )
    if wanted is not None and noise:
        raise InvalidInputError("Give either --members or --noise: a cluster has no noise.")
    settings = open_settings()
    project = chosen_project(project, settings)
    if wanted is not None:
        cluster = await read_cluster(wanted, project)
        show_members(cluster)
        return Result(cluster)
    async with open_connection(settings, "clusters") as connection:
        await connection.run("complete")
        found = await connection.call_for_all(
            "get_clusters", "clusters", axis=axis, project=project, include_noise=noise
        )
    document = {
        name: value for name, value in found.items() if name not in {"offset", "truncated", "stored_text"}
    }
    _show_all(found)
    return Result({**document, "count": len(found["clusters"])})


async def read_cluster(cluster_id: ClusterId, project: str | None = None) -> dict[str, Any]:
    """Return a cluster, of one project or of all, with its experiences. Only its own list has its label."""
    async with open_connection(open_settings(), "clusters") as connection:
        await connection.run("complete")
        found = await connection.call_for_all(
            "get_clusters", "clusters", axis=cluster_id.axis, project=project
        )
        reply = await connection.call_for_all(
            "get_cluster_members", "members", cluster_id=str(cluster_id), limit=LISTING_MAX
        )
    # A session may write between the two calls, and the cluster then be another.
    facts: dict[str, Any] = next(
        (each for each in found["clusters"] if each["cluster_id"] == str(cluster_id)), {}
    )
    return {
        **facts,
        "cluster_id": str(cluster_id),
        "axis": cluster_id.axis.value,
        "members": reply["members"],
        "count": len(reply["members"]),
    }


def show_members(cluster: dict[str, Any]) -> None:
    """Print a cluster and its experiences, from a `MemberDocument`."""
    facts: list[tuple[str, str | Text]] = [
        ("cluster", identity(cluster["cluster_id"])),
        ("experiences", f"{cluster['count']:,}"),
    ]
    if "label" in cluster:
        facts += [
            ("label", one_line(cluster["label"])),
            ("outcomes", _counts(cluster["outcomes"])),
            ("seen", f"{cluster['first_seen']} to {cluster['last_seen']}"),
        ]
    show_facts([*facts, ("root causes", _counts(cluster.get("root_causes", {})))])
    output().print()
    show_records((entry_facts(entry), entry["goal"]) for entry in cluster["members"])


def _show_all(found: dict[str, Any]) -> None:
    show_records(
        (
            [
                identity(cluster["cluster_id"]),
                counted(cluster["size"], "experience"),
                _counts(cluster["outcomes"]),
                f"last {cluster['last_seen']}",
            ],
            f"{cluster['label']}: " + " / ".join(entry["goal"] for entry in cluster["exemplars"]),
        )
        for cluster in found["clusters"]
    )
    output().print(
        f"{counted(len(found['clusters']), 'cluster')} of {counted(found['total'], 'experience')}; "
        f"{found['noise_count']} in none of them."
    )
    if noise := found.get("noise"):
        newest = "" if len(noise) == found["noise_count"] else f", the newest {len(noise)}"
        output().print(f"In no cluster{newest}:")
        show_records(([identity(entry["id"])], entry["goal"]) for entry in noise)
    if "explanation" in found:
        output().print(Text(found["explanation"], "yellow"))


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{one_line(name)} {count}" for name, count in counts.items())
