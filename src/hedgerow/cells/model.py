"""Released cells as a model: class shares, a weighted table for other learners and columns to read it by, arrays for files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Floats
from hedgerow.cells.cut import CellCut
from hedgerow.cells.hierarchy import Edges, Hierarchy
from hedgerow.cells.specializer import Release
from hedgerow.errors import FileFormatError
from hedgerow.export import Mean, ScoringForm, readings_of
from hedgerow.lazy_values import lazy
from hedgerow.schema import Encoder, Numeric
from hedgerow.schema.features import Feature
from hedgerow.texts import short_repr

__all__ = ["CellsModel", "class_shares", "columns_of_cells", "generalize", "read_release"]

UNIT = 1 << 52  # of a share
DAMAGED = "the file's cells are damaged; fit the model again."


@dataclass(frozen=True, eq=False)
class CellsModel:
    """A release that reads raw records by its schema.

    Parameters
    ----------
    encoder : Encoder
        Turns records into codes.
    hierarchy : Hierarchy
        The line of these codes.
    release : Release
        What the fit gave away.
    deviation : float
        The standard deviation of the noise of one count, which is public.
    """

    encoder: Encoder
    hierarchy: Hierarchy
    release: Release
    deviation: float

    importance_rule: ClassVar[str] = "share of the specializations, each weighing what the divisions above leave to it"

    __repr__ = short_repr

    @lazy
    def cut(self) -> CellCut:
        """The cut that all specializations together make."""
        return self._cuts[-1]

    @lazy
    def _cuts(self) -> list[CellCut]:
        """The root, and the cut after each specialization."""
        cuts = [CellCut.root(self.hierarchy)]
        for edges in self.release.steps:
            cuts.append(cuts[-1].specialized(edges))
        return cuts

    @lazy
    def _shares(self) -> Floats:
        """The class shares of every cell, in units that whole votes can stand for."""
        return np.asarray(np.rint(class_shares(self._cuts, self.release.counts, self.deviation) * UNIT) / UNIT)

    def scoring(self) -> ScoringForm:
        """Return how the model answers: one tree that asks for the group of each divided feature in turn."""
        groups = [self.cut.shape[feature] for feature in self.cut.divided]
        widths = np.cumprod([1, *groups])  # nodes on each level, of which the last are the cells
        starts = np.cumsum([0, *widths])
        test = np.repeat([*range(len(groups)), -1], widths)
        first_child = [starts[level + 1] + np.arange(widths[level]) * count for level, count in enumerate(groups)]
        none = np.zeros((starts[len(groups)], self._shares.shape[1]), dtype=np.int64)
        branch = np.zeros((len(groups), int(self.encoder.n_codes.max())), dtype=np.int64)
        for row, feature in zip(branch, self.cut.divided, strict=True):
            group = self.cut.group_of_code(feature)
            row[: len(group)] = group
        return ScoringForm(
            readings_of(self.encoder),
            self.encoder.schema.classes,
            np.zeros(1, dtype=np.int64),
            test,
            np.concatenate([*first_child, np.zeros(widths[-1], dtype=np.int64)]),
            np.array(self.cut.divided, dtype=np.int64),
            branch,
            np.concatenate([none, np.rint(self._shares * UNIT).astype(np.int64)]),
            Mean(UNIT),
        )

    def probabilities(self, X: Any) -> Floats:
        """Return the class shares of each record's cell, of shape (records, classes)."""
        return self.encoder.answers(X, lambda codes: self._shares[self.cut.cell(codes)])

    def importances(self) -> Floats:
        """Return the share of each feature in the specializations; a part weighs what its group weighs, evenly divided."""
        weight = dict.fromkeys(self.hierarchy.roots, 1.0)
        sums = np.zeros(len(self.hierarchy.is_numeric))
        for edges in self.release.steps:
            own = weight[edges[0], edges[-1]]
            sums[self.hierarchy.feature(edges[0])] += own
            weight |= dict.fromkeys(pairwise(edges), own / (len(edges) - 1))
        return np.asarray(sums / max(sums.sum(), 1.0))

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """Return what stands for each cell in each feature that is divided."""
        return columns_of_cells(self.cut, self.encoder)

    def generalize(self, X: Any) -> dict[str, npt.NDArray[Any]]:
        """Return what stands for each record's cell in each feature that is divided."""
        return generalize(self.cut, self.encoder, X)

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the specializations and the counts as named arrays."""
        steps = self.release.steps
        return {
            "branches": np.array([len(edges) - 1 for edges in steps], dtype=np.int32),
            "edges": np.array([place for edges in steps for place in edges], dtype=np.int32),
            "counts": self.release.counts,
        }


def _read_steps(arrays: Mapping[str, npt.NDArray[Any]]) -> list[Edges]:
    """Return the specializations that ``to_arrays`` wrote, or raise FileFormatError where the arrays are of other forms."""
    try:
        branches, edges = (arrays[name].astype(np.int32, casting="safe") for name in ("branches", "edges"))
    except (KeyError, TypeError, AttributeError) as error:
        raise FileFormatError(DAMAGED) from error
    flat = branches.ndim == edges.ndim == 1 and not np.any(branches < 2)
    if not flat or int(branches.sum(dtype=np.int64)) + len(branches) != len(edges):
        raise FileFormatError(DAMAGED)
    ends = np.cumsum(branches.astype(np.int64) + 1)
    return [tuple(part.tolist()) for part in np.split(edges, ends[:-1])] if len(ends) else []


def read_release(
    arrays: Mapping[str, npt.NDArray[Any]],
    hierarchy: Hierarchy,
    n_classes: int,
    *,
    most_steps: int,
    max_cells: int,
    dtype: type = np.int64,
) -> Release:
    """Return the release that ``to_arrays`` wrote, or raise FileFormatError where no fit could have made it."""
    steps = _read_steps(arrays)
    if len(steps) > most_steps:
        raise FileFormatError(DAMAGED)
    cut, groups = CellCut.root(hierarchy), set(hierarchy.roots)
    for edges in steps:
        run = (edges[0], edges[-1])
        if run not in groups or edges not in hierarchy.divisions(run) or cut.n_cells_with(edges) > max_cells:
            raise FileFormatError(DAMAGED)
        cut = cut.specialized(edges)
        groups = (groups - {run}) | set(pairwise(edges))
    counts = arrays.get("counts")
    if counts is None or counts.dtype != dtype or counts.shape != (cut.n_cells, n_classes):
        raise FileFormatError(DAMAGED)
    return Release(tuple(steps), counts)


TRUST = 4.0  # deviations of a block's noise that count as records of the block around it
SURE = 3.0  # deviations above zero from which undeclared cells are taken to exist


def class_shares(cuts: Sequence[CellCut], counts: npt.NDArray[Any], deviation: float) -> Floats:
    """Return the class shares of every cell of the last cut, of shape (cells, classes).

    The cuts, root first, refine each other, one specialization at a time, so the blocks around a cell get smaller step by
    step. A block's counts are the sums of its cells' noisy ones, which are signed and therefore unbiased however many of
    them are empty; the noise of a sum over m cells has the deviation ``deviation * sqrt(m * classes)``. Each block takes
    ``TRUST`` times that many records from the shares of the block around it: where the noise is larger than the records, a
    block says what its surroundings say. It is one record at least.

    Parameters
    ----------
    cuts : sequence of CellCut
        The root, and the cut after each specialization.
    counts : ndarray of shape (cells, classes)
        The noisy counts.
    deviation : float
        The standard deviation of the noise of one count.
    """
    n_classes = counts.shape[1]
    cells = counts.astype(np.float64).reshape(*_shape(cuts[-1]), n_classes)
    noisy = np.ones((*_shape(cuts[-1]), 1))
    _clear_what_none_may_have(cuts[-1], cells, noisy, deviation)
    shares: Floats = np.full((1,) * len(cuts[-1].divided) + (n_classes,), 1 / n_classes)
    for i, cut in enumerate(cuts):
        sums = np.maximum(_blocks(cells, cuts[-1], cut), 0)
        trust = np.maximum(TRUST * deviation * np.sqrt(n_classes * _blocks(noisy, cuts[-1], cut)), 1)
        shares = sums + trust * _repeated(shares, cuts[max(i - 1, 0)], cut, cuts[-1].divided)
        shares /= shares.sum(axis=-1, keepdims=True)
    return shares.reshape(-1, n_classes)


def _shape(cut: CellCut) -> tuple[int, ...]:
    return tuple(cut.shape[feature] for feature in cut.divided)


def _first_groups(fine: CellCut, coarse: CellCut, feature: int) -> list[int]:
    """Return for each group of the coarse cut the first group of the fine one in it."""
    place = {run[0]: group for group, run in enumerate(fine.runs(feature))}
    return [place[low] for low, _ in coarse.runs(feature)]


def _blocks(cells: Floats, fine: CellCut, coarse: CellCut) -> Floats:
    """Return the sums over the cells of each block of a coarser cut."""
    for axis, feature in enumerate(fine.divided):
        cells = np.add.reduceat(cells, _first_groups(fine, coarse, feature), axis=axis)
    return cells


def _repeated(shares: Floats, coarse: CellCut, fine: CellCut, axes: Sequence[int]) -> Floats:
    """Return the shares of the blocks around the blocks of a finer cut."""
    for axis, feature in enumerate(axes):
        first = [*_first_groups(fine, coarse, feature), fine.shape[feature]]
        shares = np.repeat(shares, np.diff(first), axis=axis)
    return shares


def _clear_what_none_may_have(cut: CellCut, cells: Floats, noisy: Floats, deviation: float) -> None:
    """Set the cells of a group without declared values to zero where their noisy sum does not show that it has records.

    Such groups, of missing and undeclared cells, exist for every schema and are empty in most data: without them sums over
    blocks have less noise.
    """
    for axis, feature in enumerate(cut.divided):
        declared = cut.hierarchy.n_declared(feature)
        for group in range(cut.shape[feature]):
            if min(cut.codes_of_group(feature, group)) < declared:
                continue
            block, counted = cells.take(group, axis), noisy.take(group, axis)
            if block.sum() < SURE * deviation * np.sqrt(cells.shape[-1] * counted.sum()):
                np.moveaxis(cells, axis, 0)[group] = np.moveaxis(noisy, axis, 0)[group] = 0


def columns_of_cells(cut: CellCut, encoder: Encoder) -> dict[str, npt.NDArray[Any]]:
    """Return one column for each divided feature, with what stands for each cell."""
    return _columns(cut, encoder, np.arange(cut.n_cells))


def generalize(cut: CellCut, encoder: Encoder, X: Any) -> dict[str, npt.NDArray[Any]]:
    """Return one column for each divided feature, with what stands for each record's cell."""
    return _columns(cut, encoder, encoder.answers(X, cut.cell))


def _columns(cut: CellCut, encoder: Encoder, cells: npt.NDArray[np.int64]) -> dict[str, npt.NDArray[Any]]:
    names, entries = encoder.schema.names, list(encoder.schema.features.values())
    columns = {}
    for feature in reversed(cut.divided):  # the last feature's groups change fastest
        cells, group = np.divmod(cells, cut.shape[feature])
        stands = [
            _representative(entries[feature], encoder.max_bins, cut.codes_of_group(feature, i))
            for i in range(cut.shape[feature])
        ]
        columns[names[feature]] = np.array(stands)[group]
    return dict(reversed(columns.items()))


def _representative(entry: Feature, max_bins: int, codes: list[int]) -> float | str:
    """Return the middle of an interval, NaN for missing cells alone, or the values of a group as text."""
    if not isinstance(entry, Numeric):
        return ", ".join(entry.code_label(code, max_bins) for code in sorted(codes))
    edges = [entry.low, *entry.bin_edges(max_bins).tolist(), entry.end]
    bins = [code for code in codes if code < len(edges) - 1]
    return edges[bins[0]] / 2 + edges[bins[-1] + 1] / 2 if bins else np.nan
