"""Private evaluation of a fitted model: one query on records that were not used in the fit."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.analysis.card import MOST_BINS
from hedgerow.analysis.classification_card import ReportCard, ScoreGrid, usual_bins
from hedgerow.analysis.group_cards import GroupCards
from hedgerow.analysis.regression_card import RegressionCard, ResidualGrid
from hedgerow.arrays import Floats, Integers, without_sizes
from hedgerow.curator import Queryable
from hedgerow.curator.given import promised, read_given
from hedgerow.engines.records import table_of
from hedgerow.errors import ConfigurationError, shown
from hedgerow.estimator import ClassOrder, Model, PrivateClassifier, PrivateEstimator, PrivateRegressor, model_digest
from hedgerow.ledgers.ledger import Ledger
from hedgerow.mechanisms import Budget, Noise, PerRecordCoin, RoundedNormal
from hedgerow.parameters import RandomSource
from hedgerow.privacy.accounting import Event, cost
from hedgerow.privacy.certificate import certify, warn_of_claim
from hedgerow.schema import Categorical, Schema
from hedgerow.schema.features import Value
from hedgerow.table import Histogram, keep_of
from hedgerow.table.reading import Labelled
from hedgerow.texts import listed

ASSUMPTIONS = (
    "the model being public: what its own fit gave away stands on its own certificate",
    "X and y being other records than those of the fit: of a record, or of a person with records in both, the costs add up",
)


def evaluate(
    model: PrivateEstimator,
    X: Any,
    y: Any = None,
    *,
    epsilon: float,
    delta: float = 0.0,
    bins: int | None = None,
    by: str | None = None,
    adjacency: str = "add-remove",
    random_state: RandomSource = None,
    ledger: Ledger | None = None,
    groups: Any = None,
    records_per_person: int | None = None,
) -> ReportCard | RegressionCard | GroupCards:
    """Evaluate a fitted model privately on records that were not used in its fit.

    Releases  for a classifier, noisy counts of the records by label and by bin of the predicted probability; for a regressor,
              by bin of the prediction and of the residual. Every figure is computed from these counts.
    Costs     ``epsilon``, pure if ``delta`` is 0. A record is in one cell, and with K > 2 classes in K + 1.
    Assumes   that the model is public and was not fitted on these records.

    Parameters
    ----------
    model : PrivateClassifier or PrivateRegressor
        A fitted model of this library.
    X : data frame (pandas, polars, pyarrow), mapping of columns, array of shape (n_samples, n_features), or Records
        The test records, as for ``predict``. ``hr.Records`` are read once, block by block.
    y : sequence of length n_samples
        Their labels; None with ``hr.Records``, which hold them. A record whose label is missing or not in the schema is
        ignored.
    epsilon : float
        The budget, read as its shortest decimal.
    delta : float, default 0
        If above 0, the noise is normal, which is smaller for many classes.
    bins : int, optional
        The number of bins, even, from 2 to 1024. They are public: for a classifier at most so many, nearly at quantiles of the
        model's probabilities of made-up records (None: 24 for two classes at epsilon 1, fewer with more noise); for a regressor
        bins of the residual whose widths grow by a constant factor away from zero (None: 64).
    by : str, optional
        A categorical feature of the schema. Each of its categories gets a card of its own, for the same budget, since every
        record is in one group (docs/guide/unequal-error.md). The noise of a count stays the same, and groups have fewer records.
    adjacency, random_state, ledger, groups
        As for an estimator and its ``fit``. The ledger is charged before any record is read.
    records_per_person : int, optional
        The guarantee protects a person, of whom at most this many records are read. None: the model's value.

    Returns
    -------
    ReportCard
        For a classifier: accuracy, confusion matrix, ROC AUC, Brier score, curves and calibration, each with intervals, and the
        certificate.
    RegressionCard
        For a regressor: RMSE, MAE, R2, bias, quantiles of the residual, calibration by groups of predictions, and the counts that
        ``predict_interval`` needs.
    GroupCards
        With ``by``: a mapping from category to card.

    Raises
    ------
    ConfigurationError
        If a parameter or a column is wrong. Nothing was charged or drawn.
    BudgetExceeded
        If the ledger refuses the query. Nothing was drawn.

    Warns
    -----
    UserWarning
        If the card and the model protect different units: a record and a person, or persons by different columns. If no released
        count of a class stands out from its noise, or nearly all outcomes lie at an end of their range; the card says so, too.

    Notes
    -----
    Proof: docs/proofs/report-card.md. The costs of several evaluations of the same records add up.

    Examples
    --------
    >>> import hedgerow as hr, numpy as np
    >>> schema = hr.Schema({"a": hr.Numeric(0, 1)}, classes=["no", "yes"])
    >>> X = np.random.default_rng(0).uniform(size=(4000, 1))
    >>> y = np.where(X[:, 0] > 0.5, "yes", "no")
    >>> model = hr.HedgerowClassifier(epsilon=1, schema=schema, random_state=0).fit(X[:2000], y[:2000])
    >>> card = hr.evaluate(model, X[2000:], y[2000:], epsilon=1, random_state=0)
    >>> bool(card.accuracy > 0.9), card.certificate_.claim.epsilon
    (True, Fraction(1, 1))
    """
    if not isinstance(model, PrivateClassifier | PrivateRegressor):
        raise ConfigurationError(f"model is {type(model).__name__}, but it must be a fitted model of this library.")
    claim, randomness = promised(
        model.certificate_.records_per_person,
        epsilon=epsilon,
        delta=delta,
        adjacency=adjacency,
        records_per_person=records_per_person,
        random_state=random_state,
        ledger=ledger,
    )
    whole = isinstance(bins, int | np.integer) and not isinstance(bins, bool)
    if bins is not None and not (whole and 2 <= bins <= MOST_BINS and bins % 2 == 0):
        raise ConfigurationError(
            f"bins is {bins!r}, but bins lie on both sides of 1/2; pass an even number from 2 to {MOST_BINS}."
        )
    schema = model.schema_
    if isinstance(model, PrivateClassifier):
        n_classes = len(schema.classes)
        pure = Budget(claim.pure).noise(1 if n_classes == 2 else n_classes + 1)
        chosen = int(bins or usual_bins(pure.deviation))
        grid: ScoreGrid | ResidualGrid = ScoreGrid.of(model.model_, ClassOrder.of(schema), chosen)
    else:
        grid = ResidualGrid.of(model.model_, schema.outcome_grid.low, schema.outcome_grid.high, int(bins or 64))
    reading = Counted(schema, model.model_, grid, group_of(schema, by))
    columns, labels, _, persons = read_given(X, y, groups, schema)
    histograms = len(grid.n_codes)
    counted = grid.coordinates if by is None else f"{grid.coordinates}, by {by}"

    def event_of(noise: Noise) -> Event:
        return noise.event(f"counts by {counted}", draws=int(reading.n_codes.sum()))

    noise = Budget.of(claim, lambda amount: event_of(amount.noise(histograms))).noise(histograms)
    event = event_of(noise)
    person, seeded = None if persons is None else persons.name, randomness.seeded
    certificate = certify("evaluate", event, schema, claim, seeded=seeded, assumptions=ASSUMPTIONS, person=person)
    warn_of_claim(2, claim.delta)
    if certificate.unit != model.certificate_.unit:
        warnings.warn(
            f"this report card protects {certificate.unit}, but the model protects {model.certificate_.unit}, so the "
            "two budgets are for different units. Pass the groups and records_per_person of the fit.",
            UserWarning,
            stacklevel=2,
        )
    booked = nullcontext() if ledger is None else ledger.reserve(certificate)
    keep = keep_of(persons, claim.records_per_person, randomness)
    with booked, without_sizes(), table_of(columns, labels, reading, keep) as table:
        curator = Queryable(table, cost(event), randomness)
        counts = curator.answer(Histogram(curator.assign(PerRecordCoin(1))), noise)[0, :, 0]  # all histograms in a row
    kind: type[ReportCard | RegressionCard] = ReportCard
    own: dict[str, Any] = {"grid": grid, "model_unit": model.certificate_.unit}
    if isinstance(grid, ScoreGrid):
        own |= {"classes": ClassOrder.of(schema).classes}
    else:
        kind, normal = RegressionCard, isinstance(noise, RoundedNormal)
        own |= {"step": schema.outcome_grid.step, "normal": normal, "model_digest": model_digest(model.model_)}
    of_groups = reading.by_group(counts.astype(np.float64))
    cards = [kind(each, noise.deviation, certificate, **own) for each in of_groups]
    card: ReportCard | RegressionCard | GroupCards = cards[0]
    if reading.by is not None:
        card = GroupCards(reading.by.name, dict(zip([*reading.by.values, None], cards, strict=True)))
    for text in card.warnings:
        warnings.warn(text, UserWarning, stacklevel=2)
    return card


@dataclass(frozen=True, eq=False)
class Groups:
    """A categorical feature by which records are in disjoint groups: one of each category, and one of all other cells."""

    name: str
    values: tuple[Value, ...]
    reader: Callable[[Any], npt.NDArray[np.int32]]  # of cells

    def __len__(self) -> int:
        return len(self.values) + 1

    def of(self, cells: Any) -> Integers:
        return np.minimum(self.reader(cells), len(self.values), dtype=np.int64)


def group_of(schema: Schema, by: str | None) -> Groups | None:
    """Return the groups of a feature, or raise ConfigurationError if the schema declares no categories of it."""
    if by is None:
        return None
    feature = schema.features.get(by) if isinstance(by, str) else None
    if not isinstance(feature, Categorical):
        names = [name for name, one in schema.features.items() if isinstance(one, Categorical)]
        known = f"pass one of {listed(names)}" if names else "the schema has none"
        raise ConfigurationError(
            f"by is {shown(by)}, but groups are the categories that the schema declares of a feature; {known}."
        )
    return Groups(by, tuple(feature.values), feature.reader(schema.missing))


@dataclass(frozen=True, eq=False)
class Counted(Labelled):
    """Labelled records as cells of a grid: what a released model says of a record depends on that record alone."""

    model: Model
    grid: ScoreGrid | ResidualGrid
    by: Groups | None = None

    @property
    def n_codes(self) -> Integers:
        return self.grid.n_codes * (1 if self.by is None else len(self.by))

    def by_group(self, counts: Floats) -> list[Floats]:
        """Return the counts of all histograms in a row as those of each group, whose cells follow each other."""
        parts = np.split(counts, np.cumsum(self.n_codes)[:-1])
        tables = [part.reshape(-1, codes) for part, codes in zip(parts, self.grid.n_codes, strict=True)]
        return list(np.concatenate(tables, axis=1))

    def _codes(self, block: dict[str, Any], truth: Any) -> Any:
        if isinstance(self.grid, ResidualGrid):
            codes = self.grid.codes(self.model.predictions(block), truth)
        else:
            order = ClassOrder.of(self.schema)
            codes = self.grid.codes(order.columns(self.model.probabilities(block)), order.codes(truth))
        return codes if self.by is None else codes + self.by.of(block[self.by.name])[:, None] * self.grid.n_codes
