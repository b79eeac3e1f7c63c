"""From noisy sums to steps: one posterior, under priors that the sums weigh themselves, and the visits of a feature together.

Everything here is post-processing of released sums by public rules (docs/proofs/hedgerow.md).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logsumexp, softmax

__all__ = ["Estimate", "Visits", "denoised", "estimated"]

Floats = npt.NDArray[np.float64]

SPREADS = (0.25, 0.5, 1.0, 2.0)  # prior standard deviations of a step, in log-odds, each as likely as the others
REACHES = (
    (False, 0.1),
    (True, 0.3),
    (True, 1.0),
)  # whether curves are smooth, and how far steps depend, as a share of the bins
COMMON = 1.0  # the prior standard deviation of what all steps of a curve share
SAME = 0.5  # the trust in one curve below which later visits are taken together with the last alone
TINY = 1e-9


@dataclass(frozen=True, eq=False)
class Estimate:
    """Steps, and how likely the sums are under each way of telling cells apart.

    Parameters
    ----------
    steps : ndarray of shape (cells, codes, columns)
        Posterior means.
    evidence : ndarray of shape (cuts + 1,)
        Entry l: by how much the log likelihood is above that of no step at all where the cells of the first l cuts have curves
        of their own, and the later cuts tell nothing apart.
    """

    steps: Floats
    evidence: Floats


def estimated(gradient: Floats, curvature: Floats, noise: float, curvature_noise: float, *, numeric: bool) -> Estimate:
    """Return the steps of a round with K cuts.

    A cell's gradient is its curvature times the step that it needs, plus the noise, plus what sampling adds, whose variance is
    the curvature. A priori each depth from 0 to K is as likely: the cells of so many cuts have curves of their own.

    Parameters
    ----------
    gradient, curvature : ndarray of shape (2**K, codes, columns)
        Noisy sums.
    noise, curvature_noise : float
        Their standard deviations.
    numeric : bool
        Whether neighboring codes are alike; the last code is that of missing cells.
    """
    level = denoised(curvature, curvature_noise)
    variance = noise**2 + level + TINY
    weight, pull = level**2 / variance, level * gradient / variance
    cuts, evidence, steps = len(gradient).bit_length() - 1, [], []
    for depth in range(cuts + 1):
        parts = (1 << depth, 1 << (cuts - depth), *gradient.shape[1:])
        likely, means = _of_cells(weight.reshape(parts).sum(axis=1), pull.reshape(parts).sum(axis=1), numeric=numeric)
        evidence.append(float(likely.sum()))
        steps.append(np.repeat(means, parts[1], axis=0))
    found = np.array(evidence)
    return Estimate(np.tensordot(softmax(found), np.stack(steps), axes=1), found)


def _of_cells(weight: Floats, pull: Floats, *, numeric: bool) -> tuple[Floats, Floats]:
    """Return the log likelihood above that of no step by column, (columns,), and posterior means (cells, codes, columns).

    ``weight`` and ``pull`` (cells, codes, columns) are the precision of what is known of each step, and that times its estimate.
    All cells of a column have one prior.
    """
    cells, codes, columns = weight.shape
    root = np.sqrt(weight).transpose(2, 0, 1).reshape(-1, codes)
    scaled = pull.transpose(2, 0, 1).reshape(-1, codes) / np.maximum(root, TINY)
    likely, means = (_dependent if numeric and codes >= 3 else _independent)(root, scaled)
    likely, means = likely.reshape(-1, columns, cells).sum(axis=2), means.reshape(-1, columns, cells, codes)
    together = np.einsum("pk,pkcj->cjk", softmax(likely, axis=0), means)
    return logsumexp(likely, axis=0) - np.log(len(likely)), together


def _dependent(root: Floats, scaled: Floats) -> tuple[Floats, Floats]:
    """Return log likelihoods (priors, curves) and means (priors, curves, codes) of steps s, given ``scaled = root * s + error``.

    The errors have variance 1; both arguments are of shape (curves, codes).
    """
    priors = _priors(root.shape[1])
    towards = priors[:, None] * root[None, :, None, :]
    matrix = root[None, :, :, None] * towards
    diagonal = np.einsum("...ii->...i", matrix)
    diagonal += 1
    factor = np.linalg.cholesky(matrix)
    explained = np.linalg.solve(matrix, np.broadcast_to(scaled[None, :, :, None], (*matrix.shape[:-1], 1)))[..., 0]
    spread = 2 * np.log(np.einsum("...ii->...i", factor)).sum(axis=-1)
    likely = 0.5 * ((scaled**2).sum(axis=1) - np.einsum("pmj,mj->pm", explained, scaled) - spread)
    return likely, np.einsum("pmij,pmj->pmi", towards, explained)


def _independent(root: Floats, scaled: Floats) -> tuple[Floats, Floats]:
    """Do the same where steps share a common part only: in a time that grows with the codes, not with their cube."""
    spread = np.array(SPREADS)[:, None, None]
    total = 1 + (spread * root) ** 2
    precision = 1 / COMMON**2 + (root**2 / total).sum(axis=2)
    shared = (root * scaled / total).sum(axis=2) / precision
    likely = 0.5 * ((scaled**2).sum(axis=1) - (np.log(total) + scaled**2 / total).sum(axis=2))
    likely += 0.5 * shared**2 * precision - 0.5 * np.log(COMMON**2 * precision)
    rest = scaled - root * shared[..., None]
    return likely, shared[..., None] + spread**2 * root * rest / total


@lru_cache(maxsize=64)
def _priors(codes: int) -> Floats:
    """Return the covariances of a numeric feature's steps, (priors, codes, codes); the last code is for missing cells.

    Correlations fall with the distance d of bins over the reach: by exp(-d) where a curve may jump, by (1 + sqrt(3) d)
    exp(-sqrt(3) d) where it is smooth (Matern's laws of one and three halves).
    """
    place = np.arange(codes - 1)
    apart = np.abs(place[:, None] - place) / (codes - 1)
    found = []
    for smooth, reach in REACHES:
        distance = apart * (np.sqrt(3) if smooth else 1) / reach
        law = (1 + distance if smooth else 1) * np.exp(-distance)
        alike = np.pad(law, (0, 1))
        alike[-1, -1] = 1
        found += [spread**2 * alike + COMMON**2 for spread in SPREADS]
    priors = np.stack(found)
    priors.setflags(write=False)
    return priors


def denoised(curvature: Floats, noise: float) -> Floats:
    """Return curvatures (cells, codes, columns) with what is below their noise taken back towards the mean of their column."""
    mean = np.maximum(curvature.mean(axis=(0, 1)), TINY)
    variance = np.maximum(curvature.var(axis=(0, 1)) - noise**2, 0.0)
    trust = variance / (variance + noise**2)
    return np.asarray(np.maximum(mean + trust * (curvature - mean), 0.0))


@dataclass(frozen=True, eq=False)
class _Visit:
    """What a round without cuts released of a feature, all (codes, columns), and the feature's curve before it."""

    gradient: Floats
    curvature: Floats
    said: Floats
    noise: float
    curvature_noise: float

    def scaled(self, factor: float) -> _Visit:
        """Return it with gradients, and curves, in other units: so many times what they were."""
        return replace(self, gradient=factor * self.gradient, said=factor * self.said, noise=factor * self.noise)


class Visits:
    """The rounds without cuts of each feature: what all of them measured counts together.

    A round measures the whole of what a feature's curve lacks, with fresh noise. So gradients are moved back to where the curve
    stood at the first visit, as if they followed it in full, and averaged: what sampling adds is the same in all of them, the
    noise of m is that of one over the root of m. What other features say in between may move the curve that is best: so the
    step follows the mean as far as all visits are more likely to be of one curve than the last of a curve of its own.
    """

    def __init__(self) -> None:
        self._pools: dict[int, list[_Visit]] = {}

    def rescale(self, factor: float) -> None:
        """Tell gradients, and curves, in other units: so many times what they were."""
        self._pools = {feature: [visit.scaled(factor) for visit in pool] for feature, pool in self._pools.items()}

    def steps(
        self,
        feature: int,
        sums: tuple[Floats, Floats],
        noise: tuple[float, float],
        said: Floats,
        *,
        numeric: bool,
    ) -> tuple[Estimate, Floats]:
        """Record a visit, and return what it says alone and the steps (codes, columns) that follow all visits.

        ``sums`` are its gradients and curvatures, each (codes, columns), ``noise`` their deviations, ``said`` the curve before.
        """
        last = _Visit(*sums, said, *noise)
        alone = estimated(sums[0][None], sums[1][None], *noise, numeric=numeric)
        pool = [*self._pools.get(feature, []), last]
        self._pools[feature] = pool
        if len(pool) == 1:
            return alone, alone.steps[0]
        together, trust = _together(pool, numeric=numeric)
        steps = alone.steps[0] + trust * (together - (said - pool[0].said) - alone.steps[0])
        if trust.mean() < SAME:
            self._pools[feature] = [last]
        return alone, steps


def _together(pool: list[_Visit], *, numeric: bool) -> tuple[Floats, Floats]:
    """Return the curve of all visits, beyond that before the first, and by column the probability that they are of one curve.

    Where they are, gradients moved back are its curvature times the curve plus the noise of each, and what sampling adds once;
    where they are not, the last are of a curve of their own. Both are as likely beforehand.
    """
    count, base = len(pool), pool[0].said
    squares = np.array([visit.noise**2 for visit in pool])
    curvature_noise = float(np.sqrt(np.mean([visit.curvature_noise**2 for visit in pool]) / count))
    level = denoised(np.mean([visit.curvature for visit in pool], axis=0)[None], curvature_noise)[0]
    needed = np.stack([visit.gradient + level * (visit.said - base) for visit in pool])
    before = needed[:-1].mean(axis=0)
    of_before, _ = _likelihood(before, level, float(squares[:-1].sum()) / (count - 1) ** 2, numeric=numeric)
    of_all, curve = _likelihood(needed.mean(axis=0), level, float(squares.sum()) / count**2, numeric=numeric)
    alone, _ = _likelihood(pool[-1].gradient, level, float(squares[-1]), numeric=numeric)
    # The last gradients less the mean of the others do not depend on the curve.
    apart = float(squares[-1] + squares[:-1].sum() / (count - 1) ** 2) + TINY
    of_all = of_all - 0.5 * ((needed[-1] - before) ** 2 / apart + np.log(apart)).sum(axis=0)
    return curve, expit(of_all - of_before - alone)


def _likelihood(gradient: Floats, level: Floats, noise: float, *, numeric: bool) -> tuple[Floats, Floats]:
    """Return the log likelihood by column of gradients with noise of this variance, and posterior means (codes, columns)."""
    variance = noise + level + TINY
    above, means = _of_cells((level**2 / variance)[None], (level * gradient / variance)[None], numeric=numeric)
    return above - 0.5 * (gradient**2 / variance + np.log(variance)).sum(axis=0), means[0]
