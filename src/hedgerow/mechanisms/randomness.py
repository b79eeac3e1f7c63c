"""The one object through which a fit draws everything random."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from operator import add
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from hedgerow.errors import BudgetExceeded, ConfigurationError
from hedgerow.mechanisms import kernels
from hedgerow.mechanisms.kernels import Stream, open_stream
from hedgerow.privacy.filter import Atomic, began


@dataclass(frozen=True)
class PerRecordCoin:
    """Each record goes to one of ``parts`` parts by a coin that depends on its row alone.

    Costs nothing by itself: the parts are disjoint, and no record can move another one (docs/proofs/composition.md). The
    assignment is never released.
    """

    parts: int

    inclusion: ClassVar[Fraction | None] = None

    def sample(self, stream: Stream, records: int, first_row: int = 0) -> npt.NDArray[np.int32]:
        part = np.empty(records, dtype=np.int32)
        kernels.assign(stream, first_row, self.parts, part)
        return part

    def law(self, records: int) -> npt.NDArray[np.float64]:
        """Return the probability of each part for one record, up to the 2**-32 by which they differ."""
        return np.full(self.parts, 1 / self.parts)


@dataclass(frozen=True)
class WeightedCoin:
    """Each record takes part with a probability of its own, by a coin that depends on its row alone.

    The probability must follow from the record and from released values, and be at most ``inclusion``: what is asked of
    those that take part then costs what it costs of a Poisson sample with that probability: epsilon becomes
    ln(1 + q (e^epsilon - 1)) under add/remove (docs/proofs/composition.md). The sample is never released.
    """

    inclusion: Fraction = Fraction(1)

    parts: ClassVar[int] = 1

    def sample(self, stream: Stream, thresholds: npt.NDArray[np.uint64], first_row: int = 0) -> npt.NDArray[np.int32]:
        # ``thresholds`` (records,): how many of 2**32 equally probable words admit a record; more than ``inclusion``
        # allows are cut down to that.
        part = np.empty(len(thresholds), dtype=np.int32)
        kernels.include_each(stream, first_row, self._allowed(thresholds), part)
        return part

    def law(self, threshold: np.uint64) -> npt.NDArray[np.float64]:
        probability = float(self._allowed(np.array([threshold], dtype=np.uint64))[0]) / 2**32
        return np.array([probability, 1 - probability])

    def _allowed(self, thresholds: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        return np.minimum(thresholds, np.uint64(int(self.inclusion * 2**32)))


Coin = PerRecordCoin | WeightedCoin
Draw = Callable[..., Any]  # of a ``Randomness``, or of a curator's public draws


@dataclass(frozen=True, eq=False)
class Coins:
    """The coins of one assignment of records to parts, read at each record's row number among all records.

    They are read by a key of their own, from which neither the fit's key nor any noise follows, so they may go wherever the
    records are. Whoever has them knows which records took part where, as does whoever holds the records.
    """

    coin: Coin
    key: bytes = field(repr=False)

    def parts(self, first_row: int, about: Any) -> npt.NDArray[np.int32]:
        part: npt.NDArray[np.int32] = self.coin.sample(open_stream(self.key, 0), about, first_row)
        return part


@dataclass(frozen=True, eq=False)
class RandomBits:
    """A word of 64 bits for each record, read at its row number among all: those of one person count whose words are least.

    They have a key of their own, as ``Coins`` have, and are never released.
    """

    key: bytes = field(repr=False)

    def of(self, first_row: int, records: int) -> npt.NDArray[np.uint64]:
        words = np.empty(records, dtype=np.uint64)
        kernels.words(open_stream(self.key, 0), first_row, words)
        return words


class Randomness:
    """Random streams of one fit.

    Without ``random_state`` the key is the operating system's, as every private fit needs. An integer or a numpy generator is for
    tests and reproduction: ``seeded`` is then True and certificates say so.

    Draw number i of a fit reads stream number i, so what a draw returns depends on the key, its number and its
    statistics only. The coins of an assignment take a number too, and have a key that a keyed hash (BLAKE2b) makes of it. An
    audit replaces this object by one that walks through all outcomes.
    """

    def __init__(self, random_state: object = None) -> None:
        self.seeded = random_state is not None
        self._key = _fresh_key() if random_state is None else _seeded_key(random_state)
        self._draws = Atomic(0)
        self._process = os.getpid()

    def draw(self, mechanism: Any, *statistics: Any) -> Any:
        return mechanism.sample(open_stream(self._key, self._number()), *statistics)

    def coins(self, coin: Coin) -> Coins:
        return Coins(coin, self._sub_key(b"hedgerow coins"))

    def random_bits(self) -> RandomBits:
        return RandomBits(self._sub_key(b"hedgerow words"))

    def _sub_key(self, person: bytes) -> bytes:
        number = self._number().to_bytes(8, "little")
        return hashlib.blake2b(number, key=self._key, digest_size=32, person=person).digest()

    def _number(self) -> int:
        if os.getpid() != self._process:
            raise BudgetExceeded("a fit draws in the process that began it: a copy would repeat its noise.")
        began()
        return self._draws.update(partial(add, 1))  # ``open_stream`` knows numbers below 2**64 only


def _fresh_key() -> bytes:  # tests replace it
    return os.urandom(32)


def _seeded_key(random_state: object) -> bytes:
    if isinstance(random_state, np.random.Generator | np.random.RandomState):
        seed = random_state.bytes(32)
    elif isinstance(random_state, int | np.integer) and not isinstance(random_state, bool) and random_state >= 0:
        seed = str(int(random_state)).encode()
    else:
        raise ConfigurationError(f"random_state is {random_state!r}; pass None, a whole number or a numpy generator.")
    return hashlib.sha256(b"hedgerow random_state " + seed).digest()
