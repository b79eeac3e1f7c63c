"""What one record is to a report card: a cell by its label and by what a model says of it, on a public grid of scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hedgerow.arrays import Floats, Integers

__all__ = ["ScoreGrid"]


WIDEST = 7.0  # log-odds of the outermost bins' inner ends, nearly: a probability of .0009


@dataclass(frozen=True)
class ScoreGrid:
    """Public bins of a probability, of equal width in log-odds, an even number: one half of them on each side of 1/2.

    A record is in one cell of one histogram for two classes: its label, the bin of the second class's probability, and by the
    side of 1/2 the class that is predicted. For K classes it is in one cell of K + 1: its label and the predicted class; and for
    each class whether it is the label, and the bin of its probability.

    Parameters
    ----------
    n_classes : int
        K.
    bins : int
        How many bins a probability has, even.
    """

    n_classes: int
    bins: int

    @property
    def inner(self) -> Floats:
        """The inner ends of the bins, ascending; 1/2 is the middle one."""
        odds = WIDEST * (2 * np.arange(1, self.bins) / self.bins - 1)
        return np.asarray(1 / (1 + np.exp(-odds)))

    @property
    def ends(self) -> tuple[Floats, Floats]:
        """The lower and the upper end of each bin."""
        inner = self.inner
        return np.concatenate(([0.0], inner)), np.concatenate((inner, [1.0]))

    @property
    def histograms(self) -> int:
        """How many cells a record is in."""
        return 1 if self.n_classes == 2 else self.n_classes + 1

    @property
    def n_codes(self) -> Integers:
        """How many cells each histogram has."""
        if self.n_classes == 2:
            return np.array([2 * self.bins])
        return np.array([self.n_classes**2, *[2 * self.bins] * self.n_classes])

    def codes(self, probabilities: Floats, labels: Integers) -> Integers:
        """Return the cells of each record, of shape (records, histograms); a record decides its own alone."""
        predicted = probabilities.argmax(axis=1)
        if self.n_classes == 2:
            place, half = self._bins_of(probabilities[:, 1]), self.bins // 2
            # Rounding may leave a probability on the other side of 1/2 than the prediction.
            place = np.where(predicted == 1, np.maximum(place, half), np.minimum(place, half - 1))
            return np.asarray(labels * self.bins + place)[:, None]
        own = [(labels == k) * self.bins + self._bins_of(probabilities[:, k]) for k in range(self.n_classes)]
        return np.column_stack([labels * self.n_classes + predicted, *own])

    def _bins_of(self, probability: Floats) -> Integers:
        return np.searchsorted(self.inner, probability, side="left").astype(np.int64)

    def confusion(self, counts: Floats) -> Floats:
        """Return the counts of all histograms in a row as those of each label and predicted class, (labels, predicted)."""
        if self.n_classes == 2:
            sides: Floats = counts.reshape(2, 2, self.bins // 2).sum(axis=2)
            return sides
        return counts[: self.n_classes**2].reshape(self.n_classes, self.n_classes)

    def by_label(self, counts: Floats) -> Floats:
        """Return the counts of all histograms in a row as those of each label, (labels, cells): each record is in one."""
        return counts[: int(self.n_codes[0])].reshape(self.n_classes, -1)

    def curve(self, counts: Floats, k: int) -> tuple[Floats, Floats]:
        """Return the counts by bin of class k's probability: of records with that label, and of all others."""
        if self.n_classes == 2:
            zero, one = counts.reshape(2, self.bins)
            return (one, zero) if k == 1 else (zero[::-1], one[::-1])
        start = self.n_classes**2 + 2 * self.bins * k
        others, own = counts[start : start + 2 * self.bins].reshape(2, self.bins)
        return own, others
