"""The account of a whole run: how to run it, how to read it, and which sentences of the papers stand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hedgerow.reproduce.catalogue import Paper
from hedgerow.reproduce.experiment import ANSWERS, FORMS, Verdict
from hedgerow.reproduce.pages import EITHER, Finding, Section, TextTable, bullets, pipes, sentences, tally, wrapped

__all__ = ["readme"]

HEAD = """# The papers' experiments, run again

Every experiment of the three papers, on their data, with each system as its paper prints it and in the private form whose
guarantee is proved:
"""
BODY = """Each page lists what its paper says, sentence by sentence in our own words with the section it stands in, and if our run
bears it out: it holds, it does not, or it cannot be told. Then it shows figure by figure the settings, the picture in the
paper's own axes (one row per form), checks of our own, the paper's numbers beside ours where it prints any, and what was inferred
where the paper is silent. It ends with what the certificate of each form says. At the end of this page is the account of all.

## Run it

    pip install -e ".[plot]"
    export HEDGEROW_DATA=/path/to/the/data        # the diabetes set must be there; the others are fetched
    hedgerow reproduce list
    hedgerow reproduce edprf/fig9 --out out       # one figure, 10 seeds
    hedgerow reproduce all --quick --out out      # all of them, small: some minutes
    hedgerow reproduce all --jobs 2 --out out     # as often as the papers; most of a day

The pages here, this one too, are written by

    hedgerow reproduce all --jobs 2 --pack --out docs/reproductions

as far as it got (`--jobs 0` runs nothing and writes the pages): each page says how many runs stand behind it. That is 50 runs for
DPAda, as its paper averages, and 10 for the two others, whose papers do not say how often. Each fit is a line of a CSV file in
`rows/`, written when it is done, and in the end packed into one compressed file for each paper, whose SHA-256 stands beside it.
These rows are kept here: the command runs only what is missing, and a run that was broken off goes on where it stopped. Rows
belong to the sources that they were run with: whoever changes a system removes its rows. DPAda's printed fits draw their seeds
from all that decides them, so that no two places share their noise; all others have seed r in run number r. In `figures/` is each
picture with a CSV file of its points (mean, standard deviation, runs). The command also writes each page as one HTML file that
opens from disk.

## Read it

- *As printed* is the paper's algorithm with its gaps filled as the system's documentation says. It has no guarantee at any
  epsilon. *Private form* is the nearest algorithm whose guarantee is proved, at the paper's size and not at its own defaults.
- Splits are fixed and noise comes from seeds, so the same command gives the same figures. Seeded noise protects nothing, and
  repeated runs on the same records add up: this is for public data.
- A sentence holds if it is right at every place that it speaks of, and clearly at nine in ten of them (of fewer than ten at all),
  or clearly so in the mean over all places and clearly wrong at none; it does not if it is clearly wrong at one place or in the
  mean. A number is met within a tolerance that is named, above or below, and not where the majority rule, which reads nothing,
  meets it too. Only the noise differs between runs: what another split would give is not in the errors.
- The paper is judged by the form that it prints, or that its authors coded, alone. A private form is ours: what it says of a
  sentence is listed by itself, and counts for or against no paper.
- Three sentences of each paper are worked out by hand from the rows, in docs/reproductions/checked.md of the sources.
- Papers that print pictures without numbers are compared by their words and not by readings off the picture.
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
        f"How many sentences of each paper stand. {' '.join(settings)} What was found of each, and by how much, is on its "
        "paper's page."
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
    """Yield what the private form says of each sentence that runs were made of in it."""
    for answer in ANSWERS:
        mine = [
            f"{f.text} ({f.section})"
            for f in findings
            if PRIVATE in f.verdicts and f.verdicts[PRIVATE].answer == answer
        ]
        if mine:
            yield ""
            yield f"In the private form, which is ours: {answer}:"
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
