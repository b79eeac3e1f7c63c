"""The experiments of DPAda: Zhang, Dong, Xu and Wang, Journal on Communications, 2023, sections 3 and 4."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hedgerow.reproduce.claims import Pick, above, above_majority, closest, rises
from hedgerow.reproduce.dpada_claims import (
    above_in_panel,
    above_on_the_whole,
    all_fall,
    all_rise,
    falls_on_the_whole,
    same,
    settles,
    steadier,
)
from hedgerow.reproduce.dpada_cost import cost
from hedgerow.reproduce.dpada_facts import FACTS, ROUNDS, SCHEDULES
from hedgerow.reproduce.experiment import MAJORITY, Axis, Experiment, Form, Methods, PaperClaim, curves_of
from hedgerow.reproduce.fits import Setting
from hedgerow.reproduce.tasks import TASKS

__all__ = ["EXPERIMENTS", "SUMMARY", "SYSTEMS"]

SYSTEMS = ("dpada", "dp-adaboost", "cart-dps-adaboost")
SUMMARY: tuple[str, ...] = ()
BUDGETS = (0.1, 0.3, 0.5, 0.7, 0.9, 1.0, 3.0, 5.0)
BUDGET = Axis("epsilon", "epsilon", BUDGETS, (0.1, 5.0), log=True)
FEWER = Axis("epsilon", "epsilon", (0.1, 0.5, 1.0, 5.0), (0.1, 5.0), log=True)
AGAINST_ALL = (50, 70, 90)  # the numbers of rounds of figures 4 to 6
DATA = ("adult-us", "bank")
THREE = ("DPAda_Swing", "DPAda_Random", "DPAda_Improved")
VERY_LOW = 0.05  # below AdaBoost
SPLIT = (
    "Adult: born in the US, without fnlwgt, its own test file; Bank Marketing: 70/30 by a fixed permutation. The split is fixed; "
    "only noise and schedules differ between runs, of which the paper averages 50."
)
TIES = (
    "The paper is silent about records that tie for the largest or the least weight, nearly all after one round. Its proof of "
    "theorem 2 counts every one of them, so that each gets noise of its own here; fig2-one to fig6-one change a single one of "
    "them, and dpada/ties shows a third reading, one noisy value for all that tie."
)
LEARNER = (
    "Inferred, too: the weak learner is the best stump, since the paper names none (AdaBoost here has stumps as well), and a "
    "noisy weight below 0 becomes 0. No run is without these two: another learner would be another method, and weights below 0 "
    "have no meaning in AdaBoost."
)
HOW = (
    "As printed, noise of scale (m / B)(1 - 1/(N max w)), 16 and more at B = 1 and m = 30, goes onto weights of about 1e-4: with "
    "every tied record, much of the weights is noise after one noisy round; with a single one, this record gets either all "
    "weight or hardly any. The scale follows from algorithm 2 without inference."
)
PRIVATE = (
    "The private form keeps the schedules: a round that is not paid for reads nothing and adds nothing, so Improved is boosting "
    "with about a quarter of the rounds, each with four times the budget."
)
STRAY = (
    "How far runs stray is the mean distance of single runs from the line through a method's means. As printed each "
    "point's runs have coins and noise of their own; in the private form runs of one number share them at all points."
)
NOTES = (TIES, LEARNER, HOW, PRIVATE, STRAY)


@dataclass(frozen=True)
class Reading:
    """A reading of ties: what it adds to names and titles, where it is run, its settings, and the rivals yet to be judged."""

    name: str
    title: str
    axis: Axis
    forms: tuple[Form, ...]
    settings: Mapping[str, Setting]
    words: str
    rivals: tuple[str, ...] = ()


EACH = Reading("", "", BUDGET, ("published", "private"), {}, "All eight budgets.", ("DP-AdaBoost", "CART-DPsAdaBoost"))
ONE = Reading(
    "-one",
    ", one record at a time",
    BUDGET,
    ("published",),
    {"ties": "one"},
    "The same with noise on one record of those that tie for the largest weight, and on one for the least; the private form "
    "has no ties.",
)


def _named(name: str) -> Pick:
    """Return the rule that picks the panels of a name."""
    return lambda panel: panel.name == name


def _lines(label: str, rounds: Iterable[int] = ROUNDS) -> list[tuple[str, str]]:
    """Return the curves of a schedule in figures 2 and 3."""
    return [(label, f"m = {count}") for count in rounds]


def _by_rounds(number: int, task: str, reading: Reading) -> Experiment:
    axis, labels = reading.axis, [f"m = {rounds}" for rounds in ROUNDS]
    curves = tuple(
        curve
        for label in THREE
        for rounds in ROUNDS
        for curve in curves_of(
            axis,
            {
                f"m = {rounds}": (
                    "dpada",
                    {"schedule": SCHEDULES[label], "n_estimators": rounds, **reading.settings},
                )
            },
            [task],
            panel=label,
            forms=reading.forms,
        )
    )
    rules = tuple(curve for label in THREE for curve in curves_of(axis, MAJORITY, [task], panel=label))
    where = f"4.2, figure {number}"
    return Experiment(
        name=f"dpada/fig{number}{reading.name}",
        reading=reading.title.removeprefix(", "),
        title=f"Three schedules on {TASKS[task].title}{reading.title}",
        settings=f"m = 30, 50, 70, 90 and 100 rounds. {reading.words} {SPLIT}",
        axis=axis,
        curves=curves + rules,
        claims=(
            *(
                PaperClaim(
                    where,
                    f"{label} rises with epsilon at every number of rounds, small turns apart",
                    all_rise(labels, panels=_named(label)),
                )
                for label in ("DPAda_Swing", "DPAda_Improved")
            ),
            PaperClaim(
                where,
                "DPAda_Random wavers: its runs stray further than those of DPAda_Swing and DPAda_Improved",
                steadier(
                    [*_lines("DPAda_Swing"), *_lines("DPAda_Improved")],
                    [*_lines("DPAda_Random"), *_lines("DPAda_Random")],
                ),
            ),
            PaperClaim(
                where,
                "above all with few rounds: the more there are, the less the runs of DPAda_Random stray",
                settles(_lines("DPAda_Random")),
            ),
            PaperClaim(
                where,
                "DPAda_Improved is above DPAda_Swing at every number of rounds",
                above_in_panel("DPAda_Improved", ["DPAda_Swing"], labels),
            ),
            PaperClaim(
                "abstract, 5",
                f"DPAda_Improved is above DPAda_Swing and DPAda_Random ({TASKS[task].title})",
                above_in_panel("DPAda_Improved", ["DPAda_Swing", "DPAda_Random"], labels),
            ),
            PaperClaim(
                "4.2, last paragraph",
                f"DPAda_Improved makes the effect of chance smaller than in DPAda_Random ({TASKS[task].title})",
                steadier(_lines("DPAda_Improved"), _lines("DPAda_Random")),
            ),
            *(
                PaperClaim(
                    "",
                    f"{label} is above the majority rule (m = 50)",
                    above_majority("m = 50", panels=_named(label)),
                )
                for label in THREE
            ),
        ),
        notes=NOTES,
    )


def _methods(reading: Reading) -> Methods:
    return {
        **{label: ("dpada", {"schedule": schedule, **reading.settings}) for label, schedule in SCHEDULES.items()},
        "DP-AdaBoost": ("dp-adaboost", {}),
        "CART-DPsAdaBoost": ("cart-dps-adaboost", {"max_depth": 2}),
    }


def _against_all(number: int, rounds: int, reading: Reading) -> Experiment:
    private = _methods(reading)
    rivals = [label for label in private if label != "DPAda_Improved"]
    panels = [TASKS[task].title for task in DATA]
    methods: Methods = {"AdaBoost": ("adaboost", {}), **private, **MAJORITY}
    where, end = f"4.2, figure {number}", f"4.2, last paragraph, figure {number}"
    return Experiment(
        name=f"dpada/fig{number}{reading.name}",
        reading=reading.title.removeprefix(", "),
        title=f"Seven methods at m = {rounds}{reading.title}",
        settings=(
            f"m = {rounds} rounds. {reading.words} {SPLIT} AdaBoost is scikit-learn's on stumps, without privacy. The paper does "
            "not give CART-DPsAdaBoost's depth; 2 tests on a path here."
        ),
        axis=reading.axis,
        curves=curves_of(reading.axis, methods, DATA, fixed={"n_estimators": rounds}, forms=reading.forms),
        claims=(
            PaperClaim(
                where,
                f"DPAda is very low (here: more than {VERY_LOW} below AdaBoost everywhere)",
                above("AdaBoost", ["DPAda"], by=VERY_LOW),
            ),
            *(
                PaperClaim(where, f"{label} rises with epsilon", rises(label))
                for label in (*reading.rivals, "DPAda_Swing", "DPAda_Improved")
            ),
            PaperClaim(
                where,
                "DPAda_Improved is the steadiest: its runs stray least",
                steadier(
                    [(panel, "DPAda_Improved") for panel in panels for _ in rivals],
                    [(panel, label) for panel in panels for label in rivals],
                ),
            ),
            PaperClaim(where, "DPAda_Improved is closest to AdaBoost", closest("DPAda_Improved", rivals, "AdaBoost")),
            PaperClaim(
                end,
                "DPAda_Improved is on the whole above CART-DPsAdaBoost (average over budgets)",
                above_on_the_whole("DPAda_Improved", ["CART-DPsAdaBoost"]),
            ),
            PaperClaim(
                end,
                "DPAda_Improved does away with the low accuracy of DPAda: it is above it",
                above("DPAda_Improved", ["DPAda"]),
            ),
            PaperClaim(end, "DPAda_Improved is above the other private methods", above("DPAda_Improved", rivals)),
            PaperClaim("", "DPAda_Improved is above the majority rule", above_majority("DPAda_Improved")),
        ),
        notes=NOTES,
    )


def _over_rounds(task: str, reading: Reading) -> Experiment:
    """Return figures 4 to 6 of one data set, against the number of rounds: no fit is new."""
    axis = Axis("n_estimators", "rounds m", AGAINST_ALL, (50, 90))
    budgets = [f"epsilon = {epsilon:g}" for epsilon in reading.axis.values]
    asked = ("DPAda_Swing", "DPAda_Improved", "DPAda", *reading.rivals)
    methods = {label: method for label, method in _methods(reading).items() if label in asked}
    curves = tuple(
        curve
        for name, method in methods.items()
        for epsilon, label in zip(reading.axis.values, budgets, strict=True)
        for curve in curves_of(axis, {label: method}, [task], panel=name, epsilon=epsilon, forms=reading.forms)
    )
    title = TASKS[task].title
    return Experiment(
        name=f"dpada/rounds-{task.partition('-')[0]}{reading.name}",
        reading=reading.title.removeprefix(", "),
        title=f"Figures 4 to 6 against the number of rounds on {title}{reading.title}",
        settings=f"The fits of figures 4 to 6. {reading.words} {SPLIT}",
        axis=axis,
        curves=curves,
        claims=(
            PaperClaim(
                "4.2, figures 4 to 6",
                f"DPAda falls by and large with the number of rounds (average over budgets, {title})",
                falls_on_the_whole(budgets, panels=_named("DPAda")),
            ),
            *(
                PaperClaim(
                    "4.2, figures 4 to 6",
                    f"{label} {word} with the number of rounds at every epsilon ({title})",
                    check(budgets, panels=_named(label)),
                )
                for label, word, check in (
                    ("DP-AdaBoost", "falls", all_fall),
                    ("CART-DPsAdaBoost", "rises", all_rise),
                    ("DPAda_Swing", "rises", all_rise),
                    ("DPAda_Improved", "rises", all_rise),
                )
                if label in methods
            ),
        ),
        notes=(
            "The paper says that DP-AdaBoost alone falls with the number of rounds, shortly after it said so of DPAda too.",
        ),
    )


def _algorithm3() -> Experiment:
    methods: Methods = {
        f"noise from round {first}": (system, {**settings, "n_estimators": 50})
        for first, system, settings in ((2, "dpada", {"schedule": "all"}), (1, "dpada-from-round-1", {}))
    }
    readings: Mapping[str, Methods] = {
        words: {label: (system, {**settings, "ties": ties}) for label, (system, settings) in methods.items()}
        for words, ties in (("each tied record", "each"), ("one record", "one"))
    }
    curves = tuple(
        curve
        for words, both in readings.items()
        for curve in curves_of(BUDGET, both, DATA, panel=f"{{task}}, {words}", forms=("published",))
    )
    return Experiment(
        name="dpada/algorithm3",
        title="DPAda with and without noise after round 1",
        settings=f"m = 50 rounds. {SPLIT} Algorithm 3 as printed, and what equation 21 and the text of 3.2 and 4.2 make of it.",
        axis=BUDGET,
        curves=curves,
        claims=(
            PaperClaim(
                "3.2",
                "noise from round 2 on, instead of round 1, makes the model better",
                above("noise from round 2", ["noise from round 1"]),
            ),
        ),
        notes=(
            "The paper leaves round 1 out since noise of the wrong sign makes a largest or a least weight the mean. That happens "
            "to about every second noisy weight in later rounds too, for the scale is many times what is left to the mean "
            "(dpada/round1).",
        ),
    )


def _ties() -> Experiment:
    methods: Methods = {
        words: ("dpada", {"n_estimators": 50, **({} if ties == "each" else {"ties": ties})})
        for words, ties in (("each its own noise", "each"), ("one noise for all", "shared"), ("one record", "one"))
    }
    curves = tuple(
        curve
        for name in ("DPAda_Swing", "DPAda_Improved")
        for curve in curves_of(
            FEWER,
            {
                **{label: (system, {**own, "schedule": SCHEDULES[name]}) for label, (system, own) in methods.items()},
                **MAJORITY,
                "AdaBoost": ("adaboost", {"n_estimators": 50}),
            },
            DATA,
            panel=f"{name}, {{task}}",
            forms=("published",),
        )
    )
    return Experiment(
        name="dpada/ties",
        title="Three readings of ties",
        settings=f"m = 50 rounds, four of the paper's eight budgets (the two other readings stand in fig2 to fig6-one). {SPLIT}",
        axis=FEWER,
        curves=curves,
        claims=tuple(
            PaperClaim("", f"{label}: more than {VERY_LOW} below AdaBoost", above("AdaBoost", [label], by=VERY_LOW))
            for label in methods
        ),
        notes=(TIES,),
    )


def _fnlwgt() -> Experiment:
    axis = Axis("n_estimators", "rounds m", AGAINST_ALL, (50, 90))
    methods: Methods = {"AdaBoost": ("adaboost", {}), "DPAda_Improved": ("dpada", {"schedule": "improved"})}
    curves = tuple(
        curve
        for task, words in (("adult-us", ""), ("adult-us-fnlwgt", " with fnlwgt"))
        for curve in curves_of(
            axis,
            {f"{label}{words}": method for label, method in methods.items()},
            [task],
            panel="Adult, born in the US",
        )
    )
    return Experiment(
        name="dpada/fnlwgt",
        title="Adult with fnlwgt and without",
        settings=f"Epsilon 1. {SPLIT}",
        axis=axis,
        curves=curves,
        claims=(
            PaperClaim(
                "4.1",
                "the feature fnlwgt is of no help (AdaBoost with it and without differs by .005 at most)",
                same("AdaBoost", "AdaBoost with fnlwgt", 0.005),
            ),
            PaperClaim(
                "",
                "nor for DPAda_Improved (within .02)",
                same("DPAda_Improved", "DPAda_Improved with fnlwgt", 0.02),
            ),
        ),
    )


def _of_figures(reading: Reading) -> tuple[Experiment, ...]:
    return (
        _by_rounds(2, "adult-us", reading),
        _by_rounds(3, "bank", reading),
        *(_against_all(4 + place, rounds, reading) for place, rounds in enumerate(AGAINST_ALL)),
        *(_over_rounds(task, reading) for task in DATA),
    )


EXPERIMENTS = (*FACTS, *_of_figures(EACH), *_of_figures(ONE), _algorithm3(), _ties(), _fnlwgt(), cost(SCHEDULES))
