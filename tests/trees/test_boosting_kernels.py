"""The kernel of weights, called directly with small tables of which no two places are alike, against a plain loop."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from hedgerow.table import kernels

STEPS = range(-3, 4)


def every_record(n_classes):
    """Return all margins of so many classes in a few steps, with all labels and none."""
    rows = list(product(product(STEPS, repeat=n_classes), range(-1, n_classes)))
    return np.array([row for row, _ in rows], dtype=np.int64), np.array([label for _, label in rows], dtype=np.int16)


@pytest.mark.parametrize("n_classes", [1, 2, 3])
@pytest.mark.parametrize("shift", [-2, 0, 1])
def test_a_weight_stands_where_the_lead_over_the_best_other_class_says(n_classes, shift):
    margins, labels = every_record(n_classes)
    table = np.array([65, 32, 16, 8, 4], dtype=np.uint64)
    found = np.full(len(labels), 999, dtype=np.uint64)
    kernels.look_up(margins, labels, shift, table, found)
    for weight, row, label in zip(found.tolist(), margins.tolist(), labels.tolist(), strict=True):
        others = [margin for k, margin in enumerate(row) if k != label]
        place = row[label] - max(others) - shift if others else 4
        assert weight == (0 if label < 0 else table[min(max(place, 0), 4)])


@pytest.mark.parametrize("lead", [2**33, -(2**33)])
def test_leads_of_more_than_32_bits_have_the_weights_of_the_ends(lead):
    found = np.zeros(1, dtype=np.uint64)
    kernels.look_up(np.array([[lead, 0]]), np.zeros(1, dtype=np.int16), 0, np.array([7, 5, 3], dtype=np.uint64), found)
    assert found[0] == (3 if lead > 0 else 7)
