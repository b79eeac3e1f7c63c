"""Every experiment by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hedgerow.errors import ConfigurationError
from hedgerow.reproduce.experiment import Experiment
from hedgerow.reproduce.statements import JUDGES, experiments_of, read_paper

__all__ = ["PAPERS", "Paper", "experiments_named"]


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
