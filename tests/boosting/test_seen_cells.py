"""Cells of a curve count as seen where the curvatures of all its rounds together stand out of all their noise."""

from types import SimpleNamespace

import numpy as np
import pytest

from hedgerow.boosting.curves import SURE, _seen


@pytest.mark.parametrize("classes", [1, 3])
@pytest.mark.parametrize("rounds", [1, 2, 9])
def test_a_cell_is_seen_above_the_noise_of_all_its_rounds(rounds, classes):
    deviation = 2.0
    noise = deviation * np.sqrt(rounds * classes)  # of the sum of so many curvatures
    totals = np.array([SURE * noise * share for share in (0.0, 0.9, 0.999, 1.001, 1.1)])
    pieces = [SimpleNamespace(measured=totals / rounds) for _ in range(rounds)]
    measured = SimpleNamespace(sums=np.zeros((1, 2 * classes)), deviations=(1.0, deviation))
    seen = _seen(SimpleNamespace(measured=measured), len(totals), pieces)
    assert seen.tolist() == [False, False, False, True, True]


def test_where_nothing_is_known_every_cell_counts_as_seen():
    assert _seen(SimpleNamespace(measured=None), 3, []).tolist() == [True] * 3
