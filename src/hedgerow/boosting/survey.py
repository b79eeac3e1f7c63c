"""What additive boosting asks before it boosts: how many records there are, and where the numeric features have them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from hedgerow.curator import Round
from hedgerow.mechanisms import Budget, Noise
from hedgerow.privacy.events import Event, Sequence
from hedgerow.schema import Encoder

__all__ = ["CLEAR", "FINE", "Ones", "OnesByClass", "Survey", "SurveyRecipe", "by_width_and_mass"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

FINE = 255  # bins of a histogram; with the code for missing cells they fit a byte
RARE = 1 / 1000  # the chance that noise alone passes for records
CLEAR = 2  # deviations of its noise that a count must be above to be taken for records


@dataclass(frozen=True)
class Ones:
    """Every record that has a class counts one."""

    scored = 0
    channels = 1
    scored_l1 = 0
    l1 = 1
    l2_squared = 1

    def __call__(self, margins: npt.NDArray[np.signedinteger], labels: npt.NDArray[np.signedinteger]) -> Integers:
        """Return one channel, (records, 1)."""
        return (labels >= 0).astype(np.int64)[:, None]


@dataclass(frozen=True)
class OnesByClass:
    """Every record that has a class counts one, in the channel of its class."""

    channels: int

    scored = 0
    scored_l1 = 0
    l1 = 1
    l2_squared = 1

    def __call__(self, margins: npt.NDArray[np.signedinteger], labels: npt.NDArray[np.signedinteger]) -> Integers:
        """Return the channels of each record, (records, classes)."""
        return np.asarray((labels[:, None] == np.arange(self.channels)).astype(np.int64))


@dataclass(frozen=True)
class SurveyRecipe:
    """How much a survey may cost, and how it cuts.

    Parameters
    ----------
    count, histograms : Fraction
        The shares of the whole budget that the number of records and all histograms together get.
    by_mass : float
        How much of a numeric feature's bins follows its records; the rest follows its range.
    """

    count: Fraction
    histograms: Fraction
    by_mass: float

    def survey(self, budget: Budget, encoder: Encoder, *, counts: bool) -> Survey:
        """Return a survey for a whole budget; without ``counts`` the number of records is not asked for."""
        numeric = [feature for feature, edges in enumerate(encoder.edges) if len(edges)]
        return Survey(
            self,
            encoder,
            tuple(numeric),
            (budget * self.count).noise() if counts else None,
            (budget * self.histograms / len(numeric)).noise() if numeric else None,
        )


@dataclass(frozen=True, eq=False)
class Survey:
    """Count the records, and those in each fine bin of each numeric feature."""

    recipe: SurveyRecipe
    encoder: Encoder
    numeric: tuple[int, ...]
    count_noise: Noise | None
    histogram_noise: Noise | None

    @property
    def left(self) -> Fraction:
        """The share of the whole budget that it leaves."""
        count = self.recipe.count if self.count_noise else Fraction(0)
        return 1 - count - (self.recipe.histograms if self.histogram_noise else Fraction(0))

    @property
    def event(self) -> Sequence:
        """What it costs."""
        parts: list[Event] = []
        if self.count_noise:
            parts.append(self.count_noise.event("number of records", draws=1))
        if self.histogram_noise:
            draws = int(self.encoder.n_codes.max())
            parts += [self.histogram_noise.event("fine bins of a numeric feature", draws=draws)] * len(self.numeric)
        return Sequence(tuple(parts))

    def records(self, asked: Round) -> int | None:
        """Return the noisy number of records that have a class, asked in a round of ``Ones``; None where it is not asked for."""
        if self.count_noise is None:
            return None
        return int(asked.whole_sums(self.count_noise)[0])

    def doubts(self, records: int | None) -> tuple[str, ...]:
        """Return what to say where the released number does not stand out from its noise.

        It looks at the released number and public values alone. Without a record that has a class there is nothing to say
        once in 1000 fits.
        """
        if self.count_noise is None or records is None or records >= (least := self.count_noise.quantile(RARE)):
            return ()
        return (
            f"the noisy number of records with a label of the schema's classes is {records}, which may be noise: noise alone "
            f"is {least} or more once in {round(1 / RARE)} fits. The model may have learned from no record at all. See by "
            "schema.check(X, y), or hedgerow schema check, which are for the records' owner, whether the labels are spelled as "
            "the schema declares them; if they are, pass more records or a larger epsilon.",
        )

    def merges(self, asked: Round, bins: int) -> list[Integers]:
        """Return for each feature what its codes become: about so many bins of a numeric one, categories as they are."""
        into = [np.arange(codes) for codes in self.encoder.n_codes.tolist()]
        if self.histogram_noise is None:
            return into
        for feature in self.numeric:
            counts = asked.sums(feature, self.histogram_noise)[:-1, 0]
            found = by_width_and_mass(counts, CLEAR * self.histogram_noise.deviation, bins, self.recipe.by_mass)
            into[feature] = np.append(found, found[-1] + 1)
        return into


def by_width_and_mass(counts: Integers, clear: float, bins: int, by_mass: float) -> Integers:
    """Return the new bin of each fine bin: new bins hold like parts of a mixture of the range's width and of its records.

    Noisy counts that are not above ``clear`` are taken for zero. Where none is above it, bins have equal widths.
    """
    clear_counts = np.where(counts > clear, counts, 0).astype(np.float64)
    width = np.full(len(counts), 1 / len(counts))
    mass = clear_counts / clear_counts.sum() if clear_counts.any() else width
    share = by_mass * mass + (1 - by_mass) * width
    middle = np.cumsum(share) - share / 2
    place = np.minimum((middle * bins).astype(np.int64), bins - 1)
    place[-1] += place[0] == place[-1]  # two bins at least
    return np.asarray(np.unique(place, return_inverse=True)[1].astype(np.int64))
