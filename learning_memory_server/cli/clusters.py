"""`clusters`: what keeps recurring on an axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from learning_memory_server.cli.access import complete_index, indexing, open_settings, services_of
from learning_memory_server.cli.terminal import coloured, counted, day, output, show_table, working
from learning_memory_server.domain.cluster import ClusterId
from learning_memory_server.errors import InvalidInputError

if TYPE_CHECKING:
    from learning_memory_server.clustering.experiences import AxisClusters, ExperienceCluster
    from learning_memory_server.domain.vocabulary import Axis


async def show_clusters(axis: Axis, members_of: str | None) -> None:
    """Print the axis' clusters, or the experiences of one of them.

    Raises:
        InvalidInputError: If the id is malformed, or of another axis.
        NotFoundError: If there is no such cluster.
        InsufficientDataError: If there are too few experiences.
        AlreadyRunningError: If a server uses the index.
        EmbeddingUnavailableError, StorageUnavailableError: If there is no index.
    """
    wanted = None if members_of is None else ClusterId.parse(members_of)
    if wanted is not None and wanted.axis is not axis:
        raise InvalidInputError(f"--members: {wanted} is not a cluster of axis {axis}.")
    settings = open_settings()
    async with services_of(settings, "clusters") as services:
        await complete_index(services)
        async with indexing(services):
            with working("Clustering"):
                found = await services.clusterer.cluster_axis(axis)
    if wanted is None:
        _show_all(found)
    else:
        _show_members(found.get(wanted))


def _show_all(found: AxisClusters) -> None:
    if found.clusters:
        show_table(
            ["cluster", "size", "weight", "label", "such as"],
            [
                [
                    str(cluster.id),
                    len(cluster.members),
                    f"{cluster.mean_weight:.2f}",
                    cluster.label,
                    " / ".join(entry.goal for entry in cluster.exemplars),
                ]
                for cluster in found.clusters
            ],
            numbers=["size", "weight"],
        )
    output().print(
        f"{counted(len(found.clusters), 'cluster')} of {counted(found.total, 'experience')}; "
        f"{found.noise_count} in none of them."
    )
    if found.explanation:
        output().print(Text(found.explanation, "yellow"))


def _show_members(cluster: ExperienceCluster) -> None:
    output().print(Text.assemble((str(cluster.id), "bold"), f": {cluster.label}"))
    show_table(
        ["resolved", "id", "outcome", "tier", "goal"],
        [
            [
                day(entry.outcome.resolved_at),
                entry.id,
                coloured(entry.outcome.status.value),
                coloured(entry.tier.value),
                entry.goal,
            ]
            for entry in cluster.members
        ],
    )
