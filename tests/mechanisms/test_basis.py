"""The basis of a number's sums: integer columns within their norms, and noise as its covariance says."""

from dataclasses import replace

import numpy as np
import pytest
from seeds import moved_key

from hedgerow.mechanisms import Basis, Budget, broad_basis
from hedgerow.mechanisms.kernels import open_stream
from hedgerow.mechanisms.noise import BROAD_SHARE, SCALE_BITS

CODES = (5, 6, 13, 41, 256)


@pytest.mark.parametrize("codes", CODES)
def test_columns_are_integers_within_the_norms_that_are_stated(codes):
    basis = broad_basis(codes)
    assert basis.matrix.dtype == np.int64
    columns = [[int(entry) for entry in column] for column in basis.matrix.T]
    assert basis.l2_squared == max(sum(entry**2 for entry in column) for column in columns)
    assert 0.998 * 4**SCALE_BITS < basis.l2_squared <= 4**SCALE_BITS
    assert basis.l1 == max(sum(map(abs, column)) for column in columns)
    missing = np.eye(codes, dtype=np.int64)[-1] << SCALE_BITS
    np.testing.assert_array_equal(basis.matrix[-1], missing)
    np.testing.assert_array_equal(basis.matrix[:, -1], missing)


@pytest.mark.parametrize("codes", CODES)
def test_an_answer_without_noise_is_that_of_the_sums(codes):
    sums = np.random.default_rng(0).integers(-(2**45), 2**45, (4, codes, 3))
    basis = broad_basis(codes)
    by_hand = [
        [[sum(int(a) * int(x) for a, x in zip(row, column, strict=True)) for column in cell.T] for row in basis.matrix]
        for cell in sums[:1]
    ]
    np.testing.assert_array_equal(basis.applied(sums)[:1], by_hand)
    assert np.abs(basis.sums(basis.applied(sums)) - sums).max() <= 2**45 * 2**-45


@pytest.mark.parametrize("codes", CODES)
def test_broad_contrasts_have_less_noise_and_none_has_more_than_twice_as_much(codes):
    covariance = broad_basis(codes).covariance
    slope = np.append(np.linspace(-1, 1, codes - 1), 0)
    assert slope @ covariance @ slope < 0.95 * slope @ slope
    assert np.linalg.eigvalsh(covariance).max() < 1.01 / (1 - BROAD_SHARE)
    assert covariance[-1].tolist() == [0] * (codes - 1) + [1]


def test_norms_stay_those_of_the_matrix_that_is_applied():
    matrix = np.eye(5, dtype=np.int64)
    basis = Basis(matrix)
    assert (basis.l1, basis.l2_squared) == (1, 1)
    matrix *= 100
    assert basis.applied(np.ones((1, 5, 1), dtype=np.int64)).max() == 1
    with pytest.raises(ValueError, match="WRITEABLE"):
        basis.matrix.flags.writeable = True


@pytest.mark.parametrize("codes", range(1, 5))
def test_few_codes_are_measured_as_they_are(codes):
    assert broad_basis(codes) is None


def test_noise_of_sums_has_the_covariance_that_is_stated_and_no_other():
    basis, noise, draws = broad_basis(9), Budget(1, concentrated=True).noise_for(1, 1 << 32), 40_000
    stream = open_stream(moved_key(bytes(range(32))), 1)
    answer = basis.applied(np.zeros((draws, 9, 1), dtype=np.int64))
    errors = basis.sums(noise.doubled(SCALE_BITS).sample(stream, answer))[..., 0] / noise.deviation

    def fits(covariance):
        whitened = np.linalg.solve(np.linalg.cholesky(covariance), errors.T)
        found = whitened @ whitened.T / draws - np.eye(9)
        return np.abs(found).max() < 6 / np.sqrt(draws)

    assert fits(basis.covariance)
    assert not fits(1.1 * basis.covariance)
    assert not fits(np.eye(9))
    assert not fits(np.diag(np.diag(basis.covariance)))
    assert not fits(replace(basis, matrix=basis.matrix.T).covariance)
