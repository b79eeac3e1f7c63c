"""What scores and tests are by their names, sizes and limits: one more is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hedgerow.errors import ConfigurationError
from hedgerow.scores import (
    SCORES,
    Error,
    Gini,
    InformationGain,
    Max,
    binary,
    mixed,
    multiway,
)
from hedgerow.scores.kernels import CUT, EACH, VALUE


def test_scores_have_their_ranges_under_the_names_of_parameters():
    assert {name: type(score) for name, score in SCORES.items()} == {
        "gini": Gini,
        "max": Max,
        "information-gain": InformationGain,
        "error": Error,
    }
    assert (Gini().range, Max().range, Error().range) == (2 << 10, 1, 1)
    assert Gini().detail == "Gini score in steps of 1/1024"
    assert InformationGain().detail == "information gain of up to 65536 records in steps of 1/1024"
    assert (Max().detail, Error().detail) == ("majority score", "error score")
    assert [score.weighs for score in SCORES.values()] == [False, True, False, True]


def test_the_table_of_the_information_gain_cannot_be_written_to():
    with pytest.raises(ValueError, match="read-only"):
        InformationGain().table[0] = 1


@pytest.mark.parametrize("score", SCORES.values(), ids=SCORES)
def test_scores_are_written_for_every_node_and_test_or_refused(score):
    tests = multiway([2, 3])
    counts = np.ones((2, 5, 2), dtype=np.int64)
    for histogram, shape in (
        (counts[:1], (2, 2)),
        (counts[:, :4], (2, 2)),
        (counts, (2, 1)),
        (counts, (2, 3)),
        (counts, (1, 2)),
    ):
        with pytest.raises(ValueError, match=r"histogram|out"):
            score.score(histogram, tests, np.zeros(shape, dtype=np.int64))


# Tests.


def columns(tests):
    return list(zip(tests.feature.tolist(), tests.kind.tolist(), tests.at.tolist(), tests.weight.tolist(), strict=True))


def test_listed_tests_are_those_of_their_rules():
    each = [(0, EACH, 0, 1), (1, EACH, 0, 1)]
    two_sided = [(0, CUT, 0, 1), (0, CUT, 1, 1), (1, VALUE, 0, 1)]
    assert columns(multiway([3, 2])) == each
    assert columns(binary([3, 2], [True, False])) == two_sided
    assert columns(mixed([3, 2], [True, False])) == [*two_sided[:2], (1, EACH, 0, 2)]
    assert columns(mixed([1, 2], [True, False])) == [(1, EACH, 0, 1)]
    for tests in (multiway([3, 2]), binary([3, 2], [True, False])):
        assert tests.n_codes.tolist() == [3, 2]
        assert tests.offsets.tolist() == [0, 3, 5]


def test_a_sum_of_weights_stays_below_its_limit_also_where_it_passes_64_bits():
    tests, whole = multiway([2] * 4), 1 << 62

    def weigh(*weights):
        return replace(tests, weight=np.array(weights, dtype=np.int64))

    weigh(1, 1, 1, whole - 4)
    weigh(1 << 31, 1 << 31, (1 << 31) - 1, whole - (3 << 31))
    for wrong in (
        (1, 1, 1, whole - 3),
        (1 << 31, 1 << 31, 1 << 31, whole - (3 << 31)),
        (whole, whole, whole, whole),
        ((1 << 63) - 1, (1 << 63) - 1, 1, 1),
        (0, 1, 1, 1),
        (-1, 1, 1, 1),
    ):
        with pytest.raises(ConfigurationError, match="do not describe tests"):
            weigh(*wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        {"feature": np.array([0, 2])},
        {"feature": np.array([-1, 0])},
        {"at": np.array([0, 3])},
        {"at": np.array([3, 0])},
        {"at": np.array([0, 2])},
        {"at": np.array([-1, 0])},
        {"kind": np.array([0, 3])},
        {"kind": np.array([-1, 0])},
        {"weight": np.array([1.0, 1.0])},
        {"feature": np.array([0.0, 1.0])},
        {"weight": np.array([1])},
        {"weight": np.array([1, 1, 1])},
        {name: np.array([], dtype=np.int64) for name in ("feature", "kind", "at", "weight")},
    ],
)
def test_arrays_that_describe_no_tests_are_refused(wrong):
    with pytest.raises(ConfigurationError, match="candidates"):
        replace(multiway([3, 2]), **wrong)
