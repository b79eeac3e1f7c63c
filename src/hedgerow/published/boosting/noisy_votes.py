"""Noise on the answers of trees and not in training, as in the public code of CART-DPsAdaBoost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Floats
from hedgerow.errors import ConfigurationError
from hedgerow.mechanisms.kernels import Stream
from hedgerow.privacy.events import Event, Pure
from hedgerow.published.boosting.model import PublishedBoosted
from hedgerow.published.boosting.noise import MeanLaplace
from hedgerow.published.case import Case
from hedgerow.published.noise import float_generator
from hedgerow.texts import short_repr

__all__ = ["KEY_WORDS", "AnswerKey", "NoisyAnswers", "NoisyVotes"]

KEY_WORDS = 8  # of 32 bits


@dataclass(frozen=True)
class AnswerKey:
    """The seed of the noise in a model's answers, drawn once and stored with the model."""

    def sample(self, stream: Stream) -> npt.NDArray[np.int64]:
        """Return the words of the key, (words,)."""
        return float_generator(stream).integers(0, 1 << 32, KEY_WORDS)

    def law(self) -> Floats:
        """Return the probability of each single key."""
        return np.array([2.0 ** (-32 * KEY_WORDS)])


@dataclass(frozen=True, eq=False)
class NoisyAnswers(PublishedBoosted):
    """A weighted vote F(x) = sum of alpha_t (h_t(x) + noise): each tree's answer for each record gets noise of its own.

    The noise is the mean of 100 draws of Laplace(1 / epsilon). It follows from ``key`` (words,) and the place of the record in
    the batch that is asked for, so that the same batch gets the same answers [our choice: the code draws anew each time].
    """

    key: npt.NDArray[np.int64]
    epsilon: float

    __repr__ = short_repr

    def _terms(self, columns: Floats) -> Iterator[Floats]:
        """Yield 2 alpha_t (h_t + noise) of each tree, for ``columns`` (features, records)."""
        generator, noise = np.random.default_rng(self.key), MeanLaplace(self.epsilon)
        for tree, alpha in enumerate(self.alphas):
            votes = 2.0 * self.trees.labels(tree, columns, self.branching) - 1
            yield 2 * alpha * noise.added(votes, generator)

    def scoring(self) -> NoReturn:
        """Raise ConfigurationError: no other program draws the same noise."""
        raise ConfigurationError(
            "the answers of this form have noise of their own, which an export cannot repeat. Export the private form, or the "
            "published one without as_coded."
        )

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the trees, their weights and the key of the noise as named arrays."""
        return {**super().to_arrays(), "key": self.key}


@dataclass(frozen=True)
class NoisyVotes:
    """The rule that answers get noise: every tree and every record with the whole epsilon."""

    def stated(self, case: Case) -> Event:
        """Return the cost of one answer of one tree in the code."""
        noise = "mean of 100 Laplace draws in floating point"
        return Pure(
            case.epsilon, noise, "each answer of each tree, as coded, added to trees that are released without noise"
        )

    def reasons(self, case: Case) -> Iterator[str]:
        """Yield what is read without protection."""
        yield (
            "the only noise is on the trees' answers to the records that are asked about, and the trees are in the model: what "
            "it stores is raw"
        )
        yield (
            f"each answer of each of {case.trees} trees spends the whole epsilon, and nothing adds them up over trees and "
            "records; an answer that one record turns from -1 to 1 loses up to 200 epsilon, since the mean of 100 draws of "
            "Laplace(1 / epsilon) has a tenth of the standard deviation of one"
        )
