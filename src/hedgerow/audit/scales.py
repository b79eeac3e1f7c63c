"""Whether the arrays of a model have the scale of the noise that its plan adds: rounds, bins, and counts near zero.

Parameters and certificate can be copied from another fit. The arrays still show the noise that was added to them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from scipy.stats import binom

from hedgerow.additive.model import AdditiveModel
from hedgerow.additive.plan import AdditivePlan, Rounds
from hedgerow.additive.round import CellRound, OneRound, Term
from hedgerow.estimator import Model, Plan
from hedgerow.mechanisms import Noise
from hedgerow.systems.cells import CellsModel, CellsPlan
from hedgerow.trees import BoostingPlan, ForestModel, ForestPlan, NoisyCounts, SurveyedForestPlan, TwoPhasePlan

NEAR = 0.25  # in deviations of the planned noise: with less noise, more counts are nearer to zero than this
CHANCE = 1e-6  # that the planned noise leaves so many counts near zero, whatever the records are
TOLERANCE = 1e-3  # of a deviation, which files hold rounded
MOST_PLACES = 1 << 20  # at which the law of the noise is added up; it is smooth where there are more

UNTOLD = (
    "A file does not show with how much noise tests, features and labels were selected, or who fitted the model: invented "
    "numbers with noise of the right scale pass."
)


def scale_findings(model: Model, plan: Plan) -> Iterator[str]:
    """Yield a sentence for each kind of released number that is more exact, or more frequent, than the plan's budget allows."""
    if isinstance(model, AdditiveModel) and isinstance(plan, AdditivePlan):
        yield from _rounds(model.own, plan)
        return
    for what, counts, noise in _counts(model, plan):
        if _too_exact(counts, noise):
            yield (
                f"too many of the {what} are near zero for noise of deviation {noise.deviation:.3g}, which the plan adds: they "
                "were released with less noise"
            )


def _counts(model: Model, plan: Plan) -> Iterator[tuple[str, npt.NDArray[np.int64], Noise]]:
    """Yield the released counts of a model with the least noise that the plan adds to any of them."""
    if isinstance(model, CellsModel) and isinstance(plan, CellsPlan):
        yield "counts of cells", model.counts.ravel(), plan.noise
    if isinstance(model, ForestModel) and model.forest.counts is not None:
        kinds = BoostingPlan | ForestPlan | SurveyedForestPlan | TwoPhasePlan
        schedules = plan.schedules if isinstance(plan, kinds) else []
        leaves = [leaf for one in schedules for level in one.levels for leaf in (level.leaf, level.stopped_leaf)]
        noises = [leaf.noise for leaf in leaves if isinstance(leaf, NoisyCounts)]
        if noises and not any(one.recipe.prune for one in schedules):  # pruning makes counts that add up
            counts = model.forest.counts[model.forest.test < 0]
            yield "counts of leaves", counts.ravel(), min(noises, key=lambda noise: noise.deviation)


def _too_exact(counts: npt.NDArray[np.int64], noise: Noise) -> bool:
    """Return whether more counts are near zero than noise leaves there, whatever the exact counts are.

    The law of the noise is symmetric and falls away from zero, so no exact count is near zero more often than that of zero.
    """
    near = int(NEAR * noise.deviation)
    places = np.arange(-near, near + 1) if near < MOST_PLACES else np.linspace(-near, near, 1001).astype(np.int64)
    chance = float(noise.law(0, places).mean()) * (2 * near + 1)
    count = int((np.abs(counts) <= near).sum())
    return bool(binom.sf(count - 1, len(counts), min(chance, 1.0)) < CHANCE)


def _rounds(model: AdditiveModel, plan: AdditivePlan) -> Iterator[str]:
    stage, spent = plan.stage, 0
    numeric = np.array(model.encoder.schema.is_numeric)
    bins = int(np.max(model.encoder.n_codes[numeric] - 1, initial=0))
    if bins > plan.most_bins:
        yield f"a feature has {bins} bins, but the plan merges them to at most {plan.most_bins}"
    empty: list[npt.NDArray[np.float64]] = []
    for number, term in enumerate(model.terms, 1):
        if term.sums is None or not term.noise:  # of an earlier version, or of a start
            continue
        units = _units(term, stage)
        if units is None:
            yield f"round {number} has noise of deviation {term.noise}, less than the plan's whole budget buys"
            return
        spent += units
        if term.n_codes is None:  # else codes hold parts of the sums of their groups
            unread = 1 if numeric[term.feature[0]] else 2  # codes of missing and undeclared cells, which most data lack
            empty.append((term.sums[:, -unread:] / term.noise).ravel())
    if spent > stage.units:
        yield f"the noise of the rounds costs {spent} parts of the budget of all rounds, of which there are {stage.units}"
    if empty:
        sums = np.concatenate(empty)
        chance = 1 - np.exp(-np.sqrt(2) * NEAR) if not stage.budget.concentrated else 0.2
        if binom.sf(int((np.abs(sums) <= NEAR).sum()) - 1, len(sums), chance * (1 + TOLERANCE)) < CHANCE:
            yield "too many of the released sums are near zero for the noise that the model states"


def _units(term: Term, stage: Rounds) -> int | None:
    """Return the fewest parts of the budget that buy a term's noise, or None if all together do not."""
    kind, limit = OneRound if term.n_codes is None else CellRound, term.noise * (1 + TOLERANCE) + 1
    amounts = range(1, stage.units + 1)
    place = bisect_left(
        amounts, True, key=lambda units: stage.one(units, len(term.cuts), kind).noise.deviation <= limit
    )
    return amounts[place] if place < len(amounts) else None
