"""What eDPRF's paper states without a curve: budgets, theorems and data, each checked where it is said."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.polynomial import polynomial

from hedgerow.arrays import Floats
from hedgerow.curator import Curator
from hedgerow.datasets import load_diabetes_prediction
from hedgerow.errors import HedgerowError
from hedgerow.papers.edprf import PFDPDTClassifier
from hedgerow.privacy.accounting import unprotected
from hedgerow.privacy.certificate import Certificate
from hedgerow.reproduce.allocations import AllocationForest, shrinking_parts
from hedgerow.reproduce.budget_figure import budget_paths, draw_paths, draw_tree
from hedgerow.reproduce.claims import fact, stated
from hedgerow.reproduce.experiment import Verdict
from hedgerow.reproduce.fits import Fit, estimator
from hedgerow.reproduce.tasks import load_split
from hedgerow.schema import Categorical, Numeric, Schema
from hedgerow.systems import system_class

FORESTS = ("edprf", "deng-diffprf", "tpdprf", "diffprf-linear")
TREES = 35
FITS = 40


# Budgets


def _figure3_certificate() -> Certificate:
    """Return the certificate of a tree of figure 3's size; it depends on no record, so one will do."""
    schema = Schema({name: Categorical(["0", "1"]) for name in "ab"}, classes=["no", "yes"])
    tree = PFDPDTClassifier(epsilon=1.0, schema=schema, max_depth=2).fit(np.array([["0", "1"]]), ["no"])
    certificate: Certificate = tree.certificate_
    return certificate


def draw_figure3() -> Any:
    """Draw the budget of one tree, as a tree and path by path."""
    from hedgerow.plots.axes import new_figure

    figure = new_figure(11.0, 4.2)
    left, right = figure.subplots(1, 2)
    paths = budget_paths(_figure3_certificate().event)
    draw_tree(left, paths, "as the paper's figure 3")
    draw_paths(right, paths, "the same, one bar per path")
    return figure


def booked() -> tuple[float, ...]:
    """Return what the levels of a tree of figure 3's size get, and a leaf on level 2."""
    paths = budget_paths(_figure3_certificate().event)
    amounts = (*(step.amount for step in paths[-1].steps), paths[1].steps[-1].amount)
    return tuple(round(float(amount), 2) for amount in amounts)


@fact
def figure3_numbers() -> Verdict:
    """Compare what a tree of figure 3's size books with the printed numbers."""
    return stated(booked() == (0.18, 0.27, 0.55, 0.82), f"booked: {', '.join(f'{a:.2f}' for a in booked())}")


@fact
def every_path() -> Verdict:
    """Say whether every path spends the whole budget."""
    totals = [float(path.total) for path in budget_paths(_figure3_certificate().event)]
    return stated(
        all(math.isclose(total, 1, abs_tol=1e-6) for total in totals),
        f"the paths cost {', '.join(f'{total:g}' for total in totals)}",
    )


@fact
def deeper_gets_more() -> Verdict:
    """Say whether deeper levels get more."""
    levels = booked()[:3]
    return stated(list(levels) == sorted(set(levels)), f"the levels get {', '.join(f'{a:.2f}' for a in levels)}")


def paths_of(allocation: str) -> list[Fraction]:
    """Return what the paths of one of 35 trees of treeDepth 6 cost with a paper's budgets, as printed, shortest first."""
    forest = AllocationForest(1.0, variant="published", allocation=allocation)._published()
    shares = forest.shares(Fraction(1), TREES, 5)
    tests = [sum((level.test for level in shares[:number]), Fraction(0)) for number in range(len(shares))]
    return [above + level.leaf for above, level in zip(tests, shares, strict=True)]


@fact
def idle_budgets() -> Verdict:
    """Say whether the rivals' paths that end early leave budget idle, and eDPRF's do not."""
    words = []
    idle = []
    for name, allocation in {"DiffPRF_linear": "linear", "TpDPRF": "tpdprf", "DiffPRF": "deng"}.items():
        paths = paths_of(allocation)
        spent = float(paths[1] / paths[-1])
        idle.append(spent < 1)
        words.append(f"{name} {spent:.2f}")
    own = paths_of("own")
    full = all(path == own[-1] for path in own)
    return stated(
        all(idle) and full, f"a leaf on level 2 ends a path that used {', '.join(words)} of its budget, eDPRF 1"
    )


@fact
def tree_budgets() -> Verdict:
    """Compare the budgets of a tree."""
    own, rival = (float(paths_of(name)[-1]) for name in ("own", "deng"))
    return stated(own == 1 and rival < 0.03, f"eDPRF's tree gets {own:g}, a rival's {rival:.4f}")


def covered(records: int) -> tuple[float, float]:
    """Return the share of the records that some tree reads: with equal parts of all, and of what is left."""
    return records // TREES * TREES / records, sum(shrinking_parts(records, TREES)) / records


@fact
def all_records_used() -> Verdict:
    """Say whether the trees' parts are together all records."""
    sizes = {"diabetes": 11_200, "robot": 4364}
    words = [
        f"{name}: {equal:.1%} with equal parts, {left:.1%} by algorithm 4 to the letter"
        for name, (equal, left) in ((name, covered(size)) for name, size in sizes.items())
    ]
    right = all(covered(size)[1] > 0.99 for size in sizes.values())
    return stated(right, f"{'; '.join(words)}")


# Guarantees


def answers_differ(kind: type[Any], records: int, odd: bool, **settings: Any) -> int:
    """Return how many of 40 fits, on records of one class and perhaps one odd record more, answer some question otherwise."""
    schema = Schema({"a": Numeric(0, 1), "b": Numeric(0, 1)}, classes=["no", "yes"])
    X = np.vstack([np.random.default_rng(0).uniform(size=(records, 2)), np.full((int(odd), 2), 0.95)])
    y = ["no"] * records + ["yes"] * odd
    queries = np.array(list(itertools.product(np.linspace(0, 1, 11), repeat=2)))
    count = 0
    for seed in range(FITS):
        model = kind(epsilon=1.0, schema=schema, variant="published", random_state=seed, **settings).fit(X, y)
        count += len(np.unique(model.predict_proba(queries), axis=0)) > 1
    return count


@fact
def leaks(system: str, records: int, **settings: Any) -> Verdict:
    """Say whether a published form is private: an outcome that one record turns from impossible to likely says no.

    On records of one class every tree is a leaf, by the paper's own steps, and all questions get the same answer.
    """
    without, odd = (answers_differ(system_class(system), records, odd, **settings) for odd in (False, True))
    words = (
        f"answers differ from question to question in {without} of {FITS} fits on {records} records of one class, where no "
        f"node may be split, and in {odd} of {FITS} with one record more: no epsilon bounds that"
    )
    return Verdict("does not" if without == 0 and odd > FITS // 4 else "cannot be told", words)


def certified(system: str, variant: str) -> tuple[bool, int]:
    """Return whether a system's certificate at epsilon 1 holds, and how many steps are unprotected."""
    schema = Schema({"number": Numeric(0, 1), "word": Categorical(["a", "b"])}, classes=["no", "yes"])
    model = estimator(Fit("", system, variant), schema, None)
    certificate = model.fit([[0.2, "a"], [0.7, "b"]], ["no", "yes"]).certificate_
    return certificate.holds, len(list(unprotected(certificate.event)))


@fact
def all_private(variant: str) -> Verdict:
    """Say whether the certificates of all four forests hold."""
    found = {system: certified(system, variant) for system in FORESTS}
    words = ", ".join(
        f"{system} {'yes' if holds else f'no, {reasons} reasons'}" for system, (holds, reasons) in found.items()
    )
    return stated(all(holds for holds, _ in found.values()), f"certificates: {words}")


# Data


@fact
def data_of(task: str, discrete: int, continuous: int, size: int) -> Verdict:
    """Check a line of table 3."""
    split = load_split(task)
    numeric = int(np.sum(split.schema.is_numeric))
    records = len(split.y_train) + len(split.y_test)
    found = (records, len(split.schema.names) - numeric, numeric, len(split.schema.classes))
    words = "{} records, {} discrete and {} continuous features, {} classes".format(*found)
    return stated(found == (size, discrete, continuous, 2), words)


@fact
def eighty_twenty() -> Verdict:
    """Check the split."""
    splits = [load_split(task) for task in ("diabetes", "robot")]
    sizes = [(len(split.y_train), len(split.y_test)) for split in splits]
    right = all(abs(test / (train + test) - 0.2) < 0.001 for train, test in sizes)
    return stated(right, "; ".join(f"{train} + {test}" for train, test in sizes))


@fact
def imbalance() -> Verdict:
    """Check the share of the larger class before the set is balanced."""
    labels = load_diabetes_prediction().y
    share = float(np.mean(labels == "0"))
    return stated(abs(share - 0.92) < 0.01, f"{share:.1%} of {len(labels)} records are of the larger class")


@fact
def through_curator(systems: Sequence[str]) -> Verdict:
    """Say whether the private form of each system fits by asking a curator, and answers."""
    refused = [found for found in map(_refusal, systems) if found]
    words = f"{len(systems)} of {len(systems)} fitted through a curator: {', '.join(systems)}"
    return stated(not refused, "; ".join(refused) or words)


def _refusal(system: str) -> str:
    """Return why a system does not learn through a curator, or nothing."""
    schema = Schema({"number": Numeric(0, 1), "word": Categorical(["a", "b"])}, classes=["no", "yes"])
    X = [[0.1, "a"], [0.3, "a"], [0.7, "b"], [0.9, "b"]] * 5
    curator = Curator(X, ["no", "no", "yes", "yes"] * 5, schema, epsilon=1.0)
    try:
        model = system_class(system)(epsilon=1.0).fit_curator(curator)
    except HedgerowError as error:
        return f"{system}: {error}"
    return "" if len(model.predict(X)) == len(X) and curator.spent > 0 else f"{system}: the curator was asked nothing"


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
