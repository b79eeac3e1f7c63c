"""An experiment as data: what is fitted where, what a paper prints of it, and what the paper says of it in words."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

from hedgerow.reproduce.fits import BASELINES, Fit, Setting
from hedgerow.reproduce.tasks import CODED_DATA, TASKS

Form = Literal["published", "private", "coded"]
Answer = Literal["holds", "does not", "cannot be told", "not measured"]
ANSWERS: tuple[Answer, ...] = ("holds", "does not", "cannot be told")
FORMS: Mapping[Form, str] = {"published": "as printed", "private": "private form", "coded": "as its authors coded it"}
QUICK_RECORDS = 4000

Methods = Mapping[str, tuple[str, Mapping[str, Setting]]]  # label to system and settings
MAJORITY: Methods = {"majority rule": ("majority", {})}


@dataclass(frozen=True)
class Axis:
    """What is swept: the parameter's name, the values, which of them a quick run keeps, and the words under the axis.

    ``parameter`` is ``"epsilon"``, ``"records"`` or a setting of the systems; ``shift`` is what has to be added to a value to
    give the parameter.
    """

    parameter: str
    words: str
    values: tuple[float, ...]
    quick: tuple[float, ...]
    log: bool = False
    shift: int = 0


@dataclass(frozen=True)
class Panel:
    """One set of axes: a title, and the measure on its y axis."""

    name: str
    measure: str = "accuracy"


@dataclass(frozen=True)
class Curve:
    """One line of a panel: its label, whose form it is (None: it is drawn beside every form), and the fit at each x.

    ``own_measure`` is what it shows where that is not the panel's measure, as the accuracy in training beside that in testing.
    """

    panel: Panel
    label: str
    form: Form | None
    points: tuple[tuple[float, Fit], ...]
    own_measure: str | None = None

    @property
    def measure(self) -> str:
        """What the curve shows."""
        return self.own_measure or self.panel.measure


@dataclass(frozen=True)
class Reported:
    """One number that a paper prints."""

    panel: Panel
    label: str
    x: float
    value: float


@dataclass(frozen=True)
class Cell:
    """The runs of one point; ``certain`` if every run gives the same."""

    values: tuple[float, ...]
    certain: bool = False

    @property
    def mean(self) -> float:
        """Their mean."""
        return statistics.fmean(self.values)

    @property
    def spread(self) -> float:
        """Their standard deviation; 0 of a single run."""
        return statistics.stdev(self.values) if len(self.values) > 1 else 0.0

    @property
    def error(self) -> float:
        """The standard error of their mean; infinite of a single run that another would differ from."""
        if self.certain:
            return 0.0
        return self.spread / math.sqrt(len(self.values)) if len(self.values) > 1 else math.inf

    @property
    def freedom(self) -> float:
        """The degrees of freedom of the standard error."""
        return math.inf if self.certain else len(self.values) - 1


class Measured(Protocol):
    """What a claim is checked against; ``hedgerow.reproduce.results.Results`` is it."""

    @property
    def experiment(self) -> Experiment:
        """The experiment that was run."""

    def cell(self, panel: Panel, label: str, form: Form, x: float) -> Cell | None:
        """Return the runs of a point; of a method without privacy, whatever the form."""


@dataclass(frozen=True)
class Verdict:
    """The answer to a claim, one of ``ANSWERS``, the figures that decide it, and more figures for who wants to know more."""

    answer: Answer
    words: str = ""
    details: str = ""

    def __str__(self) -> str:
        return f"{self.answer}: {self.words}" if self.words else self.answer


Check = Callable[[Measured, Form], Verdict]


@dataclass(frozen=True)
class PaperClaim:
    """A sentence of a paper in our own words, the section that it stands in, and what decides it for one form of the systems.

    A claim without a section is ours: a check that the paper does not make.
    """

    section: str
    text: str
    check: Check


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A figure or table of a paper.

    Parameters
    ----------
    name : str
        The paper and the figure, such as ``"edprf/fig9"``.
    title, settings : str
        What it shows, and with which settings, in the words of the page.
    axis : Axis
        What is swept.
    curves : tuple of Curve
        What is fitted and drawn.
    reported : tuple of Reported
        The paper's numbers.
    claims : tuple of PaperClaim
        What the paper says of it.
    notes : tuple of str
        What does not follow from the numbers alone: readings, reasons.
    picture : callable or None
        Draws the figure where it is none of curves.
    reading : str
        What is read otherwise in the published form than in the experiment that makes the same claims; empty for a first reading.
    """

    name: str
    title: str
    settings: str
    axis: Axis
    curves: tuple[Curve, ...] = ()
    reported: tuple[Reported, ...] = ()
    claims: tuple[PaperClaim, ...] = ()
    notes: tuple[str, ...] = ()
    picture: Callable[[], Any] | None = field(default=None, compare=False)
    reading: str = ""

    @property
    def panels(self) -> tuple[Panel, ...]:
        """The panels, in the order in which they first come."""
        return tuple(dict.fromkeys(curve.panel for curve in self.curves))

    @property
    def forms(self) -> tuple[Form, ...]:
        """The forms that some curve has."""
        return tuple(form for form in FORMS if any(curve.form == form for curve in self.curves))

    @property
    def tasks(self) -> tuple[str, ...]:
        """The data sets that are needed."""
        return tuple(dict.fromkeys(fit.data for curve in self.curves for _, fit in curve.points))

    def quickly(self) -> Experiment:
        """Return the experiment with fewer values on its axis and fewer records."""
        return replace(self, curves=tuple(_quick(curve, self.axis) for curve in self.curves))

    def fits(self, seeds: int, coded_seeds: int | None = None) -> Iterator[Fit]:
        """Yield every fit, each as many times as there are seeds unless it has no noise; authors' code may have its own."""
        for run in range(seeds):
            for curve in self.curves:
                if curve.form != "coded" or coded_seeds is None or run < coded_seeds:
                    yield from (fit.numbered(run) for _, fit in curve.points)


def _quick(curve: Curve, axis: Axis) -> Curve:
    points = tuple(
        (x, fit if 0 < fit.records < QUICK_RECORDS else replace(fit, records=QUICK_RECORDS))
        for x, fit in curve.points
        if x in axis.quick
    )
    return replace(curve, points=points)


def curves_of(
    axis: Axis,
    methods: Methods,
    tasks: Sequence[str],
    *,
    forms: Iterable[Form] = ("published", "private"),
    measures: Mapping[str, str] | None = None,
    panel: str = "{task}",
    fixed: Mapping[str, Setting] | None = None,
    epsilon: float = 1.0,
) -> tuple[Curve, ...]:
    """Return one curve per method, form, data set and measure.

    Parameters
    ----------
    axis : Axis
        What is swept.
    methods : mapping of label to (system, settings)
        What is compared. A setting of a method overrides one of ``fixed``, and the axis overrides both.
    tasks : sequence of str
        The data sets, each with a panel of its own.
    forms : iterable of Form
        The forms of each method; one without privacy has a single curve, beside all of them.
    measures : mapping of measure to words, optional
        One panel each; the accuracy if left out.
    panel : str
        The panels' name, in which ``{task}`` and ``{measure}`` stand for these.
    fixed, epsilon
        What all methods share.
    """
    curves = []
    for task in tasks:
        for measure, words in (measures or {"accuracy": "accuracy"}).items():
            place = Panel(panel.format(task=TASKS[task].title, measure=words), measure)
            for label, (system, settings) in methods.items():
                given = {**(fixed or {}), **settings}
                for form in (None,) if system in BASELINES else tuple(forms):
                    points = tuple((x, _fit(task, system, form, given, axis, x, epsilon)) for x in axis.values)
                    curves.append(Curve(place, label, form, points))
    return tuple(curves)


OWN_SETTINGS: Mapping[str, tuple[str, ...]] = {"adaboost": ("n_estimators",), "majority": ()}


def _fit(
    task: str, system: str, form: Form | None, given: Mapping[str, Setting], axis: Axis, x: float, epsilon: float
) -> Fit:
    settings, records = dict(given), 0
    if axis.parameter == "epsilon":
        epsilon = x
    elif axis.parameter == "records":
        records = int(x)
    elif axis.parameter == "features":
        task = f"{task}-{x:g}"
    elif axis.parameter:
        settings[axis.parameter] = int(x) + axis.shift
    if form is None:  # nothing but the size matters to what has no privacy
        settings = {name: value for name, value in settings.items() if name in OWN_SETTINGS[system]}
        return Fit(task, system, "none", 0.0, tuple(sorted(settings.items())), records)
    if form == "coded":
        coded = tuple(sorted({**settings, "as_coded": True}.items()))
        return Fit(CODED_DATA.get(task, task), system, "published", epsilon, coded, records)
    return Fit(task, system, form, epsilon, tuple(sorted(settings.items())), records)
