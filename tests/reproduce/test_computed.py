"""What papers' files state as computed follows from definitions alone: here it is computed."""

import itertools
import math

import numpy as np
import pytest
from facts import FACTS, stated, weights_after_first
from numpy.polynomial import polynomial

from hedgerow.errors import DatasetError
from hedgerow.papers import dpada
from hedgerow.papers.cart import TWICE_SENSITIVITY
from hedgerow.papers.reproduce.statements import PAPERS
from hedgerow.papers.reproduce.verdicts import Verdict

GAPS = (0.5, 1.0, 2.0, 4.0, 8.0)  # epsilon times the gap between two counts


def flip_law(scores, factor):
    """Return the law of permute-and-flip: each candidate comes at a uniform time, and wins if none before it has won."""
    chances = np.exp(factor * (scores - scores.max()))
    law = []
    for place, chance in enumerate(chances):
        density = np.array([1.0])
        for other in np.delete(chances, place):
            density = polynomial.polymul(density, [1.0, -other])
        law.append(chance * polynomial.polyval(1.0, polynomial.polyint(density)))
    return np.array(law)


def _exponential_law(scores, factor):
    mass = np.exp(factor * (scores - scores.max()))
    return np.asarray(mass / mass.sum())


def _score_sets(candidates):
    generator = np.random.default_rng(0)
    return [generator.uniform(0, 12, k) for k in candidates for _ in range(20)]


def flips_private():
    """Return the largest loss of permute-and-flip between neighboring scores."""
    worst = 0.0
    for scores in _score_sets((2, 3, 4)):
        law = np.log(flip_law(scores, 0.5))  # epsilon 1, Delta 1
        for change in itertools.product((-1.0, 0.0, 1.0), repeat=len(scores)):
            worst = max(worst, float(np.abs(np.log(flip_law(scores + change, 0.5)) - law).max()))
    return stated(worst <= 1 + 1e-9, f"the largest loss found at epsilon 1 is {worst:.3f}")


def flips_err_less():
    """Compare expected errors with the exponential mechanism's."""
    gaps = [
        float((_exponential_law(scores, 0.25) - flip_law(scores, 0.25)) @ (scores.max() - scores))
        for scores in _score_sets((2, 4, 8))
    ]
    words = f"less in {sum(gap > 0 for gap in gaps)} of {len(gaps)} sets of scores, by {min(gaps):.3g} at least"
    return stated(min(gaps) > 0, words)


def best_more_likely():
    """Compare the best option's probability with the exponential mechanism's."""
    gaps = [
        float((flip_law(scores, 0.25) - _exponential_law(scores, 0.25))[scores.argmax()])
        for scores in _score_sets((2, 4, 8))
    ]
    return stated(min(gaps) > 0, f"more likely in {sum(gap > 0 for gap in gaps)} of {len(gaps)} sets of scores")


def _gini(a, b):
    """Return what one side with so many records of each class adds to -n times the Gini index, the score as run."""
    return (a * a + b * b) / (a + b) - (a + b) if a + b else 0.0


def gini_change():
    """Return by how much one record changes a test's score."""
    changes = [_gini(a, b) - _gini(a + 1, b) for a in range(60) for b in range(60)]
    words = (
        f"one record lowers the score by {max(min(changes), 0):.2f} to {max(changes):.2f} in nodes of up to 119 records"
    )
    return stated(min(changes) >= -1e-12 and max(changes) <= 2, words)


def sensitivity():
    """Compare n times the Gini index on all small counts, and on large ones with a single new record."""
    small = max(abs(_gini(a + 1, b) - _gini(a, b)) for a, b in itertools.product(range(40), repeat=2))
    largest = max(small, abs(_gini(10**6, 1) - _gini(10**6, 0)))
    words = f"{largest:.4f} at most, of n times the index: one record changes one side"
    return stated(largest <= TWICE_SENSITIVITY / 2, words)


def wrong_by_flips(gap):
    """Return how often permute-and-flip errs between two labels, at epsilon times the gap of their counts (equation 16)."""
    return math.exp(-gap / 2) / 2


def wrong_by_counts(gap):
    """Return how often counts with Laplace noise err between two labels, at epsilon times their gap."""
    return (1 + gap / 2) * math.exp(-gap) / 2


def labels_more_exact():
    """Compare labels by permute-and-flip with those by noisy counts, at the same budget."""
    equal = sum(wrong_by_flips(gap) < wrong_by_counts(gap) for gap in GAPS)
    double = sum(wrong_by_flips(gap) < wrong_by_counts(gap / 2) for gap in GAPS)
    words = (
        f"at the same budget errs less at {equal} of {len(GAPS)} gaps, where counts get half of the budget at {double}"
    )
    return stated(equal == len(GAPS), words)


def passes(choices, draws=200):
    """Return how many visits of a choice the algorithms make, by their own loops, on made-up scores: means over draws."""
    generator = np.random.default_rng(0)
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


def rivals_linear():
    """Count the visits of the exponential mechanism, for each feature."""
    shares = {n: passes(n)["exponential"] / n for n in (8, 32, 128)}
    words = ", ".join(f"{share:.2f} of {n}" for n, share in shares.items())
    return stated(max(shares.values()) <= 3, f"visits for each: {words}")


def leaf_change():
    """Return by how much one record more changes the scores of labels, their counts."""
    counts = np.array([3, 5, 0])
    change = max(np.abs(counts + one - counts).max() for one in np.eye(3, dtype=int))
    return stated(change == 1, f"a record changes one count, by {change}")


def own_three():
    """Count the visits of permute-and-flip."""
    shares = {n: passes(n)["permute-and-flip"] / n for n in (2, 8, 32, 128)}
    words = ", ".join(f"{share:.2f} of {n}" for n, share in shares.items())
    return stated(all(2 <= share <= 3 for share in shares.values()), f"visits for each: {words}")


def counts_visits():
    """Count the visits of noisy counts."""
    visits = {m: passes(m)["noisy counts"] for m in (2, 8, 32)}
    words = ", ".join(f"{v:g} for {m} labels" for m, v in visits.items())
    return stated(all(v == 1 + m for m, v in visits.items()), words)


def groupings():
    """Count the divisions of values into two groups."""
    for values in range(2, 9):
        sides = {frozenset((side, tuple(1 - one for one in side))) for side in itertools.product((0, 1), repeat=values)}
        proper = sum(len(set(next(iter(pair)))) == 2 for pair in sides)
        if proper != (2**values - 2) // 2:
            return Verdict("does not", f"{proper} of {values} values")
    return Verdict("holds", "counted for 2 to 8 values")


def first_weights():
    """Perturb the weights after a first round on paper: their chance to become the mean is known exactly."""
    records, rounds = 29170, 50
    weights = weights_after_first(records, 5800)
    distances = weights.max() * records - 1, 1 - weights.min() * records
    scales = dpada.noise_scales(weights, 1.0, rounds)
    chances = [math.exp(-far / records / scale) / 2 for far, scale in zip(distances, scales, strict=True)]
    words = f"{len(np.unique(weights))} different weights; a largest one becomes the mean with chance {chances[0]:.4f}, a least "
    holds = len(np.unique(weights)) == 2 and min(chances) > 0
    return stated(holds, f"{words}one with chance {chances[1]:.4f}")


COMPUTED = {
    **FACTS,
    "permute-and-flip is epsilon-differentially private": flips_private,
    "its expected error is less than that of the exponential mechanism": flips_err_less,
    "it gives the best option more probability": best_more_likely,
    "one record changes the score of a test by 0 to 2": gini_change,
    "the sensitivity of the Gini score is 2 (at most)": sensitivity,
    "a label by it is more often right than the largest noisy count": labels_more_exact,
    "its rivals' splits cost O(n) (up to three visits of a feature)": rivals_linear,
    "the sensitivity of a label's score is 1": leaf_change,
    "eDPRF visits n features and m labels up to three times: O(3n), O(3m)": own_three,
    "its rivals' leaves cost 1 + O(m)": counts_visits,
    "v values have (2^v - 2) / 2 divisions into two groups": groupings,
    "after round 1 weights take two values only, and noise may make a largest or a least one the mean": first_weights,
}


@pytest.mark.parametrize("text", COMPUTED)
def test_what_is_stated_is_what_is_computed(text):
    [claim] = [one for paper in PAPERS for each in paper.experiments for one in each.claims if one.text == text]
    try:
        verdict = COMPUTED[text]()
    except DatasetError:
        pytest.skip("the data set is not here")
    assert claim.check(None, "published") == claim.check(None, "private") == verdict


def test_all_that_is_stated_is_computed_or_says_why_it_is_not_judged():
    claims = [claim for paper in PAPERS for each in paper.experiments if not each.curves for claim in each.claims]
    verdicts = {claim.text: claim.check(None, "published") for claim in claims}
    assert set(COMPUTED) == {text for text, verdict in verdicts.items() if verdict.answer != "not judged"}
    assert all(len(verdict.words.split()) > 3 for verdict in verdicts.values())


def test_laws_of_two_candidates():
    # The lesser one, at e ** -1 of the other, wins if it comes first and its coin shows heads.
    assert flip_law(np.array([0.0, 2.0]), 0.5) == pytest.approx([np.exp(-1) / 2, 1 - np.exp(-1) / 2])
    assert flip_law(np.array([1.0, 5.0, 3.0, 2.0]), 0.25).sum() == pytest.approx(1)
    assert wrong_by_flips(0) == wrong_by_counts(0) == 0.5


def test_how_often_labels_are_wrong():
    generator = np.random.default_rng(0)
    noisy = np.array([0.0, 2.0]) + generator.laplace(size=(200_000, 2))
    assert wrong_by_counts(2.0) == pytest.approx(np.mean(noisy[:, 0] > noisy[:, 1]), abs=0.003)
    assert wrong_by_flips(2.0) == pytest.approx(flip_law(np.array([0.0, 2.0]), 0.5)[0])


def test_loops_visit_each_choice_up_to_three_times():
    for choices in (2, 10):
        found = passes(choices)
        assert found["noisy counts"] == 1 + choices
        for name in ("permute-and-flip", "exponential"):
            assert 2 * choices + 1 <= found[name] <= 3 * choices
