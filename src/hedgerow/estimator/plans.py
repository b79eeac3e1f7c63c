"""What a fit does and leaves behind: plans, fixed before any record is read, and models of released values."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from hedgerow.curator import Queryable
from hedgerow.export import ScoringForm
from hedgerow.mechanisms import Randomness
from hedgerow.privacy.certificate import Certificate
from hedgerow.privacy.events import Event, Sequence, Unprotected
from hedgerow.schema import Encoder, Schema
from hedgerow.texts import short_repr


class Model(Protocol):
    """What a fit leaves behind: released values that answer for new records.

    A classifier's is a ``ClassModel``, a regressor's an ``OutcomeModel``.
    ``importance_rule`` says in words what ``importances`` are shares of.
    """

    importance_rule: ClassVar[str]

    def importances(self) -> npt.NDArray[np.float64]:
        """Return one share per feature, which sum to 1, or zeros."""

    def scoring(self) -> ScoringForm:
        """Return how the model answers, for other programs, or raise ConfigurationError where they cannot be told."""

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return everything that the plan's ``restore`` needs."""


class ClassModel(Model, Protocol):
    """A classifier's model."""

    def probabilities(self, X: Any) -> npt.NDArray[np.float64]:
        """Return one row per record and one column per class."""


class RawModel(Protocol):
    """What a published form leaves behind: it predicts, and is neither saved nor exported."""

    importance_rule: ClassVar[str]

    def probabilities(self, X: Any) -> npt.NDArray[np.float64]:
        """Return one row per record and one column per class."""

    def importances(self) -> npt.NDArray[np.float64]:
        """Return one share per feature, which sum to 1, or zeros."""

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return what is released as named arrays, which audits compare."""


class OutcomeModel(Model, Protocol):
    """A regressor's model."""

    def predictions(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the predicted outcome of each record, within the schema's range."""


def model_digest(model: Model) -> str:
    """Return the SHA-256 of all that a model released, in hexadecimal."""
    found = hashlib.sha256()
    for name, array in sorted(model.to_arrays().items()):
        found.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


class Plan(Protocol):
    """What a private fit will do, fixed by the configuration and the schema before any record is read."""

    @property
    def event(self) -> Event:
        """Everything that will read records."""

    @property
    def encoder(self) -> Encoder:
        """How records are read."""

    def fit(self, curator: Queryable) -> Model:
        """Return what is released; the curator's records were read by ``encoder``."""

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> Model:
        """Return the model that ``to_arrays`` wrote."""


@runtime_checkable
class FineBins(Protocol):
    """A plan whose survey merges fine bins of its own, and may merge an analyst's in their place."""

    def on(self, encoder: Encoder) -> Plan:
        """Return the plan that reads records as an encoder does, as far as it can."""


class RawPlan(ABC):
    """A plan of a published form, which reads the records as they are and protects nothing.

    ``reasons`` says of each raw read what it loses; there is at least one.
    """

    reasons: tuple[str, ...]

    @property
    def event(self) -> Event:
        """Every unprotected step, and nothing else."""
        return Sequence(tuple(map(Unprotected, self.reasons)))

    @abstractmethod
    def fit_raw(self, X: Any, y: Any, randomness: Randomness) -> RawModel:
        """Return what is released."""


PublicCoins = tuple[int, ...]  # what public coins decided of a plan, before any record was read


@dataclass(frozen=True)
class Fitted:
    """Everything that a fit leaves behind, as one value: a model never stands beside the certificate of another fit.

    ``parameters`` are those of the fit: ``set_params`` after it must not change what is saved. ``named`` says whether the
    records had column names. ``coins`` are what public coins decided before any record was read.
    """

    schema: Schema
    certificate: Certificate
    model: Model
    parameters: Mapping[str, Any]
    named: bool
    coins: PublicCoins = ()

    __repr__ = short_repr
