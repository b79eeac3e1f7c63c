"""How good a model is, asked privately: one question about records that it was not fitted on."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.analysis.card import MOST_BINS, ReportCard
from hedgerow.analysis.questions import promised
from hedgerow.analysis.readings import OneClass, blocks_of
from hedgerow.analysis.scores import ScoreGrid
from hedgerow.curator import Queryable
from hedgerow.engines.records import table_of
from hedgerow.errors import ConfigurationError, without_sizes
from hedgerow.estimator import ClassModel, PrivateClassifier, read_given
from hedgerow.mechanisms import Budget, Noise, PerRecordCoin
from hedgerow.parameters import RandomSource
from hedgerow.privacy.accounting import cost
from hedgerow.privacy.certificate import certify, warn_of_delta
from hedgerow.privacy.events import Event
from hedgerow.privacy.ledger import Ledger
from hedgerow.schema import Encoder
from hedgerow.schema.columns import Columns
from hedgerow.table import classes_of, keep_of
from hedgerow.table.reading import Codes, Labels

__all__ = ["evaluate"]

Integers = npt.NDArray[np.int64]

ASSUMPTIONS = (
    "the model being public: what its own fit gave away stands on its own certificate",
    "X and y being other records than those of the fit: of a record, or of a person with records in both, the costs add up",
)


def evaluate(
    model: PrivateClassifier,
    X: Any,
    y: Any = None,
    *,
    epsilon: float,
    delta: float = 0.0,
    bins: int = 64,
    adjacency: str = "add-remove",
    random_state: RandomSource = None,
    ledger: Ledger | None = None,
    groups: Any = None,
    records_per_person: int | None = None,
) -> ReportCard:
    """Ask how good a fitted model is on records that it was not fitted on.

    Releases  noisy counts of the records by label and by bins of the model's probability; every figure follows from them.
    Costs     ``epsilon``, pure unless there is a ``delta``: a record is in one cell, and for K > 2 classes in K + 1.
    Assumes   that the model is public, and that these records had no part in it.

    Parameters
    ----------
    model : PrivateClassifier
        A fitted model of this library.
    X : data frame (pandas, polars, pyarrow), mapping of columns, array of shape (n_samples, n_features), or Records
        The test records, as for ``predict``; ``hr.Records`` are read once, block by block.
    y : sequence of length n_samples
        Their labels; None with ``hr.Records``, which hold them. A record whose label is missing or not in the schema is left
        out, by public rule.
    epsilon : float
        The budget, read as its shortest decimal.
    delta : float, default 0
        Where it is above 0 noise is normal, which is less for many classes.
    bins : int, default 64
        Bins of a probability, an even number from 2 to 1024, equally wide in log-odds: public, never from the records.
    adjacency : {"add-remove", "replace-one"}
        What neighboring data sets are. For one record replaced the question runs at half the budget.
    random_state : None, int or numpy generator
        None draws from the operating system, as a guarantee needs; anything else is for tests.
    ledger : Ledger or None
        Where the question is booked before any record is read.
    groups : sequence of length n_samples, optional
        Who each record is of, as for ``fit``; leave it out where the model's schema names a column of X as ``person``.
    records_per_person : int, optional
        The guarantee is for one person, of whom at most so many records are read; None: as many as the model's own.

    Returns
    -------
    ReportCard
        Accuracy, confusion matrix, ROC AUC, Brier score, curves, calibration; intervals; and its certificate.

    Raises
    ------
    ConfigurationError
        If a parameter, or the columns, are wrong; nothing was booked or drawn.
    BudgetExceeded
        If the ledger refuses the question; nothing was drawn.

    Warns
    -----
    UserWarning
        If the card protects another unit than the model: a single record instead of a person, or persons of another column.

    Notes
    -----
    docs/proofs/report-card.md. Several evaluations of the same records add up.

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
    if not isinstance(model, PrivateClassifier):
        raise ConfigurationError(
            f"model is {type(model).__name__}, but it must be a fitted classifier of this library."
        )
    claim, randomness = promised(
        model.certificate_.records_per_person,
        epsilon=epsilon,
        delta=delta,
        adjacency=adjacency,
        records_per_person=records_per_person,
        random_state=random_state,
        ledger=ledger,
    )
    bins = _checked_bins(bins)
    schema = model.schema_
    columns, labels, _, persons = read_given(X, y, groups, schema)
    grid = ScoreGrid(len(schema.classes), bins)
    budget = Budget.of(claim, lambda amount: _event(grid, amount.noise(grid.histograms)))
    noise = budget.noise(grid.histograms)
    event = _event(grid, noise)
    certificate = certify(
        "evaluate",
        event,
        schema,
        variant="private",
        claim=claim,
        seeded=randomness.seeded,
        assumptions=ASSUMPTIONS,
        person=None if persons is None else persons.name,
    )
    warn_of_delta(claim.delta, stacklevel=2)
    if certificate.unit != model.certificate_.unit:
        warnings.warn(
            f"this report card protects {certificate.unit}, but the model protects {model.certificate_.unit}, so the "
            "two budgets are for different units. Pass the groups and records_per_person of the fit.",
            UserWarning,
            stacklevel=2,
        )
    booked = nullcontext() if ledger is None else ledger.reserve(certificate)
    keep = keep_of(persons, claim.records_per_person, randomness)
    with booked, without_sizes(), table_of(columns, labels, Scored(schema, model.model_, grid), keep) as table:
        counts = score_counts(Queryable(table, cost(event), randomness), grid, noise)
    unit = model.certificate_.unit
    return ReportCard(schema.classes, grid, counts.astype(np.float64), noise.deviation, certificate, unit)


def _checked_bins(bins: object) -> int:
    if isinstance(bins, bool) or not isinstance(bins, int | np.integer) or not 2 <= bins <= MOST_BINS or bins % 2:
        raise ConfigurationError(
            f"bins is {bins!r}, but bins lie on both sides of 1/2; pass an even number from 2 to {MOST_BINS}."
        )
    return int(bins)


def _event(grid: ScoreGrid, noise: Noise) -> Event:
    return noise.event("counts by label and score", draws=int(grid.n_codes.sum()))


@dataclass(frozen=True, eq=False)
class Scored(OneClass):
    """Labelled records as cells of a grid: what a released model says of a record depends on that record alone."""

    model: ClassModel
    grid: ScoreGrid

    @property
    def n_codes(self) -> Integers:
        """How many cells each histogram has."""
        return self.grid.n_codes

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the codes."""
        return np.dtype(np.uint32)

    def read(self, columns: Columns, y: Any) -> tuple[Codes, Labels]:
        """Return the cells of each record, and a class for those that have a label."""
        known = np.asarray(classes_of(Encoder(self.schema, 2), y), dtype=np.int64)
        codes = np.zeros((columns.n_rows, self.grid.histograms), dtype=np.uint32)
        for rows, block in blocks_of(columns):
            codes[rows] = self.grid.codes(self.model.probabilities(block), np.maximum(known[rows], 0))
        return codes, np.where(known >= 0, 0, -1).astype(np.int16)


def score_counts(curator: Queryable, grid: ScoreGrid, noise: Noise) -> Integers:
    """Return the noisy counts of all cells, all histograms in a row."""
    everyone = curator.assign(PerRecordCoin(1))
    return curator.histogram(everyone, np.ones((1, grid.histograms), dtype=np.bool_), noise)[0, :, 0]
