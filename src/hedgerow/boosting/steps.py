"""What one round of additive boosting adds to the margins of records, and the splits that a round may choose among."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from hedgerow.boosting import kernels
from hedgerow.curator import Cut, Split, Splits
from hedgerow.schema import Encoder, Numeric

__all__ = [
    "MOST_CUTS",
    "Step",
    "can_be_cut",
    "condition",
    "constant",
    "largest",
    "largest_cuts",
    "of_split",
    "one_sided",
    "own_votes",
    "splits_of",
    "test_of",
    "widest_side",
]

Integers = npt.NDArray[np.int64]

MOST_CUTS = 2  # of a step
GROUPS = 8  # of a number that is cut
MOST_VALUES = 14  # of a category that is cut
COARSER = 2 / 3  # cells of a number on one side of a cut, as a share of its bins


@dataclass(frozen=True, eq=False)
class Step:
    """Votes by the code of one feature, on each side of cuts of others; a step of one side has no cut.

    ``votes`` (sides, codes, classes) are in fixed point, sides in the order of ``Split``. ``into`` (codes,) is the
    cell of each code on one side, and ``sums`` (cells, channels), the first side's first, what was released of these cells, if it
    was made of that.
    """

    cuts: tuple[Cut, ...]
    feature: int
    votes: Integers
    into: Integers
    sums: Integers | None = None

    def __call__(self, codes: npt.NDArray[np.unsignedinteger], margins: npt.NDArray[np.signedinteger]) -> None:
        """Add it to ``margins`` (records, classes) of ``codes`` (records, features)."""
        kernels.add_votes(codes, *self._cut_arrays, self.feature, self.votes, margins)

    @cached_property
    def _cut_arrays(self) -> tuple[Integers, Integers]:
        """The features that are cut, (cuts,), and the side of each code of theirs, (cuts, codes)."""
        by = np.array([cut.by for cut in self.cuts], dtype=np.int64)
        side = np.zeros((len(by), max((len(cut.side) for cut in self.cuts), default=0)), dtype=np.int64)
        for row, cut in zip(side, self.cuts, strict=True):
            row[: len(cut.side)] = cut.side
        return by, side


def constant(encoder: Encoder, votes: Integers) -> Step:
    """Return the step that adds the same votes, (classes,), to every record."""
    codes = int(encoder.n_codes[0])
    return one_sided(0, np.tile(votes, (codes, 1)))


def one_sided(feature: int, votes: Integers) -> Step:
    """Return the step of one feature with these votes, (codes, classes)."""
    codes = np.arange(len(votes))
    return Step((), feature, np.ascontiguousarray(votes)[None], codes)


def of_split(split: Split, votes: Integers) -> Step:
    """Return the step of a split with these votes by its cells, (cells, classes)."""
    of_sides = votes.reshape(split.n_sides, -1, votes.shape[-1])[:, split.into]
    return Step(split.cuts, split.feature, np.ascontiguousarray(of_sides), split.into)


def own_votes(steps: Sequence[Step], feature: int, codes: int, classes: int) -> Integers:
    """Return the votes of a feature's one-sided steps, added up, (codes, classes)."""
    own = [step.votes[0] for step in steps if len(step.votes) == 1 and step.feature == feature]
    return np.sum(own, axis=0) if own else np.zeros((codes, classes), dtype=np.int64)


def can_be_cut(encoder: Encoder) -> npt.NDArray[np.bool_]:
    """Say which features a split may cut: numbers, and categories of few values; by the schema and released bins."""
    return np.asarray(np.array(encoder.schema.is_numeric) | (encoder.n_codes <= MOST_VALUES + 2))


def splits_of(encoder: Encoder, by: Sequence[int], earlier: Sequence[Cut | None] = ()) -> Splits:
    """Return the splits that cut these features, each on both sides of an ``earlier`` cut, if there is one.

    A number is cut between its groups, and missing cells from the rest; of a category each value is cut from the rest.
    """
    numeric = encoder.schema.is_numeric
    grouped = [_grouped(int(encoder.n_codes[j]), bool(numeric[j])) for j in by]
    into = [_cells(codes, is_number) for codes, is_number in zip(encoder.n_codes.tolist(), numeric, strict=True)]
    return Splits(tuple(by), [group for group, _ in grouped], [cuts for _, cuts in grouped], into, earlier)


def _grouped(codes: int, is_number: bool) -> tuple[Integers, npt.NDArray[np.bool_]]:
    """Return the group of each code, and the groups on the first side of each cut."""
    if not is_number:
        return np.arange(codes), np.eye(codes, dtype=np.bool_)[:-1]
    bins = codes - 1
    groups = min(GROUPS, bins)
    group = np.append(np.arange(bins) * groups // bins, groups)
    return group, np.arange(groups + 1) < np.arange(1, groups + 1)[:, None]


def _cells(codes: int, is_number: bool) -> Integers:
    """Return the cell of each code on one side of a cut."""
    if not is_number:
        return np.arange(codes)
    bins = codes - 1
    cells = max(1, round(COARSER * bins))
    return np.append(np.arange(bins) * cells // bins, cells)


def widest_side(n_codes: Integers, numeric: npt.NDArray[np.bool_]) -> int:
    """Return the most cells that a feature has on one side of a cut."""
    return max(
        int(_cells(codes, is_number)[-1]) + 1
        for codes, is_number in zip(n_codes.tolist(), numeric.tolist(), strict=True)
    )


def test_of(encoder: Encoder, cut: Cut) -> int:
    """Return the test of ``multiway_or_binary`` that sends records to the two sides of a cut."""
    tests = encoder.n_codes - 1
    first = np.flatnonzero(cut.side == 0)
    return int(len(tests) + tests[: cut.by].sum() + first[-1])


def condition(encoder: Encoder, by: int, at: int) -> str:
    """Say of the first side of a cut which records are on it."""
    name, kind = encoder.schema.names[by], encoder.schema.features[encoder.schema.names[by]]
    if not isinstance(kind, Numeric):
        return f"{name} = {kind.code_label(at, encoder.max_bins)}"
    edges = encoder.edges[by]
    return f"{name} < {kind.edge_label(float(edges[at]))}" if at < len(edges) else f"{name} is not missing"


def largest_cuts(steps: Sequence[Step], most: int) -> list[Cut]:
    """Return up to so many cuts of steps with one, those first whose steps vote most."""
    cuts: dict[tuple[int, bytes], Cut] = {}
    voted: Counter[tuple[int, bytes]] = Counter()
    for step in steps:
        if len(step.cuts) == 1:
            key = step.cuts[0].key
            cuts[key] = step.cuts[0]
            voted[key] += int(np.abs(step.votes).sum())
    return [cuts[key] for key, _ in voted.most_common(most)]


def largest(steps: Sequence[Step], can: npt.NDArray[np.bool_], most: int) -> list[int]:
    """Return up to so many features that may be cut and have a curve, those with the largest curves first."""
    curves: dict[int, Integers] = {}
    for step in steps:
        if len(step.votes) == 1:
            curves[step.feature] = step.votes[0] + curves.get(step.feature, 0)
    spread = {feature: float(curve.std(axis=0).sum()) for feature, curve in curves.items() if can[feature]}
    return sorted((feature for feature in spread if spread[feature] > 0), key=lambda feature: -spread[feature])[:most]
