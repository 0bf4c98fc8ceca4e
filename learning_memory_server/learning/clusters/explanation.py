"""Why a fit found few clusters or none, and which setting would help."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from learning_memory_server.learning.clustering.partition import Partition

_SIZE_SETTING: Final = "hdbscan_min_cluster_size"
_GROUPS_NAMED: Final = 3


def explain(partition: Partition) -> str | None:
    """Return why there are few or no clusters, and which setting would help; None if the partition is not thin."""
    if not partition.is_thin:
        return None
    needed = partition.min_cluster_size
    setting = f"{_SIZE_SETTING} = {needed}"
    if partition.count < needed:
        return f"There are {_counted(partition.count, 'point')}, and {setting} requires at least {needed} in a cluster."
    if partition.clusters:
        found = (
            f"{_counted(len(partition.clusters), 'cluster')} found, but {len(partition.noise)} of "
            f"{partition.count} points are in none of them ({setting}, min_samples = {partition.min_samples})."
        )
    else:
        found = (
            f"No {needed} of the {partition.count} points are close enough to each other to form a cluster "
            f"({setting}, min_samples = {partition.min_samples})."
        )
    return f"{found} {_way_out(partition)}"


def _way_out(partition: Partition) -> str:
    missed = partition.near_miss
    if missed is None:
        return f"A smaller {_SIZE_SETTING} would not find more: the other points are too dissimilar."
    shown = missed.sizes[:_GROUPS_NAMED]
    sizes = " and ".join(filter(None, [", ".join(map(str, shown[:-1])), str(shown[-1])]))
    of_them = f", the largest of {sizes} points" if len(missed.sizes) > 1 else f" of {sizes} points"
    groups = _counted(len(missed.sizes), "cluster")
    return f"With {_SIZE_SETTING} = {missed.min_cluster_size} there would be {groups}{of_them}."


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
