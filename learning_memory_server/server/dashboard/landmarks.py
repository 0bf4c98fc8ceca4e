"""Where experiences are on the map: a place is a function of the vector and of a frame, which rarely changes.

A frame has landmarks, which have a vector and a place each. An experience is where its nearest landmarks are, so the
others stay where they are when it comes. Landmarks are spread out by t-SNE, which starts at the places of the frame
before, so that a new frame resembles it.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

LANDMARKS: Final = 240  # At most. t-SNE takes .3 s of a processor for these, and thirty times as long for 2,000.
_NEAREST: Final = 3  # How many landmarks decide where an experience is
_SHARPNESS: Final = 12.0  # How much more a nearer landmark counts: its weight is exp(12 * cosine)
_ROUNDED: Final = 4  # Decimals of a cosine by which landmarks are chosen; the rest depends on the processor
_SPREAD: Final = 0.9  # How far an experience may be from its landmarks, in distances between neighbouring landmarks
_SEED: Final = 17
_PLANE: Final = 2
_DIMENSIONS: Final = 30  # Principal components that t-SNE gets: the rest is noise, and costs time
_FARTHEST: Final = 2.0  # How far from the middle a landmark is at most, in times the median
_FOR_NEIGHBOURS: Final = 6  # The least landmarks with neighbours; fewer are drawn by their components


@dataclass(frozen=True, slots=True, eq=False)
class Landmarks:
    """The landmarks of an axis."""

    vectors: Floats  # shape (m, d), each of length 1
    places: Floats  # shape (m, 2), from -1 to 1
    made_of: int  # how many experiences it was made of
    forgotten: int  # how many entries were forgotten by then: a landmark may stem from one of the next
    origin: str  # where the vectors come from: the model, and how it was used

    def fits(self, count: int, forgotten: int, origin: str) -> bool:
        """Return whether it still serves: the same model, nothing forgotten, and less than twice the experiences."""
        is_current = self.origin == origin and self.forgotten == forgotten
        return is_current and count < 2 * self.made_of

    def places_of(self, vectors: Floats) -> Floats:
        """Return where experiences with these vectors are, shape (n, 2)."""
        if not len(self.vectors) or not len(vectors):
            return np.zeros((len(vectors), _PLANE), np.float32)
        cosines = vectors @ self.vectors.T
        count = min(_NEAREST, len(self.vectors))
        # Of landmarks that are equally near, the first: how a processor rounds must not choose others.
        nearest = np.argsort(-cosines.round(_ROUNDED), axis=1, kind="stable")[:, :count]
        near = np.take_along_axis(cosines, nearest, axis=1)
        weights = np.exp(_SHARPNESS * (near - near.max(axis=1, keepdims=True)))
        weights /= weights.sum(axis=1, keepdims=True)
        between = np.einsum("nk,nkp->np", weights, self.places[nearest])
        # What the landmarks do not say of the vector moves it, by what it is on two fixed directions.
        rest = vectors - np.einsum("nk,nkd->nd", weights, self.vectors[nearest])
        shift = rest @ _directions(vectors.shape[1])
        placed: Floats = np.asarray(between + self._pitch() * _SPREAD * shift, np.float32)
        return placed

    def _pitch(self) -> float:
        """Return the usual distance between neighbouring landmarks."""
        if len(self.places) <= 1:
            return 1.0
        apart = np.linalg.norm(self.places[:, None] - self.places[None], axis=2)
        np.fill_diagonal(apart, np.inf)
        return float(np.median(apart.min(axis=1)))


def new_frame(vectors: Floats, forgotten: int, origin: str, before: Landmarks | None) -> Landmarks:
    """Return the frame of these experiences (n, d), each of length 1. The same ones give the same frame."""
    # As they are kept in a file, so that places are the same after a restart.
    marks = _landmarks(vectors).astype(np.float16).astype(np.float32)
    start = before.places_of(marks) if before and before.origin == origin else None
    return Landmarks(marks, _arranged(marks, start), len(vectors), forgotten, origin)


def _landmarks(vectors: Floats) -> Floats:
    if len(vectors) <= LANDMARKS:
        return vectors
    from sklearn.cluster import MiniBatchKMeans

    # A tenth of the time that a careful start and more rounds take, for centres that are within 1 % as near.
    means = MiniBatchKMeans(LANDMARKS, init="random", random_state=_SEED, n_init=1, batch_size=1024, max_iter=5)
    centres = means.fit(vectors).cluster_centers_
    marks: Floats = np.asarray(centres / np.linalg.norm(centres, axis=1, keepdims=True), np.float32)
    return marks


def _arranged(marks: Floats, start: Floats | None) -> Floats:
    """Return places for the landmarks, near those they start from."""
    if len(marks) <= 1 or not np.ptp(marks, axis=0).any():
        return np.zeros((len(marks), _PLANE), np.float32)
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE

    depth = min(_DIMENSIONS, *marks.shape)
    parts = PCA(depth, random_state=_SEED).fit_transform(marks)
    flat = np.zeros((len(marks), _PLANE), np.float32)
    flat[:, : min(_PLANE, depth)] = parts[:, :_PLANE]
    if len(marks) < _FOR_NEIGHBOURS:
        return _scaled(flat if start is None else _aligned(flat, start))
    begin = flat if start is None else start
    spread = TSNE(
        _PLANE,
        perplexity=min(20, (len(marks) - 1) / 3),
        # From the places before, nothing is to be torn apart first.
        early_exaggeration=12.0 if start is None else 1.0,
        init=np.asarray(begin / (begin.std() or 1) * (1e-4 if start is None else 1), np.float32),
        max_iter=400,
        random_state=_SEED,
        n_jobs=1,
    ).fit_transform(parts)
    return _scaled(spread if start is None else _aligned(spread, start))


def _aligned(places: Floats, start: Floats) -> Floats:
    """Return the places turned and mirrored so that they are as near as can be to where they started."""
    from scipy.linalg import orthogonal_procrustes

    centred = places - places.mean(axis=0)
    turn, _ = orthogonal_procrustes(centred, start - start.mean(axis=0))
    turned: Floats = centred @ turn
    return turned


def _scaled(places: Floats) -> Floats:
    """Return the places within -1 to 1, around 0. Outliers are nearer: all others would shrink for them."""
    centred = places - np.median(places, axis=0)
    away = np.linalg.norm(centred, axis=1, keepdims=True)
    centred *= np.minimum(1, (_FARTHEST * np.median(away) or np.inf) / np.maximum(away, 1e-9))
    centred -= (centred.max(axis=0) + centred.min(axis=0)) / 2
    scaled: Floats = np.asarray(centred / (np.abs(centred).max() or 1.0), np.float32)
    return scaled


def _directions(dimension: int) -> Floats:
    """Return two fixed orthogonal directions, shape (d, 2)."""
    drawn = np.random.default_rng(_SEED).standard_normal((dimension, _PLANE))
    directions: Floats = np.asarray(np.linalg.qr(drawn)[0] * np.sqrt(dimension / _PLANE) / 2, np.float32)
    return directions
