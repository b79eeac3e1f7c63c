"""The model of additive boosting: curves of one feature, and curves on the sides of cuts of others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from hedgerow.boosting.gradients import Gradients, calibrated, cap_of
from hedgerow.boosting.measured import Measured
from hedgerow.boosting.monotone import Monotone
from hedgerow.boosting.plan import BoostedModel, columns_of, lead, restored
from hedgerow.boosting.smoothing import Smoothing
from hedgerow.boosting.steps import MOST_CUTS, Step, condition, test_of
from hedgerow.boosting.weights import UNIT, VOTE_STEPS
from hedgerow.curator import Cut
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
NOT_ITS_CAP = "the file's cap of gradients is none of this model's; fit the model again."
NO_STEPS = "the file's trees are no steps of one to three features, as this model's are; fit the model again."


@dataclass(frozen=True, eq=False)
class Interaction:
    """A cut of one feature and the curves of another one on its two sides, as released.

    ``curves``, (2, codes, classes) or for two classes (2, codes), are what ``decision`` adds up, the first side's first, and
    ``condition`` says which records are on it. ``within`` says which records these curves are of, one side of an earlier cut;
    None: all.
    """

    feature: int
    by: int
    condition: str
    curves: Floats
    within: str | None = None

    @property
    def values(self) -> Floats:
        """The curves one below the other, (cells, columns), with zeros for the cells outside of ``within``."""
        curves = columns_of(self.curves.reshape(-1, *self.curves.shape[2:]))
        return curves if self.within is None else np.concatenate([curves, np.zeros_like(curves)])


@dataclass(frozen=True, eq=False)
class AdditiveModel(BoostedModel):
    """Curves of one feature, and curves on the sides of cuts of others, whose votes add up to the margins of capped gradients.

    ``measured`` is what the steps were made of; None in files of earlier versions, and where it would be too much.
    ``smoothing`` made steps of it, and ``monotone`` is how curves may go; None where every one may go anyhow. ``strict`` says
    whether its rounds were strict.
    """

    importance_rule: ClassVar[str] = (
        "share of the spread of the curves over their cells; curves on the sides of a cut count for the feature whose curves "
        "they are"
    )

    measured: Measured | None = None
    smoothing: Smoothing = field(default_factory=Smoothing)
    monotone: Monotone | None = None
    strict: bool = False

    @property
    def cap(self) -> int:
        """The largest absolute residual of a record, in units."""
        return cap_of(len(self.encoder.schema.classes), strict=self.strict)

    def said(self, sums: Floats) -> Floats:
        """Return the probabilities that sums of votes (records, classes) stand for."""
        return calibrated(super().said(sums), self.cap)

    def whole_votes(self) -> tuple[Integers, Link]:
        """Return what each node gives to each class as integers, and the calibrated softmax of their sums."""
        votes, _ = super().whole_votes()
        return votes, Softmax(VOTE_STEPS, self.cap / UNIT)

    def curve(self, feature: int) -> Floats:
        """Return the sum of the votes of one-sided curves of one feature for each of its codes, on the scale of ``decision``."""
        assert self.share is not None
        codes = int(self.encoder.n_codes[feature])
        total = np.zeros((codes, len(self.encoder.schema.classes)))
        for tests, own, (first, *_) in self.rounds():
            if not tests and own == feature:
                total += self.share[first : first + codes]
        return lead(total)

    def interactions(self) -> list[Interaction]:
        """Return the two curves of each cut, of a second cut those on each side of the first, each added up over its rounds."""
        assert self.share is not None
        found: dict[tuple[tuple[int, ...], int, int], Interaction] = {}
        for tests, feature, firsts in self.rounds():
            if not tests:
                continue
            codes, cut = int(self.encoder.n_codes[feature]), tests[-1]
            by = int(self.forest.candidates.feature[cut])
            sides = [lead(self.share[first : first + codes]) for first in firsts]
            for number, curves in enumerate(np.stack(sides).reshape(-1, 2, *sides[0].shape)):
                key, within = (tests, feature, number), self._side(tests[0], number) if len(tests) > 1 else None
                curves = curves + found[key].curves if key in found else curves
                found[key] = Interaction(feature, by, self._condition(cut), curves, within)
        return list(found.values())

    def _condition(self, test: int) -> str:
        candidates = self.forest.candidates
        return condition(self.encoder, int(candidates.feature[test]), int(candidates.at[test]))

    def _side(self, test: int, number: int) -> str:
        """Say which records are on a cut's first side, number 0, or on its second, 1."""
        said = self._condition(test)
        return f"not ({said})" if number else said

    def rounds(self) -> Iterator[tuple[tuple[int, ...], int, list[int]]]:
        """Yield for each round the tests of its cuts, the feature whose curve it is, and the first leaf on each side."""
        forest, features = self.forest, len(self.encoder.n_codes)
        for root in forest.roots.tolist():
            tests, nodes = [], [root]
            while forest.test[nodes[0]] >= features:
                tests.append(int(forest.test[nodes[0]]))
                nodes = [int(forest.first_child[node]) + side for node in nodes for side in (0, 1)]
            yield tuple(tests), int(forest.test[nodes[0]]), forest.first_child[nodes].tolist()

    def cut(self, test: int) -> Cut:
        """Return the cut that a test makes."""
        candidates = self.forest.candidates
        by = int(candidates.feature[test])
        return Cut(by, candidates.branches([test])[0, : int(self.encoder.n_codes[by])].astype(np.int64))

    def steps(self) -> Iterator[Step]:
        """Yield what each round adds."""
        votes = self.whole_votes()[0]
        for tests, feature, firsts in self.rounds():
            codes = int(self.encoder.n_codes[feature])
            own = np.stack([votes[first : first + codes] for first in firsts])
            yield Step(tuple(self.cut(test) for test in tests), feature, own, np.arange(codes))

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the trees, their votes and the cut points as named arrays, and the cap where rounds were strict."""
        return {
            **super().to_arrays(),
            **({} if self.measured is None else self.measured.to_arrays()),
            **({"cap": np.array([self.cap])} if self.strict else {}),
            **merged_to_arrays(self.encoder),
        }


def candidates_of(encoder: Encoder) -> Candidates:
    """Return the tests of a model's trees: each feature by code, and every cut."""
    return multiway_or_binary(encoder.n_codes, encoder.schema.is_numeric)


def additive_model(
    encoder: Encoder,
    steps: list[Step],
    measured: Measured | None,
    smoothing: Smoothing,
    monotone: Monotone,
    *,
    strict: bool = False,
) -> AdditiveModel:
    """Return the model of steps: a stump for each of one side, a tree with a level for each cut and one below for the others."""
    candidates = candidates_of(encoder)
    trees, shares = [], []
    for step in steps:
        sides, codes, classes = step.votes.shape
        # Node i of the cuts has the children 2 i + 1 and 2 i + 2; below them is a node for each side, and its leaves.
        inner = 2 * sides - 1
        cuts = [test_of(encoder, cut) for level, cut in enumerate(step.cuts) for _ in range(1 << level)]
        test = np.concatenate([cuts, np.full(sides, step.feature), np.full(sides * codes, -1)])
        first_child = np.zeros(len(test), dtype=np.int64)
        first_child[: sides - 1] = 2 * np.arange(sides - 1) + 1
        first_child[sides - 1 : inner] = inner + codes * np.arange(sides)
        votes = np.concatenate([np.zeros((inner, classes), dtype=np.int64), *step.votes])
        label = np.where(test < 0, 0, -1)
        root = np.zeros(1, dtype=np.int32)
        tests, firsts, labels = (array.astype(np.int32) for array in (test, first_child, label))
        trees.append(Forest(root, tests, firsts, labels, candidates))
        shares.append(votes)
    shared = np.concatenate(shares) / VOTE_STEPS
    return AdditiveModel(encoder, Forest.joined(*trees), shared, measured, smoothing, monotone or None, strict)


def _is_step(forest: Forest, root: int, features: int) -> bool:
    """Say whether a tree has up to ``MOST_CUTS`` cuts, one on each level, and below them another feature's codes."""
    nodes, read = [root], []
    for _ in range(MOST_CUTS + 1):
        tests = {int(forest.test[node]) for node in nodes}
        test = tests.pop()
        if tests or test < 0:
            return False
        read.append(int(forest.candidates.feature[test]))
        arity = int(forest.candidates.arity[test])
        nodes = [int(forest.first_child[node]) + branch for node in nodes for branch in range(arity)]
        if test < features:
            return len(set(read)) == len(read) and all(int(forest.test[node]) < 0 for node in nodes)
    return False


def restored_additive(
    arrays: Mapping[str, npt.NDArray[Any]], fine: Encoder, most_trees: int, smoothing: Smoothing, monotone: Monotone
) -> AdditiveModel:
    """Return the model whose steps, votes and cut points, some of the fine, stand in the arrays, or raise FileFormatError."""
    encoder = merged_encoder(arrays, fine)
    model = restored(arrays, encoder, candidates_of(encoder), most_trees)
    forest = model.forest
    if not all(_is_step(forest, root, len(encoder.n_codes)) for root in forest.roots.tolist()):
        raise FileFormatError(NO_STEPS)
    strict = "cap" in arrays
    found = AdditiveModel(encoder, forest, model.share, smoothing=smoothing, monotone=monotone or None, strict=strict)
    if strict and not np.array_equal(arrays["cap"], [found.cap]):
        raise FileFormatError(NOT_ITS_CAP)
    if monotone and not monotone.holds(found.steps()):
        raise FileFormatError(NOT_MONOTONE)
    channels = Gradients(len(encoder.schema.classes), normal=True).channels
    leaves = [
        [slice(first, first + int(encoder.n_codes[feature])) for first in firsts]
        for _, feature, firsts in found.rounds()
    ]
    return replace(found, measured=Measured.from_arrays(arrays, leaves, channels))
