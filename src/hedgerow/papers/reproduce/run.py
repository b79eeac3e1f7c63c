"""From names of experiments to rows, figures and pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from hedgerow.errors import DatasetError
from hedgerow.files import atomic_file
from hedgerow.papers.reproduce.drawing import draw
from hedgerow.papers.reproduce.experiment import FORMS, Experiment, Results
from hedgerow.papers.reproduce.fits import TASKS, Fit, Row, load_split, measured, pack_rows, run_grid
from hedgerow.papers.reproduce.pages import (
    Section,
    file_name,
    guarantees,
    markdown_page,
    readme,
    section_of,
    short_name,
)
from hedgerow.papers.reproduce.statements import PAPERS, Paper, experiments_named
from hedgerow.papers.reproduce.verdicts import low_or_range
from hedgerow.plots.axes import new_figure, png_bytes

FULL_SEEDS = 10
QUICK_SEEDS = 2
COLORS = 64  # of a figure, whose file is kept with the sources


@dataclass(frozen=True)
class Request:
    """What to run, and where results go: the options of ``hedgerow reproduce``.

    Without ``seeds`` every point has as many runs as the paper (and its authors' code) made, 10 where it does not say. ``jobs``
    of 0 runs nothing and writes the pages from the rows that there are. ``rows`` is a folder of CSV files of single fits, one for
    each data set, which are read first and added to; ``pack`` joins them into one compressed file for each paper in the end.
    """

    names: tuple[str, ...]
    seeds: int | None
    jobs: int
    quick: bool
    out: Path
    rows: Path
    pack: bool = False

    def runs(self, paper: Paper) -> int:
        return self.seeds or (QUICK_SEEDS if self.quick else paper.runs)

    def coded_runs(self, paper: Paper) -> int:
        """Return how many runs the form has that a paper's authors coded."""
        return self.seeds or (QUICK_SEEDS if self.quick else paper.coded_runs)

    def words(self, counts: Mapping[str, Sequence[int]]) -> tuple[str, ...]:
        """Return how it was run, in sentences; ``counts`` are the runs of every point by the form's words."""
        ranges = [f"{form} {low_or_range(numbers)}" for form, numbers in counts.items()]
        words = [f"Runs of every point: {'; '.join(ranges)}."] if counts else []
        if self.quick:
            words.append(
                "A quick run: fewer values on each axis, at most 4000 records to train on; nothing to conclude from."
            )
        return tuple(words)


def reproduce(request: Request, say: Callable[[str], None] = print) -> list[Path]:
    """Run what is missing, then write the figures, the small tables and the pages; return what was written.

    An unknown name, or a lack of matplotlib, is a ConfigurationError; no data set of any experiment at hand a DatasetError.
    """
    chosen = experiments_named(request.names)
    new_figure(1, 1)  # without matplotlib nothing is run
    if request.quick:
        chosen = tuple(experiment.quickly() for experiment in chosen)
    chosen = _at_hand(chosen, say)
    request.out.mkdir(parents=True, exist_ok=True)  # a folder that cannot be made is known before hours of work
    rows = _run(chosen, request)
    written: list[Path] = []
    pages: list[tuple[Paper, Sequence[Section]]] = []
    settings: list[str] = []
    for paper in PAPERS:
        results = [Results(experiment, rows, request.runs(paper)) for experiment in _of(paper, chosen)]
        if results:
            sections = [_section(result, request, written) for result in results]
            counts = _counts(results)
            written.append(_page(paper, sections, request, counts))
            pages.append((paper, sections))
            settings += [f"{paper.title}: {words}" for words in request.words(counts)]
    if all(_is_whole(paper, sections) for paper, sections in pages) and len(pages) == len(PAPERS):
        written.append(_bytes(request.out / "README.md", readme(pages, settings).encode("utf-8")))
    if request.pack:
        written += pack_rows(request.rows, {paper.name: frozenset(paper.measures) for paper in PAPERS})
    return written


def _of(paper: Paper, experiments: Sequence[Experiment]) -> list[Experiment]:
    return [experiment for experiment in experiments if experiment.name.startswith(f"{paper.name}/")]


def _run(chosen: Sequence[Experiment], request: Request) -> Mapping[tuple[str, ...], Row]:
    """Run the fits that the folder of rows lacks, one run of everything after the other, and return all rows."""
    fits: list[Fit] = []
    measures: dict[str, frozenset[str]] = {}
    for paper in PAPERS:
        measures |= paper.measures
        seeds = request.runs(paper), request.coded_runs(paper)
        fits += (fit for experiment in _of(paper, chosen) for fit in experiment.fits(*seeds))
    fits.sort(key=lambda fit: (fit.run, fit.data))
    return run_grid(fits, request.rows, jobs=request.jobs, work=partial(_measured, measures=measures))


def _measured(fit: Fit, measures: Mapping[str, frozenset[str]]) -> Row:
    return measured(fit, measures[fit.data])


def _counts(results: Sequence[Results]) -> Mapping[str, list[int]]:
    """Return the numbers of runs of all points that have noise, by the form's words."""
    counts: dict[str, list[int]] = {words: [] for words in FORMS.values()}
    for result in results:
        for (_, _, form, _), cell in result.cells.items():
            if form is not None:
                counts[FORMS[form]].append(len(cell.values))
    return {words: numbers for words, numbers in counts.items() if numbers}


def _at_hand(experiments: Sequence[Experiment], say: Callable[[str], None]) -> tuple[Experiment, ...]:
    """Return the experiments whose data sets can be found, and say what is left out."""
    lost: dict[str, DatasetError] = {}
    for task in dict.fromkeys(task for experiment in experiments for task in experiment.tasks):
        try:
            load_split(task)
        except DatasetError as error:
            lost[task] = error
            say(f"{TASKS[task].title} is not at hand: {error}")
    kept = []
    for experiment in experiments:
        missing = [TASKS[task].title for task in experiment.tasks if task in lost]
        if missing:
            say(f"{experiment.name} is left out: it needs {', '.join(missing)}.")
        else:
            kept.append(experiment)
    if lost and not any(experiment.curves for experiment in kept):
        raise next(iter(lost.values()))
    return tuple(kept)


def _section(results: Results, request: Request, written: list[Path]) -> Section:
    """Write the figure and the table of an experiment, add their paths to ``written``, and return what the page says."""
    place = request.out / "figures" / file_name(results.experiment.name)
    place.parent.mkdir(exist_ok=True)
    figure = draw(results)
    if figure is not None:
        written.append(_bytes(place.with_suffix(".png"), png_bytes(figure, dpi=100, colors=COLORS)))
    if results.cells:
        written.append(place.with_suffix(".csv"))
        results.write_table(written[-1])
    return section_of(results, has_figure=figure is not None)


def _page(paper: Paper, sections: Sequence[Section], request: Request, counts: Mapping[str, Sequence[int]]) -> Path:
    """Write a paper's page; its conclusions stand above results of enough runs only."""
    table = guarantees(paper.systems)
    whole = _is_whole(paper, sections)
    full = {FORMS["coded"]: min(FULL_SEEDS, paper.coded_runs)}
    enough = all(min(numbers) >= full.get(form, FULL_SEEDS) for form, numbers in counts.items())
    if request.quick or not (enough and whole):
        paper = replace(paper, summary=())
    names = [] if whole else [short_name(section.name) for section in sections]
    path = request.out / f"{'-'.join([paper.name, *names])}.md"
    return _bytes(path, markdown_page(paper, sections, request.words(counts), table).encode("utf-8"))


def _is_whole(paper: Paper, sections: Sequence[Section]) -> bool:
    return len(sections) == len(paper.experiments)


def _bytes(path: Path, content: bytes) -> Path:
    with atomic_file(path) as part:
        part.write_bytes(content)
    return path
