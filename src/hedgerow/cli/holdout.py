"""Lines that are kept back from training to see how good a model is: figures for the owner's eyes, outside the guarantee."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.metrics import roc_auc_score

from hedgerow.analysis import ReportCard, evaluate, hold_out
from hedgerow.analysis.held_out import rows_of
from hedgerow.estimator import PrivateEstimator
from hedgerow.schema import Encoder, Schema
from hedgerow.sources.table_file import Columns
from hedgerow.texts import counted

__all__ = ["NOT_COVERED", "Score", "ask_privately", "both_of", "divided", "measure"]

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


def divided(columns: Columns, share: float, schema: Schema) -> tuple[Columns, Columns]:
    """Return the lines for training and those for testing, divided by person where the schema names their column."""
    label = str(schema.target)
    X = {name: cells for name, cells in columns.items() if name != label}
    parts = hold_out(X, columns[label], share, schema=schema)
    return {**parts.X_train, label: parts.y_train}, {**parts.X_test, label: parts.y_test}


def both_of(card: ReportCard) -> str:
    """Return in words what the fit and the report on lines that were held out cost together."""
    unit = card.certificate_.unit
    return OF_A_PROMISE if unit.is_promise else IN_ONE_PART.format(who="line" if unit.who == "record" else unit.who)


def ask_privately(model: PrivateEstimator, testing: Columns, epsilon: float) -> ReportCard:
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


def measure(model: PrivateEstimator, testing: Columns) -> Score:
    """Return how a fitted model does on held-out lines."""
    schema = model.schema_
    labels = Encoder(schema, 2).labels(testing[str(schema.target)])
    known = labels >= 0
    if not known.any():
        return Score(0, None, None)
    truth = labels[known]
    probabilities = model.predict_proba(rows_of({name: testing[name] for name in schema.names}, known))
    accuracy = float(np.mean(probabilities.argmax(axis=1) == truth))
    ranks = len(schema.classes) == 2 and 0 < truth.sum() < len(truth)
    auc = float(roc_auc_score(truth, probabilities[:, 1])) if ranks else None
    return Score(len(truth), accuracy, auc)
