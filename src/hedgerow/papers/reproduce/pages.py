"""What a person reads: one page per paper, as Markdown beside its figures, and the account of all."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files

from hedgerow.papers.reproduce.drawing import TWO_FEATURES
from hedgerow.papers.reproduce.experiment import FORMS, Form, Results
from hedgerow.papers.reproduce.fits import Fit, estimator
from hedgerow.papers.reproduce.statements import Paper
from hedgerow.papers.reproduce.verdicts import ANSWERS, NOT_MEASURED, Verdict
from hedgerow.privacy.accounting import cost

WIDTH = 130
SHARED = "Notes on several experiments"
MORE = "Sentence by sentence, what else was measured:"
EITHER = "without runs"  # of an experiment that has none
PRINTED, PRIVATE = FORMS["published"], FORMS["private"]
PROOFS: Mapping[str, str] = {"pfdpdt": "edprf"}  # systems whose proof stands on another's page
PAPER_AND_PRIVATE: tuple[Form, ...] = ("published", "private")
LEGEND = (
    "A sentence *holds* if it is right at every place that it speaks of, and significantly so at nine in ten of them (at "
    "all of fewer than ten); or if it is significantly right on average (*pooled*) and significantly wrong nowhere. It "
    "*does not* if it is significantly wrong at one place or on average. Otherwise it *cannot be told* from these runs, and "
    "the table estimates how many runs would tell. Significant means the 5 % level of Student's t over the runs; for a "
    "wrong place, over all places together. A printed number is met within the given tolerance, unless the majority rule "
    "meets it too. A value ± its standard error is followed by its number of runs. In figures, lines are means, bands one "
    "standard deviation over the runs, and open circles numbers that the paper prints; rows have scales of their own where "
    "one scale would press them flat."
)
WORTH = (
    "Read off the certificates of fits at epsilon 1 and default size. A form that does not hold protects nobody at any "
    "epsilon, and its figures must not be compared with private ones as if it did."
)
GROUPS = (
    "Stand as printed",
    "Stand by another reading, or as the authors coded it, and not as printed first",
    "Are contradicted",
    "Cannot be told",
)


@dataclass(frozen=True)
class TextTable:
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Guarantees:
    """What certificates say: a line for each form, and the reasons that the lines name by number."""

    table: TextTable
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Finding:
    """A claim of an experiment, and its verdict in each form, by the form's words."""

    experiment: str
    section: str
    text: str
    verdicts: Mapping[str, Verdict]

    def answer(self, form: str) -> str:
        """Return the answer for a form and the figures that decide it, or nothing where the form has no answer."""
        return str(self.verdicts[form]) if form in self.verdicts else ""

    @property
    def details(self) -> str:
        """What else was measured of the claim, form by form."""
        parts = [f"{form}, {verdict.details}" for form, verdict in self.verdicts.items() if verdict.details]
        return f"{self.text}: {'. '.join(parts)}." if parts else ""

    @property
    def deciding(self) -> Verdict:
        """The verdict of the form that decides: the printed one, or what was stated without runs."""
        own = {form: verdict for form, verdict in self.verdicts.items() if form != PRIVATE}
        return own.get(PRINTED) or own.get(EITHER) or next(iter(own.values()), NOT_MEASURED)


@dataclass(frozen=True)
class Section:
    """One experiment on a page."""

    name: str
    title: str
    settings: str
    findings: tuple[Finding, ...]
    numbers: TextTable | None
    notes: tuple[str, ...]
    has_figure: bool


def section_of(results: Results, *, has_figure: bool) -> Section:
    experiment = results.experiment
    columns: dict[Form, str] = {form: FORMS[form] for form in experiment.forms} or {"published": EITHER}
    if experiment.reading and experiment.forms:
        columns["published"] += f", {experiment.reading}"
    findings = tuple(
        Finding(
            experiment.name,
            claim.section,
            claim.text,
            {words: claim.check(results, form) for form, words in columns.items()},
        )
        for claim in experiment.claims
    )
    return Section(
        experiment.name,
        experiment.title,
        experiment.settings,
        findings,
        _numbers(results),
        experiment.notes,
        has_figure,
    )


def _numbers(results: Results) -> TextTable | None:
    """Return the paper's numbers beside ours, of a table also what it does not print; None where there is nothing to show."""
    experiment = results.experiment
    printed = {(number.panel, number.label, number.x): number.value for number in experiment.reported}
    places = list(printed)
    if len(experiment.axis.values) == 1:
        places += [(curve.panel, curve.label, x) for curve in experiment.curves if curve.form for x, _ in curve.points]
    rows = []
    for panel, label, x in dict.fromkeys(places):
        cells = [results.cell(panel, label, form, x) for form in experiment.forms]
        ours = [f"{cell.mean:.3f} ± {cell.spread:.3f}" if cell is not None else "" for cell in cells]
        value = printed.get((panel, label, x))
        rows.append((panel.name, label, f"{x:g}", "" if value is None else f"{value:.3f}", *ours))
    headers = ("panel", "method", experiment.axis.words, "paper", *(FORMS[form] for form in experiment.forms))
    return TextTable(headers, tuple(rows)) if rows else None


def sentences(sections: Sequence[Section]) -> list[Finding]:
    """Return the verdicts on each sentence of a paper; that of another reading stands with that of the first."""
    merged: dict[tuple[str, str], Finding] = {}
    for finding in (finding for section in sections for finding in section.findings if finding.section):
        place = finding.section, finding.text
        if place not in merged:
            merged[place] = finding
        else:
            first = merged[place]
            both = f"{first.experiment}, {short_name(finding.experiment)}"
            verdicts = {**first.verdicts, **finding.verdicts, **first.verdicts}  # the first's order and answers
            merged[place] = replace(first, experiment=both, verdicts=verdicts)
    return list(merged.values())


def _forms_of(findings: Iterable[Finding]) -> tuple[str, ...]:
    """Return the forms that some claim was checked for, in their usual order."""
    seen = dict.fromkeys(form for finding in findings for form in finding.verdicts)
    order = {words: place for place, words in enumerate((EITHER, *FORMS.values()))}
    return tuple(sorted(seen, key=lambda words: order[words.partition(",")[0]]))


def claims_table(sections: Sequence[Section]) -> TextTable:
    """Return the sentences of a paper in one table: where each stands, what it says, and the verdict in each form."""
    findings = sentences(sections)
    forms = _forms_of(findings)
    rows = tuple(
        (finding.section, finding.text, short_name(finding.experiment), *map(finding.answer, forms))
        for finding in findings
    )
    return TextTable(("section", "the paper says", "run in", *forms), rows)


def tally(sections: Sequence[Section]) -> TextTable:
    """Return how many of a paper's sentences hold, do not, and cannot be told, in each form."""
    findings = sentences(sections)
    rows = []
    for form in _forms_of(findings):
        answers = Counter(finding.verdicts[form].answer for finding in findings if form in finding.verdicts)
        rows.append((form, *(str(answers[answer]) for answer in ANSWERS), str(answers.total())))
    return TextTable(("form", *ANSWERS, "sentences"), tuple(rows))


def short_name(experiment: str) -> str:
    return experiment.partition("/")[2]


def file_name(experiment: str) -> str:
    return experiment.replace("/", "-")


def guarantees(systems: Sequence[str]) -> Guarantees:
    """Return what each form's certificate says at epsilon 1 and default size: whether it holds, and every reason why not."""
    rows = []
    reasons: list[str] = []
    for system in systems:
        for form in PAPER_AND_PRIVATE:
            # A certificate depends on the schema and the parameters, and on no record: two will do.
            model = estimator(Fit("", system, form), TWO_FEATURES, None).fit([[0.2, "a"], [0.7, "b"]], ["no", "yes"])
            certificate = model.certificate_
            own = cost(certificate.event).reasons
            reasons += [reason for reason in own if reason not in reasons]
            spent = "" if certificate.spent is None else f"epsilon {float(certificate.spent):.3g} is spent"
            words = ", ".join(map(str, sorted(1 + reasons.index(reason) for reason in own)))
            rows.append(
                (system, FORMS[form], "yes" if certificate.holds else "no", f"reasons {words}" if words else spent)
            )
    return Guarantees(TextTable(("system", "form", "holds", "why"), tuple(rows)), tuple(reasons))


def markdown_page(paper: Paper, sections: Sequence[Section], settings: Sequence[str], promised: Guarantees) -> str:
    """Return a paper's page as Markdown; pictures are files beside it."""
    blocks = list(_blocks(paper, sections, settings, promised))
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _blocks(
    paper: Paper, sections: Sequence[Section], settings: Sequence[str], promised: Guarantees
) -> Iterator[list[str]]:
    """Yield the lines of each paragraph, table and list of a page; some have none."""
    times = Counter(note for section in sections for note in section.notes)
    yield [f"# {paper.title}: the paper's experiments, run again"]
    yield wrapped(f"{paper.reference}.")
    yield wrapped(f"{LEGEND} {' '.join(settings)}")
    yield ["## In short"]
    yield pipes(tally(sections))
    yield bullets(paper.summary)
    claims = claims_table(sections)
    if claims.rows:
        yield ["## What the paper says, sentence by sentence"]
        yield pipes(claims)
    if max(times.values(), default=0) > 1:
        yield [f"## {SHARED}"]
        yield bullets(note for note, count in times.items() if count > 1)
    for section in sections:
        yield [f"## {section.name}: {section.title}"]
        yield wrapped(section.settings)
        if section.has_figure:
            yield [f"![{section.name}](figures/{file_name(section.name)}.png)"]
        ours = [finding for finding in section.findings if not finding.section]
        if ours:
            forms = _forms_of(ours)
            rows = tuple((finding.text, *map(finding.answer, forms)) for finding in ours)
            yield pipes(TextTable(("our own check", *forms), rows))
        if section.numbers is not None:
            yield ["The paper's numbers beside ours:"]
            yield pipes(section.numbers)
        details = [finding.details for finding in section.findings if finding.details]
        if details:
            yield [MORE]
            yield bullets(details)
        yield bullets(note for note in section.notes if times[note] == 1)
    yield ["## What the guarantees are worth"]
    yield wrapped(WORTH)
    yield pipes(promised.table)
    yield [line for n, reason in enumerate(promised.reasons, 1) for line in wrapped(f"{reason}.", f"{n}. ")]
    names = dict.fromkeys(PROOFS.get(system, system) for system in paper.systems)
    proofs = ", ".join(f"docs/proofs/{name}.md" for name in names)
    yield wrapped(f"Proofs of the private forms, and pairs of data sets that tell the published ones apart: {proofs}.")


def bullets(texts: Iterable[str]) -> list[str]:
    return [line for text in texts for line in wrapped(text, "- ")]


def wrapped(text: str, mark: str = "") -> list[str]:
    """Return text in lines behind a mark of a list; none begins with a sign that Markdown would read as such a mark."""
    kept = re.sub(r" (?=([-+*#>]|\d+[.)])( |$))", "\N{NO-BREAK SPACE}", text)
    lines = textwrap.wrap(
        kept,
        WIDTH,
        initial_indent=mark,
        subsequent_indent=" " * len(mark),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]


def pipes(table: TextTable) -> list[str]:
    rows = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in table.rows]
    return ["| " + " | ".join(table.headers) + " |", "|" + " -- |" * len(table.headers), *rows]


# The account of a whole run


def readme(papers: Sequence[tuple[Paper, Sequence[Section]]], settings: Sequence[str]) -> str:
    """Return the page above the papers' pages, as Markdown: how to run it and read it, and which sentences stand."""
    rows = tuple(
        (f"[{paper.title}]({paper.name}.md)", paper.reference, ", ".join(short_name(e.name) for e in paper.experiments))
        for paper, _ in papers
    )
    contents = "\n".join(pipes(TextTable(("paper", "reference", "experiments"), rows)))
    above = (files("hedgerow.papers.reproduce") / "account.md").read_text(encoding="utf-8")
    return above.replace("{contents}", contents) + "\n".join(_account(papers, settings)) + "\n"


def _account(papers: Sequence[tuple[Paper, Sequence[Section]]], settings: Sequence[str]) -> Iterator[str]:
    yield "## The account"
    yield ""
    yield from wrapped(
        f"How many sentences of each paper stand. {' '.join(settings)} The paper's page has the figures of each."
    )
    yield ""
    tables = [(paper, tally(sections)) for paper, sections in papers]
    rows = tuple((paper.title, *row) for paper, table in tables for row in table.rows)
    yield from pipes(TextTable(("paper", *tables[0][1].headers), rows))
    for paper, sections in papers:
        yield ""
        yield f"### {paper.title}"
        findings = sentences(sections)
        for group in GROUPS:
            yield from _list(f"{group}:", [_line(one, group) for one in findings if group_of(one) == group])
        ours = [finding for finding in findings if PRIVATE in finding.verdicts]
        for answer in ANSWERS:
            yield from _list(
                f"Private form (ours), {answer}:", [_line(f) for f in ours if f.verdicts[PRIVATE].answer == answer]
            )


def _list(heading: str, texts: Sequence[str]) -> Iterator[str]:
    if texts:
        yield from ("", heading, "", *bullets(texts))


def _line(finding: Finding, group: str = "") -> str:
    """Return a sentence, and what decided it where it does not simply stand."""
    line = f"{finding.text} ({finding.section})"
    return f"{line}: {finding.deciding.words}" if group in GROUPS[2:] else line


def group_of(finding: Finding) -> str:
    """Return the group of the account that a sentence belongs to, by the authors' forms alone.

    One that holds as printed stands there, and one that holds by another reading of the print or as the authors coded it stands
    by that; otherwise the printed form decides.
    """
    first = finding.deciding
    if first.answer == "holds":
        return GROUPS[0]
    if any(verdict.answer == "holds" for form, verdict in finding.verdicts.items() if form != PRIVATE):
        return GROUPS[1]
    return GROUPS[2] if first.answer == "does not" else GROUPS[3]
