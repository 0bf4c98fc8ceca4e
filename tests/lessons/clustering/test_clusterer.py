import pickle

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from learning_memory_server.lessons.clustering.clusterer import Clusterer
from learning_memory_server.lessons.clustering.density import unit_rows
from tests.lessons.clustering.parts import as_sets, directions, fit, mixture, places_of


@pytest.mark.parametrize(("topics", "members"), [(3, 7), (8, 10), (12, 60)])
def test_the_topics_of_a_mixture_are_found(topics: int, members: int) -> None:
    vectors, truth = mixture(topics, members)

    assert adjusted_rand_score(truth, places_of(fit(vectors))) > 0.9


def test_lone_points_between_topics_are_noise_and_topics_are_not() -> None:
    vectors, truth = mixture(6, 20, noise=40)

    noise = places_of(fit(vectors)) == -1

    assert noise[truth == -1].mean() > 0.9
    assert noise[truth >= 0].mean() < 0.1


@pytest.mark.parametrize("count", [50, 300])
def test_unrelated_points_form_no_cluster(count: int) -> None:
    assert fit(directions(count, 384, 5)).clusters == ()


def test_every_row_is_in_one_cluster_or_noise() -> None:
    vectors, _ = mixture(5, 12, spread=1.1, noise=30)

    partition = fit(vectors)

    rows = np.concatenate([partition.noise, *(cluster.members for cluster in partition.clusters)])
    assert sorted(rows.tolist()) == list(range(len(vectors)))


def test_near_copies_count_once_and_stay_together() -> None:
    vectors, _ = mixture(6, 12, spread=0.9)
    alone = places_of(fit(vectors))
    random = np.random.default_rng(8)
    original = random.integers(0, len(vectors), 4 * len(vectors))
    scatter = unit_rows(random.normal(size=(len(original), vectors.shape[1])))
    copies = unit_rows(unit_rows(vectors)[original] + 0.15 * scatter)

    labels = places_of(fit(np.vstack([vectors, copies])))

    np.testing.assert_array_equal(labels[len(vectors) :], labels[original])
    assert adjusted_rand_score(alone, labels[: len(vectors)]) == 1


def test_a_text_repeated_as_often_as_the_smallest_cluster_has_members_is_a_cluster() -> None:
    lone = np.eye(40, dtype=np.float32)
    repeated = np.vstack([lone, np.tile(lone[7], (2, 1))])

    assert as_sets(fit(repeated[:-1])) == set()
    assert as_sets(fit(repeated)) == {frozenset({7, 40, 41})}


def test_a_partition_survives_pickling() -> None:
    partition = fit(mixture(5, 12, noise=10)[0])

    received = pickle.loads(pickle.dumps(partition))  # noqa: S301 its own output

    np.testing.assert_array_equal(places_of(received), places_of(partition))
    np.testing.assert_array_equal(received.clusters[0].centroid, partition.clusters[0].centroid)


def test_small_topics_next_to_a_large_one_are_found_and_it_is_not_split() -> None:
    large, _ = mixture(1, 200, spread=0.9)
    small, truth = mixture(8, 8, spread=0.9, seed=20)

    found = as_sets(fit(np.vstack([large, small])))

    assert max(map(len, found)) > 190
    for topic in range(8):
        rows = set((200 + np.flatnonzero(truth == topic)).tolist())
        assert any(len(rows & members) >= 7 and len(members - rows) <= 1 for members in found)


def test_a_looser_topic_among_tight_ones_is_not_an_outlier() -> None:
    tight, _ = mixture(8, 19, spread=0.27)
    looser, _ = mixture(1, 8, spread=0.48, seed=30)

    assert len(fit(np.vstack([tight, looser])).noise) == 0


def test_the_same_rows_give_the_same_partition() -> None:
    vectors, _ = mixture(7, 15, spread=1.0, noise=20)

    first, second = fit(vectors), fit(vectors.copy())

    assert [cluster.members.tolist() for cluster in first.clusters] == [
        cluster.members.tolist() for cluster in second.clusters
    ]
    for one, other in zip(first.clusters, second.clusters, strict=True):
        np.testing.assert_array_equal(one.centroid, other.centroid)


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_the_rows_does_not_change_the_clusters(seed: int) -> None:
    vectors, _ = mixture(7, 15, spread=1.0, noise=20, seed=seed)
    order = np.random.default_rng(seed).permutation(len(vectors))

    shuffled = fit(vectors[order])

    assert {frozenset(order[list(rows)].tolist()) for rows in as_sets(shuffled)} == as_sets(fit(vectors))


def test_the_length_of_a_vector_does_not_matter() -> None:
    vectors, _ = mixture(4, 10)
    lengths = np.random.default_rng(1).uniform(0.1, 9, size=(len(vectors), 1)).astype(np.float32)

    assert as_sets(fit(vectors * lengths)) == as_sets(fit(vectors))


def test_weights_move_centroids_but_not_membership() -> None:
    vectors, _ = mixture(5, 12, spread=1.0, noise=15)
    weights = np.random.default_rng(2).choice([0.2, 0.5, 0.8, 1.0], size=len(vectors))

    plain = fit(vectors)
    weighted = Clusterer().fit(vectors, weights)

    assert as_sets(weighted) == as_sets(plain)
    for one, other in zip(plain.clusters, weighted.clusters, strict=True):
        assert not np.allclose(one.centroid, other.centroid, atol=1e-3)
        rows = other.members
        mean = weights[rows] @ unit_rows(vectors[rows])
        np.testing.assert_allclose(other.centroid, mean / np.linalg.norm(mean), atol=1e-5)
        assert other.weights.tolist() == weights[rows].tolist()


def test_members_come_most_central_first_and_clusters_largest_first() -> None:
    vectors = np.vstack([mixture(3, 10, noise=5)[0], mixture(1, 25, seed=9)[0]])

    partition = fit(vectors)

    assert [len(cluster.members) for cluster in partition.clusters] == [25, 10, 10, 10]
    for cluster in partition.clusters:
        cosines = unit_rows(vectors[cluster.members]) @ cluster.centroid
        np.testing.assert_allclose(cosines, cluster.similarities, atol=1e-5)
        assert (np.diff(cluster.similarities) <= 0).all()


def test_topics_without_an_edge_between_them_are_found() -> None:
    # 40 members with 15 neighbours each: no topic has a neighbour in another, the graph is in five pieces.
    vectors, truth = mixture(5, 40, spread=0.3)

    assert adjusted_rand_score(truth, places_of(fit(vectors))) == 1.0


def test_small_pieces_of_the_graph_are_not_pooled_into_a_cluster() -> None:
    vectors, _ = mixture(20, 16, spread=0.3)

    partition = fit(vectors, min_cluster_size=17)

    assert partition.clusters == ()
    assert partition.near_miss is not None
    assert partition.near_miss.min_cluster_size == 16
    assert partition.near_miss.sizes == (16,) * 20


@pytest.mark.parametrize("count", range(12))
@pytest.mark.parametrize("kind", ["unrelated", "identical", "three texts", "zeros"])
def test_tiny_stores_are_answered_without_a_warning(count: int, kind: str) -> None:
    vectors = {
        "unrelated": directions(count, 16, 3),
        "identical": np.repeat(directions(1, 16, 3), count, axis=0),
        "three texts": directions(3, 16, 3)[np.arange(count) % 3],
        "zeros": np.zeros((count, 16), dtype=np.float32),
    }[kind]

    partition = fit(vectors)

    assert partition.count == count
    assert sum(len(cluster.members) for cluster in partition.clusters) + len(partition.noise) == count


@pytest.mark.parametrize("count", [3, 10, 15, 16, 60])
def test_copies_of_one_text_are_one_cluster(count: int) -> None:
    copies = np.repeat(directions(1, 32, 4), count, axis=0)

    assert [len(cluster.members) for cluster in fit(copies).clusters] == [count]


def test_copies_stay_together_and_leave_the_other_topics_intact() -> None:
    vectors, _ = mixture(4, 12, spread=0.7)
    copied = np.vstack([vectors, np.repeat(vectors[:1], 6, axis=0)])

    found = as_sets(fit(copied))

    assert {frozenset(range(start, start + 12)) for start in (12, 24, 36)} <= found
    assert any({0, *range(48, 54)} <= rows for rows in found)


def test_one_topic_that_density_would_split_is_one_cluster() -> None:
    vectors, _ = mixture(1, 60, spread=0.5)

    assert [len(cluster.members) for cluster in fit(vectors).clusters] == [60]


def test_halves_of_a_topic_are_merged_next_to_another_topic() -> None:
    # Two tight groups whose centroids have a cosine of .9, and one far away.
    axes = np.eye(64, dtype=np.float32)
    tilted = 0.9 * axes[0] + np.sqrt(1 - 0.81) * axes[1]
    heaps = np.repeat(np.stack([axes[0], tilted, axes[2]]), 20, axis=0)
    vectors = (heaps + 0.15 * directions(60, 64, 6)).astype(np.float32)

    assert as_sets(fit(vectors)) == {frozenset(range(40)), frozenset(range(40, 60))}


def test_a_configured_cluster_size_is_used_and_the_default_grows_with_the_store() -> None:
    vectors, _ = mixture(20, 16, spread=0.3)

    assert [len(cluster.members) for cluster in fit(vectors, min_cluster_size=16).clusters] == [16] * 20
    assert fit(vectors, min_cluster_size=17).clusters == ()
    assert [Clusterer().effective_size(count) for count in (0, 81, 400, 1000, 10_000)] == [3, 3, 3, 3, 15]


@pytest.mark.parametrize("min_samples", [1, 2, 20, 1000])
def test_any_number_of_samples_works(min_samples: int) -> None:
    vectors, truth = mixture(4, 30, spread=0.5)

    partition = fit(vectors, min_samples=min_samples)

    assert partition.min_samples == min_samples
    if min_samples <= 20:
        assert adjusted_rand_score(truth, places_of(partition)) > 0.9
