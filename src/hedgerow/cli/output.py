"""What a command shows: JSON documents, progress while it spends, and an exact account of the budget if it fails."""

from __future__ import annotations

import io
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import click

from hedgerow.analysis import PrivateSearchCV
from hedgerow.analysis.card import Card
from hedgerow.cli import BrokenOff
from hedgerow.errors import BudgetExceeded, EngineError, HedgerowError
from hedgerow.estimator import PrivateEstimator
from hedgerow.files import atomic_file
from hedgerow.plots.tree import leaf_text
from hedgerow.privacy.atomic import Watch
from hedgerow.privacy.certificate import Certificate

Answer = TypeVar("Answer")

# If a fit ends with one of these, the request was wrong and nothing was charged. An EngineError occurs later.
REFUSALS = (click.ClickException, HedgerowError, BudgetExceeded)
WIDTH = 20
PAUSE = 0.1  # seconds


def json_text(value: Any) -> str:
    return json.dumps(value, indent=2, allow_nan=False)


def write_json(value: Any) -> None:
    click.echo(json_text(value))


def check_stdout() -> None:
    """Raise OSError if stdout accepts nothing (such as /dev/full), before a result costs budget."""
    if sys.stdout is None:
        return
    try:
        with suppress(io.UnsupportedOperation):  # no file of the system's
            os.write(sys.stdout.fileno(), b"")
    except OSError as error:
        raise OSError(error.errno, error.strerror, "stdout") from error


def model_values(model: PrivateEstimator) -> dict[str, Any]:
    """Return the public values of a fitted model, without its learned values, as plain values for JSON."""
    return {
        "class": type(model).__name__,
        "parameters": {
            name: value
            for name, value in model.get_params(deep=False).items()
            if name not in ("schema", "ledger") and isinstance(value, int | float | str | dict | list | None)
        },
        "certificate": certificate_values(model.certificate_),
    }


def certificate_values(certificate: Certificate) -> dict[str, Any]:
    return {
        "holds": certificate.holds,
        "reasons": list(certificate.reasons),
        **certificate.to_dict(),
        "text": certificate.details(),
    }


def card_values(card: Card) -> dict[str, Any]:
    return {**card.to_dict(), "certificate": certificate_values(card.certificate_)}


def tree_lines(node: dict[str, Any], depth: int = 0) -> Iterator[str]:
    """Yield the lines of a tree in the form of ``tree_values``, indented below each test."""
    if "branches" not in node:
        yield f"{'  ' * depth}always: {leaf_text(node)}"
        return
    for branch in node["branches"]:
        below = branch["node"]
        if "branches" in below:
            yield f"{'  ' * depth}{branch['when']}"
            yield from tree_lines(below, depth + 1)
        else:
            yield f"{'  ' * depth}{branch['when']}: {leaf_text(below)}"


class Spending:
    """Fit a model and save it. An error within the context states what was spent, and whether there is a model.

    Parameters
    ----------
    claim : str
        A description of the fit's cost.
    out : Path
        The file of the model.
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
        """Fit the model; records that are read block by block, which have no ``y`` beside them, show their progress."""
        with self._watch, ShareProgress() as progress:
            model.fit(X.with_progress(progress) if y is None else X, y, groups)
        self._fitted = True

    def save(self, model: PrivateEstimator, *, force: bool) -> None:
        with atomic_file(self._out, replace=force) as part:
            model.save(part)
            self._file = part.stat()

    def ask(self, claim: str, question: Callable[[], Answer]) -> Answer:
        """Return the answer to a query about the model, whose cost ``claim`` describes."""
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
        """Whether the model's file is complete. The place of an interruption is not always known, but the file is."""
        try:
            return self._file is not None and os.path.samestat(self._file, self._out.stat())
        except OSError:
            return False


class ShareProgress:
    """A progress bar on standard error: first for the share of the bytes that were read, then for each query that is counted.

    Nothing is written if standard error is not a terminal, or if ``shown`` is false, because a log would keep output that
    depends on the records.
    """

    def __init__(self, *, shown: bool = True) -> None:
        self._terminal = shown and sys.stderr is not None and sys.stderr.isatty()
        self._next = 0.0
        self._width = 0
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._write("")
        if self._width:
            sys.stderr.write("\r")

    def read(self, share: float | None) -> None:
        self._show("reading" if share is None else f"{_bar(share)} of the bytes read")

    def counted(self, question: int, share: float) -> None:
        self._show(f"{_bar(share)} of round {question} counted")

    def _show(self, line: str) -> None:
        if not self._terminal or time.monotonic() < self._next:
            return
        with self._lock:
            self._next = time.monotonic() + PAUSE
            self._write(line)

    def _write(self, line: str) -> None:
        if self._terminal and (line or self._width):
            sys.stderr.write("\r" + line.ljust(self._width))
            sys.stderr.flush()
            self._width = len(line) if line else self._width


def _bar(share: float) -> str:
    return f"[{'#' * int(WIDTH * share):.<{WIDTH}}] {int(100 * share):3d} %"
