"""From names of experiments to rows, figures and pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from hedgerow.errors import DatasetError
from hedgerow.files import atomic_file
from hedgerow.plots.axes import new_figure, png_bytes
from hedgerow.reproduce.account import readme
from hedgerow.reproduce.drawing import draw
from hedgerow.reproduce.experiment import FORMS, Experiment
from hedgerow.reproduce.fits import Fit, measured
from hedgerow.reproduce.grid import Row, pack_rows, run_grid
from hedgerow.reproduce.pages import Section, file_name, guarantees, html_page, markdown_page, sections_of, short_name
from hedgerow.reproduce.results import Results, write_table
from hedgerow.reproduce.statements import PAPERS, Paper, experiments_named
from hedgerow.reproduce.tasks import TASKS, load_split

FULL_SEEDS = 10
QUICK_SEEDS = 2
COLORS = 64  # of a figure, whose file is kept with the sources
Rows = Mapping[tuple[str, ...], Row]


@dataclass(frozen=True)
class Request:
    """What to run, and where results go.

    Parameters
    ----------
    names : sequence of str
        Experiments, papers, or ``"all"``.
    seeds : int or None
        Runs of every point; None: as many as the paper (and its authors' code) made, 10 where it does not say.
    jobs : int
        Fits at once; 0 runs nothing and writes the pages from the rows that there are.
    quick : bool
        Fewer values on each axis and fewer records.
    out : Path
        The folder for figures and pages.
    rows : Path
        The folder of CSV files of single fits, one for each data set, which are read first and added to.
    pack : bool
        Whether the rows are packed into one compressed file for each paper in the end.
    """

    names: tuple[str, ...]
    seeds: int | None
    jobs: int
    quick: bool
    out: Path
    rows: Path
    pack: bool = False

    def runs(self, paper: Paper) -> int:
        """Return how many runs a paper's points are to have."""
        return self.seeds or (QUICK_SEEDS if self.quick else paper.runs)

    def coded_runs(self, paper: Paper) -> int:
        """Return how many runs the form has that a paper's authors coded."""
        return self.seeds or (QUICK_SEEDS if self.quick else paper.coded_runs)

    def words(self, counts: Mapping[str, Sequence[int]]) -> tuple[str, ...]:
        """Return how it was run, in sentences; ``counts`` are the runs of every point by the form's words."""
        found = (
            [f"Runs of every point: {'; '.join(f'{form} {_range(n)}' for form, n in counts.items())}."]
            if counts
            else []
        )
        if self.quick:
            found.append(
                "A quick run: fewer values on each axis, at most 4000 records to train on; nothing to conclude from."
            )
        return tuple(found)


def reproduce(request: Request, say: Callable[[str], None] = print) -> list[Path]:
    """Run what is missing, then write the figures, the small tables and the pages; return what was written.

    Raises
    ------
    ConfigurationError
        If a name is unknown, or matplotlib is not installed.
    DatasetError
        If no data set of any experiment is at hand.
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
        results = _results(paper, chosen, rows, request)
        if results:
            sections = _sections(results, request, written)
            counts = _counts(results)
            written += _pages(paper, sections, request, counts)
            pages.append((paper, sections))
            settings += [f"{paper.title}: {words}" for words in request.words(counts)]
    if all(_is_whole(paper, sections) for paper, sections in pages) and len(pages) == len(PAPERS):
        written.append(_bytes(request.out / "README.md", readme(pages, settings).encode("utf-8")))
    if request.pack:
        written += pack_rows(request.rows, {paper.name: frozenset(paper.measures) for paper in PAPERS})
    return written


def _run(chosen: Sequence[Experiment], request: Request) -> Rows:
    """Run the fits that the folder of rows lacks, one run of everything after the other, and return all rows."""
    fits: list[Fit] = []
    measures: dict[str, frozenset[str]] = {}
    for paper in PAPERS:
        measures |= paper.measures
        mine = (experiment for experiment in chosen if experiment.name.startswith(f"{paper.name}/"))
        seeds = request.runs(paper), request.coded_runs(paper)
        fits += (fit for experiment in mine for fit in experiment.fits(*seeds))
    fits.sort(key=lambda fit: (fit.run, fit.data))
    return run_grid(fits, request.rows, jobs=request.jobs, work=partial(_measured, measures=measures))


def _measured(fit: Fit, measures: Mapping[str, frozenset[str]]) -> Row:
    return measured(fit, measures[fit.data])


def _results(paper: Paper, chosen: Sequence[Experiment], rows: Rows, request: Request) -> list[Results]:
    """Return what the fits of a paper's experiments gave."""
    mine = (experiment for experiment in chosen if experiment.name.startswith(f"{paper.name}/"))
    return [Results(experiment, rows, request.runs(paper)) for experiment in mine]


def _counts(results: Sequence[Results]) -> Mapping[str, list[int]]:
    """Return the numbers of runs of all points that have noise, by the form's words."""
    found: dict[str, list[int]] = {}
    for result in results:
        for (_, _, form, _), cell in result.cells.items():
            if form is not None:
                found.setdefault(FORMS[form], []).append(len(cell.values))
    return {words: found[words] for words in FORMS.values() if words in found}


def _range(numbers: Sequence[int]) -> str:
    low, high = min(numbers), max(numbers)
    return f"{low}" if low == high else f"{low} to {high}"


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


def _sections(results: Sequence[Results], request: Request, written: list[Path]) -> tuple[Section, ...]:
    """Write the figures and tables of a paper's experiments, add their paths to ``written``, and return what the page says."""
    figures = request.out / "figures"
    drawn = []
    for found in results:
        experiment = found.experiment
        figures.mkdir(exist_ok=True)
        figure = draw(found)
        png = None if figure is None else png_bytes(figure, dpi=100, colors=COLORS)
        if png is not None:
            written.append(_bytes(figures / f"{file_name(experiment.name)}.png", png))
        if found.cells:
            written.append(figures / f"{file_name(experiment.name)}.csv")
            write_table(found, written[-1])
        drawn.append((found, png))
    return sections_of(drawn)


def _pages(
    paper: Paper, sections: Sequence[Section], request: Request, counts: Mapping[str, Sequence[int]]
) -> Iterator[Path]:
    """Write a paper's pages; its conclusions stand above results of enough runs only."""
    table = guarantees(paper.systems)
    full = {FORMS["coded"]: min(FULL_SEEDS, paper.coded_runs)}
    enough = all(min(numbers) >= full.get(form, FULL_SEEDS) for form, numbers in counts.items())
    if request.quick or not (enough and _is_whole(paper, sections)):
        paper = replace(paper, summary=())
    path = request.out / f"{_page_name(paper, sections)}.md"
    words = request.words(counts)
    yield _bytes(path, markdown_page(paper, sections, words, table).encode("utf-8"))
    yield html_page(paper, sections, words, table).write(path.with_suffix(".html"))


def _is_whole(paper: Paper, sections: Sequence[Section]) -> bool:
    return len(sections) == len(paper.experiments)


def _page_name(paper: Paper, sections: Sequence[Section]) -> str:
    """Return the paper's name if all of it was run, otherwise the names of what was."""
    if _is_whole(paper, sections):
        return paper.name
    return "-".join([paper.name, *(short_name(section.name) for section in sections)])


def _bytes(path: Path, content: bytes) -> Path:
    with atomic_file(path) as part:
        part.write_bytes(content)
    return path
