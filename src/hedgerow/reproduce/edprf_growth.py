"""How the time of eDPRF's tree and of the traditional one grows with features and with records: section 5.1, table 2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hedgerow.reproduce.edprf_claims import grows
from hedgerow.reproduce.experiment import Axis, Curve, Experiment, Form, Panel, PaperClaim
from hedgerow.reproduce.fits import Fit
from hedgerow.reproduce.tasks import MADE_UP

__all__ = ["GROWTH"]

STUMP: Mapping[str, str] = {"pfDPDT": "pfdpdt", "tradition": "tradition"}
BOTH: tuple[Form, ...] = ("published", "private")


def _timed(axis: Axis, data: Sequence[str], records: Sequence[int]) -> tuple[Curve, ...]:
    """Return the seconds of trees with one test, at each place of an axis on records of its own."""
    panel = Panel("one tree with one test", "seconds")
    places = tuple(zip(axis.values, data, records, strict=True))
    return tuple(
        Curve(
            panel,
            label,
            form,
            tuple((x, Fit(name, system, form, 1.0, (("max_depth", 1),), n)) for x, name, n in places),
        )
        for label, system in STUMP.items()
        for form in BOTH
    )


def _growth_features() -> Experiment:
    axis = Axis("features", "features", MADE_UP, (MADE_UP[0], MADE_UP[-1]), log=True)
    return Experiment(
        name="edprf/growth-features",
        title="Time against the number of features",
        settings="Whole fits of trees with one test, 4000 made-up records; seconds beside other work, their medians count.",
        axis=axis,
        curves=_timed(axis, [f"made-up-{n}" for n in MADE_UP], [0] * len(MADE_UP)),
        claims=tuple(
            PaperClaim(
                "5.1, table 2",
                f"the split of {label} is linear in the number of features: exponent 1 within .25",
                grows(label, 1.0, 0.25),
            )
            for label in STUMP
        ),
        notes=(
            "All rivals build the tree called tradition, so that one tree stands for the three. A fit also checks and bins "
            "records, and has costs that do not grow, which press the exponent down.",
        ),
    )


def _growth_records() -> Experiment:
    axis = Axis("records", "records", (1000, 4000, 16_000, 64_000), (1000, 4000), log=True)
    records = [int(x) for x in axis.values]
    return Experiment(
        name="edprf/growth-records",
        title="Time against the number of records",
        settings="Whole fits of trees with one test, 8 made-up features; seconds beside other work, their medians count.",
        axis=axis,
        curves=_timed(axis, ["made-up"] * len(records), records),
        claims=tuple(
            PaperClaim(
                "5.1",
                f"the time of {label} does not depend on the size of the data set: exponent 0 within .1",
                grows(label, 0.0, 0.1),
            )
            for label in STUMP
        ),
        notes=(
            "Equation 11 counts the records of a node by value and label, so a score cannot be had without reading them all; "
            "what does not depend on their number is what comes after the counts.",
        ),
    )


GROWTH = (_growth_features(), _growth_records())
