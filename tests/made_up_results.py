"""Results of a made-up experiment, for claims to be checked against."""

from hedgerow.papers.reproduce.experiment import Axis, Curve, Experiment, Panel, Results
from hedgerow.papers.reproduce.fits import Fit

PANEL = Panel("data")
AXIS = Axis("epsilon", "epsilon", (0.1, 0.5, 1.0))
NOISE = 0.01
SIGNS = ((-1, 1, -1, 1), (1, 1, -1, -1), (1, -1, -1, 1))


def results(values, *, reported=(), seeds=4, panel=PANEL, noise=NOISE):
    """Results in which a method's runs at each x lie around the number given; AdaBoost and the majority rule have no noise.

    Four runs at ``mean ± noise``, in one of three patterns that do not go together, have the standard error noise / sqrt(3), and
    two such means differ clearly from 3.18 times sqrt(2 / 3) noise on: at .01, from .026 on.
    """
    curves, rows = [], {}
    for number, (label, means) in enumerate(values.items()):
        system = {"majority rule": "majority", "AdaBoost": "adaboost"}.get(label, label)
        form = None if system in ("majority", "adaboost") else "published"
        points = []
        for place, (x, mean) in enumerate(zip(AXIS.values, means, strict=True)):
            fit = Fit("d", system, form or "none", x, (("panel", panel.name),))
            points.append((x, fit))
            for run in range(4):
                value = mean if form is None else mean + noise * SIGNS[(number + place) % 3][run]
                rows[fit.numbered(run).key] = {panel.measure: str(value)}
        curves.append(Curve(panel, label, form, tuple(points)))
    experiment = Experiment(name="p/f", title="", settings="", axis=AXIS, curves=tuple(curves), reported=dict(reported))
    return Results(experiment, rows, seeds)
