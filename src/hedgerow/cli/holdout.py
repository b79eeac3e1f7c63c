"""Lines that are kept back from training to see how good a model is: figures for the owner's eyes, outside the guarantee."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn.metrics import roc_auc_score

from hedgerow.analysis import evaluate, hold_out
from hedgerow.analysis.figures import Card
from hedgerow.analysis.held_out import rows_of
from hedgerow.estimator import PrivateClassifier, PrivateRegressor
from hedgerow.schema import Encoder, Schema
from hedgerow.sources.table_file import Columns
from hedgerow.texts import counted

__all__ = ["NOT_COVERED", "ErrorScore", "Score", "ask_privately", "both_of", "divided", "measure"]

Predictor = PrivateClassifier | PrivateRegressor

IN_ONE_PART = (
    "Each {who} was sent to the fit or to this report at random, so no {who} pays for both. A ledger books both."
)
OF_A_PROMISE = (
    "Each line was sent to the fit or to this report at random, and no column tells persons apart, so a person of several lines "
    "may pay for both: the two add up. Name the column in the schema as person, or by --person."
)

NOT_COVERED = (
    "These figures are computed from raw records and are NOT covered by the guarantee, "
    "so they must not leave the building."
)


@dataclass(frozen=True)
class Score:
    """What the held-out lines say about a model; None where they cannot say it.

    ``lines`` counts those with a declared label, the only ones that are looked at.
    """

    lines: int
    accuracy: float | None
    roc_auc: float | None

    def __str__(self) -> str:
        """Return the figures in one line."""
        if self.accuracy is None:
            return "held-out test: no held-out line has a declared label, so there is no accuracy"
        auc = "" if self.roc_auc is None else f", ROC AUC {self.roc_auc:.4f}"
        return f"held-out test on {counted(self.lines, 'line')}: accuracy {self.accuracy:.4f}{auc}"


@dataclass(frozen=True)
class ErrorScore:
    """What the held-out lines say about a regressor; None where they cannot say it.

    ``lines`` counts those with an outcome, the only ones that are looked at.
    """

    lines: int
    rmse: float | None
    r2: float | None

    def __str__(self) -> str:
        """Return the figures in one line."""
        if self.rmse is None:
            return "held-out test: no held-out line has an outcome, so there is no error"
        r2 = "" if self.r2 is None else f", R2 {self.r2:.4f}"
        return f"held-out test on {counted(self.lines, 'line')}: RMSE {self.rmse:.6g}{r2}"


def divided(columns: Columns, share: float, schema: Schema) -> tuple[Columns, Columns]:
    """Return the lines for training and those for testing, divided by person where the schema names their column."""
    label = str(schema.target)
    X = {name: cells for name, cells in columns.items() if name != label}
    parts = hold_out(X, columns[label], share, schema=schema)
    return {**parts.X_train, label: parts.y_train}, {**parts.X_test, label: parts.y_test}


def both_of(card: Card) -> str:
    """Return in words what the fit and the report on lines that were held out cost together."""
    unit = card.certificate_.unit
    return OF_A_PROMISE if unit.is_promise else IN_ONE_PART.format(who="line" if unit.who == "record" else unit.who)


def ask_privately(model: Predictor, testing: Columns, epsilon: float) -> Card:
    """Return the report card of a fitted model on held-out lines, booked where its fit was."""
    label = str(model.schema_.target)
    X = {name: cells for name, cells in testing.items() if name != label}
    return evaluate(
        model,
        X,
        testing[label],
        epsilon=epsilon,
        adjacency=model.adjacency,
        ledger=model.ledger,
        random_state=model.random_state,
    )


def measure(model: Predictor, testing: Columns) -> Score | ErrorScore:
    """Return how a fitted model does on held-out lines."""
    schema = model.schema_
    labels = Encoder(schema, 2).labels(testing[str(schema.target)])
    known = labels >= 0
    truth, X = labels[known], rows_of({name: testing[name] for name in schema.names}, known)
    if isinstance(model, PrivateRegressor):
        return _errors(model, X, schema.outcome_grid.values(truth))
    return _accuracy(model, X, truth)


def _errors(model: PrivateRegressor, X: Columns, truth: npt.NDArray[np.float64]) -> ErrorScore:
    """Return the errors of predictions."""
    if not len(truth):
        return ErrorScore(0, None, None)
    squares = (truth - model.predict(X)) ** 2
    spread = float(truth.var())
    return ErrorScore(len(truth), float(squares.mean() ** 0.5), 1 - float(squares.mean()) / spread if spread else None)


def _accuracy(model: PrivateClassifier, X: Columns, truth: npt.NDArray[np.signedinteger]) -> Score:
    """Return how often the most probable class is the label."""
    if not len(truth):
        return Score(0, None, None)
    probabilities = model.predict_proba(X)
    accuracy = float(np.mean(probabilities.argmax(axis=1) == truth))
    ranks = probabilities.shape[1] == 2 and 0 < truth.sum() < len(truth)
    auc = float(roc_auc_score(truth, probabilities[:, 1])) if ranks else None
    return Score(len(truth), accuracy, auc)
