"""What DPAda's paper says of its time, O(mdn), as counted steps: seconds depend on what else a machine does."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from hedgerow.mechanisms import Randomness
from hedgerow.papers.boosting import PrintedBoosting, PrintedBoostingPlan, Ranked
from hedgerow.papers.dpada import SCHEDULES, ExactStump, PerturbExtremes
from hedgerow.papers.records import RawRecords
from hedgerow.reproduce.claims import fact, stated
from hedgerow.reproduce.experiment import Verdict
from hedgerow.schema import Numeric, Schema

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
    counted = PrintedBoosting(CountedStump(steps), perturbation=PerturbExtremes(SCHEDULES[schedule]))
    marked = (np.flatnonzero(SCHEDULES[schedule].marked(rounds, randomness.draw)) + 1).tolist()
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
