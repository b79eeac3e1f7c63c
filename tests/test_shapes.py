"""Arrays of shapes that no kernel may read are refused before one does."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from helpers import Told, make_table

from hedgerow.arrays import check_shape
from hedgerow.curator.survey import Ones
from hedgerow.mechanisms import Exponential, PermuteAndFlip, Randomness
from hedgerow.scores import Gini, multiway
from hedgerow.table import MemoryTable, Sums
from hedgerow.trees import Forest
from hedgerow.trees.boosting import Lookup, MadaBoost

RECORDS = ((0, 1, 0), (1, 0, 1), (1, 1, 1))
TESTS = multiway((2, 2))


def zeros(*shape, dtype=np.int64):
    return np.zeros(shape, dtype=dtype)


class TooFew(Ones):
    """A rule that forgets a record."""

    def __call__(self, margins, labels):
        return super().__call__(margins, labels)[1:]


def stump():
    whole = np.array([0, -1, -1], dtype=np.int32)
    return Forest(zeros(1, dtype=np.int32), whole, np.array([1, 0, 0], dtype=np.int32), zeros(3, dtype=np.int32), TESTS)


WRONG = {
    "labels for fewer records": lambda: MemoryTable(
        zeros(3, 2, dtype=np.uint8), zeros(2, dtype=np.int16), np.array([2, 2]), 2
    ),
    "codes of fewer features": lambda: MemoryTable(
        zeros(3, 1, dtype=np.uint8), zeros(3, dtype=np.int16), np.array([2, 2]), 2
    ),
    "parts for fewer records": lambda: make_table(RECORDS).assign(Told.to(zeros(2), 1)),
    "weights for fewer records": lambda: make_table(RECORDS).assign(
        Told.to(zeros(3), 1), lambda margins, labels: zeros(2, dtype=np.uint64)
    ),
    "channels for fewer records": lambda: make_table(RECORDS).answer(Sums(TooFew())),
    "margins for fewer records": lambda: MadaBoost().lookup(0)(zeros(2, 2), zeros(3, dtype=np.int16)),
    "margins of no class": lambda: Lookup(zeros(1, dtype=np.uint64))(zeros(3), zeros(3, dtype=np.int16)),
    "a histogram of fewer codes": lambda: Gini().score(zeros(1, 3, 2), TESTS, zeros(1, 2)),
    "scores of fewer nodes": lambda: Gini().score(zeros(2, 4, 2), TESTS, zeros(1, 2)),
    "scores of fewer tests": lambda: Gini().score(zeros(1, 4, 2), TESTS, zeros(1, 1)),
    "fewer codes alive": lambda: TESTS.undecided(zeros(1, 3, dtype=np.bool_), np.array([2])),
    "fewer nodes than are chosen for": lambda: TESTS.narrowed(zeros(1, 4, dtype=np.bool_), np.array([0, 0])),
    "records of fewer features": lambda: stump().trees.sums_of(zeros(3, 1, dtype=np.uint8), zeros(3, 2), 2),
    "margins for fewer records of a forest": lambda: stump().trees.add_votes(
        zeros(3, 2, dtype=np.uint8), zeros(3, 2), zeros(2, 2)
    ),
    "votes of fewer nodes": lambda: stump().trees.add_votes(zeros(3, 2, dtype=np.uint8), zeros(2, 2), zeros(3, 2)),
    **{
        f"fewer candidates offered to {kind.__name__}": lambda kind=kind: Randomness(0).draw(
            kind(Fraction(1), 1), zeros(2, 3), np.ones((2, 2), dtype=np.bool_)
        )
        for kind in (PermuteAndFlip, Exponential)
    },
}


@pytest.mark.parametrize("call", WRONG.values(), ids=WRONG)
def test_a_wrong_shape_is_refused(call):
    with pytest.raises(ValueError, match="should be of shape"):
        call()


def test_the_shape_that_is_asked_for_passes():
    check_shape(zeros(2, 3), (2, 3), "an array")
