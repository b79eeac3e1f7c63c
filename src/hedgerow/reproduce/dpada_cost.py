"""What DPAda's paper says of its time, O(mdn), as counted steps: seconds depend on what else a machine does."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from hedgerow.mechanisms import Randomness
from hedgerow.published import boosting as published
from hedgerow.published.boosting.learner import Ranked
from hedgerow.published.boosting.stumps import ExactStumpFitter
from hedgerow.published.records import RawRecords
from hedgerow.reproduce.experiment import Axis, Check, Experiment, Form, Measured, PaperClaim, Verdict
from hedgerow.schema import Numeric, Schema
from hedgerow.systems.dpada import DPAdaClassifier

__all__ = ["cost"]

SMALLEST = {"rounds": 10, "features": 4, "records": 500}
FACTORS = (1, 2, 4)
TOLERANCE = 0.05
NONE = Axis("", "", (), ())


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
class CountedStump(published.ExactStump):
    """The weak learner of DPAda, with its steps counted."""

    steps: Steps = field(default_factory=Steps)

    def fitter(self, training: RawRecords, holdout: RawRecords) -> ExactStumpFitter:
        """Return the learner with its records."""
        ranked = Ranked.of(training)
        return ExactStumpFitter(CountedRecords(ranked.data, ranked.ranks, ranked.start, ranked.values, self.steps))


@lru_cache
def steps_of(schedule: str, rounds: int, features: int, records: int) -> int:
    """Return the steps of one published fit on made-up records, each with noise of its own."""
    generator = np.random.default_rng(0)
    X = generator.uniform(size=(records, features))
    y = np.where((X[:, 0] > 0.5) ^ (generator.uniform(size=records) < 0.3), "yes", "no")
    schema = Schema({f"f{place}": Numeric(0, 1) for place in range(features)}, classes=["no", "yes"])
    steps, randomness = Steps(), Randomness(0)
    recipe = DPAdaClassifier(schedule=schedule, variant="published")._published()
    counted = replace(recipe, learner=CountedStump(steps))
    assert recipe.perturbation is not None
    marked = (np.flatnonzero(recipe.perturbation.schedule.marked(rounds, randomness.draw)) + 1).tolist()
    plan = published.PublishedBoostingPlan(counted, schema, Fraction(1), rounds=rounds, marked=marked)
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


def _linear(schedule: str) -> Check:
    def check(results: Measured, form: Form) -> Verdict:
        found = powers(schedule)
        words = ", ".join(f"{name} to the power {power:.3f}" for name, power in found.items())
        right = all(abs(power - 1) <= TOLERANCE for power in found.values())
        return Verdict("holds" if right else "does not", f"counted steps grow with {words}")

    return check


def cost(schedules: dict[str, str]) -> Experiment:
    """Return the experiment on the steps of a fit, for schedules by the paper's names."""
    return Experiment(
        name="dpada/cost",
        title="Steps of a fit",
        settings=(
            "Published fits on made-up records: 10 rounds, 4 features and 500 records, and twice and four times as many of each. "
            "Counted are the weights that stumps add up and the candidates that they compare."
        ),
        axis=NONE,
        claims=tuple(
            PaperClaim(
                "3.3.2, eq. 26",
                f"{label} takes O(mdn): steps in proportion to rounds, features and records (powers 1 within {TOLERANCE})",
                _linear(schedule),
            )
            for label, schedule in schedules.items()
        ),
        notes=(
            "Not counted: sorting the records once, and a few passes over the records' weights in each round, which no feature "
            "multiplies. All four schedules differ by such a pass alone.",
        ),
    )
