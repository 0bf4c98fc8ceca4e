import numpy as np
import pytest
from numpy.typing import NDArray

from learning_memory_server.learning.clustering.topic import MARGIN, ClusterEvidence, TopicMatch, match_topic

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
    return match.rival.name if match.rival and match.rival.margin < MARGIN else None


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


def test_a_nearer_cluster_decides_even_within_reach_of_the_own() -> None:
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
    # Half of the members lie towards axis 3, so a text there is theirs, although the other centroid is no farther.
    bent = np.vstack([around(0, 10, 0.3), around(3, 10, 0.3, 1)])
    own, other = evidence("full_0", bent), evidence("full_1", around(1, 20, 0.3, 2))
    text = np.zeros(DIMENSION, dtype=np.float32)
    text[[1, 3]] = 0.5, 0.75

    assert own.centroid @ text < other.centroid @ text + 0.05
    assert own.nearness(text) > other.nearness(text)


def test_evidence_of_a_large_cluster_keeps_a_sample_of_its_members() -> None:
    vectors = around(0, 1000, 0.6)
    proof = evidence("full_0", vectors)

    assert len(proof.sample) <= 64
    np.testing.assert_allclose(proof.sample[-1].astype(np.float32) @ vectors.T, vectors[992] @ vectors.T, atol=2e-3)
    assert proof.size == 1000


def test_a_text_beyond_the_reach_of_the_members_is_refused_even_if_no_cluster_is_nearer() -> None:
    match = match_topic(around(0, 1, 3.0, 9)[0], OWN, OTHERS)

    assert not match.valid
    assert outdone_by(match) is None
    assert match.centroid_distance > match.threshold
    assert match.reason == (
        f"{match.centroid_distance:.2f} away from the centre of strategy_0, but its members reach only {match.threshold:.2f}"
    )


def test_with_a_single_cluster_only_the_reach_decides() -> None:
    assert match_topic(around(0, 1, 0.6, 9)[0], OWN, []).valid
    assert not match_topic(around(1, 1, 0.6, 9)[0], OWN, []).valid


def test_the_threshold_is_the_leave_one_out_mean_plus_three_pooled_deviations() -> None:
    vectors = around(0, 6, 0.9, 5).astype(np.float64)
    left_out = []
    for place in range(6):
        rest = np.delete(vectors, place, axis=0).sum(axis=0)
        left_out.append(1 - vectors[place] @ rest / np.linalg.norm(rest))
    own = evidence("full_0", vectors.astype(np.float32))
    typical = max(0.05, np.mean([np.std(left_out), *(other.loo_deviation for other in OTHERS)]))
    pooled = np.sqrt((6 * np.var(left_out) + 5 * typical**2) / 11)

    assert match_topic(vectors[0], own, OTHERS).threshold == pytest.approx(np.mean(left_out) + 3 * pooled, abs=1e-5)


def test_the_strict_threshold_is_reported_and_is_stricter() -> None:
    vectors = around(0, 6, 0.9, 5).astype(np.float64)
    centre = vectors.sum(axis=0) / np.linalg.norm(vectors.sum(axis=0))
    inside = 1 - vectors @ centre

    match = match_topic(vectors[0], evidence("full_0", vectors.astype(np.float32)), OTHERS)

    assert match.strict_threshold == pytest.approx(inside.mean() + 0.5 * inside.std(), abs=1e-5)
    assert match.strict_threshold < match.threshold


def test_genuine_texts_of_a_small_cluster_pass_although_the_strict_rule_refuses_them() -> None:
    own = evidence("full_0", around(0, 5, 0.9, 3))
    matches = [match_topic(text, own, OTHERS) for text in around(0, 40, 0.9, 4)]

    assert np.mean([match.valid for match in matches]) > 0.9
    assert np.mean([match.centroid_distance <= match.strict_threshold for match in matches]) < 0.5


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


def test_a_cluster_of_copies_accepts_the_same_text_and_nothing_far() -> None:
    copies = np.repeat(around(0, 1, 0.6), 4, axis=0)
    own = evidence("full_0", copies)

    assert match_topic(copies[0], own, []).valid
    assert match_topic(3 * copies[0], own, OTHERS).valid
    assert not match_topic(around(0, 1, 0.6, 11)[0], own, []).valid


def test_two_members_that_cancel_out_give_finite_numbers() -> None:
    axis = np.eye(DIMENSION, dtype=np.float32)[:1]

    match = match_topic(axis[0], evidence("full_0", np.vstack([axis, -axis])), OTHERS)

    assert np.isfinite([match.threshold, match.strict_threshold, match.similarity]).all()


def test_a_cluster_without_members_has_no_evidence() -> None:
    with pytest.raises(ValueError, match="full_3 has no members"):
        evidence("full_3", np.empty((0, DIMENSION), dtype=np.float32))


def test_every_number_is_reported_whatever_the_verdict() -> None:
    for text in (around(0, 1, 0.4, 9)[0], around(2, 1, 0.4, 9)[0], around(7, 1, 0.4, 9)[0]):
        match = match_topic(text, OWN, OTHERS)

        assert (match.mean, match.deviation) == (OWN.mean, OWN.deviation)
        assert match.rival
        (rival,) = (other for other in OTHERS if other.name == match.rival.name)
        assert match.rival.similarity == pytest.approx(float(rival.centroid @ text), abs=1e-6)
        assert match.rival.margin == pytest.approx(OWN.nearness(text) - rival.nearness(text), abs=1e-6)
        assert match.valid == (match.rival.margin >= MARGIN and match.centroid_distance <= match.threshold)


def test_a_text_as_near_to_three_clusters_is_too_general() -> None:
    wide = [evidence(f"full_{axis}", around(axis, 20, 1.5, axis)) for axis in range(4)]
    general, far = np.zeros((2, DIMENSION), dtype=np.float32)
    general[:3] = 1.0
    far[9] = 1.0

    match = match_topic(general, wide[0], wide[1:])

    assert not match.valid
    assert match.reason.startswith("too general: as close to full_")
    assert match.reason.endswith("as to full_0, and within reach of each")
    assert {"full_1", "full_2"} <= set(match.reason.replace(",", "").split())
    # It is equally far from all, which is another case.
    assert "too general" not in match_topic(far, wide[0], wide[1:]).reason


def test_with_a_single_cluster_there_is_no_rival() -> None:
    assert match_topic(around(0, 1, 0.6, 9)[0], OWN, []).rival is None


def test_near_copies_of_one_sentence_accept_it_in_other_words() -> None:
    copies = evidence("full_0", around(0, 10, 0.01))
    others = [evidence("full_1", around(1, 10, 0.01, 1))]

    assert match_topic(around(0, 1, 0.3, 3)[0], copies, others).valid
    assert not match_topic(around(0, 1, 0.9, 3)[0], copies, others).valid
