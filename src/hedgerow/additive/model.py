"""An additive model: what it says of records, as arrays, and as trees for exports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from hedgerow.additive.losses import Logistic
from hedgerow.additive.squared import Squared
from hedgerow.additive.terms import Packed, Term, joined
from hedgerow.archive import array_of
from hedgerow.arrays import Floats, Integers, lazy
from hedgerow.curator import Cut
from hedgerow.errors import FileFormatError
from hedgerow.estimator import Model
from hedgerow.export import Link, ScoringForm, Trees
from hedgerow.reading.columns import read_columns
from hedgerow.schema import Encoder
from hedgerow.scores import Candidates, binary, multiway
from hedgerow.survey import merged_encoder, merged_to_arrays
from hedgerow.texts import short_repr
from hedgerow.trees import Forest

Codes = npt.NDArray[np.unsignedinteger]

OF_START = "init_"  # begins the names of the arrays of a start
USUAL = Logistic.tenths  # of a loss whose cap is not written to files


@dataclass(frozen=True, eq=False)
class AdditiveModel(Model):
    """A start and terms, whose votes add up to margins."""

    encoder: Encoder
    loss: Logistic | Squared
    start: Integers  # (columns,), the margin of every record before the first term
    terms: tuple[Term, ...]  # in the order of their rounds
    signs: tuple[int, ...] = ()  # how the margin may go with each feature: 1 rising, -1 falling, 0 either
    # A start, and what was learned beyond it, of which it is the sum
    parts: tuple[AdditiveModel, AdditiveModel] | None = None

    importance_rule: ClassVar[str] = (
        "share of the standard deviations of what features add to a prediction; all bins count alike"
    )

    __repr__ = short_repr

    @property
    def vote_steps(self) -> float:
        return self.loss.vote_steps

    def curve(self, feature: int) -> Floats:
        """Return the sum of a feature's terms without cuts, (codes, columns), in log-odds."""
        total = np.zeros((int(self.encoder.n_codes[feature]), len(self.start)), dtype=np.int64)
        for term in self.terms:
            if term.feature == feature and not term.cuts:
                total += term.votes[0]
        return np.asarray(total / self.vote_steps)

    @property
    def own(self) -> AdditiveModel:
        """What a fit learned itself: the model, or what it holds beyond its start."""
        return self if self.parts is None else self.parts[1]

    @lazy
    def packed(self) -> Packed:
        return Packed(self.start, joined(self.terms), self.encoder.dtype)

    def margins(self, codes: Codes) -> npt.NDArray[np.signedinteger]:
        return self.packed.margins(codes)

    def answers(self, X: Any, answer: Callable[[Integers], Floats]) -> Floats:
        columns = read_columns(X, self.encoder.schema.features)
        packed = self.packed
        looked_up = packed.table(answer, columns.n_rows)
        return self.encoder.answers(
            columns, lambda codes: looked_up(packed.margins(codes)), reads=packed.reads, by_column=True
        )

    def answer(self, sums: Integers) -> Floats:
        return self.loss.answer(sums)

    def staged_sums(self, X: Any) -> Iterator[Integers]:
        """Yield the margins after each of the fit's own terms."""
        codes = self.encoder.transform(X)
        margins = np.tile(self.start, (len(codes), 1))
        given = len(self.terms) - len(self.own.terms)
        for number, term in enumerate(self.terms):
            term(codes, margins)
            if number >= given:
                yield margins

    def importances(self) -> Floats:
        """Return the share of each feature in the spread of all terms, (features,); zeros where no term spreads."""
        spread = np.zeros(len(self.encoder.n_codes))
        for term in joined(self.terms):
            np.add.at(spread, list(term.features), term.spread())
        return spread / spread.sum() if spread.sum() > 0 else spread

    @lazy
    def form(self) -> ScoringForm:
        return scoring(self.encoder, self.start, joined(self.terms), self.loss.exported)

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the named arrays of format 3 of the model files, or 4 with a start, which ``restored`` reads."""
        if self.parts is not None:
            start, own = (part.to_arrays() for part in self.parts)
            return {**own, **{f"{OF_START}{name}": array for name, array in start.items()}}
        if isinstance(self.loss, Logistic):
            loss = {} if self.loss.tenths == USUAL else {"cap": np.array([self.loss.cap], dtype=np.int64)}
        else:
            units = [(term.unit, term.deviation) for term in self.terms]
            loss = {"units": np.array(units, dtype=np.int64).reshape(-1, 2)}
        about = [(term.feature, len(term.cuts), term.sums is not None, term.noise) for term in self.terms]
        cuts = [(cut.by, cut.code) for term in self.terms for cut in term.cuts]
        votes = [term.votes.reshape(-1, term.columns) for term in self.terms]
        sums = [term.sums.reshape(-1, term.sums.shape[2]) for term in self.terms if term.sums is not None]
        return {
            "start": self.start,
            "terms": np.array(about, dtype=np.int64).reshape(-1, 4),
            "cuts": np.array(cuts, dtype=np.int64).reshape(-1, 2),
            "votes": np.concatenate([np.zeros((0, len(self.start)), dtype=np.int64), *votes]),
            "sums": np.concatenate([np.zeros((0, self.loss.channels), dtype=np.int64), *sums]),
            **loss,
            **merged_to_arrays(self.encoder),
        }


def scoring(encoder: Encoder, start: Integers, terms: Sequence[Term], link: Link) -> ScoringForm:
    """Return a start (columns,) and terms as trees; of two classes the first gets no votes."""
    sides = {(cut.by, cut.side.tobytes()): (cut.by, cut.side) for term in terms for cut in term.cuts}
    codes = {feature: (feature, np.arange(encoder.n_codes[feature])) for feature in (term.feature for term in terms)}
    tests = {key: number for number, key in enumerate([*sides, *codes])}
    read = [*sides.values(), *codes.values()]
    branch = np.zeros((len(read), int(encoder.n_codes.max())), dtype=np.int64)
    for row, (_, branches) in zip(branch, read, strict=True):
        row[: len(branches)] = branches
    test, first_child, votes, roots = [np.array([-1])], [np.zeros(1, dtype=np.int64)], [start[None]], [0]
    for term in terms:
        roots.append(sum(map(len, test)))
        cuts = [tests[cut.by, cut.side.tobytes()] for level, cut in enumerate(term.cuts) for _ in range(1 << level)]
        shape = _shape(len(term.votes), term.votes.shape[1])
        inner = np.array([*cuts, *[tests[term.feature]] * len(term.votes)])
        test.append(np.where(shape == 0, -1, np.pad(inner, (0, len(shape) - len(inner)))))
        first_child.append(np.where(shape == 0, 0, shape + roots[-1]))
        none = np.zeros((len(inner), len(start)), dtype=np.int64)
        votes.append(np.concatenate([none, term.votes.reshape(-1, len(start))]))
    of_nodes = np.concatenate(votes)
    trees = Trees(
        len(encoder.n_codes),
        np.array(roots),
        np.concatenate(test),
        np.concatenate(first_child),
        np.array([feature for feature, _ in read], dtype=np.int64),
        np.array([branches.max(initial=0) + 1 for _, branches in read], dtype=np.int64),
        branch,
    )
    return trees.scoring(
        encoder, np.hstack([np.zeros_like(of_nodes), of_nodes]) if len(encoder.schema.classes) == 2 else of_nodes, link
    )


def _shape(cells: int, codes: int) -> Integers:
    """Return the first child of each node of a term's tree, 0 for leaves: a level a cut, a node a cell, its codes."""
    first_child = np.zeros(2 * cells - 1 + cells * codes, dtype=np.int64)
    first_child[: cells - 1] = 2 * np.arange(cells - 1) + 1
    first_child[cells - 1 : 2 * cells - 1] = 2 * cells - 1 + codes * np.arange(cells)
    return first_child


Arrays = Mapping[str, npt.NDArray[Any]]

MOST_CUTS = 16  # of a term in a file: its cells are two to that power
OLD_CUTS = 2  # of a term of version 0.2
OLD_TENTHS = 5  # ``Logistic.tenths`` of the files of version 0.2 that hold a cap
LARGEST_VOTE = 1 << 40  # in a file: sums of 65 536 terms of it fit 64 bits
DAMAGED = "the file's terms are damaged; fit the model again."
NOT_MONOTONE = "the file's curves do not go as its monotonic_cst says; fit the model again."
NOT_ITS_CAP = "the file's cap of gradients is none of this model's; fit the model again."


def restored(
    arrays: Arrays, fine: Encoder, loss: Logistic | Squared, max_terms: int, signs: Sequence[int]
) -> AdditiveModel:
    """Return the model of at most ``max_terms`` terms that was written as ``arrays``, by this version or an earlier one.

    ``fine`` reads records before bins are merged, and ``loss`` is the plan's. FileFormatError if they are no such model.
    """
    encoder = merged_encoder(arrays, fine)
    if "cap" in arrays:
        if not isinstance(loss, Logistic):
            raise FileFormatError(NOT_ITS_CAP)
        loss = replace(loss, tenths=OLD_TENTHS)
        if not np.array_equal(arrays["cap"], [loss.cap]):
            raise FileFormatError(NOT_ITS_CAP)
    read = _terms if "terms" in arrays else _old_terms
    terms = tuple(read(arrays, encoder, loss))
    if len(terms) > max_terms or any(len(set(term.features)) < len(term.features) for term in terms):
        raise FileFormatError(DAMAGED)
    if any(signs) and not holds(terms, signs):
        raise FileFormatError(NOT_MONOTONE)
    start = np.zeros(loss.columns, dtype=np.int64)
    if "terms" in arrays:
        start = array_of(arrays, "start", np.int64, start.shape, -LARGEST_VOTE, LARGEST_VOTE)
    return AdditiveModel(encoder, loss, start, terms, tuple(signs))


def holds(terms: Iterable[Term], signs: Sequence[int]) -> bool:
    """Return whether every curve is monotone after each of the terms: rising in a feature with sign 1, falling for -1.

    The order is that of the feature's codes; the last code, of missing values, is outside the order.
    """
    curves: dict[int, Integers] = {}
    for term in terms:
        votes = term.votes[..., 0]
        if not term.cuts:
            votes = votes + curves.get(term.feature, 0)
            curves[term.feature] = votes
        if np.any(signs[term.feature] * np.diff(votes[:, :-1], axis=1) < 0):
            return False
        for level, cut in enumerate(term.cuts):
            sides = votes.reshape(1 << level, 2, -1)
            if cut.side[:-1].any() and np.any(signs[cut.by] * (sides[:, 1] - sides[:, 0]) < 0):
                return False
    return True


def _terms(arrays: Arrays, encoder: Encoder, loss: Logistic | Squared) -> Iterator[Term]:
    about = array_of(arrays, "terms", np.int64, (None, 4), 0)
    feature, cuts, measured, noise = about.T
    if np.any(
        (feature >= len(encoder.n_codes)) | (cuts > MOST_CUTS) | (measured > 1) | ((noise > 0) & (measured == 0))
    ):
        raise FileFormatError(DAMAGED)
    cells = np.left_shift(1, cuts)
    rows = cells * encoder.n_codes[feature]
    votes = array_of(arrays, "votes", np.int64, (int(rows.sum()), loss.columns), -LARGEST_VOTE, LARGEST_VOTE)
    sums = array_of(arrays, "sums", np.int64, (int((rows * measured).sum()), loss.channels))
    units: list[list[int]] = [[]] * len(about)
    if not isinstance(loss, Logistic):  # of classifiers all terms have one
        units = array_of(arrays, "units", np.int64, (len(about), 2), 1, LARGEST_VOTE).tolist()
    cut_list = iter(_cuts(array_of(arrays, "cuts", np.int64, (int(cuts.sum()), 2), 0), encoder))
    first = last_sum = 0
    of_terms = np.stack([feature, cuts, cells, rows, measured, noise], 1).tolist()
    for (j, count, height, many, known, deviation), scale in zip(of_terms, units, strict=True):
        own, first = votes[first : first + many], first + many
        released, last_sum = sums[last_sum : last_sum + known * many], last_sum + known * many
        shape = (height, int(encoder.n_codes[j]), -1)
        of_cells = released.reshape(shape) if known else None
        by = tuple(next(cut_list) for _ in range(count))
        yield Term(by, j, own.reshape(shape), of_cells, deviation, *scale)


def _cuts(table: Integers, encoder: Encoder) -> Iterator[Cut]:
    by, code = table.T
    if np.any(by >= len(encoder.n_codes)) or np.any(code >= encoder.n_codes[by] - 1):
        raise FileFormatError(DAMAGED)
    numeric = encoder.schema.is_numeric
    for j, last in table.tolist():
        yield Cut.at(j, last, int(encoder.n_codes[j]), ordered=bool(numeric[j]))


def _old_terms(arrays: Arrays, encoder: Encoder, loss: Logistic | Squared) -> Iterator[Term]:
    """Yield the terms of a file of version 0.2: trees of up to two cuts, one on each level, above a feature."""
    kinds = multiway(encoder.n_codes), binary(encoder.n_codes, encoder.schema.is_numeric)
    columns = [np.concatenate([getattr(of, name) for of in kinds]) for name in ("feature", "kind", "at", "weight")]
    candidates = Candidates(encoder.n_codes, *columns)
    if not isinstance(loss, Logistic):  # these versions had no regressors
        raise FileFormatError(DAMAGED)
    classes, features = len(encoder.schema.classes), len(encoder.n_codes)
    forest = Forest.from_arrays(arrays, candidates, classes)
    votes = array_of(arrays, "votes", np.int64, (forest.n_nodes, classes), -LARGEST_VOTE, LARGEST_VOTE)
    votes = votes[:, 1:] - votes[:, :1] if classes == 2 else votes
    masses = _old_masses(arrays, forest.n_nodes, loss)
    for root in forest.roots.tolist():
        cuts: list[Cut] = []
        nodes = np.array([root])
        while True:
            test = int(forest.test[nodes[0]])
            if test < 0 or np.any(forest.test[nodes] != test) or len(cuts) > OLD_CUTS:
                raise FileFormatError(DAMAGED)
            arity = int(candidates.arity[test])
            nodes = (forest.first_child[nodes][:, None] + np.arange(arity)).reshape(-1)
            feature = int(candidates.feature[test])
            if test < features:
                break
            side = candidates.branches([test])[0, : int(encoder.n_codes[feature])]
            cuts.append(Cut(feature, side.astype(np.int64)))
        if np.any(forest.test[nodes] >= 0):
            raise FileFormatError(DAMAGED)
        shape = (1 << len(cuts), arity, -1)
        sums = None if masses is None else masses[nodes].reshape(shape)
        yield Term(tuple(cuts), feature, votes[nodes].reshape(shape), sums)


def _old_masses(arrays: Arrays, nodes: int, loss: Logistic) -> Integers | None:
    """Return the released sums of each node of old trees, (nodes, channels), for masses; None where there are none.

    A cell could hold several codes: each gets an equal part of its sums. So the noise of a code is not known, and no curve of
    such a model has a band.
    """
    if "sums" not in arrays:
        return None
    sums = array_of(arrays, "sums", np.int64, (None, loss.channels))
    cell = array_of(arrays, "cell", np.int32, (nodes,), -1, len(sums) - 1)
    array_of(arrays, "noise", np.int64, (2,), 1)
    leaves = np.bincount(cell[cell >= 0], minlength=len(sums))
    if np.any(leaves == 0):
        raise FileFormatError(DAMAGED)
    return np.where(cell[:, None] >= 0, sums[cell] // np.maximum(leaves, 1)[cell][:, None], 0)
