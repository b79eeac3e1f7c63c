"""What the paper of DPAda says that no figure shows: numbers of noisy rounds, the guarantee, the data sets, the first round."""

from __future__ import annotations

import math
import operator
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow import datasets
from hedgerow.mechanisms import Randomness
from hedgerow.papers import dpada
from hedgerow.papers.boosting import PrintedBoosting, PrintedBoostingPlan, Ranked
from hedgerow.papers.dpada import ExactStump, PerturbExtremes
from hedgerow.papers.records import RawRecords
from hedgerow.plots import PrivacyUtilityDisplay
from hedgerow.plots.axes import new_figure
from hedgerow.plots.utility import Line
from hedgerow.privacy.accounting import unprotected
from hedgerow.reproduce.claims import fact, stated
from hedgerow.reproduce.experiment import Verdict
from hedgerow.reproduce.fits import Fit, estimator
from hedgerow.schema import Categorical, Numeric, Schema

SCHEDULES = {"DPAda_Swing": "swing", "DPAda_Random": "random", "DPAda_Improved": "improved", "DPAda": "all"}
PRINTED = "algorithm 3"
METHODS = {**SCHEDULES, PRINTED: ""}
ROUNDS = (30, 50, 70, 90, 100)
RELATIONS = {"=": operator.eq, "<=": operator.le, "<": operator.lt}
RUNS = 10
SCHEMA = Schema({"number": Numeric(0, 1), "word": Categorical(["a", "b"])}, classes=["no", "yes"])
NUMBERS = [(7 * i % 40) / 40 for i in range(40)]
RECORDS = [[number, "ab"[i % 3 == 0]] for i, number in enumerate(NUMBERS)]
LABELS = ["yes" if (i % 5 < 2) != (number > 0.6) else "no" for i, number in enumerate(NUMBERS)]  # no stump is right


def _fitted(schedule: str, rounds: int, run: int | None, form: str = "published") -> Any:
    """Return a model of made-up records; without a run no seed spoils the certificate."""
    system, settings = ("dpada", (("schedule", schedule),)) if schedule else ("dpada-from-round-1", ())
    fit = Fit("", system, form, 1.0, (("n_estimators", rounds), *settings))
    return estimator(fit, SCHEMA, run).fit(RECORDS, LABELS)


@lru_cache
def noisy_rounds(schedule: str, rounds: int) -> tuple[int, ...]:
    """Return how many rounds of published models, one for each run, noise followed."""
    models = [_fitted(schedule, rounds, run) for run in range(RUNS)]
    return tuple(sum(marked <= len(model._fitted.model.alphas) for marked in model._fitted.coins) for model in models)


def most_noisy(schedule: str, rounds: int) -> int:
    """Return the most noisy rounds of a published model that coins may give."""
    return dpada.SCHEDULES[schedule].most(rounds) if schedule else rounds


@fact
def counted(says: Sequence[str]) -> Verdict:
    """Judge a chain such as ``DPAda <= m - 1`` of numbers of noisy rounds: of every fit, and of the most that coins may give."""
    labels = [term for term in says[::2] if term in METHODS]

    def right(rounds: int, counts: Mapping[str, int]) -> bool:
        known = {"m - 1": rounds - 1, "m // 2": rounds // 2, **counts}
        return all(
            RELATIONS[sign](known[less], known[more])
            for less, sign, more in zip(says[:-1:2], says[1::2], says[2::2], strict=True)
        )

    fits = [
        right(rounds, {label: noisy_rounds(METHODS[label], rounds)[run] for label in labels})
        for rounds in ROUNDS
        for run in range(RUNS)
    ]
    most = {rounds: {label: most_noisy(METHODS[label], rounds) for label in labels} for rounds in ROUNDS}
    always = all(right(rounds, counts) for rounds, counts in most.items())
    last = ROUNDS[-1]
    words = ", ".join(
        f"{label} {_range(noisy_rounds(METHODS[label], last))} (at most {most[last][label]})" for label in labels
    )
    return stated(
        all(fits) and always,
        f"in {sum(fits)} of {len(fits)} fits, and by the most that coins may give {'too' if always else 'not'}; of {last} "
        f"rounds: {words}",
    )


def _range(values: Sequence[int]) -> str:
    low, high = min(values), max(values)
    return f"{low}" if low == high else f"{low} to {high}"


def draw_rounds() -> Any:
    """Draw the numbers of noisy rounds."""
    lines = []
    for label, schedule in SCHEDULES.items():
        counts = [noisy_rounds(schedule, rounds) for rounds in ROUNDS]
        means, spreads = (tuple(float(of(values)) for values in counts) for of in (statistics.fmean, statistics.stdev))
        lines.append(Line(label, tuple(map(float, ROUNDS)), means, spreads))
    figure = new_figure(6.0, 3.4)
    ax = figure.subplots()
    PrivacyUtilityDisplay(lines, measure="noisy rounds", x="rounds m", log=False).plot(ax)
    ax.set_xticks(ROUNDS, list(map(str, ROUNDS)))
    return figure


@fact
def is_private(variant: str) -> Verdict:
    """Say whether fits of all four schedules have a certificate which holds, and spend epsilon at most."""
    models = [_fitted(schedule, 30, None, variant) for schedule in SCHEDULES.values()]
    steps = [step for model in models for step in unprotected(model.certificate_.event)]
    if steps:
        return Verdict("does not", f"{len(set(steps))} kinds of unprotected steps", f"one of them: {steps[0]}")
    spent = [float(model.certificate_.spent) for model in models]
    return stated(
        all(model.certificate_.holds for model in models) and max(spent) <= 1, f"{max(spent):.3g} is spent at epsilon 1"
    )


@fact
def size(data: str, part: str, records: int, continuous: int, discrete: int) -> Verdict:
    """Say whether a set has so many records, continuous and discrete features, and two classes."""
    loaded = {"adult": datasets.load_adult, "bank": datasets.load_bank}[data]()
    labels = loaded.y if part == "train" else loaded.y_test
    assert labels is not None
    features = list(loaded.schema.features.values())
    numeric = sum(isinstance(feature, Numeric) for feature in features)
    found = (len(labels), numeric, len(features) - numeric, len(set(labels)))
    words = "{} records, {} continuous and {} discrete features, {} classes".format(*found)
    return stated(found == (records, continuous, discrete, 2), words)


@fact
def born_abroad(share: float, tolerance: float) -> Verdict:
    """Say whether a share of Adult's records, training and test, has another native country than the US."""
    data = datasets.load_adult()
    assert data.X_test is not None
    place = data.schema.names.index("native-country")
    countries = np.concatenate((data.X[:, place], data.X_test[:, place]))
    abroad, unknown = float(np.mean(countries != "United-States")), float(np.mean(countries == "?"))
    words = f"{abroad:.3f}, {unknown:.3f} of them without a country; {abroad - share:+.3f} from the paper's {share:.2f}"
    return stated(abs(abroad - share) <= tolerance, words)


@fact
def first_weights() -> Verdict:
    """Perturb the weights after a first round on paper: their chance to become the mean is known exactly."""
    records, wrong, rounds = 29170, 5800, 50
    error = wrong / records
    weights = np.where(np.arange(records) < wrong, 0.5 / error, 0.5 / (1 - error)) / records
    distances = weights.max() * records - 1, 1 - weights.min() * records
    scales = dpada.noise_scales(weights, 1.0, rounds)
    chances = [math.exp(-far / records / scale) / 2 for far, scale in zip(distances, scales, strict=True)]
    words = f"{len(np.unique(weights))} different weights; a largest one becomes the mean with chance {chances[0]:.4f}, a least "
    holds = len(np.unique(weights)) == 2 and min(chances) > 0
    return stated(holds, f"{words}one with chance {chances[1]:.4f}")


SMALLEST = {"rounds": 10, "features": 4, "records": 500}
FACTORS = (1, 2, 4)


class Steps:
    """How many times a weight is read or a candidate is looked at."""

    def __init__(self) -> None:
        self.count = 0


@dataclass(frozen=True, eq=False)
class CountedRecords(Ranked):
    """Records that count each weight which is added up, of each feature."""

    steps: Steps = field(default_factory=Steps)

    def class_weights(
        self, records: npt.NDArray[np.int64], weights: npt.NDArray[np.generic]
    ) -> npt.NDArray[np.generic]:
        """Return the weight of some records by value and class, and count the reads and the candidates behind them."""
        self.steps.count += len(self.ranks) * len(records) + int(self.candidates.sum())
        return super().class_weights(records, weights)


@dataclass(frozen=True)
class CountedStump(ExactStump):
    """The weak learner of DPAda, with its steps counted."""

    steps: Steps = field(default_factory=Steps)

    def _ranked(self, training: RawRecords) -> Ranked:
        ranked = super()._ranked(training)
        return CountedRecords(ranked.data, ranked.ranks, ranked.start, ranked.values, self.steps)


@lru_cache
def steps_of(schedule: str, rounds: int, features: int, records: int) -> int:
    """Return the steps of one published fit on made-up records, each with noise of its own."""
    generator = np.random.default_rng(0)
    X = generator.uniform(size=(records, features))
    y = np.where((X[:, 0] > 0.5) ^ (generator.uniform(size=records) < 0.3), "yes", "no")
    schema = Schema({f"f{place}": Numeric(0, 1) for place in range(features)}, classes=["no", "yes"])
    steps, randomness = Steps(), Randomness(0)
    counted = PrintedBoosting(CountedStump(steps), perturbation=PerturbExtremes(dpada.SCHEDULES[schedule]))
    marked = (np.flatnonzero(dpada.SCHEDULES[schedule].marked(rounds, randomness.draw)) + 1).tolist()
    plan = PrintedBoostingPlan(counted, schema, Fraction(1), rounds=rounds, marked=marked)
    fitted = plan.fit_raw(X, y, randomness)
    assert len(fitted.alphas) == rounds  # no fit ends early
    return steps.count


def powers(schedule: str) -> dict[str, float]:
    """Return with which power the steps of a fit grow with its rounds, its features and its records, the others at rest."""
    found = {}
    for name in SMALLEST:
        sizes = [SMALLEST[name] * factor for factor in FACTORS]
        counts = [steps_of(schedule, *{**SMALLEST, name: size}.values()) for size in sizes]
        found[name] = float(np.polyfit(np.log(sizes), np.log(counts), 1)[0])
    return found


@fact
def linear(schedule: str, tolerance: float) -> Verdict:
    """Say whether the steps of a fit grow in proportion to its rounds, its features and its records."""
    found = powers(schedule)
    words = ", ".join(f"{name} to the power {power:.3f}" for name, power in found.items())
    return stated(all(abs(power - 1) <= tolerance for power in found.values()), f"counted steps grow with {words}")
