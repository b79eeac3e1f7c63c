"""DiffGen and DT-Diff: they release a table of cells, public generalizations that are chosen privately, with noisy class counts.

DiffGen: Mohammed, Chen, Fung and Yu, KDD 2011. DT-Diff: Zhu, Xiong, Xiang and Zhou, TrustCom 2013, as reconstructed.

The codes of all features stand in one line. A group of codes of a feature is a run of places in it, and a cell is one group of
each feature. A division of a run is a tuple of edges: where its parts begin, and where the last one ends.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar, cast

import numpy as np
import numpy.typing as npt

from hedgerow.archive import array_of
from hedgerow.arrays import Floats, Integers
from hedgerow.curator import Queryable, SelectSpecializations
from hedgerow.errors import FileFormatError
from hedgerow.estimator import Model, Plan, PrivateClassifier, PublicCoins
from hedgerow.export import Mean, ScoringForm, Trees
from hedgerow.lazy_values import lazy
from hedgerow.mechanisms import Exponential, Geometric, PermuteAndFlip, PerRecordCoin, Selection
from hedgerow.parameters import Choice, WholeNumber, parameter
from hedgerow.privacy.accounting import Event
from hedgerow.privacy.accounting import Sequence as Steps
from hedgerow.privacy.claim import Claim
from hedgerow.schema import Encoder, Numeric, Schema
from hedgerow.schema.features import Feature
from hedgerow.scores import BRANCH_SCORES, BranchScore, Specializations
from hedgerow.systems.base import ENOUGH
from hedgerow.table import CellCounts
from hedgerow.texts import short_repr

Edges = tuple[int, ...]
Run = tuple[int, int]

WEIGHT = 1 << 20  # of a group in a selection, shared by the cuts of an interval; more than an interval has cuts
UNIT = 1 << 52  # of a share
TRUST = 4.0  # deviations of a block's noise that count as records of the block around it
SURE = 3.0  # deviations above zero from which undeclared cells are taken to exist
DAMAGED = "the file's cells are damaged; fit the model again."


@dataclass(frozen=True, eq=False)
class CellCut:
    """A partition of the public line of codes into groups, the same for all records; ``edges`` (groups + 1,) are their ends.

    Feature i has the places from ``starts[i]`` to ``starts[i + 1]``. Every place between two bins of a numeric feature, behind
    which missing cells stand, may be cut. A categorical feature is divided once, into values, missing and undeclared cells.
    """

    starts: Integers
    is_numeric: tuple[bool, ...]
    edges: Integers

    @classmethod
    def root(cls, encoder: Encoder) -> CellCut:
        starts = np.concatenate(([0], np.cumsum(encoder.n_codes)))
        return cls(starts, tuple(encoder.schema.is_numeric), starts)

    def feature(self, place: int) -> int:
        return int(np.searchsorted(self.starts, place, side="right")) - 1

    def is_interval(self, run: Run) -> bool:
        return self.is_numeric[self.feature(run[0])]

    def divisions(self, run: Run) -> list[Edges]:
        low, high = run
        if self.is_interval(run):
            return [(low, place, high) for place in range(low + 1, high)]
        return [tuple(range(low, high + 1))] if high - low > 1 else []

    def all_runs(self) -> list[Run]:
        return list(pairwise(self.edges.tolist()))

    def runs(self, feature: int) -> list[Run]:
        start, stop = np.searchsorted(self.edges, self.starts[feature : feature + 2])
        return list(pairwise(self.edges[start : stop + 1].tolist()))

    @lazy
    def shape(self) -> tuple[int, ...]:
        return tuple(np.diff(np.searchsorted(self.edges, self.starts)).tolist())

    @lazy
    def divided(self) -> tuple[int, ...]:
        return tuple(feature for feature, groups in enumerate(self.shape) if groups > 1)

    @property
    def n_cells(self) -> int:
        return math.prod(self.shape)

    def specialized(self, edges: Edges) -> CellCut:
        """Return the cut in which one group is divided."""
        return replace(self, edges=np.union1d(self.edges, np.array(edges)))

    def n_cells_with(self, edges: Edges) -> int:
        """Return how many cells there would be if one group were divided."""
        groups = self.shape[self.feature(edges[0])]
        return self.n_cells // groups * (groups + len(edges) - 2)

    def group_of_code(self, feature: int) -> Integers:
        """Return the group of each code of a feature, counted from 0."""
        return np.repeat(np.arange(self.shape[feature]), np.diff(self.runs(feature)).ravel())

    def cell(self, codes: npt.NDArray[np.unsignedinteger]) -> Integers:
        """Return the cell of each record of ``codes`` (records, features): a record's cell depends on its codes alone."""
        cell = np.zeros(len(codes), dtype=np.int64)
        for feature in self.divided:
            cell *= self.shape[feature]
            cell += self.group_of_code(feature)[codes[:, feature]]
        return cell


class CellsPlan:
    """Private cells that are about to be released; half of the budget is for selections, the rest for the counts.

    DiffGen (``separate``): a selection chooses where an interval would be cut, and later ones whether it is specialized there. A
    numeric features and h specializations make A + 2h selections; without numeric features there are h [our choice]. DT-Diff:
    one selection for each specialization, over all cuts of all intervals and all groups that can be divided. The cuts of one
    interval together weigh as much as one group of a categorical feature [our reconstruction].

    All cells are released, also empty ones, so their number depends on the cut alone. ``max_cells`` bounds it: what would exceed
    it is not offered.
    """

    def __init__(
        self,
        schema: Schema,
        epsilon: Fraction,
        *,
        separate: bool,
        selection: type[Selection],
        score: BranchScore,
        max_cells: int,
        specializations: int,
        max_bins: int,
    ) -> None:
        self.encoder = Encoder(schema, max_bins)
        self._root = CellCut.root(self.encoder)
        self._score, self._max_cells, self._specializations = score, max_cells, specializations
        numeric = sum(schema.is_numeric)
        self._cuts = separate and numeric > 0
        selections = numeric + 2 * specializations if self._cuts else specializations
        self._selection = selection(epsilon / (2 * selections), score.range)
        parts = [self._selection.event(f"each of {specializations} specializations", score.detail)] * specializations
        if self._cuts:
            # Every numeric feature has a cut first, and the two halves of a divided interval, which share no record, have the
            # next ones; none is needed after the last specialization.
            asked = numeric + specializations - 1
            parts += [self._selection.event(f"cuts of intervals, {asked} in all on each path", score.detail)] * asked
        self._counts = Geometric(epsilon - sum((part.epsilon for part in parts), Fraction(0)))
        self.event: Event = Steps((*parts, self._counts.event("class counts of all cells")))

    def fit(self, curator: Queryable) -> CellsModel:
        return self._model(*self.release(curator))

    def release(self, curator: Queryable) -> tuple[list[Edges], Integers]:
        """Return the specializations in their order, and noisy class counts (cells, classes), signed."""
        nodes, places = curator.assign(PerRecordCoin(1)), np.arange(self._root.starts[-1])
        cut, steps, cut_of = self._root, list[Edges](), dict[Run, Edges]()

        def ask(choices: list[Specializations]) -> list[int]:
            chosen: list[int] = curator.answer(
                SelectSpecializations(nodes, choices, self._score), self._selection
            ).tolist()
            return chosen

        def choose_cuts(runs: Sequence[Run]) -> None:
            """Choose where each interval among the runs would be cut, whether or not it has records."""
            intervals = [run for run in runs if self._cuts and self._root.is_interval(run) and run[1] - run[0] > 1]
            ways = [self._root.divisions(run) for run in intervals]
            choices = [Specializations(places, edges, np.ones(len(edges), np.int64)) for edges in ways]
            if choices:
                cut_of.update({run: edges[i] for run, edges, i in zip(intervals, ways, ask(choices), strict=True)})

        choose_cuts(self._root.all_runs())
        while len(steps) < self._specializations:
            offered = [
                (edges, WEIGHT // len(ways))
                for ways in (self._ways(run, cut_of) for run in cut.all_runs())
                for edges in ways
                if cut.n_cells_with(edges) <= self._max_cells
            ]
            if not offered:
                break
            divisions, weight = zip(*offered, strict=True)
            steps.append(divisions[ask([Specializations(places, divisions, np.array(weight))])[0]])
            cut = cut.specialized(steps[-1])
            if len(steps) < self._specializations:
                choose_cuts(list(pairwise(steps[-1])))
        return steps, curator.answer(CellCounts(nodes, cut), self._counts)

    def _ways(self, run: Run, cut_of: Mapping[Run, Edges]) -> list[Edges]:
        if self._cuts and self._root.is_interval(run):
            return [cut_of[run]] if run in cut_of else []
        return self._root.divisions(run)

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> CellsModel:
        """Return the model that ``to_arrays`` wrote, or raise FileFormatError where no fit could have made it."""
        branches = array_of(arrays, "branches", np.int32, (None,), 2).astype(np.int64)
        places = array_of(arrays, "edges", np.int32, (int(branches.sum()) + len(branches),))
        ends = np.cumsum(branches + 1)
        steps = [tuple(places[end - count - 1 : end].tolist()) for end, count in zip(ends, branches, strict=True)]
        if len(steps) > self._specializations:
            raise FileFormatError(DAMAGED)
        cut = self._root
        for edges in steps:
            run = (edges[0], edges[-1])
            known = run in cut.all_runs() and edges in cut.divisions(run)
            if not known or cut.n_cells_with(edges) > self._max_cells:
                raise FileFormatError(DAMAGED)
            cut = cut.specialized(edges)
        counts = array_of(arrays, "counts", np.int64, (cut.n_cells, len(self.encoder.schema.classes)))
        return self._model(steps, counts)

    def _model(self, steps: list[Edges], counts: Integers) -> CellsModel:
        rate = float(self._counts.rate.fraction)
        deviation = math.sqrt(2 * math.exp(-rate)) / -math.expm1(-rate)  # of two-sided geometric noise
        return CellsModel(self.encoder, tuple(steps), counts, deviation)


@dataclass(frozen=True, eq=False)
class CellsModel(Model):
    """Released cells that read raw records by their schema; ``deviation`` is that of the noise of one count."""

    encoder: Encoder
    steps: tuple[Edges, ...]
    counts: Integers
    deviation: float

    importance_rule: ClassVar[str] = "share of the specializations, each weighing what the divisions above leave to it"

    __repr__ = short_repr

    @property
    def cut(self) -> CellCut:
        """The cut that all specializations together make."""
        return self.cuts[-1]

    @lazy
    def cuts(self) -> list[CellCut]:
        """The root, and the cut after each specialization."""
        cuts = [CellCut.root(self.encoder)]
        for edges in self.steps:
            cuts.append(cuts[-1].specialized(edges))
        return cuts

    @lazy
    def votes(self) -> Integers:
        """The class shares of every cell, (cells, classes), in units."""
        return np.rint(class_shares(self.cuts, self.counts, self.deviation) * UNIT).astype(np.int64)

    @lazy
    def form(self) -> ScoringForm:
        """One tree that asks for the group of each divided feature in turn."""
        groups = [self.cut.shape[feature] for feature in self.cut.divided]
        widths = np.cumprod([1, *groups])  # nodes on each level, of which the last are the cells
        starts = np.cumsum([0, *widths])
        first_child = [starts[level + 1] + np.arange(widths[level]) * count for level, count in enumerate(groups)]
        none = np.zeros((starts[len(groups)], self.votes.shape[1]), dtype=np.int64)
        branch = np.zeros((len(groups), int(self.encoder.n_codes.max())), dtype=np.int64)
        for row, feature in zip(branch, self.cut.divided, strict=True):
            group = self.cut.group_of_code(feature)
            row[: len(group)] = group
        trees = Trees(
            len(self.encoder.n_codes),
            np.zeros(1, dtype=np.int64),
            np.repeat([*range(len(groups)), -1], widths),
            np.concatenate([*first_child, np.zeros(widths[-1], dtype=np.int64)]),
            np.array(self.cut.divided, dtype=np.int64),
            np.array(groups, dtype=np.int64),
            branch,
        )
        return trees.scoring(self.encoder, np.concatenate([none, self.votes]), Mean(UNIT))

    def importances(self) -> Floats:
        """Return the share of each feature in the specializations; a part weighs what its group weighs, evenly divided."""
        weight = dict.fromkeys(self.cuts[0].all_runs(), 1.0)
        sums = np.zeros(len(self.encoder.n_codes))
        for edges in self.steps:
            own = weight[edges[0], edges[-1]]
            sums[self.cut.feature(edges[0])] += own
            weight |= dict.fromkeys(pairwise(edges), own / (len(edges) - 1))
        return np.asarray(sums / max(sums.sum(), 1.0))

    def columns(self, cells: Integers) -> dict[str, npt.NDArray[Any]]:
        """Return what stands for each of some cells in each feature that is divided."""
        schema, columns = self.encoder.schema, {}
        for feature in reversed(self.cut.divided):  # the last feature's groups change fastest
            cells, group = np.divmod(cells, self.cut.shape[feature])
            entry, start = schema.features[schema.names[feature]], int(self.cut.starts[feature])
            values = [
                _representative(entry, self.encoder.max_bins, low - start, high - start)
                for low, high in self.cut.runs(feature)
            ]
            columns[schema.names[feature]] = np.array(values)[group]
        return dict(reversed(columns.items()))

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {
            "branches": np.array([len(edges) - 1 for edges in self.steps], dtype=np.int32),
            "edges": np.array([place for edges in self.steps for place in edges], dtype=np.int32),
            "counts": self.counts,
        }


def _representative(entry: Feature, max_bins: int, low: int, high: int) -> float | str:
    """Return what stands for codes from ``low`` to below ``high``: the middle, NaN for missing cells alone, or the values."""
    if not isinstance(entry, Numeric):
        return ", ".join(entry.code_label(code, max_bins) for code in range(low, high))
    edges = [entry.low, *entry.bin_edges(max_bins).tolist(), entry.high]
    return edges[low] / 2 + edges[min(high, len(edges) - 1)] / 2 if low < len(edges) - 1 else np.nan


def class_shares(cuts: Sequence[CellCut], counts: Integers, deviation: float) -> Floats:
    """Return the class shares of every cell of the last cut, (cells, classes), from noisy ``counts`` of this shape.

    The cuts, root first, refine each other. A block's counts are the sums of its cells' signed, and so unbiased, ones; the noise
    of a sum over m cells has the deviation ``deviation * sqrt(m * classes)``. Each block takes ``TRUST`` times that many records,
    at least one, from the shares of the block around it: where the noise is larger than the records, it says what its
    surroundings say.
    """
    n_classes, last = counts.shape[1], cuts[-1]
    shape = tuple(last.shape[feature] for feature in last.divided)
    cells = counts.astype(np.float64).reshape(*shape, n_classes)
    noisy = np.ones((*shape, 1))
    _clear_undeclared(last, cells, noisy, deviation)
    shares: Floats = np.full((1,) * len(last.divided) + (n_classes,), 1 / n_classes)
    for around, cut in zip([cuts[0], *cuts], cuts, strict=False):
        sums = np.maximum(_blocks(cells, last, cut), 0)
        trust = np.maximum(TRUST * deviation * np.sqrt(n_classes * _blocks(noisy, last, cut)), 1)
        for axis, feature in enumerate(last.divided):  # the shares of the blocks around the blocks of this cut
            first = [*_first_groups(cut, around, feature), cut.shape[feature]]
            shares = np.repeat(shares, np.diff(first), axis=axis)
        shares = sums + trust * shares
        shares /= shares.sum(axis=-1, keepdims=True)
    return shares.reshape(-1, n_classes)


def _first_groups(fine: CellCut, coarse: CellCut, feature: int) -> list[int]:
    """Return for each group of the coarse cut the first group of the fine one in it."""
    place = {run[0]: group for group, run in enumerate(fine.runs(feature))}
    return [place[low] for low, _ in coarse.runs(feature)]


def _blocks(cells: Floats, fine: CellCut, coarse: CellCut) -> Floats:
    """Return the sums over the cells of each block of a coarser cut."""
    for axis, feature in enumerate(fine.divided):
        cells = np.add.reduceat(cells, _first_groups(fine, coarse, feature), axis=axis)
    return cells


def _clear_undeclared(cut: CellCut, cells: Floats, noisy: Floats, deviation: float) -> None:
    """Set the cells of a group of missing or undeclared cells to 0 where their noisy sum does not show that it has records.

    Every schema has such groups, which are empty in most data: without them sums over blocks have less noise.
    """
    for axis, feature in enumerate(cut.divided):
        start, stop = cut.starts[feature : feature + 2]
        declared = stop - start - (1 if cut.is_numeric[feature] else 2)
        for group, (low, _) in enumerate(cut.runs(feature)):
            if low < start + declared:
                continue
            block, counted = cells.take(group, axis), noisy.take(group, axis)
            if block.sum() < SURE * deviation * np.sqrt(cells.shape[-1] * counted.sum()):
                np.moveaxis(cells, axis, 0)[group] = np.moveaxis(noisy, axis, 0)[group] = 0


class DiffGenClassifier(PrivateClassifier):
    """Differentially private generalization with noisy class counts (DiffGen).

    Mohammed, Chen, Fung and Yu, "Differentially private data release for data mining", KDD 2011.

    Releases  a table: every combination of groups of values (a cell), with noisy class counts, including empty cells. Any
              learner can be trained on it (``released_cells``, docs/systems.md). ``predict`` uses a rule of our own.
    Costs     ``epsilon``, pure: half of it to select cut points and specializations, the rest for the counts
              (docs/proofs/cells.md).
    Departs   from the published steps where they read raw data. Classes and bins come from the schema, and
              intervals without records can be cut. It selects by permute-and-flip on scores at their one-sided range.

    Parameters
    ----------
    specializations : int or None
        Maximum number of groups that are divided. None: 10 if the add/remove budget is at least 0.5, otherwise 4 [our choice].
    criterion : {"gini", "max"} or None
        The score that ranks specializations: the purity of the branches (our choice; None), or the paper's Max, the number of
        records that majority labels classify correctly.
    max_cells : int or None
        Maximum number of cells: a specialization that would exceed it is not a candidate. None: 4096 if the add/remove budget is
        at least 0.5, otherwise 64 [our choice].
    max_bins : int or None
        One more than the number of places where a numeric feature may be cut. None: 16 [our choice].

    """

    specializations: int | None = parameter(WholeNumber(1, 100, or_none=True), default=None)
    criterion: str | None = parameter(Choice(tuple(BRANCH_SCORES), or_none=True), default=None)
    max_cells: int | None = parameter(WholeNumber(2, 1 << 20, or_none=True), default=None)
    max_bins: int | None = parameter(WholeNumber(2, 1024, or_none=True), default=None)

    _separate: ClassVar[bool] = True
    _selection: ClassVar[type[Selection]] = PermuteAndFlip

    def _plan(self, schema: Schema, claim: Claim, coins: PublicCoins) -> Plan:
        enough = claim.pure >= ENOUGH
        max_cells = (1 << 12 if enough else 1 << 6) if self.max_cells is None else self.max_cells
        return CellsPlan(
            schema,
            claim.pure,
            separate=self._separate,
            selection=self._selection,
            score=BRANCH_SCORES[self.criterion or "gini"],
            max_cells=max_cells,
            specializations=self.specializations or (10 if enough else 4),
            max_bins=self.max_bins or self._default_bins(claim.pure),
        )

    def _default_bins(self, epsilon: Fraction) -> int:
        return 16

    def released_cells(
        self, *, clip: bool = False
    ) -> tuple[dict[str, npt.NDArray[Any]], npt.NDArray[Any], npt.NDArray[Any]]:
        """Return everything that was released as a weighted table, on which any other learner can be trained, at no cost.

        The table has one row for each cell and class. ``generalize`` gives new records the same columns.

        Parameters
        ----------
        clip : bool
            Whether to omit the rows whose count is not positive. The signed counts of all rows are unbiased, and so are their
            sums. Without the negative counts, sums over many empty cells are too large, but learners accept them.

        Returns
        -------
        columns : dict of ndarray of shape (rows,)
            The features that are divided: the middle of an interval (NaN: missing), or the values of a group as text.
        y : ndarray of shape (rows,)
            The classes.
        weight : ndarray of shape (rows,)
            The noisy number of records, an integer.
        """
        model = self._cells
        weight = self._order.columns(model.counts).ravel()
        kept = np.flatnonzero(weight > 0) if clip else np.arange(len(weight))
        cells, classes = np.divmod(kept, len(self.classes_))
        return model.columns(cells), self.classes_[classes], weight[kept]

    def generalize(self, X: Any) -> dict[str, npt.NDArray[Any]]:
        """Return records as the columns of ``released_cells``, by the released cuts alone."""
        model = self._cells
        return model.columns(model.encoder.answers(X, model.cut.cell))

    @property
    def _cells(self) -> CellsModel:
        return cast(CellsModel, self.model_)


class DTDiffClassifier(DiffGenClassifier):
    """Differentially private data release for decision trees (DT-Diff), as reconstructed.

    Zhu, Xiong, Xiang and Zhou, TrustCom 2013. We had only its abstract and a table in later work. This class is DiffGen with one
    selection per step over all schemes, so that no budget is spent on cut points alone [our reconstruction].

    Releases  a table of cells with noisy class counts, as ``DiffGenClassifier`` does.
    Costs     ``epsilon``, pure: half of it for the specializations, the rest for the counts (docs/proofs/cells.md).
    Departs   as ``DiffGenClassifier`` does, except that it selects by the exponential mechanism. All cuts of an
              interval together have the same weight as one group of a categorical feature.

    Parameters
    ----------
    max_bins : int or None
        One more than the number of places where a numeric feature may be cut. None: 64 if the add/remove budget is at least 1,
        otherwise 16 [our choice].


    Examples
    --------
    >>> import numpy as np, hedgerow as hr
    >>> X = np.random.default_rng(0).uniform(0, 1, (2000, 2))
    >>> y = np.where(X[:, 0] > 0.5, "high", "low")
    >>> schema = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1)}, classes=["low", "high"])
    >>> model = hr.DTDiffClassifier(epsilon=1.0, schema=schema).fit(X, y)
    >>> columns, labels, weight = model.released_cells(clip=True)
    >>> model.certificate_.holds, sorted(columns)
    (True, ['a', 'b'])
    """

    _separate = False
    _selection = Exponential

    def _default_bins(self, epsilon: Fraction) -> int:
        return 64 if epsilon >= 1 else 16  # one selection over all cuts costs no more for many
