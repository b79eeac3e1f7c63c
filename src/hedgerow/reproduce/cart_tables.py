"""ROC curves, tables and times of CART-DPsAdaBoost's paper, and two runs of ours that take an inference away."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from hedgerow.reproduce import cart_claims as own
from hedgerow.reproduce.cart_parts import (
    BUDGETS,
    CODED,
    DEPTH,
    EPSILON,
    EVEN,
    FALSE,
    MEASURES,
    NAME,
    POSITIVE,
    PROTOCOL,
    RAW,
    TEN,
    TOLERANCE,
    TWO,
    best_panel,
    cart,
    label_of,
    only,
    title_of,
    without,
)
from hedgerow.reproduce.cart_text import BEST_DEPTH, TABLE_3
from hedgerow.reproduce.claims import above, near_reported
from hedgerow.reproduce.experiment import (
    FORMS,
    MAJORITY,
    Curve,
    Experiment,
    Form,
    Methods,
    Panel,
    PaperClaim,
    Reported,
    curves_of,
)
from hedgerow.reproduce.fits import FALSE_RATES
from hedgerow.reproduce.tasks import load_split

__all__ = ["TABLES"]

TABLE_4: Mapping[str, tuple[float, ...]] = {  # at BUDGETS
    "adult": (0.64267, 0.73323, 0.74343, 0.82035, 0.87207, 0.87240),
    "census": (0.68524, 0.89724, 0.90804, 0.91011, 0.91414, 0.91441),
}

EQUAL = "epsilon / T for each round"


def _roc() -> Experiment:
    drawn = (0.1, 0.5, 1.0)
    curves = [
        Curve(curve.panel, label_of(x), curve.form, tuple((rate, fit) for rate in FALSE_RATES))
        for task, depth in BEST_DEPTH.items()
        for curve in curves_of(
            EPSILON, cart(max_depth=depth), [task], forms=FORMS, measures={"roc": ""}, panel=best_panel(task)
        )
        for x, fit in curve.points
        if x in drawn
    ]
    panels = {task: Panel(best_panel(task), "roc") for task in BEST_DEPTH}
    return Experiment(
        name="cart-dps-adaboost/fig5ab",
        title="ROC curves",
        settings=(
            f"Adult at depth 4, Census-Income at depth 5, epsilon {', '.join(f'{x:g}' for x in drawn)}. {PROTOCOL} Positive is "
            "the smaller class; the area does not depend on it."
        ),
        axis=FALSE,
        curves=tuple(curves),
        claims=tuple(
            PaperClaim(
                "",
                f"{title_of(task)}: the curve at epsilon 1 is above that at .1",
                above(label_of(1.0), [label_of(0.1)], panels=only(panels[task])),
            )
            for task in BEST_DEPTH
        ),
        notes=(RAW, CODED),
    )


def _table3() -> Experiment:
    def numbers(task: str) -> Callable[[Panel], bool]:
        return lambda panel: panel.name.startswith(f"{title_of(task)},")

    curves = [
        curve
        for task, depth in BEST_DEPTH.items()
        for curve in curves_of(
            EPSILON, cart(max_depth=depth), [task], forms=FORMS, measures=MEASURES, panel="{task}, {measure}"
        )
    ]

    return Experiment(
        name="cart-dps-adaboost/table3",
        title="Precision, recall and F1",
        settings=f"Adult at depth 4, Census-Income at depth 5. {PROTOCOL}",
        axis=EPSILON,
        curves=(*curves, *without(curves)),
        reported=tuple(
            Reported(Panel(f"{title_of(task)}, {words}", measure), NAME, epsilon, values[place])
            for task in BEST_DEPTH
            for place, (measure, words) in enumerate(MEASURES.items())
            for epsilon, values in TABLE_3[task].items()
        ),
        claims=tuple(
            PaperClaim(
                "4.2.1, table 3",
                f"{title_of(task)}: the 15 printed numbers (within .02)",
                near_reported(TOLERANCE, panels=numbers(task)),
            )
            for task in BEST_DEPTH
        ),
        notes=(POSITIVE, EVEN, CODED),
    )


def _area_curves(task: str, depth: int, title: str, forms: Sequence[Form] = tuple(FORMS)) -> Sequence[Curve]:
    curves = curves_of(EPSILON, cart(max_depth=depth), [task], forms=forms, measures={"auc": ""}, panel=title)
    return [replace(curve, own_measure="auc40") if curve.form == "coded" else curve for curve in curves]


def _table4() -> Experiment:
    adult, census = (Panel(title_of(task), "auc") for task in BEST_DEPTH)
    curves = [curve for task, depth in BEST_DEPTH.items() for curve in _area_curves(task, depth, "{task}")]
    # Census-Income once more in Adult's panel, so that both can be compared.
    moved = [replace(curve, panel=adult, label=title_of("census")) for curve in curves if curve.panel == census]
    return Experiment(
        name="cart-dps-adaboost/table4",
        title="ROC AUC",
        settings=f"Adult at depth 4, Census-Income at depth 5. {PROTOCOL}",
        axis=EPSILON,
        curves=(*curves, *without(curves), *moved),
        reported=tuple(
            Reported(Panel(title_of(task), "auc"), NAME, epsilon, value)
            for task in BEST_DEPTH
            for epsilon, value in zip(BUDGETS, TABLE_4[task], strict=True)
        ),
        claims=(
            *(
                PaperClaim(
                    "4.2.1, table 4",
                    f"{panel.name}: the six printed numbers (within .02)",
                    near_reported(TOLERANCE, panels=only(panel)),
                )
                for panel in (adult, census)
            ),
            PaperClaim(
                "4.2.1, figure 5ab, table 4", "AUC rises with epsilon", own.rise([(adult, NAME), (census, NAME)])
            ),
            PaperClaim(
                "4.2.1, figure 5a",
                "Adult: from epsilon .1 to .5 AUC moves much (by more than .05)",
                own.moves((adult, NAME), 0.1, 0.5, 0.05),
            ),
            PaperClaim(
                "4.2.1, figure 5b",
                "AUC is better on Census-Income than on Adult, at every epsilon",
                above(title_of("census"), [NAME], panels=only(adult)),
            ),
        ),
        notes=(
            RAW,
            CODED,
            "As coded, the area is that of the code: by trapezoids between 40 thresholds from -1 to 1 on the noisy weighted sum.",
        ),
    )


def _time() -> Experiment:
    panels = {task: Panel(title_of(task), "seconds") for task in BEST_DEPTH}
    return Experiment(
        name="cart-dps-adaboost/time",
        title="Seconds of a fit",
        settings=f"Epsilon 1, all records, the machine's own seconds; fits of figure 2. {PROTOCOL}",
        axis=DEPTH,
        curves=curves_of(
            DEPTH, {NAME: ("cart-dps-adaboost", TEN)}, tuple(BEST_DEPTH), forms=TWO, measures={"seconds": ""}
        ),
        claims=(
            PaperClaim(
                "4.2 (3)",
                "time is used better on the large set of many features: less for a record of Census-Income than of Adult",
                own.quicker(
                    [((panels["census"], NAME), (panels["adult"], NAME))],
                    {title_of(task): partial(_records, task) for task in BEST_DEPTH},
                ),
            ),
        ),
        notes=("Two fits may run at once, and the first one also compiles: medians decide.",),
    )


def _records(task: str) -> int:
    return len(load_split(task).y_train)


def _budgets() -> Experiment:
    methods: Methods = {
        **cart(),
        EQUAL: ("cart-equal-rounds", {**TEN}),
    }
    curves = [
        curve
        for task, depth in BEST_DEPTH.items()
        for curve in curves_of(
            EPSILON,
            methods,
            [task],
            forms=("published",),
            measures={"auc": ""},
            panel=best_panel(task),
            fixed={"max_depth": depth},
        )
    ]
    private = [
        curve for task in BEST_DEPTH for curve in _area_curves(task, BEST_DEPTH[task], best_panel(task), ["private"])
    ]
    return Experiment(
        name="cart-dps-adaboost/budgets",
        title="The printed budgets without log(alpha)",
        settings=f"Ours: as printed, but each round has epsilon / T. {PROTOCOL}",
        axis=EPSILON,
        curves=(*curves, *private),
        claims=(
            PaperClaim(
                "",
                "with epsilon / T alone AUC rises with epsilon",
                own.rise([(Panel(best_panel(task), "auc"), EQUAL) for task in BEST_DEPTH]),
            ),
            PaperClaim("", "the budget as printed gives the larger AUC", above(NAME, [EQUAL])),
        ),
        notes=("The private form, beside it, has equal rounds already.",),
    )


def _noisy_gini() -> Experiment:
    """Return the experiment on the authors' fifth script."""
    noisy = {**TEN, "as_coded": True, "coded_noise": "gini"}
    methods: Methods = {NAME: ("cart-dps-adaboost", noisy)}
    panel = Panel(f"{title_of('adult')}, epsilon 1")
    return Experiment(
        name="cart-dps-adaboost/noisy-gini",
        title="The authors' fifth script: noise in Gini indices",
        settings="Ours: Adult, epsilon 1. Every sum of weights of every test gets noise, and so does each count of a label.",
        axis=DEPTH,
        curves=(
            *curves_of(DEPTH, methods, ["adult"], forms=("published",), panel=panel.name),
            *curves_of(DEPTH, MAJORITY, ["adult"], panel=panel.name),
        ),
        claims=(
            PaperClaim("", "accuracy rises with depth", own.rise([(panel, NAME)])),
            PaperClaim("", "above the majority rule", above(NAME, list(MAJORITY))),
        ),
        notes=("No figure of the paper is drawn by it. Its weights become as small as 1 / n, far below the noise.",),
    )


SHARES = "noise on weighted shares"


def _shares() -> Experiment:
    methods: Methods = {**cart(), SHARES: ("cart-shares", {**TEN})}
    curves = _at_best_depth(methods, {"auc": "ROC AUC", "accuracy": "accuracy"})
    places = [(Panel(f"{best_panel(task)}, ROC AUC", "auc"), SHARES) for task in BEST_DEPTH]
    return Experiment(
        name="cart-dps-adaboost/shares",
        title="Another reading of the sensitivity: the largest weight of weighted shares",
        settings=f"Ours: as printed, but noise of scale max w / epsilon' goes onto a leaf's weighted shares. {PROTOCOL}",
        axis=EPSILON,
        curves=curves,
        claims=(
            PaperClaim("", "with noise on shares AUC rises with epsilon", own.rise(places)),
            PaperClaim(
                "", "noise on counts gives the larger AUC", above(NAME, [SHARES], panels=lambda p: p.measure == "auc")
            ),
        ),
        notes=(
            "The paper calls the largest weight the sensitivity of a count. A count changes by 1 and more with a record; what "
            "changes by a weight is a sum of weights. Read so, a record of a sample of n counts 1 / n, and the noise is no "
            "longer far below one record.",
        ),
    )


NEITHER = "neither sampled"


def _ablation() -> Experiment:
    every = 100_000  # features: all that there are
    methods: Methods = {
        **cart(),
        "records not sampled": ("cart-unsampled", {**TEN}),
        "features not sampled": ("cart-dps-adaboost", {**TEN, "subspace": every}),
        NEITHER: ("cart-unsampled", {**TEN, "subspace": every}),
    }
    return Experiment(
        name="cart-dps-adaboost/ablation",
        title="Sampling of records and of features, one without the other",
        settings=f"As printed only. Where records are not sampled all grow each tree, so that weights reach none. {PROTOCOL}",
        axis=EPSILON,
        curves=_at_best_depth(methods, {"accuracy": "accuracy", "auc": "ROC AUC"}),
        claims=tuple(
            PaperClaim(
                "1, contribution 1; 2.2",
                f"sampling records and features together gives the better {words} (than neither, at every epsilon)",
                above(NAME, [NEITHER], panels=_of_measure(measure)),
            )
            for measure, words in (("accuracy", "accuracy"), ("auc", "ROC AUC"))
        ),
        notes=("The paper says that both make base classifiers different and thereby better; it runs no ablation.",),
    )


def _of_measure(measure: str) -> Callable[[Panel], bool]:
    return lambda panel: panel.measure == measure


def _at_best_depth(methods: Methods, measures: Mapping[str, str]) -> tuple[Curve, ...]:
    """Return curves as printed, each set at the depth that the paper finds best."""
    return tuple(
        curve
        for task, depth in BEST_DEPTH.items()
        for curve in curves_of(
            EPSILON,
            methods,
            [task],
            forms=("published",),
            measures=measures,
            panel=f"{best_panel(task)}, {{measure}}",
            fixed={"max_depth": depth},
        )
    )


TABLES = (_roc(), _table3(), _table4(), _time(), _budgets(), _shares(), _ablation(), _noisy_gini())
