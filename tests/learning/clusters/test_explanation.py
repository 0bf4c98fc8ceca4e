from learning_memory_server.learning.clusters.fitting import explain
from tests.learning.clustering.parts import directions, fit, mixture


def test_zero_clusters_are_explained_with_the_setting_that_would_find_some() -> None:
    vectors, _ = mixture(20, 16, spread=0.3)

    said = explain(fit(vectors, min_cluster_size=17))

    assert said == (
        "No 17 of the 320 points are close enough to each other to form a cluster "
        "(hdbscan_min_cluster_size = 17, min_samples = 3). "
        "With hdbscan_min_cluster_size = 16 there would be 20 clusters, the largest of 16, 16 and 16 points."
    )


def test_a_mostly_noisy_partition_is_explained() -> None:
    vectors, _ = mixture(2, 10, spread=0.5, noise=60)

    said = explain(fit(vectors))

    assert said is not None
    assert said.startswith("2 clusters found, but 60 of 80 points are in none of them")


def test_points_that_no_setting_groups_are_explained_as_dissimilar() -> None:
    said = explain(fit(directions(60, 384, 8)))

    assert said is not None
    assert "too dissimilar" in said


def test_too_few_points_are_explained_by_their_count() -> None:
    said = explain(fit(directions(2, 16, 1)))

    assert said == "There are 2 points, and hdbscan_min_cluster_size = 3 requires at least 3 in a cluster."


def test_a_good_partition_needs_no_explanation() -> None:
    vectors, _ = mixture(6, 10)

    assert explain(fit(vectors)) is None
