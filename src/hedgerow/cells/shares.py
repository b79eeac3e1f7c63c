"""Class shares of cells from noisy counts alone: post-processing, free of any cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Floats
from hedgerow.cells.cut import Cut

__all__ = ["class_shares"]


TRUST = 4.0  # deviations of a block's noise that count as records of the block around it
SURE = 3.0  # deviations above zero from which undeclared cells are taken to exist


def class_shares(cuts: Sequence[Cut], counts: npt.NDArray[Any], deviation: float) -> Floats:
    """Return the class shares of every cell of the last cut, of shape (cells, classes).

    The cuts, root first, refine each other, one specialization at a time, so the blocks around a cell get smaller step by
    step. A block's counts are the sums of its cells' noisy ones, which are signed and therefore unbiased however many of
    them are empty; the noise of a sum over m cells has the deviation ``deviation * sqrt(m * classes)``. Each block takes
    ``TRUST`` times that many records from the shares of the block around it: where the noise is larger than the records, a
    block says what its surroundings say. It is one record at least.

    Parameters
    ----------
    cuts : sequence of Cut
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


def _shape(cut: Cut) -> tuple[int, ...]:
    return tuple(cut.shape[feature] for feature in cut.divided)


def _first_groups(fine: Cut, coarse: Cut, feature: int) -> list[int]:
    """Return for each group of the coarse cut the first group of the fine one in it."""
    place = {run[0]: group for group, run in enumerate(fine.runs(feature))}
    return [place[low] for low, _ in coarse.runs(feature)]


def _blocks(cells: Floats, fine: Cut, coarse: Cut) -> Floats:
    """Return the sums over the cells of each block of a coarser cut."""
    for axis, feature in enumerate(fine.divided):
        cells = np.add.reduceat(cells, _first_groups(fine, coarse, feature), axis=axis)
    return cells


def _repeated(shares: Floats, coarse: Cut, fine: Cut, axes: Sequence[int]) -> Floats:
    """Return the shares of the blocks around the blocks of a finer cut."""
    for axis, feature in enumerate(axes):
        first = [*_first_groups(fine, coarse, feature), fine.shape[feature]]
        shares = np.repeat(shares, np.diff(first), axis=axis)
    return shares


def _clear_what_none_may_have(cut: Cut, cells: Floats, noisy: Floats, deviation: float) -> None:
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
