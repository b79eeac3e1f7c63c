"""Papers as data: ``papers/*.toml`` holds what each says and prints, and how it is run; here that becomes experiments.

In a file ``{name}`` stands for a value of its ``[names]``, alone in a string for the value itself, and in an array ``{*name}``
for all items of one. A table with ``for`` is repeated for each of the tables in it, whose keys are names too, or for all choices
of one from each of several arrays; its ``item``, if it has one, stands for it. An experiment has

- ``curves``: arguments of ``curves_of``; a method is a table of its system and its settings; ``again`` repeats the curves with
  another label, ``measure`` or ``epsilon``; ``coded_measure`` is what the authors' code measures instead;
- ``reported``: the paper's numbers, of a panel, a label and a measure (``of``), ``values`` at each ``x``;
- ``claims``, the paper's sentences, and ``checks``, our own: each names the function that judges it, and its arguments.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from importlib import import_module
from importlib.resources import files
from itertools import product
from operator import or_
from typing import Any

from hedgerow.errors import ConfigurationError
from hedgerow.reproduce.experiment import Axis, Check, Curve, Experiment, Panel, PaperClaim, Reported, curves_of

NAME = re.compile(r"\{(\*?)(\w+)\}")
LATER = ("task", "measure")  # names that `curves_of` fills in
JUDGES: Mapping[str, tuple[str, ...]] = {  # modules with the checks of each paper, beside those of all
    "edprf": ("curve_claims", "edprf_statements"),
    "cart-dps-adaboost": ("cart_claims", "cart_text", "edprf_statements"),
    "dpada": ("curve_claims", "dpada_facts"),
}
NOWHERE = Axis("", "", (), ())


def read_paper(name: str) -> dict[str, Any]:
    """Return the tables of a paper's file, with names filled in and repeated tables written out."""
    tables = tomllib.loads((files("hedgerow.reproduce") / "papers" / f"{name}.toml").read_text(encoding="utf-8"))
    names: dict[str, Any] = {}
    for key, value in tables.pop("names").items():
        names[key] = expanded(value, names)
    found: dict[str, Any] = expanded(tables, names)
    return found


def expanded(value: Any, names: Mapping[str, Any]) -> Any:
    """Return a value of a file with its names filled in.

    Raises
    ------
    KeyError
        If a name is unknown.
    """
    if isinstance(value, str):
        whole = NAME.fullmatch(value)
        return names[whole[2]] if whole and whole[2] not in LATER else NAME.sub(lambda part: _text(part, names), value)
    if isinstance(value, list):
        return [one for item in value for one in _items(item, names)]
    if isinstance(value, dict):
        return {expanded(key, names): expanded(one, names) for key, one in value.items()}
    return value


def _text(part: re.Match[str], names: Mapping[str, Any]) -> str:
    if part[2] in LATER:
        return part[0]
    value = names[part[2]]
    return f"{value:g}" if isinstance(value, float) else str(value)


def _items(item: Any, names: Mapping[str, Any]) -> Iterator[Any]:
    """Yield what an item of an array stands for."""
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


def experiments_of(paper: str, tables: Mapping[str, Any]) -> tuple[Experiment, ...]:
    """Return the experiments of a paper's tables."""
    judges: dict[str, Callable[..., Any]] = {}
    for module in ("claims", *JUDGES[paper]):
        judges |= vars(import_module(f"hedgerow.reproduce.{module}"))
    axes = {name: Axis(**{key: _frozen(value) for key, value in axis.items()}) for name, axis in tables["axes"].items()}
    return tuple(_experiment(paper, table, axes, judges) for table in tables["experiments"])


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _experiment(
    paper: str, table: Mapping[str, Any], axes: Mapping[str, Axis], judges: Mapping[str, Callable[..., Any]]
) -> Experiment:
    axis = axes[table["axis"]] if "axis" in table else NOWHERE
    section = table.get("section", "")
    claims = [{"section": section, **claim} for claim in table.get("claims", ())]
    own = [{"section": "", **check} for check in table.get("checks", ())]
    return Experiment(
        name=f"{paper}/{table['name']}",
        title=table["title"],
        settings=table["settings"],
        axis=axis,
        curves=tuple(curve for group in table.get("curves", ()) for curve in _curves(axis, **group)),
        reported=tuple(number for group in table.get("reported", ()) for number in _numbers(**group)),
        claims=tuple(_claim(judges, **claim) for claim in (*claims, *own)),
        notes=tuple(table.get("notes", ())),
        picture=judges[table["picture"]] if "picture" in table else None,
        reading=table.get("reading", ""),
    )


def _claim(
    judges: Mapping[str, Callable[..., Check]], section: str, text: str, check: str, **arguments: Any
) -> PaperClaim:
    return PaperClaim(section, text, judges[check](**arguments))


def _numbers(
    panel: str, label: str, x: Sequence[float], values: Sequence[float], of: str = "accuracy"
) -> Iterator[Reported]:
    """Yield the paper's numbers of a curve."""
    for at, value in zip(x, values, strict=True):
        yield Reported(Panel(panel, of), label, at, value)


def _curves(
    axis: Axis,
    methods: Any,
    data: Sequence[str],
    again: Sequence[Mapping[str, Any]] = (),
    coded_measure: str | None = None,
    **arguments: Any,
) -> Iterator[Curve]:
    """Yield the curves of a group, then the same once more for each table of ``again``."""
    tables: Sequence[Mapping[str, Any]] = [methods] if isinstance(methods, Mapping) else methods
    named = {label: dict(method) for table in tables for label, method in table.items()}
    pairs = {label: (method.pop("system"), method) for label, method in named.items()}
    curves = curves_of(axis, pairs, data, **arguments)
    if coded_measure:
        curves = tuple(replace(one, own_measure=coded_measure) if one.form == "coded" else one for one in curves)
    yield from curves
    for other in again:
        only = other.get("only")
        yield from (
            _again(curve, **other) for curve in curves if curve.form is not None and only in (None, curve.label)
        )


def _again(
    curve: Curve, label: str, only: str | None = None, measure: str | None = None, epsilon: float | None = None
) -> Curve:
    points = curve.points
    if epsilon is not None:
        points = tuple((x, replace(fit, epsilon=epsilon)) for x, fit in points)
    return replace(curve, label=label, own_measure=measure or curve.own_measure, points=points)


@dataclass(frozen=True)
class Paper:
    """A paper: its short name, its reference, its experiments, its systems, in short what a full run shows, and its runs.

    ``runs`` is how often the paper repeats what it averages; 10 where it does not say, or says less. ``coded_runs`` is how often
    its authors' code does.
    """

    name: str
    title: str
    reference: str
    experiments: tuple[Experiment, ...]
    systems: tuple[str, ...]
    summary: tuple[str, ...] = ()
    runs: int = 10
    coded_runs: int = 10

    @property
    def measures(self) -> Mapping[str, frozenset[str]]:
        """What some experiment shows of the fits on each data set."""
        found: dict[str, set[str]] = {}
        for experiment in self.experiments:
            for curve in experiment.curves:
                for _, fit in curve.points:
                    found.setdefault(fit.data, set()).add(curve.measure)
        return {data: frozenset(measures) for data, measures in found.items()}


def _paper(name: str) -> Paper:
    tables = read_paper(name)
    return Paper(
        name,
        tables["title"],
        tables["reference"],
        experiments_of(name, tables),
        tuple(tables["systems"]),
        tuple(tables.get("summary", ())),
        tables.get("runs", 10),
        tables.get("coded_runs", 10),
    )


PAPERS = tuple(map(_paper, JUDGES))


def experiments_named(names: Iterable[str]) -> tuple[Experiment, ...]:
    """Return the experiments of these names; a paper's name stands for all of its own, ``"all"`` for every one.

    Raises
    ------
    ConfigurationError
        If a name is unknown.
    """
    known = {experiment.name: (experiment,) for paper in PAPERS for experiment in paper.experiments}
    groups = {paper.name: paper.experiments for paper in PAPERS}
    everything = {"all": tuple(experiment for paper in PAPERS for experiment in paper.experiments)}
    found: list[Experiment] = []
    for name in names:
        chosen = {**known, **groups, **everything}.get(name)
        if chosen is None:
            raise ConfigurationError(
                f"{name!r} is no experiment. `hedgerow reproduce list` shows them; a paper's name ({', '.join(groups)}) "
                "stands for all of its own, and 'all' for every one."
            )
        found += chosen
    return tuple(dict.fromkeys(found))
