"""Models from the arrays of model files: of this version, and of versions 0.1 and 0.2, which held trees."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.additive.losses import Logistic
from hedgerow.additive.model import AdditiveModel
from hedgerow.additive.squared import Squared
from hedgerow.additive.terms import Term
from hedgerow.arrays import Integers
from hedgerow.curator import Cut
from hedgerow.errors import FileFormatError
from hedgerow.schema import Encoder
from hedgerow.scores import multiway_or_binary
from hedgerow.survey import merged_encoder
from hedgerow.trees import Forest

__all__ = ["holds", "restored"]

Arrays = Mapping[str, npt.NDArray[Any]]

MOST_CUTS = 16  # of a term
OLD_CUTS = 2  # of a term of version 0.2
OLD_TENTHS = 5  # ``Logistic.tenths`` of the files of version 0.2 that hold a cap
LARGEST_VOTE = 1 << 40
DAMAGED = "the file's terms are damaged; fit the model again."
NOT_MONOTONE = "the file's curves do not go as its monotonic_cst says; fit the model again."
NOT_ITS_CAP = "the file's cap of gradients is none of this model's; fit the model again."
NOT_ITS_SUMS = "the file's released sums are damaged; fit the model again."
NOT_ITS_UNITS = "the file's units of terms are damaged; fit the model again."


def restored(
    arrays: Arrays, fine: Encoder, loss: Logistic | Squared, max_terms: int, signs: Sequence[int]
) -> AdditiveModel:
    """Return the model of at most ``max_terms`` terms that was written as ``arrays``, by this version or an earlier one.

    ``fine`` reads records before bins are merged, and ``loss`` is the plan's.

    Raises
    ------
    FileFormatError
        If they are no such model.
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
        start = _votes(arrays.get("start"), start.shape)
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


def _votes(array: npt.NDArray[Any] | None, shape: tuple[int, ...]) -> Integers:
    """Return votes of a shape, or raise FileFormatError."""
    if array is None or array.dtype != np.int64 or array.shape != shape:
        raise FileFormatError(DAMAGED)
    if np.any((array > LARGEST_VOTE) | (array < -LARGEST_VOTE)):
        raise FileFormatError(DAMAGED)
    return array


def _table(array: npt.NDArray[Any] | None, columns: int) -> Integers:
    """Return a table of whole numbers with this many columns, or raise FileFormatError."""
    if array is None or array.dtype != np.int64 or array.ndim != 2 or array.shape[1] != columns:
        raise FileFormatError(DAMAGED)
    return array


def _terms(arrays: Arrays, encoder: Encoder, loss: Logistic | Squared) -> Iterator[Term]:
    """Yield the terms of a file of this version."""
    feature, cuts, measured, noise = _table(arrays.get("terms"), 4).T
    features = len(encoder.n_codes)
    if (
        np.any((feature < 0) | (feature >= features) | (cuts < 0) | (cuts > MOST_CUTS))
        or np.any((measured < 0) | (measured > 1))
        or np.any((noise < 0) | ((noise > 0) & (measured == 0)))
    ):
        raise FileFormatError(DAMAGED)
    cells = np.left_shift(1, cuts)
    rows = cells * encoder.n_codes[feature]
    votes = _votes(arrays.get("votes"), (int(rows.sum()), loss.columns))
    sums = _table(arrays.get("sums"), loss.channels)
    if len(sums) != int((rows * measured).sum()):
        raise FileFormatError(NOT_ITS_SUMS)
    units = _units(arrays, len(feature), loss)
    cut_list = iter(_cuts(_table(arrays.get("cuts"), 2), encoder, int(cuts.sum())))
    first = last_sum = 0
    about = np.stack([feature, cuts, cells, rows, measured, noise], 1).tolist()
    for (j, count, height, many, known, deviation), scale in zip(about, units, strict=True):
        own, first = votes[first : first + many], first + many
        released, last_sum = sums[last_sum : last_sum + known * many], last_sum + known * many
        shape = (height, int(encoder.n_codes[j]), -1)
        of_cells = released.reshape(shape) if known else None
        by = tuple(next(cut_list) for _ in range(count))
        yield Term(by, j, own.reshape(shape), of_cells, deviation, *scale)


def _units(arrays: Arrays, count: int, loss: Logistic | Squared) -> list[list[int]]:
    """Return the unit and the deviation of each of so many terms where they differ, or raise FileFormatError."""
    if isinstance(loss, Logistic):
        return [[]] * count
    table = _table(arrays.get("units"), 2)
    if len(table) != count or np.any((table < 1) | (table > LARGEST_VOTE)):
        raise FileFormatError(NOT_ITS_UNITS)
    units: list[list[int]] = table.tolist()
    return units


def _cuts(table: Integers, encoder: Encoder, count: int) -> Iterator[Cut]:
    """Yield the cuts that stand in a table, or raise FileFormatError."""
    by, code = table.T
    known = len(table) == count and not np.any((by < 0) | (by >= len(encoder.n_codes)) | (code < 0))
    if not known or np.any(code >= encoder.n_codes[by] - 1):
        raise FileFormatError(DAMAGED)
    numeric = encoder.schema.is_numeric
    for j, last in table.tolist():
        yield Cut.at(j, last, int(encoder.n_codes[j]), ordered=bool(numeric[j]))


def _old_terms(arrays: Arrays, encoder: Encoder, loss: Logistic | Squared) -> Iterator[Term]:
    """Yield the terms of a file of version 0.1 or 0.2: trees of up to two cuts, one on each level, above a feature."""
    candidates = multiway_or_binary(encoder.n_codes, encoder.schema.is_numeric)
    if not isinstance(loss, Logistic):  # these versions had no regressors
        raise FileFormatError(DAMAGED)
    classes, features = len(encoder.schema.classes), len(encoder.n_codes)
    forest = Forest.from_arrays(arrays, candidates, classes)
    votes = _votes(arrays.get("votes"), (forest.n_nodes, classes))
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


def _old_masses(arrays: Arrays, nodes: int, loss: Logistic | Squared) -> Integers | None:
    """Return the released sums of each node of old trees, (nodes, channels), for masses; None where there are none.

    A cell could hold several codes: each gets an equal part of its sums. So the noise of a code is not known, and no curve of
    such a model has a band.
    """
    present = [arrays[name] for name in ("sums", "cell", "noise") if name in arrays]
    if not present:
        return None
    if len(present) < 3:
        raise FileFormatError(NOT_ITS_SUMS)
    sums, cell, noise = present
    if (
        [array.dtype.name for array in present] != ["int64", "int32", "int64"]
        or sums.ndim != 2
        or sums.shape[1] != loss.channels
        or cell.shape != (nodes,)
        or np.any((cell < -1) | (cell >= len(sums)))
        or noise.shape != (2,)
        or np.any(noise <= 0)
    ):
        raise FileFormatError(NOT_ITS_SUMS)
    leaves = np.bincount(cell[cell >= 0], minlength=len(sums))
    if np.any(leaves == 0):
        raise FileFormatError(NOT_ITS_SUMS)
    return np.where(cell[:, None] >= 0, sums[cell] // np.maximum(leaves, 1)[cell][:, None], 0)
