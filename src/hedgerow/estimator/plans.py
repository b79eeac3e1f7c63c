"""What a fit does and leaves behind: plans, fixed before any record is read, and models of released values."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Protocol, Self, TypeVar, cast

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Floats, Integers
from hedgerow.curator import Queryable
from hedgerow.export import ScoringForm, Softmax
from hedgerow.mechanisms import Randomness
from hedgerow.parameters import VOTE_STEPS
from hedgerow.privacy.accounting import Event, Sequence, Unprotected
from hedgerow.privacy.certificate import Certificate
from hedgerow.reading.cells import object_array
from hedgerow.schema import Encoder, Numeric, Schema
from hedgerow.schema.features import Value
from hedgerow.texts import html_table, short_repr


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """What each feature contributes to a model's predictions for records. Post-processing of a released model: no cost.

    The baseline and the contributions of a record add up to ``total``, which is ``decision_function`` if ``scale`` is "log-odds"
    and ``predict_proba`` if it is "probability".

    Parameters
    ----------
    names : tuple of str
        The features.
    classes : tuple
        The classes, sorted. For two classes, contributions are to the second class only.
    scale : {"log-odds", "probability", "outcome"}
        The scale on which contributions add up.
    baseline : float or ndarray of shape (classes,)
        The prediction if every feature contributes its average over its cells.
    contributions : ndarray of shape (records, features) or (records, features, classes)
        What the cell of each feature adds to the baseline.
    cells : ndarray of shape (records, features), object
        Descriptions of the cells, as the model reads them.
    deviation : ndarray of the shape of ``contributions``, or None
        The standard deviation of the contributions due to the added noise; None if it is not known.
    rule : str
        How contributions are computed, in one sentence.

    Examples
    --------
    >>> import numpy as np, hedgerow as hr
    >>> X = np.random.default_rng(0).uniform(0, 1, (2000, 2))
    >>> y = np.where(X[:, 0] > 0.5, "high", "low")
    >>> schema = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1)}, classes=["low", "high"])
    >>> model = hr.HedgerowClassifier(epsilon=1.0, schema=schema).fit(X, y)
    >>> found = model.explain(X[:3])
    >>> found.names, found.scale, found.contributions.shape
    (('a', 'b'), 'log-odds', (3, 2))
    >>> bool(np.allclose(found.baseline + found.contributions.sum(axis=1), model.decision_function(X[:3])))
    True
    """

    names: tuple[str, ...]
    classes: tuple[Any, ...]
    scale: Literal["log-odds", "probability", "outcome", "log outcome"]
    baseline: float | Floats
    contributions: Floats
    cells: npt.NDArray[np.object_]
    deviation: Floats | None
    rule: str

    @property
    def total(self) -> Floats:
        """The sum of the baseline and the contributions, of shape (records,) or (records, classes)."""
        return np.asarray(self.baseline + self.contributions.sum(axis=1))

    __repr__ = short_repr

    def table(self, record: int = 0) -> list[tuple[str, str, *tuple[float, ...]]]:
        """Return a record's baseline, the cell and the contributions of each feature, and their sum, which rows add up to.

        A row has a column for each class, or one for the second of two classes, or for the outcome: those of ``columns``.
        """
        added = self.contributions[record].reshape(len(self.names), -1).tolist()
        rows = [("baseline", "", np.asarray(self.baseline)), *zip(self.names, self.cells[record], added, strict=True)]
        rows.append(("total", "", self.total[record]))
        return [(name, str(cell), *np.asarray(values, dtype=float).reshape(-1).tolist()) for name, cell, values in rows]

    @property
    def columns(self) -> tuple[str, ...]:
        """The headers of ``table``."""
        drawn = self.classes[-1:] if self.contributions.ndim == 2 else self.classes
        return ("feature", "cell", *(f"{self.scale} of {label}" for label in drawn or ("the outcome",)))

    def _repr_html_(self) -> str:
        rows = [(name, cell, *(f"{value:+.3f}" for value in values)) for name, cell, *values in self.table()]
        many = len(self.contributions)
        return html_table(
            f"Explanation of record 0 of {many}", rows, self.columns, note=f"The rows add up. {self.rule}."
        )


def cells_in_words(encoder: Encoder, codes: npt.NDArray[np.unsignedinteger]) -> npt.NDArray[np.object_]:
    out = np.empty(codes.shape, dtype=object)
    for place, (name, count) in enumerate(zip(encoder.schema.names, encoder.n_codes.tolist(), strict=True)):
        kind = encoder.schema.features[name]
        used = np.unique(codes[:, place])
        words = np.empty(count, dtype=object)
        words[used] = [kind.code_label(int(code), encoder.max_bins) for code in used]
        out[:, place] = words[codes[:, place]]
    return out


PATHS = "each test on the path contributes the average of the branch taken minus that of all branches, equally weighted"


class Model(ABC):
    """What a fit leaves behind: trees over codes whose leaves give whole votes, and a link that answers by their sums."""

    encoder: Encoder
    importance_rule: ClassVar[str]  # in words: what ``importances`` are shares of

    @property
    @abstractmethod
    def form(self) -> ScoringForm: ...

    @abstractmethod
    def importances(self) -> Floats:
        """Return one share per feature, which sum to 1, or zeros."""

    @abstractmethod
    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return everything that the plan's ``restore`` needs."""

    @property
    def vote_steps(self) -> float:
        """How many votes a unit of ``decision`` is, here a log-odds of 1."""
        return VOTE_STEPS

    def sums(self, codes: npt.NDArray[np.unsignedinteger]) -> Integers:
        """Return the sums of votes of records by their codes, (records, columns)."""
        return self.form.sums(codes)

    def staged_sums(self, X: Any) -> Iterator[Integers]:
        """Yield the sums of votes of records, (records, columns), after each round; the array is used again."""
        yield self.sums(self.encoder.transform(X))

    def answer(self, sums: Integers) -> Floats:
        return self.form.link(sums)

    def answers_of_codes(self, codes: npt.NDArray[np.unsignedinteger]) -> Floats:
        """Return the probabilities, (records, classes), or the outcomes, (records,), of records by their codes."""
        return self.answer(self.sums(codes))

    def prediction_range(self) -> tuple[float, float]:
        grid = self.encoder.schema.outcome_grid
        return grid.low, grid.high

    def code_shares(self) -> list[Floats]:
        """Return about which share of the records has each code of each feature, by what is public or was released."""
        schema, shares = self.encoder.schema, []
        for kind, codes in zip(schema.features.values(), self.encoder.n_codes.tolist(), strict=True):
            values = codes - (1 if isinstance(kind, Numeric) else 2)  # the others are of missing and undeclared cells
            shares.append(np.where(np.arange(codes) < values, 1 / values, 0.0))
        return shares

    def answers(self, X: Any, answer: Callable[[Integers], Floats]) -> Floats:
        return self.encoder.answers(X, lambda codes: answer(self.sums(codes)))

    def probabilities(self, X: Any) -> Floats:
        """Return a classifier's probabilities, (records, classes)."""
        return self.answers(X, self.answer)

    predictions = probabilities  # a regressor's outcomes, (records,), within the schema's range

    def decision(self, X: Any) -> Floats:
        """Return the sums of votes as log-odds, (records, classes), or for two classes the second's, (records,)."""
        return self.answers(X, lambda sums: self.shown(sums / self.vote_steps))

    def staged_decision(self, X: Any) -> Iterator[Floats]:
        return (self.shown(sums / self.vote_steps) for sums in self.staged_sums(X))

    def staged_answers(self, X: Any) -> Iterator[Floats]:
        return map(self.answer, self.staged_sums(X))

    def shown(self, values: Floats) -> Floats:
        """Return values (..., columns) without an axis where one column says all: for two classes the second's log-odds."""
        if values.shape[-1] == 2:
            return np.asarray(values[..., 1] - values[..., 0])
        return values[..., 0] if len(self.encoder.schema.classes) in (0, 2) else values

    def explained(self, X: Any) -> Explanation:
        codes, schema, form = self.encoder.transform(X), self.encoder.schema, self.form
        adds_up = isinstance(form.link, Softmax)
        values = form.votes / self.vote_steps if adds_up else form.link(form.votes)
        if values.shape[1] == 2:
            values = values[:, 1:] - values[:, :1] if adds_up else values[:, 1:]
        baseline, contributions = form.contributions(codes, values)
        alone = values.shape[1] == 1
        return Explanation(
            names=tuple(schema.names),
            classes=tuple(schema.classes),
            scale="log-odds" if adds_up else "probability",
            baseline=float(baseline[0]) if alone else baseline,
            contributions=contributions[:, :, 0] if alone else contributions,
            cells=cells_in_words(self.encoder, codes),
            deviation=None,
            rule=PATHS,
        )


def model_digest(model: Model) -> str:
    digest = hashlib.sha256()
    for name, array in sorted(model.to_arrays().items()):
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


class Plan(Protocol):
    """What a private fit will do, fixed by the configuration and the schema before any record is read."""

    @property
    def event(self) -> Event: ...

    @property
    def encoder(self) -> Encoder: ...

    def fit(self, curator: Queryable) -> Model:
        """Return what is released; the curator's records were read by ``encoder``."""

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> Model: ...


class RawPlan(ABC):
    """A plan of a published form, which reads the records as they are and protects nothing."""

    reasons: tuple[str, ...]  # of each raw read what it loses; there is at least one

    @property
    def event(self) -> Event:
        return Sequence(tuple(map(Unprotected, self.reasons)))

    @abstractmethod
    def fit_raw(self, X: Any, y: Any, randomness: Randomness) -> Any:
        """Return a model: ``probabilities``, ``importances`` with their rule, and ``to_arrays``, which audits compare."""


PublicCoins = tuple[int, ...]  # what public coins decided of a plan, before any record was read


@dataclass(frozen=True)
class Fitted:
    """Everything that a fit leaves behind, as one value: a model never stands beside the certificate of another fit."""

    schema: Schema
    certificate: Certificate
    model: Model
    parameters: Mapping[str, Any]  # those of the fit: ``set_params`` after it must not change what is saved
    named: bool  # whether the records had column names
    coins: PublicCoins = ()

    __repr__ = short_repr


Values = TypeVar("Values", bound=npt.NDArray[Any])


@dataclass(frozen=True, eq=False)
class ClassOrder:
    """The classes of a schema as ``numpy.unique`` sorts labels; numbers come before text, which numpy cannot compare."""

    classes: tuple[Value, ...]  # the sorted classes; none for a regressor
    places: npt.NDArray[np.intp]  # (classes,): the place of each of them in the schema

    @classmethod
    def of(cls, schema: Schema) -> Self:
        given = schema.classes
        places = sorted(range(len(given)), key=lambda k: (isinstance(given[k], str), given[k]))
        return cls(tuple(given[k] for k in places), np.array(places, dtype=np.intp))

    @property
    def is_given(self) -> bool:
        return bool((np.diff(self.places) > 0).all())

    def array(self) -> npt.NDArray[Any]:
        kinds = {type(label) for label in self.classes}
        if len(kinds) == 1 or kinds == {int, float}:
            labels = np.array(self.classes)
            if labels.tolist() == list(self.classes):
                return labels
        return object_array(self.classes, len(self.classes))

    def codes(self, labels: npt.NDArray[np.signedinteger]) -> npt.NDArray[np.signedinteger]:
        return labels if self.is_given else np.argsort(self.places)[labels]

    def columns(self, values: Values) -> Values:
        return values if self.is_given else cast(Values, values[..., self.places])

    def margins(self, values: Values) -> Values:
        """Return margins in this order. For two classes they are the second's log-odds, and there is no axis for classes."""
        if self.is_given:
            return values
        return -values if len(self.classes) == 2 else self.columns(values)

    def signs(self, signs: tuple[int, ...]) -> tuple[int, ...]:
        """Return how the log-odds of the schema's second class may go, given how those of the second in this order may."""
        return signs if self.is_given else tuple(-sign for sign in signs)

    def form(self, form: ScoringForm) -> ScoringForm:
        return form if self.is_given else replace(form, classes=self.classes, votes=self.columns(form.votes))

    def explanation(self, given: Explanation) -> Explanation:
        if self.is_given:
            return given
        baseline: Any = np.asarray(given.baseline)
        opposite = len(self.classes) == 2 and given.scale == "probability"
        baseline = 1 - baseline if opposite else self.margins(baseline)
        deviation = given.deviation
        if deviation is not None and len(self.classes) > 2:
            deviation = self.columns(deviation)
        return replace(
            given,
            classes=self.classes,
            baseline=float(baseline) if baseline.ndim == 0 else baseline,
            contributions=self.margins(given.contributions),
            deviation=deviation,
        )
