"""What the paper of DPAda says that no figure shows: numbers of noisy rounds, the guarantee, the data sets, the first round."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from hedgerow import datasets
from hedgerow.errors import DatasetError
from hedgerow.plots import PrivacyUtilityDisplay
from hedgerow.plots.axes import new_figure
from hedgerow.plots.utility import Line
from hedgerow.privacy.accounting import unprotected
from hedgerow.published.boosting import noise_scales
from hedgerow.reproduce.experiment import Axis, Check, Experiment, Form, Measured, PaperClaim, Verdict
from hedgerow.reproduce.fits import Fit, estimator
from hedgerow.schema import Categorical, Numeric, Schema

__all__ = ["FACTS", "ROUNDS", "SCHEDULES"]

SCHEDULES = {"DPAda_Swing": "swing", "DPAda_Random": "random", "DPAda_Improved": "improved", "DPAda": "all"}
PRINTED = "algorithm 3"
METHODS = {**SCHEDULES, PRINTED: ""}
ROUNDS = (30, 50, 70, 90, 100)
NONE = Axis("", "", (), ())
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


def most_booked(schedule: str, rounds: int) -> int:
    """Return how many noisy rounds the certificate of a published model books: the most that coins may give."""
    return len(_fitted(schedule, rounds, 0).certificate_.event.parts[-1].parts)


def counted(labels: Sequence[str], says: Callable[[int, Mapping[str, int]], bool]) -> Check:
    """Return the check of a sentence about numbers of noisy rounds: right of every fit, and of the most that coins may give."""

    def check(results: Measured, form: Form) -> Verdict:
        fits = [
            says(rounds, {label: noisy_rounds(METHODS[label], rounds)[run] for label in labels})
            for rounds in ROUNDS
            for run in range(RUNS)
        ]
        most = {rounds: {label: most_booked(METHODS[label], rounds) for label in labels} for rounds in ROUNDS}
        always = all(says(rounds, counts) for rounds, counts in most.items())
        last = ROUNDS[-1]
        words = ", ".join(
            f"{label} {_range(noisy_rounds(METHODS[label], last))} (at most {most[last][label]})" for label in labels
        )
        return Verdict(
            "holds" if all(fits) and always else "does not",
            f"in {sum(fits)} of {len(fits)} fits, and by the most that coins may give {'too' if always else 'not'}; of {last} "
            f"rounds: {words}",
        )

    return check


def _range(values: Sequence[int]) -> str:
    low, high = min(values), max(values)
    return f"{low}" if low == high else f"{low} to {high}"


def _draw_rounds() -> Any:
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


def _theorem1() -> Experiment:
    section = "3.3.1, theorem 1"
    return Experiment(
        name="dpada/theorem1",
        title="How many rounds are noisy",
        settings=(
            "Fits of the published form on 40 made-up records at m = 30, 50, 70, 90 and 100, 10 runs each; the rounds that noise "
            "followed are counted in the fitted models. No fit ends early."
        ),
        axis=NONE,
        claims=(
            PaperClaim(
                "3.3.1, eq. 21",
                "DPAda, in which noise begins with round 2, has m - 1 noisy rounds",
                counted(["DPAda"], lambda m, of: of["DPAda"] == m - 1),
            ),
            PaperClaim(
                "3.3.1, eq. 21",
                "the same of algorithm 3 as it is printed",
                counted([PRINTED], lambda m, of: of[PRINTED] == m - 1),
            ),
            PaperClaim(
                "3.3.1, eq. 22",
                "DPAda_Swing has m / 2, rounded down",
                counted(["DPAda_Swing"], lambda m, of: of["DPAda_Swing"] == m // 2),
            ),
            PaperClaim(
                "3.3.1, eq. 23",
                "DPAda_Random has m - 1 at most",
                counted(["DPAda_Random"], lambda m, of: of["DPAda_Random"] <= m - 1),
            ),
            PaperClaim(
                "3.3.1, eq. 24",
                "DPAda_Improved has fewer than m - 1",
                counted(["DPAda_Improved"], lambda m, of: of["DPAda_Improved"] < m - 1),
            ),
            PaperClaim(
                section,
                "DPAda_Improved has no more than DPAda_Swing, and this has fewer than DPAda",
                counted(
                    ["DPAda_Improved", "DPAda_Swing", "DPAda"],
                    lambda m, of: of["DPAda_Improved"] <= of["DPAda_Swing"] < of["DPAda"],
                ),
            ),
            PaperClaim(
                section,
                "DPAda_Random has fewer than DPAda",
                counted(["DPAda_Random", "DPAda"], lambda m, of: of["DPAda_Random"] < of["DPAda"]),
            ),
        ),
        notes=(
            "Theorem 1 says that Random has fewer noisy rounds than DPAda, its proof that it may have as many: all coins of a "
            "run may show ones, at m = 30 in one run of 537 million.",
            "Definition 7 thins a run of ones that follows a zero. That a run which begins with round 1 leaves nothing is "
            "inferred here: read to the letter it would stay whole, and Improved could then have m - 1 noisy rounds, against "
            "the theorem. Both readings are the same where the first coin shows a zero.",
            "Algorithm 3 as printed perturbs after round 1 too. Everywhere else here noise begins with round 2, as equation 21 "
            "and the text of 3.2 and 4.2 say; dpada/algorithm3 shows the printed algorithm beside that.",
        ),
        picture=_draw_rounds,
    )


def _is_private(form: str) -> Check:
    """Return the check that fits of all four schedules have a certificate which holds, and spend epsilon at most."""

    def check(results: Measured, _: Form) -> Verdict:
        models = [_fitted(schedule, 30, None, form) for schedule in SCHEDULES.values()]
        steps = [step for model in models for step in unprotected(model.certificate_.event)]
        if steps:
            return Verdict("does not", f"{len(set(steps))} kinds of unprotected steps; one of them: {steps[0]}")
        spent = [float(model.certificate_.spent) for model in models]
        holds = all(model.certificate_.holds for model in models) and max(spent) <= 1
        return Verdict("holds" if holds else "does not", f"{max(spent):.3g} is spent at epsilon 1")

    return check


def _theorem2() -> Experiment:
    return Experiment(
        name="dpada/theorem2",
        title="The guarantee",
        settings="The certificates of fits on made-up records, m = 30, epsilon 1. A certificate depends on no record.",
        axis=NONE,
        claims=(
            PaperClaim("3.3.3, theorem 2", "all four algorithms, as printed, are B-DP", _is_private("published")),
            PaperClaim("", "the private forms of all four are epsilon-DP", _is_private("private")),
        ),
        notes=(
            "Equation 29 is right as a sum: weights that add up to 1 get budgets that add up to B at most. It bounds nothing, "
            "since the noise follows weights and not what a record can change.",
        ),
    )


def _size(load: Callable[[], datasets.Dataset], part: str, records: int, numeric: int, other: int) -> Check:
    """Return the check that a set has so many records, continuous and discrete features, and two classes."""

    def check(results: Measured, form: Form) -> Verdict:
        try:
            data = load()
        except DatasetError:
            return Verdict("not measured")
        labels = data.y if part == "train" else data.y_test
        assert labels is not None
        features = list(data.schema.features.values())
        continuous = sum(isinstance(feature, Numeric) for feature in features)
        found = (len(labels), continuous, len(features) - continuous, len(set(labels)))
        words = "{} records, {} continuous and {} discrete features, {} classes".format(*found)
        return Verdict("holds" if found == (records, numeric, other, 2) else "does not", words)

    return check


def _born_abroad(share: float, tolerance: float) -> Check:
    """Return the check that a share of Adult's records, training and test, has another native country than the US."""

    def check(results: Measured, form: Form) -> Verdict:
        try:
            data = datasets.load_adult()
        except DatasetError:
            return Verdict("not measured")
        assert data.X_test is not None
        place = data.schema.names.index("native-country")
        countries = np.concatenate((data.X[:, place], data.X_test[:, place]))
        abroad, unknown = float(np.mean(countries != "United-States")), float(np.mean(countries == "?"))
        words = (
            f"{abroad:.3f}, {unknown:.3f} of them without a country; {abroad - share:+.3f} from the paper's {share:.2f}"
        )
        return Verdict("holds" if abs(abroad - share) <= tolerance else "does not", words)

    return check


def _table2() -> Experiment:
    return Experiment(
        name="dpada/table2",
        title="The data sets",
        settings="Read from the files, before records and features are left out.",
        axis=NONE,
        claims=(
            PaperClaim(
                "4.1, table 2",
                "Adult_train: 32 561 records, 6 continuous and 8 discrete features, 2 classes",
                _size(datasets.load_adult, "train", 32561, 6, 8),
            ),
            PaperClaim(
                "4.1, table 2",
                "Adult_test: 16 281 records, 6 continuous and 8 discrete features, 2 classes",
                _size(datasets.load_adult, "test", 16281, 6, 8),
            ),
            PaperClaim(
                "4.1, table 2",
                "Bank Marketing: 41 188 records, 10 continuous and 10 discrete features, 2 classes",
                _size(datasets.load_bank, "train", 41188, 10, 10),
            ),
            PaperClaim(
                "4.1", "16 % of Adult's records are not from the US (within .01)", _born_abroad(0.16, tolerance=0.01)
            ),
        ),
    )


def _first_weights(results: Measured, form: Form) -> Verdict:
    """Perturb the weights after a first round on paper: their chance to become the mean is known exactly."""
    records, wrong, rounds = 29170, 5800, 50
    error = wrong / records
    weights = np.where(np.arange(records) < wrong, 0.5 / error, 0.5 / (1 - error)) / records
    distances = weights.max() * records - 1, 1 - weights.min() * records
    scales = noise_scales(weights, 1.0, rounds)
    chances = [math.exp(-far / records / scale) / 2 for far, scale in zip(distances, scales, strict=True)]
    words = f"{len(np.unique(weights))} different weights; a largest one becomes the mean with chance {chances[0]:.4f}, a least "
    holds = len(np.unique(weights)) == 2 and min(chances) > 0
    return Verdict("holds" if holds else "does not", f"{words}one with chance {chances[1]:.4f}")


def _round1() -> Experiment:
    return Experiment(
        name="dpada/round1",
        title="What noise after round 1 does",
        settings=(
            "Computed, not fitted: the weights after a stump that is wrong on 5800 of 29 170 records, as on Adult, at B = 1 and "
            "m = 50, and the law of algorithm 2's noise."
        ),
        axis=NONE,
        claims=(
            PaperClaim(
                "3.2",
                "after round 1 weights take two values only, and noise may make a largest or a least one the mean",
                _first_weights,
            ),
        ),
    )


FACTS = (_table2(), _theorem1(), _theorem2(), _round1())
