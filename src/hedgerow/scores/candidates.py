"""Candidate tests: public lists of what a node may ask about one feature of a record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Integers, Truth, check_shape, frozen_copy
from hedgerow.errors import ConfigurationError
from hedgerow.lazy_values import lazy
from hedgerow.scores import kernels
from hedgerow.scores.kernels import CUT, EACH, VALUE

MOST_WEIGHT = 1 << 62
KINDS = {
    "n_codes": np.int64,
    "feature": np.int32,
    "kind": np.int8,
    "at": np.int32,
    "weight": np.int64,
    "order": np.int32,
}


@dataclass(frozen=True, eq=False)
class Candidates:
    """A public list of tests; each reads the code of one feature.

    Parameters
    ----------
    n_codes : ndarray of shape (features,), int64
        How many codes each feature has.
    feature : ndarray of shape (tests,), int32
        The feature that each test reads.
    kind : ndarray of shape (tests,), int8
        EACH: a branch for every code. CUT: branch 0 for codes up to a place in the feature's order, else 1. VALUE: branch 0
        for one code, else 1.
    at : ndarray of shape (tests,), int32
        The last place of a cut's branch 0, the code of a VALUE; 0 for the others.
    weight : ndarray of shape (tests,), int64
        Public base weights, for mechanisms that take them; cuts of one feature may weigh as much as one other test.
    order : ndarray of shape (features, codes), int32
        The codes of each feature in the order in which they are cut; columns beyond a feature's codes hold
        their own number.
    """

    n_codes: Integers
    feature: npt.NDArray[np.int32]
    kind: npt.NDArray[np.int8]
    at: npt.NDArray[np.int32]
    weight: Integers
    order: npt.NDArray[np.int32] = field(repr=False)

    def __post_init__(self) -> None:
        # Copies that nobody can write to, here and below: a record must stay in one branch of each test.
        for name, kind in KINDS.items():
            object.__setattr__(self, name, _immutable(getattr(self, name), kind))
        tests = (self.feature, self.kind, self.at, self.weight)
        if not len(self.feature) or any(array.shape != self.feature.shape for array in tests):
            raise ConfigurationError("the candidates' arrays do not describe tests: their lengths do not fit.")
        known = (self.feature >= 0) & (self.feature < len(self.n_codes))
        if not known.all() or np.any((self.at < 0) | (self.at >= self.n_codes[self.feature])) or self.weight.min() < 1:
            raise ConfigurationError("the candidates' arrays do not describe tests: a code, place or weight is none.")
        if not np.isin(self.kind, (EACH, CUT, VALUE)).all() or sum(self.weight.tolist()) >= MOST_WEIGHT:
            raise ConfigurationError(
                "the candidates' arrays do not describe tests: a kind is none, or weights are too large."
            )
        if not self._orders_are_orders():
            raise ConfigurationError("the candidates' orders are none: each must hold every code of its feature once.")

    def _orders_are_orders(self) -> bool:
        """Say whether each feature's codes stand in some order, with the columns beyond them as they are."""
        shape = (len(self.n_codes), int(self.n_codes.max()))
        if self.order.shape != shape or self.order.dtype != np.int32:
            return False
        every = np.arange(shape[1])
        beyond = every >= self.n_codes[:, None]
        return bool(np.all(np.sort(self.order, axis=1) == every) and not np.any((self.order != every) & beyond))

    def __len__(self) -> int:
        return len(self.feature)

    @lazy
    def arity(self) -> npt.NDArray[np.int32]:
        """How many branches each test has, of shape (tests,)."""
        return _immutable(np.where(self.kind == EACH, self.n_codes[self.feature], 2), np.int32)

    @lazy
    def offsets(self) -> Integers:
        """Where each feature's codes begin when all stand one after another, and their number, of shape (features + 1,)."""
        return _immutable(np.concatenate(([0], np.cumsum(self.n_codes))), np.int64)

    @property
    def arrays(self) -> tuple[npt.NDArray[Any], ...]:
        return self.offsets, self.feature, self.kind, self.at, self.order

    @property
    def sorted(self) -> bool:
        """Whether codes are cut in another order than that of the schema."""
        return bool(np.any(self.order != np.arange(self.order.shape[1])))

    @lazy
    def _place(self) -> npt.NDArray[np.int32]:
        """The place of each code in its feature's order, of shape (features, codes)."""
        moved = np.flatnonzero(np.any(self.order != np.arange(self.order.shape[1]), axis=1))
        if not len(moved):
            return self.order
        place = self.order.copy()
        place[moved] = np.argsort(self.order[moved], axis=1)
        return _immutable(place, np.int32)

    def branches(self, tests: npt.ArrayLike) -> npt.NDArray[np.uint16] | npt.NDArray[np.uint32]:
        """Return the branch of each code for some of the tests, of shape (tests, codes)."""
        tests = np.asarray(tests)
        code = np.arange(self.order.shape[1])
        out = np.empty((len(tests), len(code)), dtype=np.uint16 if len(code) <= 1 << 16 else np.uint32)
        for row, test in zip(out, tests.tolist(), strict=True):  # one by one: int64 for all of them would be far larger
            kind, at = self.kind[test], self.at[test]
            row[:] = code if kind == EACH else self._place[self.feature[test]] > at if kind == CUT else code != at
        return out

    def every_code(self, nodes: int) -> Truth:
        """Return what may come to a root: every code of every feature, of shape (nodes, codes of all features)."""
        return np.ones((nodes, int(self.offsets[-1])), dtype=np.bool_)

    def undecided(self, alive: Truth, widest: Integers) -> Truth:
        """Return which tests could still tell records of a node apart, and have at most so many branches.

        ``alive`` (nodes, codes of all features) says which codes the tests above a node leave; ``widest`` is of shape
        (nodes,). The answer is of shape (nodes, tests) and depends on tests only, never on records.
        """
        check_shape(alive, (len(widest), int(self.offsets[-1])), "alive (nodes, codes)")
        out = np.empty((len(alive), len(self)), dtype=np.bool_)
        kernels.undecided(alive, *self.arrays, self.arity, widest, out)
        return out

    def narrowed(self, alive: Truth, chosen: Integers) -> Truth:
        """Return which codes are left in the children of nodes that were split by the chosen tests."""
        check_shape(alive, (len(chosen), int(self.offsets[-1])), "alive (nodes, codes)")
        children = np.repeat(alive, self.arity[chosen], axis=0)
        kernels.narrow(children, *self.arrays, self.arity, chosen)
        return children

    def ordered(self, order: npt.NDArray[np.int32]) -> Self:
        return replace(self, order=order)


def _immutable(array: npt.NDArray[Any], kind: Any) -> npt.NDArray[Any]:
    """Return a copy of an integer array that cannot be made writeable again."""
    if array.dtype.kind not in "iu":
        raise ConfigurationError("the candidates' arrays do not describe tests: they must hold integers.")
    return frozen_copy(array, kind)


def _listed(n_codes: Integers, feature: Integers, kind: Integers, at: Integers, weight: Integers) -> Candidates:
    order = np.tile(np.arange(n_codes.max(), dtype=np.int32), (len(n_codes), 1))
    return Candidates(
        n_codes, feature.astype(np.int32), kind.astype(np.int8), at.astype(np.int32), weight.astype(np.int64), order
    )


def _repeated(counts: Integers) -> tuple[Integers, Integers]:
    """Return each feature as often as it has tests, and the tests of each, counted from 0."""
    feature = np.repeat(np.arange(len(counts)), counts)
    return feature, np.arange(len(feature)) - np.repeat(np.cumsum(counts) - counts, counts)


def multiway(n_codes: npt.ArrayLike) -> Candidates:
    """Return one test per feature, with a branch for each of its codes (also those that no record may have)."""
    codes = np.array(n_codes, dtype=np.int64)
    none = np.zeros_like(codes)
    return _listed(codes, np.arange(len(codes)), none + EACH, none, none + 1)


def binary(n_codes: npt.ArrayLike, is_cut: Sequence[bool]) -> Candidates:
    """Return the tests with two branches: every cut of some features, each value of the others against the rest.

    The last code of a numeric feature means missing, so its last cut asks for that. Of the last two codes of a categorical
    feature, missing and undeclared, the first has a test too.
    """
    codes = np.array(n_codes, dtype=np.int64)
    feature, at = _repeated(codes - 1)
    return _listed(codes, feature, np.where(np.asarray(is_cut)[feature], CUT, VALUE), at, np.ones_like(at))


def multiway_or_binary(n_codes: npt.ArrayLike, is_cut: Sequence[bool]) -> Candidates:
    """Return the tests of ``multiway``, one for each feature, and behind them those of ``binary``."""
    first, second = multiway(n_codes), binary(n_codes, is_cut)
    columns = [
        np.concatenate([getattr(tests, name) for tests in (first, second)])
        for name in ("feature", "kind", "at", "weight")
    ]
    return _listed(first.n_codes, *columns)


def mixed(n_codes: npt.ArrayLike, is_cut: Sequence[bool]) -> Candidates:
    """Return every cut of some features, and one test with a branch for each code of the others.

    A test with a branch for each code weighs as much as all cuts of a feature on the finest grid, and a cut weighs 1.
    """
    codes, cut = np.array(n_codes, dtype=np.int64), np.asarray(is_cut, dtype=np.bool_)
    most = int((codes[cut] - 1).max(initial=1))
    feature, at = _repeated(np.where(cut, codes - 1, 1))
    return _listed(codes, feature, np.where(cut[feature], CUT, EACH), at, np.where(cut[feature], 1, most))
