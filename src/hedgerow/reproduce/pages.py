"""What a person reads: one page per paper, as Markdown beside its figures and as one HTML file."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from hedgerow.plots import Page
from hedgerow.privacy.accounting import unprotected
from hedgerow.reproduce.experiment import ANSWERS, FORMS, Experiment, Form, Verdict
from hedgerow.reproduce.fits import Fit, estimator
from hedgerow.reproduce.results import Results
from hedgerow.reproduce.statements import Paper
from hedgerow.schema import Categorical, Numeric, Schema

WIDTH = 130
SHARED = "Notes on several experiments"
SAID = "What the paper says, sentence by sentence"
MORE = "Sentence by sentence, what else was measured:"
EITHER = "without runs"  # of an experiment that has none
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


@dataclass(frozen=True)
class TextTable:
    """A table of texts."""

    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Guarantees:
    """What certificates say: a line for each form, and the reasons that the lines name by number."""

    table: TextTable
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Finding:
    """A claim of an experiment, and what was found of it in each form, by the form's words."""

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
        found = [f"{form}, {verdict.details}" for form, verdict in self.verdicts.items() if verdict.details]
        return f"{self.text}: {'. '.join(found)}." if found else ""


@dataclass(frozen=True)
class Section:
    """One experiment on a page."""

    name: str
    title: str
    settings: str
    findings: tuple[Finding, ...]
    numbers: TextTable | None
    notes: tuple[str, ...]
    png: bytes | None


def sections_of(results: Iterable[tuple[Results, bytes | None]]) -> tuple[Section, ...]:
    """Return the sections of experiments, each with its picture if it has one."""
    return tuple(
        Section(
            found.experiment.name,
            found.experiment.title,
            found.experiment.settings,
            _findings(found),
            _numbers(found),
            found.experiment.notes,
            png,
        )
        for found, png in results
    )


def _forms(experiment: Experiment) -> tuple[Form, ...]:
    """Return the forms that claims are checked for; of an experiment without curves, what both share."""
    return experiment.forms or ("published",)


def _findings(results: Results) -> tuple[Finding, ...]:
    experiment = results.experiment
    return tuple(
        Finding(
            experiment.name,
            claim.section,
            claim.text,
            {_words(experiment, form): claim.check(results, form) for form in _forms(experiment)},
        )
        for claim in experiment.claims
    )


def _words(experiment: Experiment, form: Form) -> str:
    """Return what the column of a form is called."""
    if not experiment.forms:
        return EITHER
    return f"{FORMS[form]}, {experiment.reading}" if experiment.reading and form == "published" else FORMS[form]


def sentences(sections: Sequence[Section]) -> list[Finding]:
    """Return what was found of each sentence of a paper; that of another reading stands with that of the first."""
    found: dict[tuple[str, str], Finding] = {}
    for finding in (finding for section in sections for finding in section.findings if finding.section):
        place = finding.section, finding.text
        if place not in found:
            found[place] = finding
        else:
            first = found[place]
            both = f"{first.experiment}, {short_name(finding.experiment)}"
            others = {form: verdict for form, verdict in finding.verdicts.items() if form not in first.verdicts}
            found[place] = replace(first, experiment=both, verdicts={**first.verdicts, **others})
    return list(found.values())


def _forms_of(findings: Iterable[Finding]) -> tuple[str, ...]:
    """Return the forms that some claim was checked for, in their usual order."""
    seen = dict.fromkeys(form for finding in findings for form in finding.verdicts)
    order = {words: place for place, words in enumerate((EITHER, *FORMS.values()))}
    return tuple(sorted(seen, key=lambda words: order[words.partition(",")[0]]))


def claims_table(sections: Sequence[Section]) -> TextTable:
    """Return the sentences of a paper in one table: where each stands, what it says, and what was found in each form."""
    findings = sentences(sections)
    forms = _forms_of(findings)
    rows = tuple(
        (finding.section, finding.text, short_name(finding.experiment), *map(finding.answer, forms))
        for finding in findings
    )
    return TextTable(("section", "the paper says", "run in", *forms), rows)


def own_table(section: Section) -> TextTable | None:
    """Return the checks of an experiment that are ours and not the paper's; None where there is none."""
    findings = [finding for finding in section.findings if not finding.section]
    forms = _forms_of(findings)
    rows = tuple((finding.text, *map(finding.answer, forms)) for finding in findings)
    return TextTable(("our own check", *forms), rows) if rows else None


def tally(sections: Sequence[Section]) -> TextTable:
    """Return how many of a paper's sentences hold, do not, and cannot be told, in each form."""
    findings = sentences(sections)
    rows = []
    for form in _forms_of(findings):
        answers = Counter(finding.verdicts[form].answer for finding in findings if form in finding.verdicts)
        rows.append((form, *(str(answers[answer]) for answer in ANSWERS), str(answers.total())))
    return TextTable(("form", *ANSWERS, "sentences"), tuple(rows))


def short_name(experiment: str) -> str:
    """Return an experiment's name without its paper's."""
    return experiment.partition("/")[2]


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


def guarantees(systems: Sequence[str]) -> Guarantees:
    """Return what each form's certificate says at epsilon 1 and default size: whether it holds, and every reason why not."""
    schema = Schema({"number": Numeric(0, 1), "word": Categorical(["a", "b"])}, classes=["no", "yes"])
    rows = []
    reasons: list[str] = []
    for system in systems:
        for form in PAPER_AND_PRIVATE:
            # A certificate depends on the schema and the parameters, and on no record: two will do.
            model = estimator(Fit("", system, form), schema, None).fit([[0.2, "a"], [0.7, "b"]], ["no", "yes"])
            certificate = model.certificate_
            found = unprotected(certificate.event)
            reasons += [reason for reason in found if reason not in reasons]
            spent = "" if certificate.spent is None else f"epsilon {float(certificate.spent):.3g} is spent"
            words = ", ".join(map(str, sorted(1 + reasons.index(reason) for reason in found)))
            rows.append(
                (system, FORMS[form], "yes" if certificate.holds else "no", f"reasons {words}" if words else spent)
            )
    return Guarantees(TextTable(("system", "form", "holds", "why"), tuple(rows)), tuple(reasons))


def markdown_page(paper: Paper, sections: Sequence[Section], settings: Sequence[str], found: Guarantees) -> str:
    """Return a paper's page as Markdown; pictures are files beside it."""
    return "\n\n".join("\n".join(block) for block in _markdown(paper, sections, settings, found) if block) + "\n"


def _markdown(
    paper: Paper, sections: Sequence[Section], settings: Sequence[str], found: Guarantees
) -> Iterator[Sequence[str]]:
    """Yield the lines of each block; between blocks stands an empty line."""
    shared, sections = _apart(sections)
    yield [f"# {paper.title}: the paper's experiments, run again"]
    yield wrapped(f"{paper.reference}.")
    yield wrapped(f"{LEGEND} {' '.join(settings)}")
    yield ["## In short"]
    yield list(pipes(tally(sections)))
    yield bullets(paper.summary)
    claims = claims_table(sections)
    if claims.rows:
        yield [f"## {SAID}"]
        yield list(pipes(claims))
    if shared:
        yield [f"## {SHARED}"]
        yield bullets(shared)
    for section in sections:
        yield from _markdown_section(section)
    yield ["## What the guarantees are worth"]
    yield wrapped(WORTH)
    yield list(pipes(found.table))
    yield [line for number, reason in enumerate(found.reasons, 1) for line in wrapped(f"{reason}.", f"{number}. ")]
    yield wrapped(_proofs(paper))


def _markdown_section(section: Section) -> Iterator[Sequence[str]]:
    yield [f"## {section.name}: {section.title}"]
    yield wrapped(section.settings)
    if section.png is not None:
        yield [f"![{section.name}](figures/{file_name(section.name)}.png)"]
    own = own_table(section)
    if own is not None:
        yield list(pipes(own))
    if section.numbers is not None:
        yield ["The paper's numbers beside ours:"]
        yield list(pipes(section.numbers))
    details = [finding.details for finding in section.findings if finding.details]
    if details:
        yield [MORE]
        yield bullets(details)
    yield bullets(section.notes)


def _apart(sections: Sequence[Section]) -> tuple[tuple[str, ...], tuple[Section, ...]]:
    """Return the notes that several sections have, and the sections without these."""
    times = Counter(note for section in sections for note in section.notes)
    own = tuple(
        replace(section, notes=tuple(note for note in section.notes if times[note] == 1)) for section in sections
    )
    return tuple(note for note, count in times.items() if count > 1), own


def bullets(texts: Iterable[str]) -> list[str]:
    """Return the lines of a list."""
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


def _proofs(paper: Paper) -> str:
    """Say where the proofs stand, in the sources of the library."""
    names = dict.fromkeys(PROOFS.get(system, system) for system in paper.systems)
    pages = ", ".join(f"docs/proofs/{name}.md" for name in names)
    return f"Proofs of the private forms, and pairs of data sets that tell the published ones apart: {pages}."


def file_name(experiment: str) -> str:
    """Return the name of an experiment's files, without their ending."""
    return experiment.replace("/", "-")


def pipes(table: TextTable) -> Iterator[str]:
    """Yield the lines of a table in Markdown."""
    yield "| " + " | ".join(table.headers) + " |"
    yield "|" + " -- |" * len(table.headers)
    for row in table.rows:
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"


def html_page(paper: Paper, sections: Sequence[Section], settings: Sequence[str], found: Guarantees) -> Page:
    """Return a paper's page as HTML with its pictures in it."""
    shared, sections = _apart(sections)
    page = Page(f"{paper.title}: the paper's experiments, run again")
    page.text(f"{paper.reference}.\n\n{LEGEND} {' '.join(settings)}").heading("In short")
    short, claims = tally(sections), claims_table(sections)
    page.table(short.headers, short.rows).items(paper.summary)
    if claims.rows:
        page.heading(SAID).table(claims.headers, claims.rows)
    if shared:
        page.heading(SHARED).items(shared)
    for section in sections:
        page.heading(f"{section.name}: {section.title}").text(section.settings)
        if section.png is not None:
            page.figure(section.png, f"{section.name}. {LEGEND}")
        own = own_table(section)
        if own is not None:
            page.table(own.headers, own.rows)
        if section.numbers is not None:
            page.table(section.numbers.headers, section.numbers.rows)
        page.items(finding.details for finding in section.findings if finding.details).items(section.notes)
    page.heading("What the guarantees are worth").text(WORTH).table(found.table.headers, found.table.rows)
    page.items(f"{number}. {reason}." for number, reason in enumerate(found.reasons, 1)).text(_proofs(paper))
    return page
