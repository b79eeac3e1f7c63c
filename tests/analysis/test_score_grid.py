"""The cells of a report card: which one a record is in, and what counts of them say."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hedgerow.analysis.classification_card import ScoreGrid

CUTS = (1 / (1 + math.exp(3.5)), 0.5, 1 / (1 + math.exp(-3.5)))
TWO, THREE = ScoreGrid(2, (CUTS,)), ScoreGrid(3, (CUTS,) * 3)


def chance(odds):
    return 1 / (1 + np.exp(-np.array(odds)))


def test_cards_of_version_0_3_have_bins_of_equal_width_in_log_odds_up_to_seven():
    for classes, grid in ((["a", "b"], TWO), (["a", "b", "c"], THREE)):
        old = ScoreGrid.from_dict({"classes": classes, "bins": 4})
        np.testing.assert_allclose(old.cuts, grid.cuts, rtol=1e-12)
    lower, upper = TWO.ends(1)
    np.testing.assert_array_equal(lower, [0, *CUTS])
    np.testing.assert_array_equal(upper, [*CUTS, 1])


@pytest.mark.parametrize(
    "wrong",
    [
        {"bins": 3},
        {"bins": 0},
        {"cuts": []},
        {"cuts": [[0.2]]},  # without 1/2 a bin does not tell the predicted class
        {"cuts": [[0.5, 0.5]]},
        {"cuts": [[0.0, 0.5]]},
        {"cuts": [[0.5, float("nan")]]},
        {"cuts": [[0.5], [0.5]]},
        {"cuts": [np.linspace(0, 1, 1027)[1:-1]]},
    ],
)
def test_a_file_with_other_bins_is_refused(wrong):
    with pytest.raises(ValueError, match="no bins"):
        ScoreGrid.from_dict({"classes": ["a", "b"], **wrong})


@pytest.mark.parametrize(("grid", "histograms", "codes"), [(TWO, 1, [8]), (THREE, 4, [9, 8, 8, 8])])
def test_a_record_is_in_one_cell_of_each_histogram(grid, histograms, codes):
    assert len(grid.n_codes) == histograms
    assert grid.n_codes.tolist() == codes
    generator = np.random.default_rng(0)
    probabilities = generator.dirichlet(np.full(grid.n_classes, 0.2), 500)
    labels = generator.integers(0, grid.n_classes, 500)
    found = grid.codes(probabilities, labels)
    assert found.shape == (500, histograms)
    assert (found >= 0).all()
    assert (found < grid.n_codes).all()
    for i in range(0, 500, 50):  # it decides them alone
        assert np.array_equal(grid.codes(probabilities[i : i + 1], labels[i : i + 1]), found[i : i + 1])
    assert all(len(set(column)) == size for column, size in zip(found.T.tolist(), codes, strict=True))


def test_the_cells_of_two_classes_are_a_label_and_a_bin_on_the_side_of_the_prediction():
    second = chance([-4, -1, 1, 4])
    probabilities = np.column_stack((1 - second, second))
    assert TWO.codes(probabilities, np.zeros(4, dtype=int))[:, 0].tolist() == [0, 1, 2, 3]
    assert TWO.codes(probabilities, np.ones(4, dtype=int))[:, 0].tolist() == [4, 5, 6, 7]
    # Where rounding left the second class's probability on the other side, the prediction decides.
    odd = np.array([[0.4999, 0.4998], [0.5001, 0.5002], [0.5001, 0.50005], [0.4, 0.49]])
    assert TWO.codes(odd, np.zeros(4, dtype=int))[:, 0].tolist() == [1, 2, 1, 2]


def test_the_cells_of_more_classes_are_label_and_prediction_and_for_each_whether_it_is_and_its_bin():
    probabilities = np.array([[0.01, 0.3, 0.69], [0.98, 0.01, 0.01]])
    assert THREE.codes(probabilities, np.array([1, 0])).tolist() == [[1 * 3 + 2, 0, 4 + 1, 2], [0 * 3 + 0, 4 + 3, 0, 0]]


def test_counts_of_two_classes():
    counts = np.array([1.0, 2, 3, 4, 10, 20, 30, 40])
    assert TWO.confusion(counts).tolist() == [[3, 7], [30, 70]]
    assert [part.tolist() for part in TWO.curve(counts, 1)] == [[10, 20, 30, 40], [1, 2, 3, 4]]
    assert [part.tolist() for part in TWO.curve(counts, 0)] == [[4, 3, 2, 1], [40, 30, 20, 10]]


def test_counts_of_more_classes():
    counts = np.arange(9 + 3 * 8.0)
    assert THREE.confusion(counts).tolist() == np.arange(9).reshape(3, 3).tolist()
    for k in range(3):
        own, others = THREE.curve(counts, k)
        start = 9 + 8 * k
        assert others.tolist() == list(range(start, start + 4))
        assert own.tolist() == list(range(start + 4, start + 8))


def test_the_first_class_has_the_bins_of_the_second_turned_around():
    grid = ScoreGrid(2, ((0.1, 0.5, 0.7),))
    for own, turned in zip(grid.ends(0), grid.ends(1)[::-1], strict=True):
        np.testing.assert_allclose(own, 1 - turned[::-1])
    assert grid.predicted.tolist() == [0, 0, 1, 1]
