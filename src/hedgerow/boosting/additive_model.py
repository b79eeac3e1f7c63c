"""The model of additive boosting: curves of one feature, and two-sided ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from hedgerow.boosting.gradients import Gradients, calibrated, cap_of
from hedgerow.boosting.measured import Measured
from hedgerow.boosting.monotone import Monotone
from hedgerow.boosting.plan import BoostedModel, lead, restored
from hedgerow.boosting.smoothing import Smoothing
from hedgerow.boosting.steps import Step, condition, test_of
from hedgerow.boosting.weights import UNIT, VOTE_STEPS
from hedgerow.errors import FileFormatError
from hedgerow.export import Link, Softmax
from hedgerow.schema import Encoder
from hedgerow.scores import Candidates, multiway_or_binary
from hedgerow.survey import merged_encoder, merged_to_arrays
from hedgerow.trees import Forest

__all__ = ["AdditiveModel", "Interaction", "additive_model", "restored_additive"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

NOT_MONOTONE = "the file's curves do not go as its monotonic_cst says; fit the model again."
NO_STEPS = "the file's trees are no steps of one or two features, as this model's are; fit the model again."


@dataclass(frozen=True, eq=False)
class Interaction:
    """A cut of one feature and the curves of another one on its two sides, as released.

    ``curves``, (2, codes, classes) or for two classes (2, codes), are what ``decision`` adds up, the first side's first, and
    ``condition`` says which records are on it.
    """

    feature: int
    by: int
    condition: str
    curves: Floats


@dataclass(frozen=True, eq=False)
class AdditiveModel(BoostedModel):
    """Curves of one feature, and two-sided ones, whose votes add up to the margins of capped gradients.

    ``measured`` is what the steps were made of; None in files of earlier versions, and where it would be too much.
    ``smoothing`` made steps of it, and ``monotone`` is how curves may go; None where every one may go anyhow.
    """

    importance_rule: ClassVar[str] = (
        "share of the spread of the curves over their cells; a two-sided curve counts for the feature whose curve it is"
    )

    measured: Measured | None = None
    smoothing: Smoothing = field(default_factory=Smoothing)
    monotone: Monotone | None = None

    def said(self, sums: Floats) -> Floats:
        """Return the probabilities that sums of votes (records, classes) stand for."""
        return calibrated(super().said(sums))

    def whole_votes(self) -> tuple[Integers, Link]:
        """Return what each node gives to each class as integers, and the calibrated softmax of their sums."""
        votes, _ = super().whole_votes()
        return votes, Softmax(VOTE_STEPS, cap_of(votes.shape[1]) / UNIT)

    def curve(self, feature: int) -> Floats:
        """Return the sum of the votes of one-sided curves of one feature for each of its codes, on the scale of ``decision``."""
        codes = int(self.encoder.n_codes[feature])
        total = np.zeros((codes, len(self.encoder.schema.classes)))
        for root in self._roots(self.forest.test[self.forest.roots] == feature):
            total += self._leaves(root, codes)
        return lead(total)

    def interactions(self) -> list[Interaction]:
        """Return every cut with its two curves; those of one cut of the same two features are added up."""
        forest = self.forest
        found: dict[tuple[int, int], Interaction] = {}
        for root in self._roots(forest.test[forest.roots] >= len(self.encoder.n_codes)):
            test, child = int(forest.test[root]), int(forest.first_child[root])
            feature = int(forest.test[child])
            codes = int(self.encoder.n_codes[feature])
            curves = np.stack([lead(self._leaves(node, codes)) for node in (child, child + 1)])
            if (test, feature) in found:
                curves = curves + found[test, feature].curves
            by, at = int(forest.candidates.feature[test]), int(forest.candidates.at[test])
            found[test, feature] = Interaction(feature, by, condition(self.encoder, by, at), curves)
        return list(found.values())

    def rounds(self) -> Iterator[tuple[int, int, list[int]]]:
        """Yield for each round its test, the feature whose curve it is, and the first leaf on each side."""
        forest, features = self.forest, len(self.encoder.n_codes)
        for root in forest.roots.tolist():
            test, first = int(forest.test[root]), int(forest.first_child[root])
            if test < features:
                yield test, test, [first]
            else:
                yield test, int(forest.test[first]), forest.first_child[first : first + 2].tolist()

    def steps(self) -> Iterator[Step]:
        """Yield what each round adds."""
        candidates, votes = self.forest.candidates, self.whole_votes()[0]
        for test, feature, firsts in self.rounds():
            codes = int(self.encoder.n_codes[feature])
            by = int(candidates.feature[test])
            side = np.zeros(int(self.encoder.n_codes[by]), dtype=np.int64)
            if len(firsts) > 1:
                side = candidates.branches([test])[0, : len(side)].astype(np.int64)
            own = np.stack([votes[first : first + codes] for first in firsts])
            yield Step(by, side, feature, own, np.arange(codes))

    def _roots(self, chosen: npt.NDArray[np.bool_]) -> Iterator[int]:
        yield from self.forest.roots[chosen].tolist()

    def _leaves(self, node: int, codes: int) -> Floats:
        """Return the votes below a node that tests a feature of so many codes, (codes, classes)."""
        assert self.share is not None
        first = int(self.forest.first_child[node])
        return self.share[first : first + codes]

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the trees, their votes and the cut points as named arrays."""
        return {
            **super().to_arrays(),
            **({} if self.measured is None else self.measured.to_arrays()),
            **merged_to_arrays(self.encoder),
        }


def candidates_of(encoder: Encoder) -> Candidates:
    """Return the tests of a model's trees: each feature by code, and every cut."""
    return multiway_or_binary(encoder.n_codes, encoder.schema.is_numeric)


def additive_model(
    encoder: Encoder, steps: list[Step], measured: Measured | None, smoothing: Smoothing, monotone: Monotone
) -> AdditiveModel:
    """Return the model of steps: a stump for each of one side, a tree of two levels for each of two."""
    candidates = candidates_of(encoder)
    trees, shares = [], []
    for step in steps:
        sides, codes, classes = step.votes.shape
        if sides == 1:
            test, first_child = _each(step.feature, codes, 1)
            votes = np.concatenate([np.zeros((1, classes), dtype=np.int64), step.votes[0]])
        else:
            inner = [_each(step.feature, codes, 3 + side * codes) for side in range(2)]
            test = np.concatenate([[test_of(encoder, step)], *(t[:1] for t, _ in inner), *(t[1:] for t, _ in inner)])
            first_child = np.concatenate([[1], *(c[:1] for _, c in inner), *(c[1:] for _, c in inner)])
            votes = np.concatenate([np.zeros((3, classes), dtype=np.int64), *step.votes])
        label = np.where(test < 0, 0, -1)
        root = np.zeros(1, dtype=np.int32)
        tests, firsts, labels = (array.astype(np.int32) for array in (test, first_child, label))
        trees.append(Forest(root, tests, firsts, labels, candidates))
        shares.append(votes)
    shared = np.concatenate(shares) / VOTE_STEPS
    return AdditiveModel(encoder, Forest.joined(*trees), shared, measured, smoothing, monotone or None)


def _each(feature: int, codes: int, first: int) -> tuple[Integers, Integers]:
    """Return tests and first children of a node with a leaf for every code of a feature, and of these leaves."""
    test, first_child = np.full(codes + 1, -1), np.zeros(codes + 1, dtype=np.int64)
    test[0], first_child[0] = feature, first
    return test, first_child


def restored_additive(
    arrays: Mapping[str, npt.NDArray[Any]], fine: Encoder, most_trees: int, smoothing: Smoothing, monotone: Monotone
) -> AdditiveModel:
    """Return the model whose steps, votes and cut points, some of the fine, stand in the arrays, or raise FileFormatError."""
    encoder = merged_encoder(arrays, fine)
    model = restored(arrays, encoder, candidates_of(encoder), most_trees)
    forest = model.forest
    features = len(encoder.n_codes)
    test, first = forest.test, forest.first_child
    inner = test >= 0
    split = np.zeros(len(test), dtype=np.bool_)
    split[forest.roots] = test[forest.roots] >= features
    below = np.zeros(len(test), dtype=np.bool_)
    for root in np.flatnonzero(split).tolist():
        children = test[first[root] : first[root] + 2]
        by = int(forest.candidates.feature[test[root]])
        if children[0] != children[1] or not 0 <= children[0] < features or children[0] == by:
            raise FileFormatError(NO_STEPS)
        below[first[root] : first[root] + 2] = True
    single = np.zeros(len(test), dtype=np.bool_)
    single[forest.roots] = inner[forest.roots] & ~split[forest.roots]
    if not np.array_equal(inner, split | below | single) or not inner[forest.roots].all():
        raise FileFormatError(NO_STEPS)
    found = AdditiveModel(encoder, forest, model.share, smoothing=smoothing, monotone=monotone or None)
    if monotone and not monotone.holds(found.steps()):
        raise FileFormatError(NOT_MONOTONE)
    channels = Gradients(len(encoder.schema.classes), normal=True).channels
    leaves = [
        [slice(first, first + int(encoder.n_codes[feature])) for first in firsts]
        for _, feature, firsts in found.rounds()
    ]
    return replace(found, measured=Measured.from_arrays(arrays, leaves, channels))
