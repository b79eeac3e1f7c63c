"""DiffGen and DT-Diff: they release a table of cells, public generalizations that are chosen privately, with noisy class counts.

The codes of all features stand in one line. A group of codes of a feature is a run of places in it, and a cell is one group of
each feature. A division of a run is a tuple of edges: where its parts begin, and where the last one ends.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar, cast

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Floats, Integers, lazy
from hedgerow.curator import Queryable, SelectSpecializations
from hedgerow.errors import FileFormatError
from hedgerow.estimator import Model, Plan, PrivateClassifier, PublicCoins
from hedgerow.export import Mean, ScoringForm, Trees
from hedgerow.export.archive import array_of
from hedgerow.mechanisms import Exponential, Geometric, PermuteAndFlip, PerRecordCoin, Selection
from hedgerow.parameters import Choice, WholeNumber, parameter
from hedgerow.privacy.accounting import Event, Sequence
from hedgerow.privacy.claim import Claim
from hedgerow.schema import Encoder, Numeric, Schema
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


@dataclass(frozen=True, eq=False)
class CellCut:
    """A public partition of the line of codes into groups; ``edges`` (groups + 1,) are their ends.

    Feature i has the places from ``starts[i]`` to ``starts[i + 1]``. A numeric feature, behind whose bins missing cells stand,
    may be cut at every place; a categorical one is divided once, into values, missing and undeclared cells.
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

    def divisions(self, run: Run) -> list[Edges]:
        low, high = run
        if self.is_numeric[self.feature(low)]:
            return [(low, place, high) for place in range(low + 1, high)]
        return [tuple(range(low, high + 1))] if high - low > 1 else []

    def runs(self) -> list[Run]:
        return list(pairwise(self.edges.tolist()))

    def begins(self, feature: int) -> Integers:
        low, high = self.starts[feature : feature + 2]
        return np.asarray(self.edges[(self.edges >= low) & (self.edges < high)])

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
        return replace(self, edges=np.union1d(self.edges, np.array(edges)))

    def n_cells_with(self, edges: Edges) -> int:
        groups = self.shape[self.feature(edges[0])]
        return self.n_cells // groups * (groups + len(edges) - 2)

    def group_of_code(self, feature: int) -> Integers:
        ends = np.append(self.begins(feature), self.starts[feature + 1])
        return np.repeat(np.arange(len(ends) - 1), np.diff(ends))

    def cell(self, codes: npt.NDArray[np.unsignedinteger]) -> Integers:
        """Return the cell of each record of ``codes`` (records, features): a record's cell depends on its codes alone."""
        cell = np.zeros(len(codes), dtype=np.int64)
        for feature in self.divided:
            cell = cell * self.shape[feature] + self.group_of_code(feature)[codes[:, feature]]
        return cell


class CellsPlan:
    """Private cells that are about to be released; half of the budget is for selections, the rest for the counts.

    DiffGen (``separate``): a selection chooses where an interval would be cut, and later ones whether it is specialized there. A
    numeric features and h specializations make A + 2h selections; without numeric features there are h [our choice]. DT-Diff:
    one selection for each specialization, over all divisions; the cuts of one interval weigh what one group of a categorical
    feature does [our reconstruction]. All cells are released, also empty ones: their number depends on the cut alone.
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
            # One at first for every numeric feature, then one for both halves of a divided interval, which share no record.
            asked = numeric + specializations - 1
            parts += [self._selection.event(f"cuts of intervals, {asked} in all on each path", score.detail)] * asked
        self.noise = Geometric(epsilon - sum((part.epsilon for part in parts), Fraction(0)))
        rate = float(self.noise.rate.fraction)
        self._deviation = math.sqrt(2 * math.exp(-rate)) / -math.expm1(-rate)  # of two-sided geometric noise
        self.event: Event = Sequence((*parts, self.noise.event("class counts of all cells")))

    def fit(self, curator: Queryable) -> CellsModel:
        nodes, places = curator.assign(PerRecordCoin(1)), np.arange(self._root.starts[-1])
        cut, steps = self._root, list[Edges]()
        ways: dict[Run, list[Edges]] = {}  # how each group may be divided
        new_runs = cut.runs()
        while len(steps) < self._specializations:
            ways |= {run: cut.divisions(run) for run in new_runs}
            if self._cuts:  # an interval is cut at one place, which is chosen now, whether or not it has records
                intervals = [run for run in new_runs if cut.is_numeric[cut.feature(run[0])] and ways[run]]
                choices = [Specializations(places, ways[run], np.ones(len(ways[run]), np.int64)) for run in intervals]
                if choices:
                    chosen = curator.answer(SelectSpecializations(nodes, choices, self._score), self._selection)
                    ways |= {run: [ways[run][i]] for run, i in zip(intervals, chosen.tolist(), strict=True)}
            offered = [
                (edges, WEIGHT // len(ways[run]))
                for run in cut.runs()
                for edges in ways[run]
                if cut.n_cells_with(edges) <= self._max_cells
            ]
            if not offered:
                break
            divisions, weight = zip(*offered, strict=True)
            choice = Specializations(places, divisions, np.array(weight))
            chosen = curator.answer(SelectSpecializations(nodes, [choice], self._score), self._selection)
            steps.append(divisions[int(chosen[0])])
            cut, new_runs = cut.specialized(steps[-1]), list(pairwise(steps[-1]))
        counts = curator.answer(CellCounts(nodes, cut), self.noise)
        return CellsModel(self.encoder, tuple(steps), counts, self._deviation)

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> CellsModel:
        """Return the model that ``to_arrays`` wrote, or raise FileFormatError where no fit could have made it."""
        branches = array_of(arrays, "branches", np.int32, (None,), 2).astype(np.int64)
        places = array_of(arrays, "edges", np.int32, (int(branches.sum()) + len(branches),))
        cut, steps = self._root, [tuple(part.tolist()) for part in np.split(places, np.cumsum(branches + 1))[:-1]]
        for number, edges in enumerate(steps):
            run = (edges[0], edges[-1])
            known = number < self._specializations and run in cut.runs() and edges in cut.divisions(run)
            if not known or cut.n_cells_with(edges) > self._max_cells:
                raise FileFormatError("the file's cells are damaged; fit the model again.")
            cut = cut.specialized(edges)
        counts = array_of(arrays, "counts", np.int64, (cut.n_cells, len(self.encoder.schema.classes)))
        return CellsModel(self.encoder, tuple(steps), counts, self._deviation)


@dataclass(frozen=True, eq=False)
class CellsModel(Model):
    """Released cells that read raw records by their schema; ``deviation`` is that of the noise of one count."""

    encoder: Encoder
    steps: tuple[Edges, ...]  # the specializations in their order
    counts: Integers  # (cells, classes), signed
    deviation: float

    importance_rule: ClassVar[str] = "share of the specializations, each weighing what the divisions above leave to it"

    __repr__ = short_repr

    @property
    def cut(self) -> CellCut:
        return self.cuts[-1]

    @lazy
    def cuts(self) -> list[CellCut]:
        cuts = [CellCut.root(self.encoder)]
        for edges in self.steps:
            cuts.append(cuts[-1].specialized(edges))
        return cuts

    @lazy
    def form(self) -> ScoringForm:
        votes = np.rint(class_shares(self.cuts, self.counts, self.deviation) * UNIT).astype(np.int64)
        groups = [self.cut.shape[feature] for feature in self.cut.divided]
        widths = np.cumprod([1, *groups])  # nodes on each level, of which the last are the cells
        children = np.repeat([*groups, 0], widths)  # of each node; a level asks for the group of one divided feature
        branch = np.zeros((len(groups), int(self.encoder.n_codes.max())), dtype=np.int64)
        for row, feature in zip(branch, self.cut.divided, strict=True):
            row[: self.encoder.n_codes[feature]] = self.cut.group_of_code(feature)
        trees = Trees(
            len(self.encoder.n_codes),
            np.zeros(1, dtype=np.int64),
            np.repeat([*range(len(groups)), -1], widths),
            np.where(children > 0, 1 + np.cumsum(children) - children, 0),
            np.array(self.cut.divided, dtype=np.int64),
            np.array(groups, dtype=np.int64),
            branch,
        )
        return trees.scoring(self.encoder, np.pad(votes, ((len(children) - len(votes), 0), (0, 0))), Mean(UNIT))

    def importances(self) -> Floats:
        """Return the share of each feature in the specializations; a part weighs what its group weighs, evenly divided."""
        weight = dict.fromkeys(self.cuts[0].runs(), 1.0)
        sums = np.zeros(len(self.encoder.n_codes))
        for edges in self.steps:
            own = weight[edges[0], edges[-1]]
            sums[self.cut.feature(edges[0])] += own
            weight |= dict.fromkeys(pairwise(edges), own / (len(edges) - 1))
        return np.asarray(sums / max(sums.sum(), 1.0))

    def columns(self, cells: Integers) -> dict[str, npt.NDArray[Any]]:
        encoder, columns = self.encoder, {}
        for feature in reversed(self.cut.divided):  # the last feature's groups change fastest
            cells, group = np.divmod(cells, self.cut.shape[feature])
            name, start = encoder.schema.names[feature], self.cut.starts[feature]
            first = (self.cut.begins(feature) - start).tolist()
            entry, runs = encoder.schema.features[name], list(pairwise([*first, int(encoder.n_codes[feature])]))
            if isinstance(entry, Numeric):
                ends = [entry.low, *entry.bin_edges(encoder.max_bins).tolist(), entry.high]
                last = len(ends) - 1  # the code of missing cells
                values = [ends[i] / 2 + ends[min(j, last)] / 2 if i < last else np.nan for i, j in runs]
            else:
                values = [", ".join(entry.code_label(code, encoder.max_bins) for code in range(*run)) for run in runs]
            columns[name] = np.array(values)[group]
        return dict(reversed(columns.items()))

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {
            "branches": np.array([len(edges) - 1 for edges in self.steps], dtype=np.int32),
            "edges": np.array([place for edges in self.steps for place in edges], dtype=np.int32),
            "counts": self.counts,
        }


def class_shares(cuts: list[CellCut], counts: Integers, deviation: float) -> Floats:
    """Return the class shares of every cell of the last cut, (cells, classes), from noisy ``counts`` of this shape.

    The cuts, root first, refine each other. Sums of the signed counts of a block's m cells are unbiased, with noise of the
    deviation ``deviation * sqrt(m * classes)``. To these, ``TRUST`` times that many records, at least one, are added with the
    shares of the block around: where the noise is larger than the records, a block has the shares of its surroundings.
    """
    n_classes, last = counts.shape[1], cuts[-1]
    shape = tuple(last.shape[feature] for feature in last.divided)
    cells = counts.astype(np.float64).reshape(*shape, n_classes)
    noisy = np.ones((*shape, 1))
    for axis, feature in enumerate(last.divided):
        # Every schema has groups of missing or undeclared cells, which are empty in most data. Sums over blocks have less noise
        # without those whose sum does not show that they have records.
        undeclared = last.starts[feature + 1] - (1 if last.is_numeric[feature] else 2)
        for group in np.flatnonzero(last.begins(feature) >= undeclared):
            block, counted = cells.take(group, axis), noisy.take(group, axis)
            if block.sum() < SURE * deviation * np.sqrt(n_classes * counted.sum()):
                np.moveaxis(cells, axis, 0)[group] = np.moveaxis(noisy, axis, 0)[group] = 0
    shares: Floats = np.full((1,) * len(shape) + (n_classes,), 1 / n_classes)
    for around, cut in zip([cuts[0], *cuts], cuts, strict=False):
        sums, n_cells = cells, noisy
        for axis, feature in enumerate(last.divided):
            begins = cut.begins(feature)
            first = np.searchsorted(last.begins(feature), begins)
            sums, n_cells = np.add.reduceat(sums, first, axis=axis), np.add.reduceat(n_cells, first, axis=axis)
            shares = shares.take(np.searchsorted(around.begins(feature), begins, side="right") - 1, axis)
        trust = np.maximum(TRUST * deviation * np.sqrt(n_classes * n_cells), 1)
        shares = np.maximum(sums, 0) + trust * shares
        shares /= shares.sum(axis=-1, keepdims=True)
    return shares.reshape(-1, n_classes)


class DiffGenClassifier(PrivateClassifier):
    """Differentially private generalization with noisy class counts (DiffGen).

    Mohammed, Chen, Fung and Yu, "Differentially private data release for data mining", KDD 2011.

    Releases  a table: every combination of groups of values (a cell), with noisy class counts, including empty cells. Any
              learner can be trained on it (``released_cells``, docs/systems.md). ``predict`` uses a rule of our own.
    Costs     ``epsilon``, pure: half of it for the selections, the rest for the counts (docs/proofs/cells.md).
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
        Maximum number of cells. None: 4096 if the add/remove budget is at least 0.5, otherwise 64 [our choice].
    max_bins : int or None
        One more than the number of places where a numeric feature may be cut. None: 16; ``DTDiffClassifier`` takes 64 if the
        add/remove budget is at least 1, since one selection over all cuts costs no more for many [our choice].
    """

    specializations: int | None = parameter(WholeNumber(1, 100, or_none=True), default=None)
    criterion: str | None = parameter(Choice(tuple(BRANCH_SCORES), or_none=True), default=None)
    max_cells: int | None = parameter(WholeNumber(2, 1 << 20, or_none=True), default=None)
    max_bins: int | None = parameter(WholeNumber(2, 1024, or_none=True), default=None)

    _separate: ClassVar[bool] = True
    _selection: ClassVar[type[Selection]] = PermuteAndFlip

    def _plan(self, schema: Schema, claim: Claim, coins: PublicCoins) -> Plan:
        enough = claim.pure >= ENOUGH
        return CellsPlan(
            schema,
            claim.pure,
            separate=self._separate,
            selection=self._selection,
            score=BRANCH_SCORES[self.criterion or "gini"],
            max_cells=self.max_cells or (4096 if enough else 64),
            specializations=self.specializations or (10 if enough else 4),
            max_bins=self.max_bins or (64 if not self._separate and claim.pure >= 1 else 16),
        )

    def released_cells(self) -> tuple[dict[str, npt.NDArray[Any]], npt.NDArray[Any], npt.NDArray[Any]]:
        """Return everything that was released as a weighted table, on which any other learner can be trained, at no cost.

        The table has one row for each cell and class. ``generalize`` gives new records the same columns. The signed counts are
        unbiased, and so are their sums; learners that accept no negative weight take the rows with ``weight > 0``.

        Returns
        -------
        columns : dict of ndarray of shape (rows,)
            The features that are divided: the middle of an interval (NaN: missing), or the values of a group as text.
        y : ndarray of shape (rows,)
            The classes.
        weight : ndarray of shape (rows,)
            The noisy number of records, an integer.
        """
        model = cast(CellsModel, self.model_)
        weight = self._order.columns(model.counts).ravel()
        cells, classes = np.divmod(np.arange(len(weight)), len(self.classes_))
        return model.columns(cells), self.classes_[classes], weight

    def generalize(self, X: Any) -> dict[str, npt.NDArray[Any]]:
        """Return records as the columns of ``released_cells``, by the released cuts alone."""
        model = cast(CellsModel, self.model_)
        return model.columns(model.encoder.answers(X, model.cut.cell))


class DTDiffClassifier(DiffGenClassifier):
    """Differentially private data release for decision trees (DT-Diff), as reconstructed.

    Zhu, Xiong, Xiang and Zhou, TrustCom 2013. We had only its abstract and a table in later work. This class is DiffGen with one
    selection per step over all schemes, so that no budget is spent on cut points alone [our reconstruction].

    Releases  a table of cells with noisy class counts, as ``DiffGenClassifier`` does.
    Costs     ``epsilon``, pure: half of it for the specializations, the rest for the counts (docs/proofs/cells.md).
    Departs   as ``DiffGenClassifier`` does, but selects by the exponential mechanism. All cuts of an interval together weigh
              as much as one group of a categorical feature.

    Examples
    --------
    >>> import numpy as np, hedgerow as hr
    >>> X = np.random.default_rng(0).uniform(0, 1, (2000, 2))
    >>> y = np.where(X[:, 0] > 0.5, "high", "low")
    >>> schema = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1)}, classes=["low", "high"])
    >>> model = hr.DTDiffClassifier(epsilon=1.0, schema=schema).fit(X, y)
    >>> columns, labels, weight = model.released_cells()
    >>> model.certificate_.holds, sorted(columns)
    (True, ['a', 'b'])
    """

    _separate = False
    _selection = Exponential
