"""What eDPRF's paper says of permute-and-flip and of its cost: exact laws, and counted loops."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.polynomial import polynomial

from hedgerow.arrays import Floats
from hedgerow.reproduce.claims import fact, stated
from hedgerow.reproduce.experiment import Verdict

GAPS = (0.5, 1.0, 2.0, 4.0, 8.0)  # epsilon times the gap between two counts


def flip_law(scores: Floats, factor: float) -> Floats:
    """Return the law of permute-and-flip: each candidate comes at a uniform time, and wins if none before it has won."""
    chances = np.exp(factor * (scores - scores.max()))
    law = []
    for place, chance in enumerate(chances):
        density = np.array([1.0])
        for other in np.delete(chances, place):
            density = polynomial.polymul(density, [1.0, -other])
        law.append(chance * polynomial.polyval(1.0, polynomial.polyint(density)))
    return np.array(law)


def exponential_law(scores: Floats, factor: float) -> Floats:
    """Return the law of the exponential mechanism."""
    mass = np.exp(factor * (scores - scores.max()))
    return np.asarray(mass / mass.sum())


def _score_sets(candidates: Sequence[int], sets: int = 20) -> list[Floats]:
    generator = np.random.default_rng(0)
    return [generator.uniform(0, 12, k) for k in candidates for _ in range(sets)]


@fact
def flips_private() -> Verdict:
    """Return the largest loss of permute-and-flip between neighboring scores."""
    worst = 0.0
    for scores in _score_sets((2, 3, 4)):
        law = np.log(flip_law(scores, 0.5))  # epsilon 1, Delta 1
        for change in itertools.product((-1.0, 0.0, 1.0), repeat=len(scores)):
            worst = max(worst, float(np.abs(np.log(flip_law(scores + change, 0.5)) - law).max()))
    return stated(worst <= 1 + 1e-9, f"the largest loss found at epsilon 1 is {worst:.3f}")


@fact
def flips_err_less() -> Verdict:
    """Compare expected errors with the exponential mechanism's."""
    gaps = [
        float((exponential_law(scores, 0.25) - flip_law(scores, 0.25)) @ (scores.max() - scores))
        for scores in _score_sets((2, 4, 8))
    ]
    return stated(
        min(gaps) > 0,
        f"less in {sum(gap > 0 for gap in gaps)} of {len(gaps)} sets of scores, by {min(gaps):.3g} at least",
    )


@fact
def best_more_likely() -> Verdict:
    """Compare the best option's probability with the exponential mechanism's."""
    gaps = []
    for scores in _score_sets((2, 4, 8)):
        best = scores.argmax()
        gaps.append(float((flip_law(scores, 0.25) - exponential_law(scores, 0.25))[best]))
    return stated(min(gaps) > 0, f"more likely in {sum(gap > 0 for gap in gaps)} of {len(gaps)} sets of scores")


@fact
def gini_change() -> Verdict:
    """Return by how much one record changes a test's score."""

    def score(a: int, b: int) -> float:
        return -(a + b - (a * a + b * b) / (a + b)) if a + b else 0.0

    changes = [score(a, b) - score(a + 1, b) for a in range(60) for b in range(60)]
    right = min(changes) >= -1e-12 and max(changes) <= 2
    return stated(
        right,
        f"one record lowers the score by {max(min(changes), 0):.2f} to {max(changes):.2f} in nodes of up to 119 records",
    )


def wrong_by_flips(gap: float) -> float:
    """Return how often permute-and-flip errs between two labels, at epsilon times the gap of their counts (equation 16)."""
    return math.exp(-gap / 2) / 2


def wrong_by_counts(gap: float) -> float:
    """Return how often counts with Laplace noise err between two labels, at epsilon times their gap."""
    return (1 + gap / 2) * math.exp(-gap) / 2


@fact
def labels_more_exact() -> Verdict:
    """Compare labels by permute-and-flip with those by noisy counts, at the same budget."""
    equal = sum(wrong_by_flips(gap) < wrong_by_counts(gap) for gap in GAPS)
    double = sum(wrong_by_flips(gap) < wrong_by_counts(gap / 2) for gap in GAPS)
    words = (
        f"at the same budget errs less at {equal} of {len(GAPS)} gaps, where counts get half of the budget at {double}"
    )
    return stated(equal == len(GAPS), words)


def passes(choices: int, seed: int = 0, draws: int = 200) -> Mapping[str, float]:
    """Return how many visits of a choice the algorithms make, by their own loops, on made-up scores: means over draws."""
    generator = np.random.default_rng(seed)
    counts = {"permute-and-flip": 0.0, "exponential": 0.0, "noisy counts": 1.0 + choices}  # one count of the node
    for _ in range(draws):
        scores = generator.uniform(-choices, 0, choices)
        order = generator.permutation(choices)
        wins = generator.random(choices) < np.exp((scores[order] - scores.max()) / 4)
        flips = int(wins.argmax()) + 1
        mass = np.cumsum(np.exp((scores - scores.max()) / 4))
        drawn = int(np.searchsorted(mass, generator.random() * mass[-1])) + 1
        counts["permute-and-flip"] += (2 * choices + flips) / draws  # scores, the order, the flips
        counts["exponential"] += (2 * choices + drawn) / draws  # scores, their sum Omega, the draw
    return counts


@fact
def three_times() -> Verdict:
    """Compare the visits of a split by permute-and-flip with those by the exponential mechanism."""
    found = {n: passes(n) for n in (8, 32, 128)}
    ratios = [count["permute-and-flip"] / count["exponential"] for count in found.values()]
    words = "; ".join(
        f"n = {n}: {count['permute-and-flip'] / n:.2f} n against {count['exponential'] / n:.2f} n"
        for n, count in found.items()
    )
    return stated(all(2 <= ratio <= 4 for ratio in ratios), words)


@fact
def own_three() -> Verdict:
    """Count the visits of permute-and-flip."""
    shares = {n: passes(n)["permute-and-flip"] / n for n in (2, 8, 32, 128)}
    words = ", ".join(f"{share:.2f} of {n}" for n, share in shares.items())
    return stated(all(2 <= share <= 3 for share in shares.values()), f"visits for each: {words}")


@fact
def counts_visits() -> Verdict:
    """Count the visits of noisy counts."""
    visits = {m: passes(m)["noisy counts"] for m in (2, 8, 32)}
    return stated(
        all(v == 1 + m for m, v in visits.items()), ", ".join(f"{v:g} for {m} labels" for m, v in visits.items())
    )
