"""Lines that are kept back from training to see how good a model is: figures for the owner's eyes, outside the guarantee."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn.metrics import roc_auc_score

from hedgerow.analysis import ReportCard, evaluate
from hedgerow.cli.persons import groups_of
from hedgerow.estimator import PrivateClassifier
from hedgerow.privacy.unit import RECORD
from hedgerow.schema import Encoder
from hedgerow.schema.cells import object_array
from hedgerow.sources.table_file import Columns
from hedgerow.texts import counted

__all__ = ["NOT_COVERED", "Score", "ask_privately", "both_of", "hold_out", "measure"]

BY_COINS = (
    "Each line was sent to the fit or to this report by a coin of its own, so no line pays for both; a ledger books both "
    "all the same."
)
OF_PERSONS = (
    "Each line was sent to the fit or to this report by a coin of its own, so a person of several lines may pay for both: the "
    "two add up."
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


def hold_out(columns: Columns, share: float) -> tuple[Columns, Columns]:
    """Return the lines for training and those for testing, which each line joins with probability ``share``.

    Each line has its own coin, from the operating system. So one line more or less moves no other, and what holds for a fit
    on the training part holds for all lines. If every line was kept back, the training part is one empty line, which a fit
    leaves out: refusing would tell how few lines there are.
    """
    count = len(next(iter(columns.values())))
    coins = np.frombuffer(os.urandom(8 * count), dtype=np.uint64)
    tested = coins < np.uint64(int(share * 2**64))
    if tested.all():
        return {name: object_array([None], 1) for name in columns}, columns
    return _rows(columns, ~tested), _rows(columns, tested)


def _rows(columns: Columns, chosen: npt.NDArray[np.bool_]) -> Columns:
    return {name: cells[chosen] for name, cells in columns.items()}


def both_of(card: ReportCard) -> str:
    """Return in words what the fit and the report on lines that were held out cost together."""
    return BY_COINS if card.certificate_.unit == RECORD else OF_PERSONS


def ask_privately(model: PrivateClassifier, testing: Columns, epsilon: float, person: str | None = None) -> ReportCard:
    """Return the report card of a fitted model on held-out lines, booked where its fit was.

    If no line was held out, it is asked of one empty line, which is left out: refusing would tell.
    """
    schema = model.schema_
    if not len(testing[str(schema.target)]):
        testing = {name: object_array([None], 1) for name in testing}
    X = {name: testing[name] for name in schema.names}
    return evaluate(
        model,
        X,
        testing[str(schema.target)],
        epsilon=epsilon,
        adjacency=model.adjacency,
        groups=groups_of(testing, person),
        records_per_person=model.records_per_person,
        ledger=model.ledger,
        random_state=model.random_state,
    )


def measure(model: PrivateClassifier, testing: Columns) -> Score:
    """Return how a fitted model does on held-out lines."""
    schema = model.schema_
    labels = Encoder(schema, 2).labels(testing[str(schema.target)])
    known = labels >= 0
    if not known.any():
        return Score(0, None, None)
    truth = labels[known]
    probabilities = model.predict_proba(_rows({name: testing[name] for name in schema.names}, known))
    accuracy = float(np.mean(probabilities.argmax(axis=1) == truth))
    ranks = len(schema.classes) == 2 and 0 < truth.sum() < len(truth)
    auc = float(roc_auc_score(truth, probabilities[:, 1])) if ranks else None
    return Score(len(truth), accuracy, auc)
