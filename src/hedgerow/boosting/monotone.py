"""Curves that may only rise, or only fall: steps of released values are projected before anybody uses them (docs/curves.md)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.linalg import block_diag
from sklearn.isotonic import isotonic_regression

from hedgerow.boosting.steps import Step, own_votes
from hedgerow.curator import Cut
from hedgerow.errors import ConfigurationError, shown
from hedgerow.schema import Numeric, Schema

__all__ = ["Monotone", "averages_of"]

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

LEAST = 1e-6  # of the weight of a cell, as a share of the mean one: where noise left a curvature at zero


@dataclass(frozen=True)
class Monotone:
    """How the second class's log-odds may go with each feature: 1 for rising, -1 for falling, 0 for either.

    Missing cells stand outside the order.
    """

    signs: tuple[int, ...]

    @classmethod
    def of(cls, given: Mapping[str, int] | Sequence[int] | None, schema: Schema) -> Monotone:
        """Return the constraints that a parameter states for a schema.

        Raises
        ------
        ConfigurationError
            If they name what is no feature, or a feature without an order, or if there are not two classes.
        """
        names = list(schema.names)
        if given is None:
            return cls((0,) * len(names))
        if isinstance(given, Mapping):
            unknown = [name for name in given if name not in names]
            if unknown:
                raise ConfigurationError(
                    f"monotonic_cst names {shown(unknown[0])}, which is no feature; name some of {', '.join(names)}."
                )
            signs = tuple(int(given.get(name, 0)) for name in names)
        else:
            signs = tuple(map(int, given))
            if len(signs) != len(names):
                raise ConfigurationError(
                    f"monotonic_cst has {len(signs)} entries for {len(names)} features; pass one for each, or a dict by name."
                )
        for name, sign in zip(names, signs, strict=True):
            if sign and not isinstance(schema.features[name], Numeric):
                raise ConfigurationError(
                    f"monotonic_cst names {name!r}, whose values have no order; declare it as hr.Numeric, hr.Integer or hr.Date, "
                    "or leave it out."
                )
        if any(signs) and len(schema.classes) != 2:
            raise ConfigurationError(
                f"monotonic_cst says how the odds of the second of two classes go, but there are {len(schema.classes)}; leave "
                "it out, or declare two classes."
            )
        return cls(signs)

    def __bool__(self) -> bool:
        return any(self.signs)

    def projected(self, step: Step, before: Sequence[Step]) -> Step:
        """Return the step with which every curve goes as it may, if it did after the steps ``before``.

        A one-sided step becomes what takes the feature's own curve to its isotonic regression, weighted by released curvatures.
        The sides of a two-sided step become isotonic each; where the sides themselves have an order, what is out of it on the
        two sides of a cell moves to their mean, weighted alike in all cells, so that sides stay isotonic.
        """
        sign, across = self.signs[step.feature], self.across(step.cuts)
        if step.sums is None or not (sign or across):
            return step
        weights = cell_weights(step.sums)
        cells = np.unique(step.into, return_index=True)[1]
        of_cells = step.votes[:, cells, 1].astype(np.float64)
        if len(step.votes) == 1:
            so_far = own_votes(before, step.feature, *step.votes.shape[1:])[:, 1]
            after = _rounded(_isotonic(of_cells[0] + so_far, weights, sign))
            return _with_second(step, (after - so_far)[None])
        sides = of_cells
        if sign:
            both = zip(of_cells, np.split(weights, 2), strict=True)
            sides = np.stack([_isotonic(side, own, sign) for side, own in both])
        if across:
            first, second = np.split(weights, 2)
            share = float(first.sum() / (first.sum() + second.sum()))
            low, high = (sides[0], sides[1]) if across > 0 else (sides[1], sides[0])
            middle = share * sides[0] + (1 - share) * sides[1]
            low, high = np.minimum(low, middle), np.maximum(high, middle)
            sides = np.stack([low, high] if across > 0 else [high, low])
        return _with_second(step, _rounded(sides)[:, step.into])

    def across(self, cuts: Sequence[Cut]) -> int:
        """Return how a step of one cut may go from its first side to its second.

        0 without a cut, and where missing cells alone are on the second side.
        """
        return self.signs[cuts[0].by] if cuts and cuts[0].side[:-1].any() else 0

    def holds(self, steps: Iterable[Step]) -> bool:
        """Say whether every curve goes as it may, after each of the steps."""
        curves: dict[int, Integers] = {}
        for step in steps:
            if len(step.cuts) > 1:  # which no plan with constraints makes
                return False
            sign, across = self.signs[step.feature], self.across(step.cuts)
            second = step.votes[:, :, 1]
            if len(second) == 1:
                second = second + curves.get(step.feature, 0)
                curves[step.feature] = second
            if sign and np.any(sign * np.diff(second[:, :-1], axis=1) < 0):
                return False
            if across and np.any(across * (second[1] - second[0]) < 0):
                return False
        return True


def cell_weights(sums: Integers) -> Floats:
    """Return what each cell weighs by its released sums, gradient and curvature (cells, 2): above zero."""
    curvature = np.maximum(sums[:, 1].astype(np.float64), 0)
    return curvature + LEAST * max(float(curvature.mean()), 1.0)


def averages_of(values: Floats, weights: Floats, sign: int, across: int) -> Floats:
    """Return how a projection follows what it projects, at rest: means of the cells that it makes equal, (all cells, all cells).

    ``values`` and ``weights`` (sides, cells) are those before it, of a one-sided step the feature's whole curve; the last cell of
    a side is that of missing cells.
    """
    if sign:
        values = np.stack([_isotonic(side, own, sign) for side, own in zip(values, weights, strict=True)])
    inner = [_means(side, own) if sign else np.eye(len(side)) for side, own in zip(values, weights, strict=True)]
    apart = np.asarray(block_diag(*inner))
    if not across:
        return apart
    share = weights[0].sum() / weights.sum()
    met = np.tile(across * (values[0] - values[1]) > 0, 2)[:, None]
    return np.where(met, np.tile(np.hstack([share * inner[0], (1 - share) * inner[1]]), (2, 1)), apart)


def _means(values: Floats, weights: Floats) -> Floats:
    """Return what makes means of runs of equal values; the last one stands by itself."""
    run = np.append(np.cumsum(np.append(True, np.diff(values[:-1]) != 0)), 0)
    rows = (run[:, None] == run) * weights
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


def _isotonic(values: Floats, weights: Floats, sign: int) -> Floats:
    """Return the isotonic regression of cells but for the last one, which is that of missing cells."""
    if len(values) < 3:
        return values
    fitted = isotonic_regression(values[:-1], sample_weight=weights[:-1], increasing=sign > 0)
    return np.append(fitted, values[-1])


def _rounded(values: Floats) -> Integers:
    """Return whole votes; rounding keeps the order."""
    return np.rint(values).astype(np.int64)


def _with_second(step: Step, second: Integers) -> Step:
    """Return a step with other votes of the second of two classes, (sides, codes); the first's are their opposites."""
    return replace(step, votes=np.ascontiguousarray(np.stack([-second, second], axis=2)))
