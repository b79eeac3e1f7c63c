"""The exact laws of the printed algorithms' noise, for tests of it and of what it costs."""

import math

import numpy as np


def of_interval(choice, score, length):
    """The probability of each interval."""
    mass = length * np.exp(float(choice.epsilon / choice.score_range) * (score - score.max()))
    return np.asarray(mass / math.fsum(mass))


def of_laplace(noise, count, threshold):
    """Return the probabilities that a noisy count is at most, or above, a threshold."""
    gap = float(noise.epsilon) * (threshold - count)
    tail = math.exp(-abs(gap)) / 2
    return np.array([1 - tail, tail] if gap >= 0 else [tail, 1 - tail])


def of_mean_laplace(noise, count, threshold):
    """The probabilities that a count with the mean of some draws is at most, or above, a threshold.

    The difference of the gammas, waiting times for n events each, is above x > 0 if fewer than n events of one kind come until
    x and n of the other kind after that: a Poisson number and a negative binomial one, together.
    """
    n, x = noise.draws, abs(threshold - count) * noise.draws * noise.epsilon
    soon = [math.exp(k * math.log(x) - x - math.lgamma(k + 1)) if x > 0 else float(k == 0) for k in range(n)]
    race = np.cumsum([math.comb(n + k - 1, k) / 2 ** (n + k) for k in range(n)])
    tail = math.fsum(soon[k] * race[n - 1 - k] for k in range(n))
    return np.array([1 - tail, tail] if threshold >= count else [tail, 1 - tail])


def of_resample(weights, times, row):
    """The probability that one row is drawn so many times into one sample."""
    draws, weight = len(weights), float(weights[row])
    return math.comb(draws, times) * weight**times * (1 - weight) ** (draws - times)
