"""The account of a whole run: how to run it, how to read it, and which sentences of the papers stand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hedgerow.reproduce.experiment import ANSWERS, FORMS, Verdict
from hedgerow.reproduce.pages import EITHER, Finding, Section, TextTable, bullets, pipes, sentences, tally, wrapped
from hedgerow.reproduce.statements import Paper

HEAD = """# The papers' experiments, run again

Every experiment of the three papers, on their data. Each system runs as its paper prints it, and in a private form whose
guarantee is proved:
"""
BODY = """Each page has one table of what its paper says: a sentence in our words, the section where it stands, and the result for
each form: it holds, it does not, or it cannot be told. Below the table each experiment has its settings, its figure in the
paper's axes (one row per form), checks of our own, the paper's numbers beside ours, more figures for each sentence, and what we
inferred where the paper is silent. A page ends with the certificates of all forms. The account of all three papers is at the end
of this page.

## Run it

    pip install -e ".[plot]"
    export HEDGEROW_DATA=/path/to/the/data        # the diabetes set must be there; the others are fetched
    hedgerow reproduce list
    hedgerow reproduce edprf/fig9 --out out       # one figure, 10 seeds
    hedgerow reproduce all --quick --out out      # all of them, small: some minutes
    hedgerow reproduce all --jobs 2 --out out     # as often as the papers; most of a day

The pages here, this one included, are written by

    hedgerow reproduce all --jobs 2 --pack --out docs/reproductions

With `--jobs 0` nothing is run and the pages are written from the rows that exist. Each page gives its number of runs. The aim is
50 for DPAda, whose paper averages 50; 10 for the two other papers, which give no number; and 5 for the code of CART-DPsAdaBoost's
authors, which makes 5.

Each fit is a line of a CSV file in `rows/`, written when the fit ends. `--pack` compresses the rows into one file for each paper
and writes their SHA-256. The command runs only what is missing, so an interrupted run continues where it stopped. Rows belong to
the version that wrote them: remove the rows of a system that you change. DPAda's printed fits derive their seeds from everything
that defines the fit, so no two places share their noise; all other fits have seed r in run number r. `figures/` holds each
picture and a CSV file of its points (mean, standard deviation, runs). The command also writes each page as an HTML file that
opens from disk.

## Read it

- *As printed* is the paper's algorithm; the system's documentation says how we filled its gaps. It has no guarantee at any
  epsilon. *Private form* is the nearest algorithm with a proved guarantee, at the paper's size and not at its own defaults.
- Splits are fixed and noise comes from seeds, so the same command gives the same figures. Seeded noise protects nothing, and
  repeated runs on the same records add up: this is for public data.
- A sentence holds if it is right at every place that it speaks of, and significantly so at nine in ten of them (at all of fewer
  than ten); or if it is significantly right on average and significantly wrong nowhere. It does not hold if it is significantly
  wrong at one place or on average. A printed number is met within the given tolerance, unless the majority rule, which reads no
  record, meets it too. Runs differ by their noise alone: the errors do not include the choice of the split.
- A paper is judged only by the form that it prints, or that its authors coded. The private form is ours, is listed by itself, and
  counts for or against no paper.
- Three sentences of each paper are checked by hand against the rows, in docs/reproductions/checked.md of the sources.
- Where a paper prints a picture without numbers, we compare its words, not readings off the picture.
- Where a sweep is coarser than the paper's, the experiment's settings say so and why.
"""
PRINTED, PRIVATE = FORMS["published"], FORMS["private"]
GROUPS = (
    "Stand as printed",
    "Stand by another reading, or as the authors coded it, and not as printed first",
    "Are contradicted",
    "Cannot be told",
)


def readme(papers: Sequence[tuple[Paper, Sequence[Section]]], settings: Sequence[str]) -> str:
    """Return the page above the papers' pages, as Markdown."""
    return "\n".join(_lines(papers, settings)) + "\n"


def _lines(papers: Sequence[tuple[Paper, Sequence[Section]]], settings: Sequence[str]) -> Iterator[str]:
    yield HEAD
    yield from pipes(_contents(papers))
    yield ""
    yield BODY
    yield "## The account"
    yield ""
    yield from wrapped(
        f"How many sentences of each paper stand. {' '.join(settings)} The paper's page has the figures of each."
    )
    yield ""
    yield from pipes(_totals(papers))
    for paper, sections in papers:
        yield ""
        yield f"### {paper.title}"
        findings = sentences(sections)
        for words in GROUPS:
            mine = [_line(finding, words) for finding in findings if group_of(finding) == words]
            if mine:
                yield ""
                yield f"{words}:"
                yield ""
                yield from bullets(mine)
        yield from _private(findings)


def _line(finding: Finding, group: str) -> str:
    """Return a sentence, and what decided it where it does not simply stand."""
    line = f"{finding.text} ({finding.section})"
    if group in GROUPS[2:]:
        line += f": {_first(finding).words}"
    return line


def _private(findings: Sequence[Finding]) -> Iterator[str]:
    """Yield the private form's answers to the sentences that it was run for."""
    for answer in ANSWERS:
        mine = [
            f"{f.text} ({f.section})"
            for f in findings
            if PRIVATE in f.verdicts and f.verdicts[PRIVATE].answer == answer
        ]
        if mine:
            yield ""
            yield f"Private form (ours), {answer}:"
            yield ""
            yield from bullets(mine)


def _contents(papers: Sequence[tuple[Paper, Sequence[Section]]]) -> TextTable:
    rows = tuple(
        (
            f"[{paper.title}]({paper.name}.md)",
            paper.reference,
            ", ".join(e.name.partition("/")[2] for e in paper.experiments),
        )
        for paper, _ in papers
    )
    return TextTable(("paper", "reference", "experiments"), rows)


def _totals(papers: Sequence[tuple[Paper, Sequence[Section]]]) -> TextTable:
    tables = [(paper, tally(sections)) for paper, sections in papers]
    rows = tuple((paper.title, *row) for paper, table in tables for row in table.rows)
    return TextTable(("paper", *tables[0][1].headers), rows)


def group_of(finding: Finding) -> str:
    """Return the group of the account that a sentence belongs to, by the authors' forms alone.

    One that holds as printed stands there, and one that holds by another reading of the print or as the authors coded it stands
    by that; otherwise the printed form decides.
    """
    first = _first(finding)
    if first.answer == "holds":
        return GROUPS[0]
    if any(verdict.answer == "holds" for form, verdict in finding.verdicts.items() if form != PRIVATE):
        return GROUPS[1]
    return GROUPS[2] if first.answer == "does not" else GROUPS[3]


def _first(finding: Finding) -> Verdict:
    """Return the verdict of the form that decides: the printed one, or what was found without runs."""
    own = {form: verdict for form, verdict in finding.verdicts.items() if form != PRIVATE}
    return own.get(PRINTED) or own.get(EITHER) or next(iter(own.values()), Verdict("not measured"))
