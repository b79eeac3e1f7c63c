"""From names of experiments to rows, figures and pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hedgerow.errors import DatasetError
from hedgerow.files import atomic_file
from hedgerow.plots.axes import new_figure, png_bytes
from hedgerow.reproduce.account import readme
from hedgerow.reproduce.catalogue import PAPERS, Paper, experiments_named
from hedgerow.reproduce.drawing import draw
from hedgerow.reproduce.experiment import Experiment
from hedgerow.reproduce.grid import Row, run_grid
from hedgerow.reproduce.pages import Section, file_name, guarantees, html_page, markdown_page, sections_of, short_name
from hedgerow.reproduce.results import Results, write_table
from hedgerow.reproduce.tasks import TASKS, load_split

__all__ = ["FULL_SEEDS", "QUICK_SEEDS", "Request", "reproduce"]

FULL_SEEDS = 10
QUICK_SEEDS = 2
Rows = Mapping[tuple[str, ...], Row]


@dataclass(frozen=True)
class Request:
    """What is asked of a run.

    Parameters
    ----------
    names : sequence of str
        Experiments, papers, or ``"all"``.
    seeds : int
        Runs of every point.
    jobs : int
        Fits at once.
    quick : bool
        Fewer values on each axis and fewer records.
    out : Path
        The folder for figures and pages.
    rows : Path
        The folder of CSV files of single fits, one for each data set, which are read first and added to.
    """

    names: tuple[str, ...]
    seeds: int
    jobs: int
    quick: bool
    out: Path
    rows: Path

    @property
    def is_conclusive(self) -> bool:
        """Whether a paper's conclusions may stand above the results."""
        return not self.quick and self.seeds >= FULL_SEEDS

    @property
    def words(self) -> tuple[str, ...]:
        """How it was run, in sentences."""
        found = [f"{self.seeds} runs of every point, seeds 0 to {self.seeds - 1}."]
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
    by_data = sorted(
        (fit for experiment in chosen for fit in experiment.fits(request.seeds)), key=lambda fit: (fit.run, fit.data)
    )
    rows = run_grid(by_data, request.rows, jobs=request.jobs)
    written: list[Path] = []
    pages: list[tuple[Paper, Sequence[Section]]] = []
    for paper in PAPERS:
        sections = _sections(paper, chosen, rows, request, written)
        if sections:
            written += _pages(paper, sections, request)
            pages.append((paper, sections))
    if all(_is_whole(paper, sections) for paper, sections in pages) and len(pages) == len(PAPERS):
        written.append(_bytes(request.out / "README.md", readme(pages, request.words).encode("utf-8")))
    return written


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


def _sections(
    paper: Paper, chosen: Sequence[Experiment], rows: Rows, request: Request, written: list[Path]
) -> tuple[Section, ...]:
    """Write the figures and tables of a paper's experiments, add their paths to ``written``, and return what the page says."""
    mine = [experiment for experiment in chosen if experiment.name.startswith(f"{paper.name}/")]
    figures = request.out / "figures"
    results = []
    for experiment in mine:
        figures.mkdir(exist_ok=True)
        found = Results(experiment, rows, request.seeds)
        figure = draw(found)
        png = None if figure is None else png_bytes(figure)
        if png is not None:
            written.append(_bytes(figures / f"{file_name(experiment.name)}.png", png))
        if found.cells:
            written.append(figures / f"{file_name(experiment.name)}.csv")
            write_table(found, written[-1])
        results.append((found, png))
    return sections_of(results)


def _pages(paper: Paper, sections: Sequence[Section], request: Request) -> Iterator[Path]:
    """Write a paper's pages."""
    table = guarantees(paper.systems)
    if not (request.is_conclusive and _is_whole(paper, sections)):
        paper = replace(paper, summary=())
    path = request.out / f"{_page_name(paper, sections)}.md"
    yield _bytes(path, markdown_page(paper, sections, request.words, table).encode("utf-8"))
    yield html_page(paper, sections, request.words, table).write(path.with_suffix(".html"))


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
