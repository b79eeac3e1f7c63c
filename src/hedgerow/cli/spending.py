"""What became of the budget when ``hedgerow train`` fails: a failure of any kind leaves no doubt about it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import click

from hedgerow.analysis import PrivateSearchCV
from hedgerow.cli.group import BrokenOff
from hedgerow.errors import BudgetExceeded, EngineError, HedgerowError
from hedgerow.estimator import PrivateEstimator
from hedgerow.files import atomic_file
from hedgerow.privacy.began import Watch

__all__ = ["REFUSALS", "Spending"]

Answer = TypeVar("Answer")

# What they say before a fit has ended is about what was asked, and nothing was booked. An EngineError comes after that.
REFUSALS = (click.ClickException, HedgerowError, BudgetExceeded)


class Spending:
    """Fit a model and save it; an error that leaves the context says what was spent, and whether there is a model.

    Parameters
    ----------
    claim : str
        What the fit costs, in words.
    out : Path
        Where the model goes.
    """

    def __init__(self, claim: str, out: Path) -> None:
        self._claim = claim
        self._out = out
        self._watch = Watch()
        self._fitted = False
        self._asked: str | None = None
        self._file: os.stat_result | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: TracebackType | None) -> None:
        refused = isinstance(error, REFUSALS) and not isinstance(error, EngineError)
        if error is None or (refused and not self._fitted):
            return
        asked = (
            "" if self._asked is None or isinstance(error, REFUSALS) else f" Count {self._asked} more for the report."
        )
        raise BrokenOff(error, self._outcome() + asked) from error

    def fit(self, model: PrivateEstimator | PrivateSearchCV, X: Any, y: Any, groups: Any = None) -> None:
        """Fit the model."""
        with self._watch:
            model.fit(X, y, groups)
        self._fitted = True

    def save(self, model: PrivateEstimator, *, force: bool) -> None:
        """Write the model; ``force`` allows to replace a file."""
        with atomic_file(self._out, replace=force) as part:
            model.save(part)
            self._file = part.stat()

    def ask(self, claim: str, question: Callable[[], Answer]) -> Answer:
        """Return the answer to a question about the model, which costs what ``claim`` says."""
        self._asked = claim
        return question()

    def _outcome(self) -> str:
        if not self._watch.begun:
            return "Nothing was spent."
        if not self._fitted:
            return f"The fit had begun: count {self._claim} as spent. No model was written."
        if not self._is_there():
            return f"{self._claim} was spent, but no model was written."
        return (
            f"{self._claim} was spent, and the model is whole in {self._out}: `hedgerow inspect` shows its certificate."
        )

    def _is_there(self) -> bool:
        """Whether the model has its name: where it was broken off is not always known, but the file is."""
        try:
            return self._file is not None and os.path.samestat(self._file, self._out.stat())
        except OSError:
            return False
