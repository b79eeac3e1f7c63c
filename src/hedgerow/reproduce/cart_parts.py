"""What the experiments of CART-DPsAdaBoost's paper share: sizes, axes, labels and words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from hedgerow.reproduce.cart_text import BEST_DEPTH
from hedgerow.reproduce.claims import Pick
from hedgerow.reproduce.experiment import FORMS, MAJORITY, NO_NOISE, Axis, Curve, Form, Methods, Panel, curves_of
from hedgerow.reproduce.fits import FALSE_RATES, Setting
from hedgerow.reproduce.tasks import TASKS

__all__ = [
    "BINS",
    "BUDGETS",
    "CODED",
    "DEPTH",
    "EPSILON",
    "EVEN",
    "FALSE",
    "FREE",
    "MEASURES",
    "NAME",
    "PANELS",
    "POSITIVE",
    "PROTOCOL",
    "RAW",
    "RECORDS",
    "TEN",
    "TOLERANCE",
    "TWO",
    "best_panel",
    "cart",
    "label_of",
    "only",
    "rules",
    "title_of",
    "without",
]

TWO: tuple[Form, ...] = ("published", "private")
NAME = "CART-DPsAdaBoost"
FREE = "without noise"
TOLERANCE = 0.02
TEN: Mapping[str, Setting] = {"n_estimators": 10, "subspace": 5}
MEASURES = {"precision": "precision", "recall": "recall", "f1": "F1"}
BUDGETS = (0.05, 0.1, 0.25, 0.5, 0.75, 1.0)
DEPTH = Axis("max_depth", "tree depth", (2, 3, 4, 5, 6), (2, 4, 5, 6))
EPSILON = Axis("epsilon", "epsilon", BUDGETS, (0.1, 1.0), log=True)
RECORDS = Axis("records", "records that train", (2, 5, 10, 20, 50, 100, 200, 400, 700, 1000), (2, 50, 400), log=True)
FALSE = Axis("", "share of false positives", FALSE_RATES, FALSE_RATES)
PANELS = {0.05: "epsilon .05 to .25", 0.5: "epsilon .5 to 1"}  # six lines do not fit into one

PROTOCOL = (
    "As printed and in private form all records of both files, T = 10 trees, k = 5 features at each node. As coded, at most ten "
    "trees, a cell that says ? filled from the record before, and of Census-Income 13 000 records of the larger class drawn with "
    "replacement beside all 12 382 of the smaller one. As printed and as coded, 30 % of the records to train on are kept for "
    "pruning. Only the noise and the samples differ between runs, and as coded the part that prunes."
)
POSITIVE = (
    "The paper does not say which class is positive, its code does: precision, recall and F1 are those of the larger class "
    "(<=50K), on the whole test file."
)
RAW = (
    "As printed, tests on categories are chosen by the exact Gini index, samples are drawn by exact weights and the trees' votes "
    "follow from exact errors; that is what reading raw records looks like, not a good use of the budget. Besides, "
    "each round's budget is epsilon / T - log(alpha) [inferred: alpha of the round before]: the second term, often 1 "
    "and more, does not depend on epsilon. Experiment budgets shows the run without it."
)
CODED = (
    "As coded is what four of the five scripts do that the authors made public, those that draw the figures and tables: CART "
    "trees without noise, by weighted Gini index over every midpoint, pruned by accuracy; votes by log10 of the unweighted "
    "error; and on each tree's answer of +1 or -1, for each test record, the mean of 100 Laplace draws of scale 1/epsilon. It "
    "protects nobody: trees, cuts and votes are raw and in the model. A fifth script has the noise in Gini "
    "indices: experiment noisy-gini."
)
BINS = (
    "The private form cuts numbers at ten public bins of equal width [our choice], where the paper cuts anywhere between the "
    "records' own numbers."
)
EVEN = (
    "The printed accuracy, precision and recall of Census-Income lie below a rule that reads nothing, since the code trains on "
    "classes drawn to about the same size, which the paper does not say; as printed, all records train."
)


def label_of(epsilon: float) -> str:
    """Return the label of an epsilon."""
    return f"epsilon = {epsilon:g}"


def title_of(task: str) -> str:
    """Return the title of a data set."""
    return TASKS[task].title


def cart(**settings: Setting) -> Methods:
    """Return the system alone, of the paper's size."""
    return {NAME: ("cart-dps-adaboost", {**TEN, **settings})}


def rules(axis: Axis, panels: Sequence[Panel]) -> Iterator[Curve]:
    """Yield the majority rule in panels of Adult and Census-Income, in this order."""
    for task, panel in zip(BEST_DEPTH, panels, strict=True):
        yield from curves_of(axis, MAJORITY, [task], panel=panel.name)


def without(curves: Iterable[Curve], forms: Sequence[Form] = tuple(FORMS)) -> Iterator[Curve]:
    """Yield the same curves with an epsilon so large that no noise is left: each form beside itself."""
    for curve in curves:
        if curve.form in forms:
            points = tuple((x, replace(fit, epsilon=NO_NOISE)) for x, fit in curve.points)
            yield replace(curve, label=FREE, points=points)


def only(panel: Panel) -> Pick:
    """Return the rule that picks one panel."""
    return lambda other: other == panel


def best_panel(task: str) -> str:
    """Return the name of the panel of a data set at the depth that the paper finds best."""
    return f"{title_of(task)}, depth {BEST_DEPTH[task]}"
