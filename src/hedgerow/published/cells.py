"""DiffGen and DT-Diff as published: raw values, floating-point noise, and the steps that nothing protects.

Mohammed, Chen, Fung and Yu, KDD 2011, with the choices of its public implementation; Zhu, Xiong, Xiang and Zhou, TrustCom
2013, as reconstructed from its abstract. Where a paper is silent, the choice is ours; where the published steps fail is in
docs/proofs/cells.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Floats, Integers
from hedgerow.cells.hierarchy import Edges, Hierarchy
from hedgerow.cells.model import CellsModel, read_release
from hedgerow.cells.specializer import Release
from hedgerow.errors import FileFormatError, SchemaError
from hedgerow.estimator import RawPlan
from hedgerow.lazy_values import lazy
from hedgerow.limits import LARGEST_COUNT
from hedgerow.mechanisms import Randomness
from hedgerow.privacy.events import Event, Pure, Sequence, Unprotected
from hedgerow.published.noise import IntervalChoice, Laplace, RealExponential
from hedgerow.published.recipe import FLOATS
from hedgerow.schema import Encoder, Numeric, Schema
from hedgerow.schema.encoder import raw_columns
from hedgerow.texts import short_repr

__all__ = ["PublishedCellsModel", "PublishedCellsPlan"]


GENERIC = 2  # the factor is epsilon / (2 Delta), scores being measured in Delta
REASONS = (
    "the list of classes is read off the records: a class that one record alone has is seen in the output",
    "an interval without records is never cut: whether it has one shows in what is specialized, an infinite loss",
    FLOATS,
)


def majority(counts: Integers) -> Floats:
    """Return the sum over branches of the largest class count (candidates, branches, classes), of shape (candidates,)."""
    return np.asarray(counts.max(axis=2).sum(axis=1), dtype=np.float64)


def information_gain(counts: Integers) -> Floats:
    """Return how much less entropy the branches have than all their records together, in units of log2 of the classes.

    ``counts`` (candidates, branches, classes) are of one group's records; the gain is per record, so at most log2 K, which
    the paper takes for its sensitivity.
    """
    parts = counts.sum(axis=2)
    whole = parts.sum(axis=1)
    within = (_entropy(counts) * parts).sum(axis=1) / np.maximum(whole, 1)
    return np.asarray((_entropy(counts.sum(axis=1)) - within) / max(math.log2(counts.shape[2]), 1.0))


def _entropy(counts: Integers) -> Floats:
    share = counts / np.maximum(counts.sum(axis=-1, keepdims=True), 1)
    return -np.asarray((share * np.log2(np.where(share > 0, share, 1.0))).sum(axis=-1))


SCORES = {"max": majority, "information-gain": information_gain}


@dataclass(frozen=True, eq=False)
class RawCells:
    """Raw columns (records, features), the classes that they have, and the place of each record's class among them."""

    columns: Floats
    classes: Integers
    label: Integers

    @classmethod
    def of(cls, X: Any, y: Any, schema: Schema) -> RawCells:
        """Return the records whose label is in the schema, numbers clipped to their ranges."""
        labels = np.asarray(Encoder(schema, 2).labels(y), dtype=np.int64)
        columns = raw_columns(X, schema)[labels >= 0]
        for i, feature in enumerate(schema.features.values()):
            if isinstance(feature, Numeric):
                columns[:, i] = np.clip(columns[:, i], feature.low, feature.high)
        classes, label = np.unique(labels[labels >= 0], return_inverse=True)
        if len(classes) == 0:  # no record: the schema's first class stands for the list (our choice)
            classes = np.zeros(1, dtype=np.int64)
        return cls(columns, classes, label)

    def counts(self, rows: Integers, part: Integers, parts: int) -> Integers:
        """Return how many of some records are in each part, by class, of shape (parts, classes)."""
        n_classes = len(self.classes)
        flat = np.bincount(part * n_classes + self.label[rows], minlength=parts * n_classes)
        return flat.reshape(parts, n_classes)


@dataclass(eq=False)
class Interval:
    """A group of a numeric feature: numbers from ``low`` to below ``high``; the last one also has its end, and missing."""

    records: RawCells = field(repr=False)
    feature: int
    low: float
    high: float
    rows: Integers = field(repr=False)
    cut: float = math.nan

    extra = 1

    @lazy
    def spans(self) -> tuple[Floats, Floats, Integers]:
        """The spans between the records' own values, their left and right ends, and the class counts on both sides."""
        values = self.records.columns[self.rows, self.feature]
        ends, place = np.unique(np.append(values, [self.low, self.high]), return_inverse=True)
        ends = ends[~np.isnan(ends)]  # missing stands above all values
        below = np.cumsum(self.records.counts(self.rows, place[:-2], len(ends) + 1), axis=0)
        sides = np.stack([below[:-2], below[-1] - below[:-2]], axis=1)
        return ends[:-1], ends[1:], sides

    @property
    def can_be_cut(self) -> bool:
        """Whether it has a record and a number inside, as published."""
        return len(self.rows) > 0 and np.nextafter(self.low, self.high) < self.high

    def inside(self, cut: float) -> float:
        """Return a cut point strictly inside the interval."""
        return float(np.clip(cut, np.nextafter(self.low, self.high), np.nextafter(self.high, self.low)))

    def sides(self, cut: float) -> Integers:
        """Return the class counts on both sides of a cut, of shape (2, classes)."""
        return self.records.counts(self.rows, self._side(cut), 2)

    def divided(self) -> list[Group]:
        """Return both sides of its cut."""
        side = self._side(self.cut)
        ends = pairwise((self.low, self.cut, self.high))
        return [Interval(self.records, self.feature, *end, self.rows[side == i]) for i, end in enumerate(ends)]

    def _side(self, cut: float) -> Integers:
        return np.asarray(~(self.records.columns[self.rows, self.feature] < cut), dtype=np.int64)


@dataclass(eq=False)
class RawValues:
    """A group of a categorical feature: a run of the line of codes, which its taxonomy divides."""

    records: RawCells = field(repr=False)
    feature: int
    run: tuple[int, int]
    rows: Integers = field(repr=False)
    hierarchy: Hierarchy = field(repr=False)

    @property
    def edges(self) -> Edges:
        """The division of the run; empty where there is none."""
        return next(iter(self.hierarchy.divisions(self.run)), ())

    @property
    def extra(self) -> int:
        """How many groups more there are when it is divided."""
        return len(self.edges) - 2

    def branches(self) -> Integers:
        """Return the class counts of the branches, of shape (branches, classes)."""
        return self.records.counts(self.rows, self._branch(), len(self.edges) - 1)

    def divided(self) -> list[Group]:
        """Return the branches."""
        branch = self._branch()
        return [
            RawValues(self.records, self.feature, run, self.rows[branch == i], self.hierarchy)
            for i, run in enumerate(pairwise(self.edges))
        ]

    def _branch(self) -> Integers:
        codes = self.records.columns[self.rows, self.feature].astype(np.int64)
        places = self.hierarchy.place_of_code[self.hierarchy.features[self.feature] + codes]
        return np.asarray(np.searchsorted(self.edges, places, side="right") - 1)


Group = Interval | RawValues


class RawSpecializer:
    """Specializes raw records as the papers print it.

    Parameters
    ----------
    records : RawCells
        The records themselves.
    groups : list of Group
        One for each feature, in their order.
    stated : Stated
        The parameters of the paper.
    randomness : Randomness
        Where all noise comes from.
    """

    def __init__(self, records: RawCells, groups: list[Group], stated: Stated, randomness: Randomness) -> None:
        self._records = records
        self._groups = [[group] for group in groups]
        self._stated = stated
        self._randomness = randomness
        self.steps: list[tuple[Group, list[Group]]] = []

    def run(self) -> None:
        """Take all steps that the number of cells allows."""
        self._choose_cuts([group for groups in self._groups for group in groups])
        while len(self.steps) < self._stated.specializations and (offered := self._offered()):
            self._specialize(self._choose(offered))

    def _specialize(self, group: Group) -> None:
        parts = group.divided()
        self.steps.append((group, parts))
        groups = self._groups[group.feature]
        place = groups.index(group)
        groups[place : place + 1] = parts
        self._choose_cuts(parts)

    def _offered(self) -> list[Group]:
        sizes = [len(groups) for groups in self._groups]
        cells = math.prod(sizes)
        return [
            group
            for size, groups in zip(sizes, self._groups, strict=True)
            for group in groups
            if (group.can_be_cut if isinstance(group, Interval) else group.edges)
            and cells // size * (size + group.extra) <= self._stated.max_cells
        ]

    def _choose_cuts(self, groups: list[Group]) -> None:
        """Choose where each interval with records would be cut, where the paper has selections of their own for that."""
        if self._stated.merged:
            return
        for group in groups:
            if isinstance(group, Interval) and group.can_be_cut:
                left, right, sides = group.spans
                score = self._stated.score(sides)
                mechanism = IntervalChoice(self._stated.share, GENERIC)
                _, cut = self._randomness.draw(mechanism, score, left, right, np.array([0, len(score)]))
                group.cut = group.inside(float(cut[0]))

    def _choose(self, offered: list[Group]) -> Group:
        """Choose a group: by the score of its one division, or at once with the point where an interval is cut."""
        if self._stated.merged:
            return self._choose_on_a_line(offered)
        score = np.array([self._stated.score(_branches(group)[None])[0] for group in offered])
        mechanism = RealExponential(self._stated.share, GENERIC)
        return offered[int(self._randomness.draw(mechanism, score[None], np.ones((1, len(score)), dtype=np.bool_))[0])]

    def _choose_on_a_line(self, offered: list[Group]) -> Group:
        """Choose a point on a line on which every group has a piece of length 1, an interval's spans at their scale."""
        scores, left, right = [], [], []
        for i, group in enumerate(offered):
            if isinstance(group, Interval):
                start, end, sides = group.spans
                width = group.high - group.low
                scores.append(self._stated.score(sides))
                left.append(i + (start - group.low) / width)
                right.append(i + (end - group.low) / width)
            else:
                scores.append(self._stated.score(group.branches()[None]))
                left.append(np.array([float(i)]))
                right.append(np.array([i + 1.0]))
        score, low, high = np.concatenate(scores), np.concatenate(left), np.concatenate(right)
        mechanism = IntervalChoice(self._stated.share, GENERIC)
        _, point = self._randomness.draw(mechanism, score, low, high, np.array([0, len(score)]))
        place = min(int(point[0]), len(offered) - 1)
        group = offered[place]
        if isinstance(group, Interval):
            group.cut = group.inside(group.low + (float(point[0]) - place) * (group.high - group.low))
        return group


def _branches(group: Group) -> Integers:
    return group.sides(group.cut) if isinstance(group, Interval) else group.branches()


@dataclass(frozen=True)
class Stated:
    """The parameters as a paper states them; ``share`` is the budget of one selection."""

    epsilon: Fraction
    share: Fraction
    criterion: str
    merged: bool
    specializations: int
    max_cells: int

    def score(self, counts: Integers) -> Floats:
        """Return the score of class counts (candidates, branches, classes), in units of its sensitivity."""
        return SCORES[self.criterion](counts)

    def event(self, numeric: int) -> Event:
        """Return every unprotected step, and the budgets that the paper states for the others."""
        detail = f"exponential mechanism in floating point, {self.criterion}, factor epsilon / (2 Delta)"
        steps: list[Event] = [Pure(self.share, detail, "each specialization, as stated")] * self.specializations
        if not self.merged and numeric:
            cut = Pure(self.share, detail, "each choice of cuts, as stated")
            steps += [cut] * (numeric + self.specializations)
        counts = Pure(self.epsilon / 2, "Laplace noise in floating point", "class counts of all cells, as stated")
        return Sequence((*map(Unprotected, REASONS), *steps, counts))


@dataclass(frozen=True, eq=False)
class PublishedCellsModel(CellsModel):
    """Released cells whose cut points are real numbers, of shape (cuts,), each of a feature."""

    cuts: Floats = field(default_factory=lambda: np.empty(0))
    cut_feature: npt.NDArray[np.int32] = field(default_factory=lambda: np.empty(0, dtype=np.int32))

    __repr__ = short_repr

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the specializations, the counts and the cut points as named arrays."""
        return {**super().to_arrays(), "cuts": self.cuts, "cut_feature": self.cut_feature}


class PublishedCellsPlan(RawPlan):
    """DiffGen or DT-Diff as published, about to run. No guarantee holds.

    Parameters
    ----------
    schema : Schema
        The features, their ranges and taxonomies. Classes are those that the records have.
    epsilon : Fraction
        The budget.
    criterion : {"information-gain", "max"}
        What ranks specializations.
    merged : bool
        Whether one selection chooses a specialization with its cut point (DT-Diff), or cut points are chosen first.
    specializations, max_cells : int
        How many specializations and cells there are at most; the papers bound the first only.
    """

    def __init__(
        self,
        schema: Schema,
        epsilon: Fraction,
        *,
        criterion: str,
        merged: bool,
        specializations: int,
        max_cells: int,
    ) -> None:
        self._schema = schema
        self._numeric = sum(schema.is_numeric)
        shares = specializations if merged else self._numeric + 2 * specializations
        share = epsilon / (2 * shares)
        self._stated = Stated(epsilon, share, criterion, merged, specializations, max_cells)

    @property
    def event(self) -> Event:
        """Every unprotected step, then the budgets that the paper states for the others."""
        return self._stated.event(self._numeric)

    def fit_raw(self, X: Any, y: Any, randomness: Randomness) -> PublishedCellsModel:
        """Specialize the records and count the cells."""
        records = RawCells.of(X, y, self._schema)
        rows = np.arange(len(records.label))
        hierarchy = Hierarchy.of(Encoder(self._schema, 2))
        groups: list[Group] = [
            Interval(records, i, feature.low, feature.high, rows)
            if isinstance(feature, Numeric)
            else RawValues(records, i, hierarchy.roots[i], rows, hierarchy)
            for i, feature in enumerate(self._schema.features.values())
        ]
        specializer = RawSpecializer(records, groups, self._stated, randomness)
        specializer.run()
        return self._released(records, specializer.steps, X, y, randomness)

    def _released(
        self, records: RawCells, steps: list[tuple[Group, list[Group]]], X: Any, y: Any, randomness: Randomness
    ) -> PublishedCellsModel:
        """Return the model: cut points become the bins of a schema, and steps divisions of its line of codes."""
        found = sorted((group.feature, group.cut) for group, _ in steps if isinstance(group, Interval))
        cut_feature = np.array([feature for feature, _ in found], dtype=np.int32)
        cuts = np.array([cut for _, cut in found], dtype=np.float64)
        encoder = self._encoder(cuts, cut_feature)
        hierarchy = Hierarchy.of(encoder)
        edges = tuple(_places(group, encoder, hierarchy) for group, _ in steps)
        model = self._model(encoder, hierarchy, Release(edges, np.empty((0, 0))), cuts, cut_feature)
        labels = np.asarray(encoder.labels(y), dtype=np.int64)
        cell = model.cut.cell(encoder.transform(X)[labels >= 0])
        counts = np.zeros((model.cut.n_cells, len(self._schema.classes)))
        exact = np.bincount(
            cell * len(records.classes) + records.label, minlength=model.cut.n_cells * len(records.classes)
        )
        noisy = randomness.draw(Laplace(self._stated.epsilon / 2), exact)
        counts[:, records.classes] = noisy.reshape(model.cut.n_cells, -1)
        return self._model(encoder, hierarchy, Release(edges, counts), cuts, cut_feature)

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> PublishedCellsModel:
        """Return the model whose release stands in the arrays, or raise FileFormatError."""
        damaged = FileFormatError("the file's cut points are damaged; fit the model again.")
        try:
            cuts, cut_feature = arrays["cuts"], arrays["cut_feature"].astype(np.int32, casting="safe")
            if cuts.ndim != 1 or cuts.dtype != np.float64 or cuts.shape != cut_feature.shape:
                raise damaged
            if len(cuts) > self._stated.specializations:
                raise damaged
            encoder = self._encoder(cuts, cut_feature)
        except (KeyError, IndexError, TypeError, AttributeError, SchemaError) as error:
            raise damaged from error
        hierarchy = Hierarchy.of(encoder)
        release = read_release(
            arrays,
            hierarchy,
            len(self._schema.classes),
            most_steps=self._stated.specializations,
            max_cells=self._stated.max_cells,
            dtype=np.float64,
        )
        if not np.all(np.abs(release.counts) <= LARGEST_COUNT):
            raise damaged
        return self._model(encoder, hierarchy, release, cuts, cut_feature)

    def _encoder(self, cuts: Floats, cut_feature: npt.NDArray[np.int32]) -> Encoder:
        """Return an encoder whose bins lie between the cut points; a feature without cut points has one that matters."""
        entries = list(self._schema.features.items())
        features = {}
        for i in np.unique(cut_feature).tolist():
            name, entry = entries[i]
            if i < 0 or not isinstance(entry, Numeric):
                raise TypeError
            features[name] = entry.with_cuts(cuts[cut_feature == i].tolist())
        return Encoder(self._schema.replace(features), max(2, len(cuts) + 1))

    def _model(
        self,
        encoder: Encoder,
        hierarchy: Hierarchy,
        release: Release,
        cuts: Floats,
        cut_feature: npt.NDArray[np.int32],
    ) -> PublishedCellsModel:
        deviation = math.sqrt(2) / float(self._stated.epsilon / 2)  # of Laplace noise
        return PublishedCellsModel(encoder, hierarchy, release, deviation, cuts, cut_feature)


def _places(group: Group, encoder: Encoder, hierarchy: Hierarchy) -> Edges:
    """Return where a division stands on the line of codes of all cut points."""
    start = int(hierarchy.features[group.feature])
    if isinstance(group, RawValues):
        shift = start - int(group.hierarchy.features[group.feature])
        return tuple(place + shift for place in group.edges)
    edges = encoder.edges[group.feature]
    entry = list(encoder.schema.features.values())[group.feature]
    assert isinstance(entry, Numeric)
    low = 0 if group.low == entry.low else int(np.searchsorted(edges, group.low)) + 1
    high = len(edges) + 2 if group.high == entry.high else int(np.searchsorted(edges, group.high)) + 1
    return start + low, start + int(np.searchsorted(edges, group.cut)) + 1, start + high
