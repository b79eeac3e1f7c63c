"""A model's card: its guarantee, what it reads, what it learned, what was spent, and its limits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, Self

import numpy as np

from hedgerow import __version__
from hedgerow.additive.model import AdditiveModel
from hedgerow.analysis.figures import Card
from hedgerow.analysis.regression_card import RegressionCard
from hedgerow.boosting.plan import BoostedModel
from hedgerow.errors import ConfigurationError
from hedgerow.estimator import ClassOrder, PrivateEstimator
from hedgerow.ledgers.ledger import Ledger
from hedgerow.ledgers.store import StoredLedger
from hedgerow.plots.axes import new_figure
from hedgerow.plots.features import FeatureDisplay, feature_panels, outcome_words
from hedgerow.plots.importances import ImportancesDisplay
from hedgerow.plots.report import CalibrationDisplay, ConfusionMatrixDisplay, PrecisionRecallDisplay, ROCDisplay
from hedgerow.plots.residuals import PredictionErrorDisplay, ResidualDisplay
from hedgerow.privacy.exact import decimal_text

__all__ = ["Report", "curves_figure", "write_card"]

PANELS_IN_A_ROW = 3
WIDTH, HEIGHT = 4.2, 3.2  # of a panel, in inches
MOST_FEATURES = 20  # features whose importances are listed

LIMITS = (
    "The guarantee covers what the fit released, for each record, or each person where persons are protected, by itself. "
    "It does not say that the model is right, fair, or fit for a use.",
    "What was done to the records before the fit (scaling, imputing, selecting by looking at them) is not covered, and neither "
    "are scores on raw test data or parameters that were chosen by them.",
    "Several fits on the same records add up. Only a ledger that all of them name knows the sum.",
    "Noise is part of the model: small differences between bins, and features of small importance, may be noise alone.",
    "Running time, memory and page faults of the fit depend on the records. That there is at least one record is public.",
)


class Report(Protocol):
    """A page that is built from top to bottom: ``Page`` and ``MarkdownPage``."""

    def heading(self, text: str, level: int = 2) -> Self:
        """Add a heading."""

    def text(self, text: str) -> Self:
        """Add text."""

    def items(self, texts: Iterator[str] | tuple[str, ...]) -> Self:
        """Add a list."""

    def lines(self, text: str) -> Self:
        """Add text whose line breaks are kept."""

    def table(self, headers: tuple[str, ...], rows: Iterator[tuple[object, ...]]) -> Self:
        """Add a table."""

    def figure(self, figure: object, caption: str) -> Self:
        """Add a picture."""


def write_card(
    estimator: PrivateEstimator, page: Report, ledger: Ledger | None = None, report: Card | None = None
) -> None:
    """Write the card of a fitted model on a page. It is computed from released values only and costs nothing.

    Parameters
    ----------
    estimator : PrivateEstimator
        The model.
    page : Page or MarkdownPage
        The page to write on. Pictures are drawn if matplotlib is installed.
    ledger : Ledger or None
        The ledger of the model's records, whose entries are listed.
    report : ReportCard, RegressionCard or None
        The result of a private evaluation of the model.

    Examples
    --------
    >>> import numpy as np, hedgerow as hr
    >>> from hedgerow.plots import MarkdownPage
    >>> X = np.random.default_rng(0).uniform(0, 1, (200, 1))
    >>> schema = hr.Schema({"a": hr.Numeric(0, 1)}, classes=["low", "high"])
    >>> model = hr.ForestClassifier(schema=schema).fit(X, np.where(X[:, 0] > 0.5, "high", "low"))
    >>> page = MarkdownPage("A model")
    >>> write_card(model, page)
    >>> "## What it guarantees" in page.markdown()
    True
    """
    _about(estimator, page)
    _schema(estimator, page)
    _learned(estimator, page)
    if report is not None:
        page.heading("How good it is").text("Released by a private evaluation, whose certificate follows.")
        page.lines(str(report))
        _report_pictures(report, page)
        page.lines(report.certificate_.details())
    if ledger is not None:
        _spent(ledger, page)
    page.heading("Limits").items(LIMITS)


def _report_pictures(report: Card, page: Report) -> None:
    kinds: tuple[Any, ...] = (ROCDisplay, PrecisionRecallDisplay, CalibrationDisplay, ConfusionMatrixDisplay)
    words = "the ROC curve, precision and recall, calibration, and the confusion matrix"
    if isinstance(report, RegressionCard):
        kinds = (PredictionErrorDisplay, ResidualDisplay, CalibrationDisplay)
        words = (
            "predictions against outcomes, residuals with their quantiles, and calibration by tenths of the predictions"
        )
    try:
        figures = [_drawn(kind.from_report(report)) for kind in kinds]
    except ConfigurationError as error:  # without matplotlib
        page.text(f"Pictures of {words} are missing: {error}")
        return
    page.figure(figures, f"{words[:1].upper()}{words[1:]}: all from the noisy counts of the report.")


def _drawn(display: Any) -> Any:
    """Return a separate figure for a display, because the width of a page decides which figures are side by side."""
    figure = new_figure(WIDTH, 1.1 * HEIGHT)
    display.plot(figure.subplots())
    return figure


def _about(estimator: PrivateEstimator, page: Report) -> None:
    certificate = estimator.certificate_
    claim = certificate.claim
    summary = (estimator.__doc__ or "").strip().splitlines()
    facts = [
        ("system", type(estimator).__name__),
        ("form", certificate.variant),
        ("epsilon", decimal_text(claim.epsilon)),
        ("delta", decimal_text(claim.delta)),
        ("neighboring data sets", claim.adjacency),
        ("protected", str(certificate.unit)),
        ("guarantee", "holds" if certificate.holds else "DOES NOT HOLD"),
        ("written by", f"hedgerow {__version__}"),
    ]
    page.text(summary[0] if summary else "").table(("what", "value"), iter(facts))
    page.heading("What it guarantees")
    if not certificate.holds:
        page.text("No guarantee holds for this model:").items(iter(certificate.reasons))
    page.lines(certificate.details())


def _schema(estimator: PrivateEstimator, page: Report) -> None:
    schema = estimator.schema_
    page.heading("What it reads").text(
        "All of this is public and was never read off the records."
        if schema.is_given
        else "Entries marked as inferred were read off the records, so that no guarantee holds."
    )
    rows = ((name, type(kind).__name__, kind.in_words(), kind.origin) for name, kind in schema.features.items())
    page.table(("feature", "type", "range or values", "origin"), rows)
    if schema.outcome is None:
        page.text(f"Classes: {', '.join(map(str, schema.classes))} ({schema.classes_origin}).")
    else:
        page.text(f"Outcome: a number, {schema.outcome.in_words()} ({schema.outcome.origin}).")
    if schema.missing:
        page.text(f"Empty cells and these markers are missing values: {', '.join(map(repr, schema.missing))}.")


def _learned(estimator: PrivateEstimator, page: Report) -> None:
    page.heading("What it learned")
    importances = estimator.feature_importances_
    try:
        _pictures(estimator, page)
    except ConfigurationError as error:  # without matplotlib
        page.text(f"Pictures of importances and of what each feature adds are missing: {error}")
    ranked = np.argsort(-importances, kind="stable")[:MOST_FEATURES].tolist()
    names = estimator.schema_.names
    rows = ((names[place], f"{importances[place]:.4f}" if importances[place] else "not used") for place in ranked)
    page.table(("feature", "importance"), rows)
    unused = [name for name, importance in zip(names, importances, strict=True) if not importance]
    if unused:
        more = ", ..." if len(unused) > MOST_FEATURES else ""
        page.text(f"Features that the model does not use, {len(unused)}: {', '.join(unused[:MOST_FEATURES])}{more}.")


def _pictures(estimator: PrivateEstimator, page: Report) -> None:
    shown = min(len(estimator.schema_.names), MOST_FEATURES)
    figure = new_figure(6.4, 0.9 + 0.28 * shown)
    display = ImportancesDisplay.from_estimator(estimator, max_features=MOST_FEATURES, ax=figure.subplots())
    page.figure(figure, f"Importances: {display.words}.")
    if isinstance(estimator.model_, AdditiveModel | BoostedModel):
        _curves(estimator, page)


def _curves(estimator: PrivateEstimator, page: Report) -> None:
    try:
        displays, words = _curve_displays(estimator)
        figures = [_drawn(display) for display in displays]
    except ConfigurationError:  # trees of several features have no curves, nor has a model that uses no feature
        return
    page.figure(figures, f"{words[0].upper()}{words[1:]}.")


def curves_figure(estimator: PrivateEstimator) -> tuple[Any, str]:
    """Return a figure for files, with the curve of each feature that a model uses, and a caption."""
    displays, words = _curve_displays(estimator)
    wide = min(len(displays), PANELS_IN_A_ROW)
    rows = -(-len(displays) // PANELS_IN_A_ROW)
    figure = new_figure(WIDTH * wide, HEIGHT * rows)
    for place, display in enumerate(displays):
        display.plot(figure.add_subplot(rows, wide, place + 1))
    return figure, words


def _curve_displays(estimator: PrivateEstimator) -> tuple[list[FeatureDisplay], str]:
    """Return a display for the curve of each feature that a model uses, and a caption."""
    importances, names = estimator.feature_importances_, estimator.schema_.names
    ranked = np.argsort(-importances, kind="stable")[:MOST_FEATURES]
    panels = feature_panels(estimator, [names[j] for j in ranked if importances[j] > 0])
    if not panels:
        raise ConfigurationError("the model uses no feature.")
    target = outcome_words(estimator)
    displays = [FeatureDisplay([panel], ClassOrder.of(estimator.schema_).classes, target=target) for panel in panels]
    return displays, f"what each feature adds to {target or 'the log-odds'}, with 90 % bands for noise, where known"


def _spent(ledger: Ledger, page: Report) -> None:
    page.heading("What was spent on these records")
    page.table(
        ("what", "value"),
        iter(
            [
                ("epsilon spent", decimal_text(ledger.spent)),
                ("epsilon left", decimal_text(ledger.remaining)),
            ]
        ),
    )
    if isinstance(ledger, StoredLedger):
        rows = (
            (f"{entry.time:%Y-%m-%d %H:%M} UTC", entry.who, entry.label, entry.state, decimal_text(entry.epsilon))
            for entry in ledger.entries
        )
        page.table(("when", "who", "what", "state", "epsilon"), rows)
