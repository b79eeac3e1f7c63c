"""The figures of DPAda: Zhang, Dong, Xu and Wang, Journal on Communications, 2023, section 4."""

from __future__ import annotations

from hedgerow.reproduce.claims import Pick, above, above_majority, closest, compared, difference, rises
from hedgerow.reproduce.experiment import (
    MAJORITY,
    Axis,
    Check,
    Experiment,
    Form,
    Measured,
    Methods,
    PaperClaim,
    Verdict,
    curves_of,
)
from hedgerow.reproduce.tasks import TASKS

__all__ = ["EXPERIMENTS", "SUMMARY", "SYSTEMS"]

SYSTEMS = ("dpada", "dp-adaboost", "cart-dps-adaboost")
SUMMARY = (
    "As printed: all four variants are far below the majority rule on both sets, at every budget and number of rounds, and "
    "jump about between runs. Nothing of the paper's figures is met, in which they lie close to AdaBoost. DP-AdaBoost and "
    "CART-DPsAdaBoost as printed do better, but they read raw records too.",
    "The private form keeps the paper's idea and its order makes sense: all four are near AdaBoost from epsilon 1 on, and at "
    "epsilon .1, where noise counts, the schedules with fewer paid rounds are ahead of those with more.",
    "Whether Improved is the best and closest to AdaBoost depends on the budget: at .1 it is ahead or among the first, at 1 "
    "and 5 the methods are within a hundredth or two of each other.",
    "What the printed form's privacy is worth: nothing at any epsilon. The first round has no noise, and its vote alone tells "
    "data sets with and without one record apart for certain.",
)
ROUNDS = (30, 50, 70, 90, 100)
BUDGET = Axis("epsilon", "epsilon", (0.1, 1.0, 5.0), (0.1, 5.0), log=True)
SCHEDULES = {"DPAda_Swing": "swing", "DPAda_Random": "random", "DPAda_Improved": "improved"}
OURS = (*SCHEDULES, "DPAda")
PROTOCOL = (
    "Adult: born in the US, without fnlwgt, its own test file; Bank Marketing: 70/30 by a fixed permutation. Three of "
    "the paper's eight budgets. The split is fixed; only the noise differs between runs (the paper averages 50)."
)
TIES = (
    "The paper is silent about records that tie for the largest or the least weight, nearly all after one round. Here "
    "each gets noise of its own; with a single one of them the published form is better and still unsteady "
    "(docs/accuracy.md)."
)
HOW = (
    "As printed, noise of scale (m / B)(1 - 1/(N max w)), 16 and more at B = 1 and m = 30, goes onto weights of about 1e-4: "
    "much of the weights is noise after one noisy round, and the next stumps fit it. Reading the text literally, its curves "
    "close to AdaBoost cannot be had."
)
PRIVATE = (
    "The private form keeps the schedules: a round that is not paid for reads nothing and adds nothing, so Improved is "
    "boosting with about a quarter of the rounds, each with four times the budget: more signal in each, and fewer of them."
)


def _by_rounds(name: str, task: str) -> Experiment:
    curves = tuple(
        curve
        for label, schedule in SCHEDULES.items()
        for rounds in ROUNDS
        for curve in curves_of(
            BUDGET,
            {f"m = {rounds}": ("dpada", {"schedule": schedule, "n_estimators": rounds})},
            [task],
            panel=label,
        )
    )
    rules = tuple(curve for label in SCHEDULES for curve in curves_of(BUDGET, MAJORITY, [task], panel=label))
    return Experiment(
        name=name,
        title=f"Three schedules on {TASKS[task].title}",
        settings=f"m = 30, 50, 70, 90 and 100 rounds. {PROTOCOL}",
        axis=BUDGET,
        curves=curves + rules,
        claims=(
            *(
                PaperClaim(
                    "", f"{label} rises with epsilon (m = {rounds})", rises(f"m = {rounds}", panels=_named(label))
                )
                for label in ("DPAda_Swing", "DPAda_Improved")
                for rounds in (30, 100)
            ),
            *(
                PaperClaim(
                    "",
                    f"{label} is above the majority rule (ours, m = 50)",
                    above_majority("m = 50", panels=_named(label)),
                )
                for label in SCHEDULES
            ),
        ),
        notes=(TIES, HOW, PRIVATE),
    )


def _named(name: str) -> Pick:
    """Return the rule that picks the panels of a name."""
    return lambda panel: panel.name == name


def _against_all(name: str, rounds: int) -> Experiment:
    methods: Methods = {
        "AdaBoost": ("adaboost", {}),
        **{label: ("dpada", {"schedule": schedule}) for label, schedule in SCHEDULES.items()},
        "DPAda": ("dpada", {"schedule": "all"}),
        "DP-AdaBoost": ("dp-adaboost", {}),
        "CART-DPsAdaBoost": ("cart-dps-adaboost", {"max_depth": 2}),
    }
    private = [label for label in methods if label != "AdaBoost"]
    rivals = [label for label in private if label != "DPAda_Improved"]
    return Experiment(
        name=name,
        title=f"Seven methods at m = {rounds}",
        settings=(
            f"m = {rounds} rounds. {PROTOCOL} AdaBoost is scikit-learn's on stumps, without privacy. The paper does not "
            "give CART-DPsAdaBoost's depth; 2 tests on a path here."
        ),
        axis=BUDGET,
        curves=curves_of(BUDGET, {**methods, **MAJORITY}, ("adult-us", "bank"), fixed={"n_estimators": rounds}),
        claims=(
            PaperClaim("", "DPAda_Improved is closest to AdaBoost", closest("DPAda_Improved", rivals, "AdaBoost")),
            PaperClaim("", "DPAda_Improved is above the other private methods", above("DPAda_Improved", rivals)),
            PaperClaim("", "DPAda is below its three relatives", _below("DPAda", list(SCHEDULES))),
            *(PaperClaim("", f"{label} rises with epsilon", rises(label)) for label in rivals if label not in OURS),
            PaperClaim("", "DPAda_Improved is above the majority rule (ours)", above_majority("DPAda_Improved")),
        ),
        notes=(TIES, HOW, PRIVATE),
    )


def _below(label: str, others: list[str]) -> Check:
    """Return the check that one method is below each of the others everywhere."""

    def check(results: Measured, form: Form) -> Verdict:
        gaps = [
            difference(there, here)
            for panel in results.experiment.panels
            for x in results.experiment.axis.values
            for here in [results.cell(panel, label, form, x)]
            for there in (results.cell(panel, other, form, x) for other in others)
            if here is not None and there is not None
        ]
        verdict = compared(gaps)
        return Verdict(verdict.answer, f"its relatives are {verdict.words}" if verdict.words else "")

    return check


EXPERIMENTS = (
    _by_rounds("dpada/fig2", "adult-us"),
    _by_rounds("dpada/fig3", "bank"),
    _against_all("dpada/fig4", 50),
    _against_all("dpada/fig5", 70),
    _against_all("dpada/fig6", 90),
)
