"""What a person reads: one page per paper, as Markdown beside its figures, and the account of all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from hedgerow.files import packaged_text
from hedgerow.papers.reproduce.experiment import FORMS, Form, Measured, Results
from hedgerow.papers.reproduce.statements import Paper, short_name
from hedgerow.papers.reproduce.verdicts import ANSWERS, NOT_MEASURED, Answer, Verdict, low_to_high

SHARED = "Notes on several experiments"
EITHER = "without runs"  # of an experiment that has none
PRINTED, PRIVATE = FORMS["published"], FORMS["private"]
OTHERWISE = "holds by another reading or as coded"
TALLY = ("form", *ANSWERS, "sentences")


@dataclass(frozen=True)
class Finding:
    experiment: str
    section: str
    text: str
    verdicts: Mapping[str, Verdict]

    def answers(self, forms: Iterable[str]) -> list[str]:
        return [str(self.verdicts.get(form, "")) for form in forms]

    @property
    def deciding(self) -> Verdict:
        """The verdict of the form that decides: the printed one, or what was stated without runs."""
        own = {form: verdict for form, verdict in self.verdicts.items() if form != PRIVATE}
        return own.get(PRINTED) or own.get(EITHER) or next(iter(own.values()), NOT_MEASURED)

    @property
    def standing(self) -> str:
        """Whether the sentence stands, by the authors' forms alone: as printed first, or by another reading or their code."""
        others = any(verdict.answer == "holds" for form, verdict in self.verdicts.items() if form != PRIVATE)
        return OTHERWISE if others and self.deciding.answer != "holds" else self.deciding.answer


@dataclass(frozen=True)
class Section:
    results: Results
    findings: tuple[Finding, ...]
    has_figure: bool


def section_of(results: Results, *, has_figure: bool) -> Section:
    experiment = results.experiment
    columns: dict[Form, str] = {form: FORMS[form] for form in experiment.forms} or {"published": EITHER}
    if experiment.reading and experiment.forms:
        columns["published"] += f", {experiment.reading}"
    checked = ((one, {words: one.check(results, form) for form, words in columns.items()}) for one in experiment.claims)
    findings = tuple(Finding(experiment.name, one.section, one.text, verdicts) for one, verdicts in checked)
    return Section(results, findings, has_figure)


def numbers_beside_ours(results: Results) -> list[str]:
    experiment = results.experiment
    places = list(experiment.reported)
    if len(experiment.axis.values) == 1:
        places += [(curve.panel, curve.label, x) for curve in experiment.curves if curve.form for x, _ in curve.points]
    rows = []
    for panel, label, x in dict.fromkeys(places):
        cells = [results.cell(panel, label, form, x) for form in experiment.forms]
        ours = [f"{cell.mean:.3f} ± {cell.spread:.3f}" if cell is not None else "" for cell in cells]
        value = experiment.reported.get((panel, label, x))
        rows.append([panel.name, label, f"{x:g}", "" if value is None else f"{value:.3f}", *ours])
    headers = ("panel", "method", experiment.axis.words, "paper", *(FORMS[form] for form in experiment.forms))
    return pipes(headers, rows) if rows else []


def sentences(sections: Sequence[Section]) -> list[Finding]:
    """Return the verdict on each sentence of a paper, in each form that some experiment with it was run in."""
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in (finding for section in sections for finding in section.findings if finding.section):
        groups.setdefault((finding.section, finding.text), []).append(finding)
    merged = []
    for own in groups.values():
        verdicts = {form: _together(own, form) for form in forms_of(own)}
        merged.append(
            replace(own[0], experiment=", ".join(short_name(one.experiment) for one in own), verdicts=verdicts)
        )
    return merged


def _together(findings: Sequence[Finding], form: str) -> Verdict:
    """Return one verdict on a sentence about several figures: it holds if it does in all, and does not if it does not in one."""
    own = {short_name(one.experiment): one.verdicts[form] for one in findings if form in one.verdicts}
    if len(own) == 1:
        return next(iter(own.values()))
    answers = {verdict.answer for verdict in own.values()}
    answer: Answer = "does not" if "does not" in answers else answers.pop() if len(answers) == 1 else "cannot be told"
    return Verdict(answer, "; ".join(f"{name}: {verdict}" for name, verdict in own.items()))


def forms_of(findings: Iterable[Finding]) -> list[str]:
    order = (EITHER, *FORMS.values())
    seen = dict.fromkeys(form for finding in findings for form in finding.verdicts)
    return sorted(seen, key=lambda words: order.index(words.partition(",")[0]))


def tally(findings: Sequence[Finding]) -> list[list[str]]:
    rows = []
    for form in forms_of(findings):
        answers = Counter(finding.verdicts[form].answer for finding in findings if form in finding.verdicts)
        rows.append([form, *(str(answers[answer]) for answer in ANSWERS), str(answers.total())])
    return rows


def markdown_page(paper: Paper, sections: Sequence[Section], settings: str, head: str = "") -> str:
    notes = Counter(note for section in sections for note in section.results.experiment.notes)
    findings = sentences(sections)
    forms = forms_of(findings)
    said = [[one.section, one.text, one.experiment, *one.answers(forms)] for one in findings]
    blocks = [
        [f"# {paper.title}: the paper's experiments, run again"],
        [f"{paper.reference}."],
        [head] if head else [],
        ["## In short"],
        pipes(TALLY, tally(findings)),
        [text_of("rules")],
        [f"{settings} [The map]({paper.name}-map.md) leads from each numbered item of the paper to its code."],
    ]
    if said:
        headers = ("section", "the paper says", "run in", *forms)
        blocks += [["## What the paper says, sentence by sentence"], pipes(headers, said)]
    if max(notes.values(), default=0) > 1:
        blocks += [[f"## {SHARED}"], bullets(note for note, count in notes.items() if count > 1)]
    for section in sections:
        experiment = section.results.experiment
        blocks += [[f"## {experiment.name}: {experiment.title}"], [experiment.settings]]
        if section.has_figure:
            blocks.append([f"![{experiment.name}](figures/{experiment.name.replace('/', '-')}.png)"])
        ours = [finding for finding in section.findings if not finding.section]
        if ours:
            forms = forms_of(ours)
            blocks.append(pipes(("our own check", *forms), [[one.text, *one.answers(forms)] for one in ours]))
        numbers = numbers_beside_ours(section.results)
        if numbers:
            blocks += [["The paper's numbers beside ours:"], numbers]
        blocks.append(bullets(note for note in experiment.notes if notes[note] == 1))
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def bullets(texts: Iterable[str]) -> list[str]:
    return [f"- {text}" for text in texts]


def pipes(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return ["| " + " | ".join(headers) + " |", "|" + " -- |" * len(headers), *lines]


def text_of(name: str) -> str:
    return packaged_text("hedgerow.papers.reproduce", f"{name}.md").rstrip()


def headline(paper: Paper, sections: Sequence[Section]) -> str:
    """Return what the rows show of a paper, in a paragraph: each sentence with its figures.

    Where one of the figures that it needs to be ``positive`` is not, or the paper's sentence ``unless`` holds as printed, its
    ``otherwise`` stands instead.
    """
    stands = {one.text for one in sentences(sections) if one.deciding.answer == "holds"}
    results = {short_name(section.results.experiment.name): section.results for section in sections}
    texts = []
    for one in paper.headlines:
        figures = {name: _figure(results, **how) for name, how in one["figures"].items()}
        if not all(numbers for numbers, _ in figures.values()):
            continue  # not all of it was measured
        right = all(min(figures[name][0]) > 0 for name in one.get("positive", figures))
        text = one["text" if right and one.get("unless") not in stands else "otherwise"]
        for name, numbers in figures.items():
            text = text.replace(f"<{name}>", low_to_high(*numbers).replace("0.", "."))
        texts.append(text)
    return " ".join(texts)


def _figure(
    results: Mapping[str, Results],
    within: Sequence[str],
    first: str,
    form: Form = "published",
    others: Sequence[str] = (),
    panels: Sequence[str] = ("*",),
    x: Sequence[float] = (),
    mean: bool = False,
    sign: float = 1.0,
) -> tuple[list[float], str]:
    """Return a method's accuracy, or by how much it is above others, at some or all x or on their mean; and its digits."""
    numbers: list[float] = []
    for runs in (Measured(results[name], form) for name in within):
        for panel in runs.panels(panels):
            for names in [[first, other] for other in others] or [[first]]:
                rows = runs.rows([(panel, name) for name in names])
                own = [
                    cells[0].mean - sum(cell.mean for cell in cells[1:])
                    for at, cells in rows.items()
                    if not x or at in x
                ]
                numbers += [sign * fmean(own)] if mean and own else [sign * number for number in own]
    return numbers, (".2f" if sign < 0 else "+.2f") if others else ".3f"


def readme(
    papers: Sequence[tuple[Paper, Sequence[Section]]], headlines: Mapping[str, str], settings: Sequence[str]
) -> str:
    contents = [
        [f"[{paper.title}]({paper.name}.md)", paper.reference, ", ".join(short_name(e.name) for e in paper.experiments)]
        for paper, _ in papers
    ]
    text = text_of("account")
    heads = [line for title, head in headlines.items() if head for line in (f"**{title}.** {head}", "")]
    stand = f"{' '.join(settings)} The filters above the second table choose among its lines; a paper's page has every form."
    findings = {paper.title: sentences(sections) for paper, sections in papers}
    counts = [[title, *row] for title, own in findings.items() for row in tally(own)]
    verdicts = []
    for title, own in findings.items():
        for one in own:
            private = one.verdicts[PRIVATE].answer if PRIVATE in one.verdicts else ""
            verdicts.append([title, one.section, one.text, one.standing, private, one.deciding.words])
    headers = ("paper", "section", "the paper says", "verdict", "private form (ours)", "what decides")
    parts = {
        "contents": pipes(("paper", "reference", "experiments"), contents),
        "headlines": heads,
        "rules": [text_of("rules")],
        "runs": [stand],
        "counts": pipes(("paper", *TALLY), counts),
        "verdicts": pipes(headers, verdicts),
    }
    for name, lines in parts.items():
        text = text.replace(f"{{{name}}}", "\n".join(lines).rstrip())
    return text
