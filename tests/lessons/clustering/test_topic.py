import numpy as np
import pytest
from numpy.typing import NDArray

from learning_memory_server.lessons.clustering.topic import (
    LEAST_CLOSENESS,
    MARGIN,
    ClusterEvidence,
    TopicMatch,
    match_topic,
)

DIMENSION = 48


def around(axis: int, members: int, spread: float, seed: int = 0) -> NDArray[np.float32]:
    """Unit vectors around an axis, `spread` away from it before they are scaled to length 1."""
    drawn = np.random.default_rng(seed).normal(size=(members, DIMENSION))
    drawn *= spread / np.linalg.norm(drawn, axis=1, keepdims=True)
    drawn[:, axis] += 1
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True), dtype=np.float32)


def evidence(name: str, vectors: NDArray[np.float32]) -> ClusterEvidence:
    return ClusterEvidence.of(name, vectors, np.ones(len(vectors)))


OWN = evidence("strategy_0", around(0, 20, 0.6))
OTHERS = [evidence("strategy_1", around(1, 20, 0.6, 1)), evidence("strategy_2", around(2, 8, 0.6, 2))]


def outdone_by(match: TopicMatch) -> str | None:
    """The cluster that a text is nearer to than to its own, or equally near within the margin."""
    return match.rival.name if match.rival and match.rival.margin < match.rival.margin_needed else None


def test_a_text_like_the_members_is_valid() -> None:
    match = match_topic(around(0, 1, 0.6, 9)[0], OWN, OTHERS)

    assert match.valid
    assert outdone_by(match) is None
    assert match.similarity > 0.7
    assert match.centroid_distance == pytest.approx(1 - match.similarity, abs=1e-6)
    assert "no other cluster is closer" in match.reason


def test_a_text_about_another_cluster_is_refused_and_that_cluster_is_named() -> None:
    match = match_topic(around(2, 1, 0.4, 9)[0], OWN, OTHERS)

    assert not match.valid
    assert outdone_by(match) == "strategy_2"
    assert match.rival
    assert match.reason == (
        f"closer to cluster strategy_2 than to strategy_0, by {-match.rival.margin:.2f} "
        "(centre and nearest members combined)"
    )


def test_a_nearer_cluster_decides_even_if_the_own_is_near_enough() -> None:
    between = np.zeros(DIMENSION, dtype=np.float32)
    between[[0, 1]] = 0.7, 0.72
    wide = evidence("full_0", around(0, 20, 1.5))

    match = match_topic(between, wide, OTHERS)

    assert match.centroid_distance < match.threshold
    assert not match.valid
    assert outdone_by(match) == "strategy_1"


def test_a_text_that_fits_two_clusters_equally_is_refused() -> None:
    between = np.zeros(DIMENSION, dtype=np.float32)
    between[[0, 1]] = 1.0, 0.995

    match = match_topic(between, evidence("full_0", around(0, 20, 1.5)), [evidence("full_1", around(1, 20, 1.5, 1))])

    assert not match.valid
    assert outdone_by(match) == "full_1"


def test_the_members_near_a_text_count_as_well_as_the_centroid() -> None:
    # Half of the members lie towards axis 3, so a text there is theirs, although the other centroid is nearer.
    bent = np.vstack([around(0, 10, 0.3), around(3, 10, 0.3, 1)])
    own, other = evidence("full_0", bent), evidence("full_1", around(1, 20, 0.3, 2))
    text = np.zeros(DIMENSION, dtype=np.float32)
    text[[1, 3]] = 0.56, 0.75

    assert own.centroid @ text < other.centroid @ text
    assert match_topic(text, own, [other]).valid


def test_evidence_of_a_large_cluster_keeps_a_sample_of_its_members() -> None:
    vectors = around(0, 1000, 0.6)
    proof = evidence("full_0", vectors)

    assert len(proof.sample) <= 64
    np.testing.assert_allclose(proof.sample[-1].astype(np.float32) @ vectors.T, vectors[992] @ vectors.T, atol=2e-3)


def test_a_text_that_is_far_is_refused_even_if_no_cluster_is_nearer() -> None:
    match = match_topic(around(0, 1, 3.0, 9)[0], OWN, OTHERS)

    assert not match.valid
    assert outdone_by(match) is None
    assert match.centroid_distance > match.threshold
    assert match.reason == (
        f"off topic: {match.centroid_distance:.2f} away from the centre of strategy_0, "
        f"where {match.threshold:.2f} is the most"
    )


def test_a_text_about_nothing_here_is_off_topic_however_near_the_clusters_are_to_each_other() -> None:
    match = match_topic(around(9, 1, 0.1, 9)[0], OWN, OTHERS)

    assert not match.valid
    assert match.reason.startswith("off topic: ")


def test_with_a_single_cluster_only_the_distance_decides() -> None:
    assert match_topic(around(0, 1, 0.6, 9)[0], OWN, []).valid
    assert not match_topic(around(1, 1, 0.6, 9)[0], OWN, []).valid


def test_weights_move_the_centroid() -> None:
    pair = np.eye(DIMENSION, dtype=np.float32)[:2]

    weighted = ClusterEvidence.of("full_0", pair, np.array([1.0, 0.2]))

    np.testing.assert_allclose(weighted.centroid[:2], np.array([1.0, 0.2]) / np.hypot(1.0, 0.2), atol=1e-6)


@pytest.mark.parametrize("members", [1, 2, 3])
def test_tiny_clusters_can_judge_texts(members: int) -> None:
    vectors = around(0, members, 0.6, 7)
    own = evidence("full_0", vectors)

    for others in ([], OTHERS):
        assert all(match_topic(vector, own, others).valid for vector in vectors)
        assert not match_topic(around(5, 1, 0.1)[0], own, others).valid


def test_every_number_is_reported_whatever_the_verdict() -> None:
    for text in (around(0, 1, 0.4, 9)[0], around(2, 1, 0.4, 9)[0], around(7, 1, 0.4, 9)[0]):
        match = match_topic(text, OWN, OTHERS)

        assert match.threshold == pytest.approx(1 - LEAST_CLOSENESS)
        assert match.rival
        (rival,) = (other for other in OTHERS if other.name == match.rival.name)
        assert match.rival.similarity == pytest.approx(float(rival.centroid @ text), abs=1e-6)
        assert match.rival.margin == pytest.approx(OWN.nearness(text) - rival.nearness(text), abs=1e-6)
        assert match.valid == (match.rival.margin >= MARGIN and match.centroid_distance <= match.threshold)


def test_with_a_single_cluster_there_is_no_rival() -> None:
    assert match_topic(around(0, 1, 0.6, 9)[0], OWN, []).rival is None


def test_a_cluster_of_equal_members_accepts_them_in_other_words() -> None:
    copies = evidence("full_0", np.repeat(around(0, 1, 0.01), 40, axis=0))
    others = [evidence("full_1", around(1, 10, 0.01, 1))]

    for apart in (0.0, 0.6, 1.0):
        assert match_topic(around(0, 1, apart, 3)[0], copies, others).valid
    assert not match_topic(around(5, 1, 0.6, 3)[0], copies, others).valid


@pytest.mark.parametrize("stretch", [0.3, 0.6])
def test_with_a_model_that_crowds_texts_together_the_bounds_are_as_much_narrower(stretch: float) -> None:
    match = match_topic(around(0, 1, 0.6, 9)[0], OWN, OTHERS, stretch)

    assert match.threshold == pytest.approx((1 - LEAST_CLOSENESS) * stretch)
    assert match.rival
    assert match.rival.margin_needed == pytest.approx(MARGIN * stretch)
    assert match.valid == (match.centroid_distance <= match.threshold)


def test_members_are_one_text_only_if_any_two_of_them_are_near_copies() -> None:
    same, near = np.array([1.0, 0.0, 0.0], np.float32), np.array([1.0, 0.1, 0.0], np.float32)
    other = np.array([1.0, 0.5, 0.0], np.float32)

    def is_one_text(*members: NDArray[np.float32]) -> bool:
        return ClusterEvidence.of("root_cause_0", np.array(members), np.ones(len(members))).is_one_text

    assert is_one_text(same, same, near)
    assert not is_one_text(same, near, other)
