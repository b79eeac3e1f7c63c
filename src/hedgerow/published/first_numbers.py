"""Where the branches of a published test begin, on the line of all floats."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hedgerow.arrays import Floats, Integers
from hedgerow.published import kernels
from hedgerow.published.branching import Branching
from hedgerow.published.kernels import CUT

if TYPE_CHECKING:
    from hedgerow.published.model import Trees

__all__ = ["first_numbers", "taken"]


LARGEST = 0x7FEFFFFFFFFFFFFF  # the largest float64 as an integer


def taken(branching: Branching, trees: Trees, columns: Floats, nodes: Integers) -> Integers:
    """Return the branch that each record of ``columns`` (features, records) takes in each of some nodes, (nodes, records)."""
    count = columns.shape[1]
    out = np.empty(len(nodes) * count, dtype=np.int64)
    records, node = np.tile(np.arange(count), len(nodes)), np.repeat(nodes, count)
    kernels.branches(columns, records, node, trees.feature, branching.bins, trees.low, trees.high, out)
    return out.reshape(len(nodes), count)


def first_numbers(branching: Branching, trees: Trees) -> list[Floats]:
    """Return the first number of each branch of the nodes' tests, in one array for each feature."""
    found = []
    for feature, bins in enumerate(branching.bins.tolist()):
        own = np.flatnonzero(trees.feature == feature)
        if bins == CUT:
            found.append(trees.low[own])
        else:
            parts = [_first_of_bin(branching, trees, feature, own, place) for place in range(1, bins)]
            found.append(np.concatenate([np.empty(0), *parts]))
    return found


def _first_of_bin(branching: Branching, trees: Trees, feature: int, nodes: Integers, place: int) -> Floats:
    """Return the least number that goes to a bin or to one behind it in each of some nodes, by halving all floats.

    A number's bin never falls where the number grows: no step of its arithmetic turns an order round.
    """
    low, high = np.full(len(nodes), -LARGEST), np.full(len(nodes), LARGEST)
    columns, records, branch = np.zeros((len(branching.bins), len(nodes))), np.arange(len(nodes)), np.empty_like(nodes)
    while np.any(low < high):
        middle = (low >> 1) + (high >> 1) + (low & high & 1)
        columns[feature] = _float(middle)
        kernels.branches(columns, records, nodes, trees.feature, branching.bins, trees.low, trees.high, branch)
        low, high = (
            np.where(branch >= place, low, np.minimum(middle + 1, high)),
            np.where(branch >= place, middle, high),
        )
    return _float(low)


def _float(place: Integers) -> Floats:
    """Return the floats at places in their order, 0 being the middle."""
    return np.asarray(np.where(place >= 0, 1.0, -1.0) * np.abs(place).view(np.float64))
