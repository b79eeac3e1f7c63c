"""Reports in one HTML file that opens from disk, and a model's card: guarantee, schema, what it learned, spending, limits."""

from __future__ import annotations

import base64
import html
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from hedgerow import __version__
from hedgerow.additive.model import AdditiveModel
from hedgerow.analysis.card import Card
from hedgerow.analysis.group_cards import GroupCards
from hedgerow.errors import ConfigurationError
from hedgerow.estimator import ClassOrder, PrivateEstimator
from hedgerow.files import atomic_file
from hedgerow.ledgers.ledger import Ledger
from hedgerow.plots.axes import TEXTS, new_figure, png_bytes
from hedgerow.plots.features import FeatureDisplay, feature_panels, outcome_words
from hedgerow.plots.model import ImportancesDisplay
from hedgerow.plots.report import displays_of
from hedgerow.privacy.exact import decimal_text
from hedgerow.texts import listed

WIDTH, HEIGHT = 4.2, 3.2  # of a panel, in inches
MOST_FEATURES = 20  # features whose importances are listed


class Page:
    """A page that is built from top to bottom and written at the end. All text is escaped.

    Parameters
    ----------
    title : str
        The page's name and first heading.

    Examples
    --------
    >>> page = Page("Accuracy").text("Ten runs.").table(["epsilon", "accuracy"], [[1, 0.83]])
    >>> "<td>0.83</td>" in page.html()
    True
    """

    def __init__(self, title: str) -> None:
        self.title = title
        self._parts: list[str] = [f"<h1>{html.escape(title)}</h1>"]

    def heading(self, text: str, level: int = 2) -> Self:
        """Add a heading."""
        self._parts.append(f"<h{level}>{html.escape(text)}</h{level}>")
        return self

    def text(self, text: str) -> Self:
        """Add text; an empty line starts a new paragraph."""
        self._parts += [f"<p>{html.escape(part.strip())}</p>" for part in text.split("\n\n") if part.strip()]
        return self

    def items(self, texts: Iterable[str]) -> Self:
        """Add a list; nothing if it is empty."""
        entries = "".join(f"<li>{html.escape(text)}</li>" for text in texts)
        if entries:
            self._parts.append(f"<ul>{entries}</ul>")
        return self

    def lines(self, text: str) -> Self:
        """Add text whose line breaks and spaces are kept."""
        self._parts.append(f"<pre>{html.escape(text)}</pre>")
        return self

    def table(self, headers: Sequence[object], rows: Iterable[Sequence[object]]) -> Self:
        """Add a table; every cell is shown as its text."""

        def row(cells: Iterable[object], tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{html.escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"

        body = "".join(row(cells, "td") for cells in rows)
        self._parts.append(f"<table><thead>{row(headers, 'th')}</thead><tbody>{body}</tbody></table>")
        return self

    def figure(self, figure: Any, caption: str) -> Self:
        """Add a picture: a matplotlib figure, a display that was drawn, or the bytes of a PNG file. A list is set in rows."""
        words, pictures = html.escape(caption), figure if isinstance(figure, list | tuple) else [figure]
        images = ""
        for picture in pictures:
            png = picture if isinstance(picture, bytes) else png_bytes(getattr(picture, "figure_", picture))
            images += f'<img alt="{words}" src="data:image/png;base64,{base64.b64encode(png).decode("ascii")}">'
        self._parts.append(f"<figure>{images}<figcaption>{words}</figcaption></figure>")
        return self

    def html(self) -> str:
        """Return the page as HTML."""
        return (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{html.escape(self.title)}</title><style>{TEXTS['style']}</style></head>\n<body>\n"
            + "\n".join(self._parts)
            + "\n</body></html>\n"
        )

    def write(self, path: str | os.PathLike[str], *, replace: bool = True) -> Path:
        """Write the page to a file, completely or not at all, and return its path; ``replace`` allows replacing a file."""
        with atomic_file(path, replace=replace) as part:
            part.write_text(self.html(), encoding="utf-8")
        return Path(path)


def write_card(
    estimator: PrivateEstimator,
    page: Page,
    ledger: Ledger | None = None,
    report: Card | GroupCards | None = None,
    refusals: Sequence[str] = (),
) -> None:
    """Write the card of a fitted model on a page, from released values only. Pictures are drawn if matplotlib is installed.

    ``refusals`` are reasons why no guarantee holds, those of the certificate among them.
    """
    refusals = refusals or estimator.certificate_.reasons
    certificate, claim, schema = estimator.certificate_, estimator.certificate_.claim, estimator.schema_
    summary = (estimator.__doc__ or "").strip().splitlines()
    facts = {
        "system": type(estimator).__name__,
        "form": certificate.variant,
        "epsilon": decimal_text(claim.epsilon),
        "delta": decimal_text(claim.delta),
        "neighboring data sets": claim.adjacency,
        "protected": str(certificate.unit),
        "guarantee": "DOES NOT HOLD" if refusals else "holds",
        "written by": f"hedgerow {__version__}",
    }
    page.text(summary[0] if summary else "").table(("what", "value"), facts.items())
    page.heading("What it guarantees")
    if refusals:
        page.text("No guarantee holds for this model:").items(refusals)
    page.lines(certificate.details())

    page.heading("What it reads").text(
        "All of this is public and was never read off the records."
        if schema.is_given
        else "Entries marked as inferred were read off the records, so that no guarantee holds."
    )
    rows = []
    for name, kind in schema.features.items():
        missing = f"; missing: {listed(kind.missing)}" if kind.missing else ""
        rows.append((name, type(kind).__name__, kind.in_words() + missing, kind.origin, kind.reason or "-"))
    page.table(("feature", "type", "range or values", "origin", "why public"), rows)
    why = f": {schema.labels.reason}" if schema.labels.reason else ""
    if schema.outcome is None:
        page.text(f"Classes: {', '.join(map(str, schema.classes))} ({schema.classes_origin}{why}).")
    else:
        page.text(f"Outcome: a number, {schema.outcome.in_words()} ({schema.outcome.origin}{why}).")
    if schema.missing:
        page.text(f"Empty cells and these markers are missing values: {', '.join(map(repr, schema.missing))}.")

    _learned(estimator, page)
    if report is not None:
        page.heading("How good it is").text("Released by a private evaluation, whose certificate follows.")
        page.lines(str(report))
        displays, content = displays_of(report)
        try:
            figures = [_drawn(display) for display in displays]
            page.figure(figures, f"{content[:1].upper()}{content[1:]}: all from the noisy counts of the report.")
        except ConfigurationError as error:  # without matplotlib
            page.text(f"Pictures of {content} are missing: {error}")
        page.lines(report.certificate_.details())
    if ledger is not None:
        from hedgerow.ledgers.store import StoredLedger  # SQLAlchemy takes its time

        page.heading("What was spent on these records")
        sums = (("epsilon spent", decimal_text(ledger.spent)), ("epsilon left", decimal_text(ledger.remaining)))
        page.table(("what", "value"), sums)
        if isinstance(ledger, StoredLedger):
            entries = (
                (f"{entry.time:%Y-%m-%d %H:%M} UTC", entry.who, entry.label, entry.state, decimal_text(entry.epsilon))
                for entry in ledger.entries
            )
            page.table(("when", "who", "what", "state", "epsilon"), entries)
    page.heading("Limits").items(TEXTS["limits"])


def _drawn(display: Any) -> Any:
    figure = new_figure(WIDTH, 1.1 * HEIGHT)
    display.plot(figure.subplots())
    return figure


def _learned(estimator: PrivateEstimator, page: Page) -> None:
    importances, names = estimator.feature_importances_, estimator.schema_.names
    ranked = np.argsort(-importances, kind="stable")[:MOST_FEATURES].tolist()
    page.heading("What it learned")
    try:
        figure = new_figure(6.4, 0.9 + 0.28 * min(len(names), MOST_FEATURES))
        display = ImportancesDisplay.from_estimator(estimator, max_features=MOST_FEATURES, ax=figure.subplots())
        page.figure(figure, f"Importances: {display.words}.")
        if isinstance(estimator.model_, AdditiveModel):
            panels = feature_panels(estimator, [names[j] for j in ranked if importances[j] > 0])
            target, classes = outcome_words(estimator), ClassOrder.of(estimator.schema_).classes
            figures = [_drawn(FeatureDisplay([panel], classes, target=target)) for panel in panels]
            if figures:
                what = target or "the log-odds"
                page.figure(figures, f"What each feature adds to {what}, with 90 % bands for noise, where known.")
    except ConfigurationError as error:  # without matplotlib
        page.text(f"Pictures of importances and of what each feature adds are missing: {error}")
    rows = ((names[place], f"{importances[place]:.4f}" if importances[place] else "not used") for place in ranked)
    page.table(("feature", "importance"), rows)
