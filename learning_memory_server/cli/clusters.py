"""`clusters`: what keeps recurring on an axis."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from learning_memory_server.cli.access import open_settings
from learning_memory_server.cli.connection import open_connection
from learning_memory_server.cli.terminal import coloured, counted, day, output, show_table
from learning_memory_server.domain.cluster import ClusterId
from learning_memory_server.errors import InvalidInputError

if TYPE_CHECKING:
    from learning_memory_server.domain.vocabulary import Axis

_PAGE: Final = 100


async def show_clusters(axis: Axis, members_of: str | None) -> None:
    """Print the axis' clusters, or the experiences of one of them.

    Raises:
        InvalidInputError: If the id is malformed, or of another axis.
        NotFoundError: If there is no such cluster.
        InsufficientDataError: If there are too few experiences.
        AlreadyRunningError: If another process than a hub uses the index.
        DeadlineExceededError: If the hub hangs.
        EmbeddingUnavailableError, StorageUnavailableError: If there is no index.
    """
    wanted = None if members_of is None else ClusterId.parse(members_of)
    if wanted is not None and wanted.axis is not axis:
        raise InvalidInputError(f"--members: {wanted} is not a cluster of axis {axis}.")
    settings = open_settings()
    async with open_connection(settings, "clusters") as connection:
        await connection.run("complete")
        found = await connection.call_for_all("get_clusters", "clusters", axis=axis)
        if wanted is None:
            _show_all(found)
            return
        reply = await connection.call_for_all(
            "get_cluster_members", "members", cluster_id=str(wanted), limit=_PAGE
        )
    # Others may write between the two calls.
    label = next((c["label"] for c in found["clusters"] if c["cluster_id"] == str(wanted)), "")
    _show_members(wanted, label, reply["members"])


def _show_all(found: dict[str, Any]) -> None:
    if found["clusters"]:
        show_table(
            ["cluster", "size", "weight", "label", "such as"],
            [
                [
                    cluster["cluster_id"],
                    cluster["size"],
                    f"{cluster['avg_weight']:.2f}",
                    cluster["label"],
                    " / ".join(entry["goal"] for entry in cluster["exemplars"]),
                ]
                for cluster in found["clusters"]
            ],
            numbers=["size", "weight"],
        )
    output().print(
        f"{counted(len(found['clusters']), 'cluster')} of {counted(found['total'], 'experience')}; "
        f"{found['noise_count']} in none of them."
    )
    if "explanation" in found:
        output().print(Text(found["explanation"], "yellow"))


def _show_members(cluster_id: ClusterId, label: str, members: list[dict[str, Any]]) -> None:
    output().print(Text.assemble((str(cluster_id), "bold"), f": {label}"))
    show_table(
        ["created", "id", "outcome", "tier", "goal"],
        [
            [
                day(datetime.fromisoformat(entry["created_at"])),
                entry["id"],
                coloured(entry["outcome_status"]),
                coloured(entry["confidence_tier"]),
                entry["goal"],
            ]
            for entry in members
        ],
    )
