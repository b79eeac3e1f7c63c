"""From names of experiments to rows, figures and pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from hedgerow.files import atomic_file
from hedgerow.papers.reproduce.drawing import draw
from hedgerow.papers.reproduce.experiment import FORMS, Experiment, Results
from hedgerow.papers.reproduce.fits import Fit, Row, load_split, measured, run_grid
from hedgerow.papers.reproduce.pages import Section, headline, markdown_page, readme, section_of
from hedgerow.papers.reproduce.statements import PAPERS, Paper, experiments_named, short_name
from hedgerow.papers.reproduce.verdicts import low_to_high
from hedgerow.plots.axes import new_figure, png_bytes

FULL_SEEDS = 10
COLORS = 64  # of a figure, whose file is kept with the sources


def reproduce(
    names: Sequence[str],
    out: Path,
    rows: Path,
    *,
    seeds: int | None = None,
    jobs: int = 1,
    show: Callable[[str], None] = print,
) -> list[Path]:
    """Run what is missing, then write the figures, the small tables and the pages; show headlines, return what was written.

    Without ``seeds`` every point has as many runs as the paper (and its authors' code) made, 10 where it does not say. ``jobs``
    of 0 runs nothing and writes the pages from the rows that there are. ``rows`` is a folder of CSV files of single fits, one for
    each data set, which are read first and added to.

    An unknown name, or a lack of matplotlib, is a ConfigurationError; a data set that is not at hand is a DatasetError.
    """
    chosen = experiments_named(names)
    new_figure(1, 1)  # without matplotlib nothing is run
    for task in dict.fromkeys(task for experiment in chosen for task in experiment.tasks if jobs):
        load_split(task)  # nor without the data
    out.mkdir(parents=True, exist_ok=True)  # a folder that cannot be made is known before hours of work
    own = [(paper, [one for one in chosen if one.name.startswith(f"{paper.name}/")]) for paper in PAPERS]
    measured_rows = _run(own, rows, seeds, jobs)
    written: list[Path] = []
    pages: list[tuple[Paper, Sequence[Section]]] = []
    settings: list[str] = []
    headlines: dict[str, str] = {}
    for paper, experiments in own:
        if experiments:
            results = [Results(one, measured_rows, seeds or paper.runs, paper.experiments) for one in experiments]
            sections = [_section(result, out, written) for result in results]
            pages.append((paper, sections))
            words, headlines[paper.title] = _page(paper, sections, out, written)
            settings += [f"{paper.title}: {words}"] if words else []
    if all(len(sections) == len(paper.experiments) for paper, sections in pages) and len(pages) == len(PAPERS):
        _write(out / "README.md", readme(pages, headlines, settings).encode("utf-8"), written)
    for title, head in headlines.items():
        if head:
            show(f"{title}. {head}")
    return written


def _run(
    own: Sequence[tuple[Paper, Sequence[Experiment]]], rows: Path, seeds: int | None, jobs: int
) -> Mapping[tuple[str, ...], Row]:
    fits: list[Fit] = []
    measures: dict[str, frozenset[str]] = {}
    for paper, experiments in own:
        measures |= paper.measures
        runs = seeds or paper.runs, seeds or paper.coded_runs
        fits += (fit for experiment in experiments for fit in experiment.fits(*runs))
    fits.sort(key=lambda fit: (fit.run, fit.data))
    return run_grid(fits, rows, jobs=jobs, work=partial(measured, wanted=measures))


def _section(results: Results, out: Path, written: list[Path]) -> Section:
    place = out / "figures" / results.experiment.name.replace("/", "-")
    place.parent.mkdir(exist_ok=True)
    figure = draw(results)
    if figure is not None:
        _write(place.with_suffix(".png"), png_bytes(figure, dpi=100, colors=COLORS), written)
    if results.cells:
        written.append(place.with_suffix(".csv"))
        results.write_table(written[-1])
    return section_of(results, has_figure=figure is not None)


def _page(paper: Paper, sections: Sequence[Section], out: Path, written: list[Path]) -> tuple[str, str]:
    counts: dict[str, list[int]] = {words: [] for words in FORMS.values()}
    for section in sections:
        for (_, _, form, _), cell in section.results.cells.items():
            if form is not None:
                counts[FORMS[form]].append(len(cell.values))
    counts = {form: numbers for form, numbers in counts.items() if numbers}
    ranges = "; ".join(f"{form} {low_to_high(numbers, '')}" for form, numbers in counts.items())
    words = f"Runs of every point: {ranges}." if counts else ""
    whole = len(sections) == len(paper.experiments)
    full = {FORMS["coded"]: min(FULL_SEEDS, paper.coded_runs)}
    enough = all(min(numbers) >= full.get(form, FULL_SEEDS) for form, numbers in counts.items())
    names = [] if whole else [short_name(section.results.experiment.name) for section in sections]
    head = headline(paper, sections) if enough and whole else ""
    page = markdown_page(paper, sections, words, head)
    _write(out / f"{'-'.join([paper.name, *names])}.md", page.encode("utf-8"), written)
    return words, head


def _write(path: Path, content: bytes, written: list[Path]) -> None:
    with atomic_file(path) as part:
        part.write_bytes(content)
    written.append(path)
