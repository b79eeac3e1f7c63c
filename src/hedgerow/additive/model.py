"""An additive model: its predictions, its arrays in a file, and its trees for exports."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from hedgerow.additive import kernels
from hedgerow.additive.losses import Logistic
from hedgerow.additive.monotone import holds
from hedgerow.additive.round import Codes, Term
from hedgerow.additive.squared import LogLink, Squared
from hedgerow.arrays import Floats, Integers, lazy
from hedgerow.curator import Cut
from hedgerow.curator.survey import merged_encoder, merged_to_arrays
from hedgerow.errors import FileFormatError
from hedgerow.estimator import Model
from hedgerow.export import ScoringForm, Trees
from hedgerow.export.archive import array_of
from hedgerow.mechanisms import broad_basis
from hedgerow.parameters import UNIT, VOTE_STEPS
from hedgerow.reading.columns import read_columns
from hedgerow.schema import Encoder
from hedgerow.scores import Candidates, binary, multiway
from hedgerow.texts import short_repr
from hedgerow.trees import Forest

OF_START = "init_"  # prefix of the names of an init model's arrays
SIDES = "sides"  # array: the side of each code of a cut's feature; missing if every cut is at one code
OF_CELLS = "features"  # array: the measured feature of each cell of all terms; missing if all cells of a term have the same one
COUNT_WEIGHT = "count_weight"  # array of a regressor: c of ``Squared``, in thousandths
LOG_LINK = "log_link"  # array of a model whose link was chosen from the released outcomes: 1 if it is the log link


def joined(terms: Sequence[Term]) -> list[Term]:
    """Return terms without sums. Terms of the same cuts and features are added up, at the place of the first of them."""
    by_key: dict[tuple[Any, ...], Term] = {}
    for term in terms:
        votes = term.votes + by_key[term.key].votes if term.key in by_key else term.votes
        by_key[term.key] = Term(term.cuts, term.feature, votes, n_codes=term.n_codes)
    return list(by_key.values())


WIDEST_TABLE = 1 << 17  # the largest number of margins whose predictions are tabulated


@dataclass(frozen=True, eq=False)
class Packed:
    """A start and terms, as arrays for the kernel ``kernels.add_terms``."""

    start: Integers  # (columns,): the margin of every record before the first term
    terms: Sequence[Term]  # no two with the same cuts and features
    dtype: np.dtype[Any]  # of codes

    @lazy
    def reads(self) -> list[int]:
        return sorted({feature for term in self.terms for feature in term.features})

    @lazy
    def ends(self) -> Integers:
        low, high = self.start.copy(), self.start.copy()
        for term in self.terms:
            low += term.votes.min(axis=(0, 1))
            high += term.votes.max(axis=(0, 1))
        return np.stack([low, high])

    @lazy
    def arrays(self) -> tuple[npt.NDArray[Any], ...]:
        steps, counts, votes, features = list[tuple[int, int, int]](), [], [], [np.empty(0, dtype=np.int64)]
        for term in self.terms:
            before = len(steps)
            # Each step flips a cut's digit, at first side[0], above a last code; a cut's first step also shifts the cell index.
            for cut in term.cuts:
                turns = np.flatnonzero(np.diff(cut.side)).tolist() or [len(cut.side) - 1]
                steps += [(cut.by, turn, int(place == 0)) for place, turn in enumerate(turns)]
            counts.append(len(steps) - before)
            turned = sum(int(cut.side[0]) << digit for digit, cut in enumerate(reversed(term.cuts)))
            order = np.arange(len(term.votes)) ^ turned
            votes.append(term.votes[order].reshape(-1, term.columns))
            features.append(term.feature[:1] if (term.feature == term.feature[0]).all() else term.feature[order])
        # Contiguous: else numba would compile again for an array of one step
        by, at, shift = np.ascontiguousarray(np.array(steps, dtype=np.int64).reshape(-1, 3).T)
        begins = np.cumsum([0, *map(len, votes)])
        all_votes = np.concatenate([np.zeros((0, len(self.start)), dtype=np.int64), *votes]).T
        # Every partial sum of votes is within this sum of absolute values.
        reach = np.abs(self.start).max(initial=0) + sum(int(np.abs(term.votes).max()) for term in self.terms)
        kind = np.int32 if max(reach, begins[-1]) < 1 << 31 else np.int64
        places = np.stack([begins[:-1], [term.votes.shape[1] for term in self.terms]], axis=1)
        return (
            np.concatenate(features),
            np.cumsum([0, *map(len, features[1:])], dtype=np.int64),
            np.cumsum([0, *counts], dtype=np.int64),
            by,
            at.astype(self.dtype),
            shift,
            places.astype(kind),
            np.ascontiguousarray(all_votes, dtype=kind),
        )

    def margins(self, codes: Codes) -> npt.NDArray[np.signedinteger]:
        votes = self.arrays[-1]
        margins = np.repeat(self.start.astype(votes.dtype)[:, None], len(codes), axis=1)
        # By column: by record, numba would compile again for one record
        kernels.add_terms(np.ascontiguousarray(codes.T), *self.arrays, margins)
        return np.ascontiguousarray(margins.T)  # numpy's order of summation depends on the memory layout

    def table(
        self, answer: Callable[[Integers], npt.NDArray[Any]], records: int
    ) -> Callable[[npt.NDArray[np.signedinteger]], npt.NDArray[Any]]:
        """Return a function equal to ``answer`` on margins (records, 1), which reads a table if that takes less time."""
        # ``answer`` must treat each record by itself: then a table of its values by margin is exact.
        low, high = self.ends[:, 0].tolist()
        if len(self.start) != 1 or high - low >= min(WIDEST_TABLE, records):
            return answer
        answers = answer(np.arange(low, high + 1)[:, None])
        return lambda margins: answers[margins[:, 0] - low]


@dataclass(frozen=True, eq=False)
class AdditiveModel(Model):
    encoder: Encoder
    loss: Logistic | Squared
    start: Integers  # (columns,), the margin of every record before the first term
    terms: tuple[Term, ...]  # in the order of their rounds
    signs: tuple[int, ...] = ()  # monotonicity constraints by feature: 1 increasing, -1 decreasing, 0 none
    # The init model and the model of this fit's own terms, of which this one is the sum
    parts: tuple[AdditiveModel, AdditiveModel] | None = None

    importance_rule: ClassVar[str] = (
        "share of the summed standard deviations of the features' contributions; bins weigh alike"
    )

    __repr__ = short_repr

    @property
    def vote_steps(self) -> float:
        return self.loss.vote_steps

    def curve(self, feature: int) -> Floats:
        """Return the sum of a feature's terms without cuts, (codes, columns), in units of the loss's ``scale``."""
        total = np.zeros((int(self.encoder.n_codes[feature]), len(self.start)), dtype=np.int64)
        for term in self.terms:
            if not term.cuts and term.feature[0] == feature:
                total += term.votes[0]
        return np.asarray(total / self.vote_steps)

    @property
    def own(self) -> AdditiveModel:
        """The model of the fit's own terms: this one, or without its init model."""
        return self if self.parts is None else self.parts[1]

    @lazy
    def packed(self) -> Packed:
        return Packed(self.start, joined(self.terms), self.encoder.dtype)

    def answers(self, X: Any, answer: Callable[[Integers], Floats]) -> Floats:
        columns = read_columns(X, self.encoder.schema.features)
        packed = self.packed
        looked_up = packed.table(answer, columns.n_rows)
        return self.encoder.answers(
            columns, lambda codes: looked_up(packed.margins(codes)), reads=packed.reads, by_column=True
        )

    def answer(self, sums: Integers) -> Floats:
        return self.loss.answer(sums)

    def answers_of_codes(self, codes: Codes) -> Floats:
        return self.answer(self.packed.margins(codes))

    def prediction_range(self) -> tuple[float, float]:
        low, high = self.answer(self.packed.ends).tolist()
        return low, high

    def code_shares(self) -> list[Floats]:
        """Return shares of codes from each feature's first term: then predictions, and so weights, differ least by record."""
        shares = super().code_shares()
        released = [term for term in reversed(self.terms) if term.sums is not None]
        # Prefer terms with one feature in all cells: their sums are over all records, others' over the records of some cells.
        for term in sorted(released, key=lambda term: (term.feature == term.feature[0]).all()):
            for feature in np.unique(term.feature).tolist():
                mass = term.mass[term.feature == feature].sum(axis=0)[: len(shares[feature])]
                shares[feature] = mass / mass.sum()
        return shares

    def importances(self) -> Floats:
        spread = np.zeros(len(self.encoder.n_codes))
        for term in joined(self.terms):
            np.add.at(spread, list(term.features), term.spread())
        return spread / spread.sum() if spread.sum() > 0 else spread

    @lazy
    def form(self) -> ScoringForm:
        """The start and terms as trees: one level per cut, then one for the measured feature. The first of two classes gets 0."""
        encoder, terms = self.encoder, joined(self.terms)
        sides = {(cut.by, cut.side.tobytes()): (cut.by, cut.side) for term in terms for cut in term.cuts}
        in_bins = sorted({feature for term in terms for feature in term.feature.tolist()})
        codes = {feature: (feature, np.arange(encoder.n_codes[feature])) for feature in in_bins}
        tests = {key: number for number, key in enumerate([*sides, *codes])}
        read = [*sides.values(), *codes.values()]
        branch = np.zeros((len(read), int(encoder.n_codes.max())), dtype=np.int64)
        for row, (_, branches) in zip(branch, read, strict=True):
            row[: len(branches)] = branches
        test, first_child, votes, roots = [np.array([-1])], [np.zeros(1, dtype=np.int64)], [self.start[None]], [0]
        for term in terms:
            roots.append(sum(map(len, test)))
            cuts = [tests[cut.by, cut.side.tobytes()] for level, cut in enumerate(term.cuts) for _ in range(1 << level)]
            cells, columns, n_codes = len(term.votes), term.columns, term.used.sum(axis=1)
            leaves = int(n_codes.sum())
            children = np.concatenate([np.full(cells - 1, 2), n_codes, np.zeros(leaves, dtype=np.int64)])  # by level
            test.append(np.array([*cuts, *(tests[feature] for feature in term.feature.tolist()), *[-1] * leaves]))
            first_child.append(np.where(children > 0, roots[-1] + 1 + np.cumsum(children) - children, 0))
            none = np.zeros((2 * cells - 1, columns), dtype=np.int64)
            votes.append(np.concatenate([none, term.votes[term.used]]))
        of_nodes = np.concatenate(votes)
        if len(encoder.schema.classes) == 2:
            of_nodes = np.hstack([np.zeros_like(of_nodes), of_nodes])
        trees = Trees(
            len(encoder.n_codes),
            np.array(roots),
            np.concatenate(test),
            np.concatenate(first_child),
            np.array([feature for feature, _ in read], dtype=np.int64),
            np.array([branches.max(initial=0) + 1 for _, branches in read], dtype=np.int64),
            branch,
        )
        return trees.scoring(encoder, of_nodes, self.loss.exported)

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays of model files, which ``restored`` reads: format 3, 4 with an init model, 5 with rounds by cell."""
        if self.parts is not None:
            start, own = (part.to_arrays() for part in self.parts)
            return {**own, **{f"{OF_START}{name}": array for name, array in start.items()}}
        if isinstance(self.loss, Logistic):  # the default cap is not written
            loss = {} if self.loss.tenths == Logistic.tenths else {"cap": np.array([self.loss.cap], dtype=np.int64)}
        else:
            units = [(term.unit, term.deviation) for term in self.terms]
            loss = {"units": np.array(units, dtype=np.int64).reshape(-1, 2)}
            loss[COUNT_WEIGHT] = np.array([self.loss.count_weight], dtype=np.int64)
            if self.loss.chosen:
                loss[LOG_LINK] = np.array([isinstance(self.loss.link, LogLink)], dtype=np.int64)
        kinds = [0 if t.sums is None else AS_THEY_ARE if t.basis is None else IN_BASIS for t in self.terms]
        about = [(int(t.feature[0]), len(t.cuts), kind, t.noise) for t, kind in zip(self.terms, kinds, strict=True)]
        votes = [term.votes[term.used] for term in self.terms]
        sums = [term.sums[term.used] for term in self.terms if term.sums is not None]
        of_cells = {}
        if any(term.n_codes is not None for term in self.terms):
            of_cells = {OF_CELLS: np.concatenate([term.feature for term in self.terms])}
        all_cuts = [cut for term in self.terms for cut in term.cuts]
        if not all(cut.is_at_one_code(bool(self.encoder.schema.is_numeric[cut.by])) for cut in all_cuts):
            of_cells[SIDES] = np.concatenate([cut.side for cut in all_cuts])
        return {
            "start": self.start,
            "terms": np.array(about, dtype=np.int64).reshape(-1, 4),
            "cuts": np.array([(cut.by, cut.code) for cut in all_cuts], dtype=np.int64).reshape(-1, 2),
            "votes": np.concatenate([np.zeros((0, len(self.start)), dtype=np.int64), *votes]),
            "sums": np.concatenate([np.zeros((0, self.loss.channels), dtype=np.int64), *sums]),
            **of_cells,
            **loss,
            **merged_to_arrays(self.encoder),
        }


# In a file: a term's sums were measured by code, or in another basis; 0: it has no sums
AS_THEY_ARE, IN_BASIS = 1, 2

Arrays = Mapping[str, npt.NDArray[Any]]

MOST_CUTS = 16  # of a term in a file, which then has 2**16 cells
OLD_CUTS = 2  # of a term of version 0.2
OLD_TENTHS = 5  # ``Logistic.tenths`` of the files of version 0.2 that hold a cap
LARGEST_TERM = 1 << 24  # cells times codes of a term in a file of rounds by cell
LARGEST_VOTE = 1 << 40  # in a file: sums of 65 536 terms of it fit 64 bits
DAMAGED = "the file's terms are damaged; fit the model again."


def restored(
    arrays: Arrays, fine: Encoder, loss: Logistic | Squared, max_terms: int, signs: Sequence[int]
) -> AdditiveModel:
    # ``fine`` is the encoder before bins are merged, and ``loss`` the plan's. FileFormatError if the arrays are no such model.
    encoder = merged_encoder(arrays, fine)
    if "cap" in arrays:
        if isinstance(loss, Logistic):
            loss = replace(loss, tenths=OLD_TENTHS)
        if not isinstance(loss, Logistic) or not np.array_equal(arrays["cap"], [loss.cap]):
            raise FileFormatError("the file's cap of gradients is none of this model's; fit the model again.")
    read = _terms if "terms" in arrays else _old_terms
    terms = tuple(read(arrays, encoder, loss))
    if len(terms) > max_terms:
        raise FileFormatError(DAMAGED)
    if any(signs) and not holds(terms, signs):
        raise FileFormatError("the file's curves do not go as its monotonic_cst says; fit the model again.")
    start = np.zeros(loss.columns, dtype=np.int64)
    if "terms" in arrays:
        start = array_of(arrays, "start", np.int64, start.shape, -LARGEST_VOTE, LARGEST_VOTE)
    return AdditiveModel(encoder, loss, start, terms, tuple(signs))


def _terms(arrays: Arrays, encoder: Encoder, loss: Logistic | Squared) -> Iterator[Term]:
    about = array_of(arrays, "terms", np.int64, (None, 4), 0)
    feature, cuts, measured, noise = about.T
    unknown = (feature >= len(encoder.n_codes)) | (cuts > MOST_CUTS) | (measured > IN_BASIS)
    if np.any(unknown | ((noise > 0) & (measured == 0))):
        raise FileFormatError(DAMAGED)
    cells = np.left_shift(1, cuts)
    features = np.repeat(feature, cells)
    if OF_CELLS in arrays:
        features = array_of(arrays, OF_CELLS, np.int64, features.shape, 0, len(encoder.n_codes) - 1)
    begins = np.cumsum([0, *cells])
    if np.any(features[begins[:-1]] != feature):
        raise FileFormatError(DAMAGED)
    rows = np.diff(np.cumsum([0, *encoder.n_codes[features]])[begins])
    votes = array_of(arrays, "votes", np.int64, (int(rows.sum()), loss.columns), -LARGEST_VOTE, LARGEST_VOTE)
    sums = array_of(arrays, "sums", np.int64, (int((rows * (measured > 0)).sum()), loss.channels))
    units = [[VOTE_STEPS * UNIT, UNIT]] * len(about)
    if not isinstance(loss, Logistic):  # all terms of a classifier have the same units
        units = array_of(arrays, "units", np.int64, (len(about), 2), 1, LARGEST_VOTE).tolist()
    by, last_code = array_of(arrays, "cuts", np.int64, (int(cuts.sum()), 2), 0).T
    if np.any(by >= len(encoder.n_codes)) or np.any(last_code >= encoder.n_codes[by] - (SIDES not in arrays)):
        raise FileFormatError(DAMAGED)
    cut_list = iter(_cuts(arrays, encoder, by, last_code))
    numeric = encoder.schema.is_numeric
    of_terms = np.stack([begins[:-1], begins[1:], cuts, rows, measured, noise], 1).tolist()
    for (first, end, count, many, known, deviation), (unit, gradient) in zip(of_terms, units, strict=True):
        widths = encoder.n_codes[features[first:end]]
        if len(widths) * int(widths.max()) > max(many, LARGEST_TERM):
            raise FileFormatError(DAMAGED)
        used = np.arange(widths.max()) < widths[:, None]
        own, of_cells = np.zeros((*used.shape, loss.columns), dtype=np.int64), None
        own[used], votes = votes[:many], votes[many:]
        if known:
            of_cells = np.zeros((*used.shape, loss.channels), dtype=np.int64)
            of_cells[used], sums = sums[:many], sums[many:]
        made = tuple(islice(cut_list, count))
        mixed, basis = widths if OF_CELLS in arrays and count and known != IN_BASIS else None, None
        if known == IN_BASIS:
            basis = broad_basis(int(widths[0]))
            if basis is None or not numeric[features[first]] or np.any(features[first:end] != features[first]):
                raise FileFormatError(DAMAGED)
        yield Term(made, features[first:end], own, of_cells, deviation, unit, gradient, mixed, basis)


def _cuts(arrays: Arrays, encoder: Encoder, by: Integers, last_code: Integers) -> list[Cut]:
    n_codes, numeric = encoder.n_codes, encoder.schema.is_numeric
    pairs = zip(by.tolist(), last_code.tolist(), strict=True)
    if SIDES not in arrays:
        return [Cut.at(k, last, int(n_codes[k]), ordered=bool(numeric[k])) for k, last in pairs]
    ends = np.cumsum(n_codes[by])
    sides = np.split(array_of(arrays, SIDES, np.int64, (int(n_codes[by].sum()),), 0, 1), ends[:-1])
    cuts = [Cut(k, side) for (k, _), side in zip(pairs, sides, strict=True)]
    if not all(0 < cut.side.sum() < len(cut.side) for cut in cuts) or [cut.code for cut in cuts] != last_code.tolist():
        raise FileFormatError(DAMAGED)
    return cuts


def _old_terms(arrays: Arrays, encoder: Encoder, loss: Logistic | Squared) -> Iterator[Term]:
    """Yield the terms of a file of version 0.2: trees of up to two cuts, one per level, then a multiway split by a feature."""
    kinds = multiway(encoder.n_codes), binary(encoder.n_codes, encoder.schema.is_numeric)
    columns = [np.concatenate([getattr(of, name) for of in kinds]) for name in ("feature", "kind", "at", "weight")]
    candidates = Candidates(encoder.n_codes, *columns)
    if not isinstance(loss, Logistic):  # these versions had no regressors
        raise FileFormatError(DAMAGED)
    classes, features = len(encoder.schema.classes), len(encoder.n_codes)
    forest = Forest.from_arrays(arrays, candidates, classes)
    votes = array_of(arrays, "votes", np.int64, (forest.n_nodes, classes), -LARGEST_VOTE, LARGEST_VOTE)
    votes = votes[:, 1:] - votes[:, :1] if classes == 2 else votes
    masses = None  # the released sums of each node, (nodes, channels)
    if "sums" in arrays:
        # A cell could hold several codes. Each gets an equal part of its sums, so the noise of a code is unknown, and no curve of
        # such a model has a band.
        sums = array_of(arrays, "sums", np.int64, (None, loss.channels))
        cell = array_of(arrays, "cell", np.int32, (forest.n_nodes,), -1, len(sums) - 1)
        array_of(arrays, "noise", np.int64, (2,), 1)
        leaves = np.bincount(cell[cell >= 0], minlength=len(sums))
        if np.any(leaves == 0):
            raise FileFormatError(DAMAGED)
        masses = np.where(cell[:, None] >= 0, sums[cell] // np.maximum(leaves, 1)[cell][:, None], 0)
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
        of_cells = None if masses is None else masses[nodes].reshape(shape)
        yield Term(tuple(cuts), np.array(feature), votes[nodes].reshape(shape), of_cells)
