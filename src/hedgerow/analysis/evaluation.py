"""How good a model is, asked privately: one question about records that it was not fitted on."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.analysis.card import ReportCard
from hedgerow.analysis.questions import RULES, claim_of_values, refuse_elsewhere
from hedgerow.analysis.scores import ScoreGrid
from hedgerow.curator import Queryable
from hedgerow.errors import ConfigurationError
from hedgerow.estimator import PrivateClassifier
from hedgerow.mechanisms import Budget, Noise, PerRecordCoin, Randomness
from hedgerow.parameters import RandomSource, check_parameters
from hedgerow.privacy.accounting import cost
from hedgerow.privacy.certificate import certify, warn_of_delta
from hedgerow.privacy.events import Event
from hedgerow.privacy.ledger import Ledger
from hedgerow.schema import Encoder
from hedgerow.schema.cells import Cells
from hedgerow.schema.columns import Columns, read_groups, read_records
from hedgerow.table import Keep, MemoryTable, keep_of

__all__ = ["evaluate", "score_counts"]

Integers = npt.NDArray[np.int64]

BLOCK_ROWS = 8_192
ASSUMPTIONS = (
    "the model being public: what its own fit gave away stands on its own certificate",
    "X and y being other records than those of the fit: of a record that is in both, the two costs add up",
)


def evaluate(
    model: PrivateClassifier,
    X: Any,
    y: Any,
    *,
    epsilon: float,
    delta: float = 0.0,
    bins: int = 64,
    adjacency: str = "add-remove",
    random_state: RandomSource = None,
    ledger: Ledger | None = None,
    groups: Any = None,
    records_per_person: int = 1,
) -> ReportCard:
    """Ask how good a fitted model is on records that it was not fitted on.

    Releases  noisy counts of the records by label and by bins of the model's probability; every figure follows from them.
    Costs     ``epsilon``, pure unless there is a ``delta``: a record is in one cell, and for K > 2 classes in K + 1.
    Assumes   that the model is public, and that these records had no part in it.

    Parameters
    ----------
    model : PrivateClassifier
        A fitted model of this library.
    X : data frame (pandas, polars, pyarrow), mapping of columns, or array of shape (n_samples, n_features)
        The test records, as for ``predict``.
    y : sequence of length n_samples
        Their labels. A record whose label is missing or not in the schema is left out, by public rule.
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
        Who each record is of, as for ``fit``.
    records_per_person : int, default 1
        The guarantee is for one person, of whom at most so many records are read.

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
    given = {"epsilon": epsilon, "delta": delta, "adjacency": adjacency, "records_per_person": records_per_person}
    values = check_parameters({**given, "random_state": random_state, "ledger": ledger}, RULES)
    if not isinstance(model, PrivateClassifier):
        raise ConfigurationError(
            f"model is {type(model).__name__}, but it must be a fitted classifier of this library."
        )
    refuse_elsewhere(X)
    schema = model.schema_
    grid = ScoreGrid(len(schema.classes), _checked_bins(bins))
    columns, labels = read_records(X, y, schema.features, schema.classes)
    persons = read_groups(groups, columns.n_rows, schema.missing)
    claim = claim_of_values(values)
    budget = Budget.of(claim, lambda amount: _event(grid, amount.noise(grid.histograms)))
    noise = budget.noise(grid.histograms)
    randomness = Randomness(values["random_state"])
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
    with nullcontext() if ledger is None else ledger.reserve(certificate):
        keep = keep_of(persons, claim.records_per_person, randomness)
        curator = Queryable(score_table(model, grid, columns, labels, keep), cost(event), randomness)
        counts = score_counts(curator, grid, noise)
    return ReportCard(schema.classes, grid, counts.astype(np.float64), noise.deviation, certificate)


def _checked_bins(bins: object) -> int:
    if isinstance(bins, bool) or not isinstance(bins, int | np.integer) or not 2 <= bins <= 1024 or bins % 2:
        raise ConfigurationError(
            f"bins is {bins!r}, but bins lie on both sides of 1/2; pass an even number from 2 to 1024."
        )
    return int(bins)


def _event(grid: ScoreGrid, noise: Noise) -> Event:
    return noise.event("counts by label and score", draws=int(grid.n_codes.sum()))


def score_table(
    model: PrivateClassifier, grid: ScoreGrid, columns: Columns, labels: Cells, keep: Keep | None = None
) -> MemoryTable:
    """Return the labelled records' cells as a table: what a released model says of a record depends on that record alone.

    Records that ``keep`` leaves out are in no cell.
    """
    names = model.schema_.names
    known = np.asarray(Encoder(model.schema_, 2).labels(labels), dtype=np.int64)
    if keep is not None:
        known = keep.labels(known)
    codes = np.zeros((columns.n_rows, grid.histograms), dtype=np.uint32)
    for start in range(0, columns.n_rows, BLOCK_ROWS):
        stop = min(start + BLOCK_ROWS, columns.n_rows)
        block = {name: columns.cells(i, start, stop) for i, name in enumerate(names)}
        codes[start:stop] = grid.codes(model.predict_proba(block), np.maximum(known[start:stop], 0))
    return MemoryTable(codes, np.where(known >= 0, 0, -1).astype(np.int16), grid.n_codes, n_classes=1)


def score_counts(curator: Queryable, grid: ScoreGrid, noise: Noise) -> Integers:
    """Return the noisy counts of all cells, all histograms in a row."""
    everyone = curator.assign(PerRecordCoin(1))
    return curator.histogram(everyone, np.ones((1, grid.histograms), dtype=np.bool_), noise)[0, :, 0]
