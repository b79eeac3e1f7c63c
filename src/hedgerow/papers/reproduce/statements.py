"""Papers as data: ``<paper>.toml`` holds what each says and prints, and how it is run; here that becomes experiments.

In a file ``{name}`` stands for a value of its ``[names]``, alone in a string for the value itself, and in an array ``{*name}``
for all items of one. A table with ``for`` is repeated for each of the tables in it, whose keys are names too, or for all choices
of one from each of several arrays; its ``item``, if it has one, stands for it. An experiment has

- ``curves``: arguments of ``curves_of``; a method is a table of its system and its settings; ``again`` repeats the curves with
  another label, ``measure`` or ``epsilon``; ``coded_measure`` is what the authors' code measures instead;
- ``reported``: the paper's numbers, of a panel, a label and a measure (``of``), ``values`` at each ``x``;
- ``claims``, the paper's sentences, and ``checks``, our own: each names the function that judges it, and its arguments. What
  needs no runs is ``computed``: the answer and its figures stand there, and tests/reproduce/facts.py computes them again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import product
from operator import or_
from typing import Any

from hedgerow.errors import ConfigurationError
from hedgerow.files import packaged_table
from hedgerow.papers.reproduce.drawing import PICTURES
from hedgerow.papers.reproduce.experiment import Axis, Curve, Experiment, Form, Panel, PaperClaim
from hedgerow.papers.reproduce.fits import BASELINES, CODED_DATA, TASKS, Fit, Setting
from hedgerow.papers.reproduce.judges import JUDGES

NAME = re.compile(r"\{(\*?)(\w+)\}")
LATER = ("task", "measure")  # names that `curves_of` fills in
NAMES = ("edprf", "cart-dps-adaboost", "dpada")
NOWHERE = Axis("", "", ())
OWN_SETTINGS: Mapping[str, tuple[str, ...]] = {"adaboost": ("n_estimators",), "majority": ()}


def read_paper(name: str) -> dict[str, Any]:
    tables = packaged_table("hedgerow.papers.reproduce", name)
    names: dict[str, Any] = {}
    for key, value in tables.pop("names").items():
        names[key] = expanded(value, names)
    return {key: expanded(value, names) for key, value in tables.items()}


def expanded(value: Any, names: Mapping[str, Any]) -> Any:
    """Return a value of a file with its names filled in; an unknown one is a KeyError."""
    if isinstance(value, dict):
        return {expanded(key, names): expanded(one, names) for key, one in value.items()}
    if isinstance(value, list):
        return [one for item in value for one in _items(item, names)]
    if not isinstance(value, str):
        return value
    whole = NAME.fullmatch(value)
    if whole and whole[2] not in LATER:
        return names[whole[2]]

    def text(part: re.Match[str]) -> str:
        one = part[0] if part[2] in LATER else names[part[2]]
        return f"{one:g}" if isinstance(one, float) else str(one)

    return NAME.sub(text, value)


def _items(item: Any, names: Mapping[str, Any]) -> Iterator[Any]:
    if isinstance(item, str) and item.startswith("{*"):
        yield from expanded(item, names)
    elif isinstance(item, dict) and "for" in item:
        rest = {key: value for key, value in item.items() if key != "for"}
        rows = expanded(item["for"], names)
        for chosen in product(*rows) if rows and isinstance(rows[0], list) else zip(rows):
            one = expanded(rest, reduce(or_, chosen, dict(names)))
            yield one.get("item", one)
    else:
        yield expanded(item, names)


def experiments_of(paper: str, tables: Mapping[str, Any]) -> Iterator[Experiment]:
    axes = {name: Axis(**{key: _frozen(value) for key, value in axis.items()}) for name, axis in tables["axes"].items()}
    for table in tables["experiments"]:
        axis = axes[table["axis"]] if "axis" in table else NOWHERE
        claims = [{"section": table.get("section", ""), **claim} for claim in table.get("claims", ())]
        claims += [{"section": "", **check} for check in table.get("checks", ())]
        yield Experiment(
            name=f"{paper}/{table['name']}",
            title=table["title"],
            settings=table["settings"],
            axis=axis,
            curves=tuple(curve for group in table.get("curves", ()) for curve in _curves(axis, **group)),
            reported={
                (Panel(group["panel"], group.get("of", "accuracy")), group["label"], x): value
                for group in table.get("reported", ())
                for x, value in zip(group["x"], group["values"], strict=True)
            },
            claims=tuple(
                PaperClaim(one.pop("section"), one.pop("text"), JUDGES[one.pop("check")](**one)) for one in claims
            ),
            notes=tuple(table.get("notes", ())),
            picture=PICTURES.get(table.get("picture", "")),
            reading=table.get("reading", ""),
        )


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _curves(
    axis: Axis,
    methods: Any,
    data: Sequence[str],
    again: Sequence[Mapping[str, Any]] = (),
    coded_measure: str | None = None,
    **arguments: Any,
) -> Iterator[Curve]:
    tables: Sequence[Mapping[str, Any]] = [methods] if isinstance(methods, Mapping) else methods
    named = {label: method for table in tables for label, method in table.items()}
    curves = [
        replace(one, own_measure=coded_measure) if one.form == "coded" else one
        for one in curves_of(axis, named, data, **arguments)
    ]
    yield from curves
    for other, curve in product(again, curves):
        if curve.form is not None and other.get("only") in (None, curve.label):
            points = curve.points
            if "epsilon" in other:
                points = tuple((x, replace(fit, epsilon=other["epsilon"])) for x, fit in points)
            measure = other.get("measure", curve.own_measure)
            yield replace(curve, label=other["label"], own_measure=measure, points=points)


def curves_of(
    axis: Axis,
    methods: Mapping[str, Mapping[str, Setting]],
    tasks: Sequence[str],
    *,
    forms: Iterable[Form] = ("published", "private"),
    measures: Mapping[str, str] | None = None,
    panel: str = "{task}",
    fixed: Mapping[str, Setting] | None = None,
    epsilon: float = 1.0,
) -> Iterator[Curve]:
    """Yield one curve per method (a label, its system and settings), form, data set and measure.

    One without privacy has a single curve, beside all forms. A setting of a method overrides one of ``fixed``, and the axis
    overrides both. Each data set and each of ``measures``, a measure and its words, has a panel of its own; its name is
    ``panel``, in which ``{task}`` and ``{measure}`` stand for these.
    """
    for task in tasks:
        for measure, words in (measures or {"accuracy": "accuracy"}).items():
            place = Panel(panel.format(task=TASKS[task].title, measure=words), measure)
            for label, method in methods.items():
                system = str(method["system"])
                given = {key: value for key, value in {**(fixed or {}), **method}.items() if key != "system"}
                for form in (None,) if system in BASELINES else tuple(forms):
                    points = tuple((x, _fit(task, system, form, given, axis, x, epsilon)) for x in axis.values)
                    yield Curve(place, label, form, points)


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
        epsilon = 0.0
    elif form == "coded":
        task, settings["as_coded"] = CODED_DATA.get(task, task), True
    variant = {None: "none", "coded": "published"}.get(form, form)
    return Fit(task, system, str(variant), epsilon, tuple(sorted(settings.items())), records)


@dataclass(frozen=True)
class Paper:
    """A paper: its short name, its reference, its experiments and runs, and sentences whose figures a full run fills in.

    ``runs`` is how often the paper repeats what it averages; 10 where it does not say, or says less. ``coded_runs`` is how often
    its authors' code does.
    """

    name: str
    title: str
    reference: str
    experiments: tuple[Experiment, ...]
    headlines: tuple[Mapping[str, Any], ...] = ()
    runs: int = 10
    coded_runs: int = 10

    @property
    def measures(self) -> Mapping[str, frozenset[str]]:
        measures: dict[str, set[str]] = {}
        for experiment in self.experiments:
            for curve in experiment.curves:
                for _, fit in curve.points:
                    measures.setdefault(fit.data, set()).add(curve.measure)
        return {data: frozenset(names) for data, names in measures.items()}


def _paper(name: str) -> Paper:
    tables = read_paper(name)
    given = {key: _frozen(value) for key, value in tables.items() if key not in ("axes", "experiments")}
    return Paper(name=name, experiments=tuple(experiments_of(name, tables)), **given)


PAPERS = tuple(map(_paper, NAMES))


def short_name(experiment: str) -> str:
    return experiment.partition("/")[2]


def experiments_named(names: Iterable[str]) -> tuple[Experiment, ...]:
    """Return the experiments of these names; a paper's name stands for all of its own, ``"all"`` for every one."""
    everything = [experiment for paper in PAPERS for experiment in paper.experiments]
    known = {"all": everything, **{paper.name: paper.experiments for paper in PAPERS}}
    known |= {experiment.name: (experiment,) for experiment in everything}
    chosen: list[Experiment] = []
    for name in names:
        if name not in known:
            raise ConfigurationError(
                f"{name!r} is no experiment. `hedgerow reproduce list` shows them; a paper's name ({', '.join(NAMES)}) "
                "stands for all of its own, and 'all' for every one."
            )
        chosen += known[name]
    return tuple(dict.fromkeys(chosen))
