"""Queries before a learner learns: how many records there are, and where the numeric features have them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Floats, Integers
from hedgerow.curator.queryable import Queryable
from hedgerow.curator.released_warnings import CHECK, column_warnings
from hedgerow.curator.rounds import Candidate, Round
from hedgerow.errors import FileFormatError
from hedgerow.export.archive import array_of
from hedgerow.mechanisms import Budget, Noise
from hedgerow.privacy.accounting import Sequence
from hedgerow.schema import Date, Encoder, Integer, Numeric, Schema
from hedgerow.table.table import ChannelRule, Channels, Margins

FINE = 255  # bins of a histogram; with the code for missing cells they fit a byte
NARROW = 127  # of them at most, about half, are narrower the nearer they are to zero; the others have one width
OCTAVES = 18  # by how many factors of two the narrowest of these are nearer to zero than the range's far end
RARE = 1 / 1000  # the chance that noise alone passes for records
DAMAGED = "the file's cut points are damaged; fit the model again."
ALIKE = 0.3  # of a range's width counts its fine bins alike
BY_MASS = 0.6  # of a numeric feature's bins follows its records; the rest follows its range
SHARE = Fraction(1, 50)  # of the whole budget is for all histograms together
CLASS = "a label of the schema's classes"
CLEAR = 2  # deviations of its noise that a count must be above to be taken for records


def fine_encoder(schema: Schema) -> Encoder:
    """Return the encoder of numeric features in fine bins, which a survey merges.

    Up to half of a feature's bins are narrower the nearer they are to zero, since ranges are often far too wide and values mostly
    small; the others have one width. Public cut points stay as they are.
    """
    cuts = {}
    for name, kind in schema.features.items():
        if isinstance(kind, Numeric) and kind.cuts is None:
            cuts[name] = fine_cuts(kind)
    return Encoder(schema.cut_at(cuts), FINE)


def fine_cuts(kind: Numeric) -> list[float]:
    even = kind.bin_edges(FINE)
    if isinstance(kind, Date) or len(even) < FINE - 1:  # time has no zero, and few values need no more bins
        return [*even.tolist()]
    distance = max(-kind.low, kind.high) * 2.0 ** (-OCTAVES * (np.arange(NARROW) + 0.5) / NARROW)
    signs = np.array([-1, 1])[np.array([-kind.low, kind.high]) > 0]
    narrow = np.multiply.outer(signs, distance[:: len(signs)]).reshape(-1)
    narrow = narrow[(narrow > kind.low) & (narrow < kind.high)]
    edges = np.unique(np.concatenate([kind.bin_edges(FINE - len(narrow)), narrow]))
    if isinstance(kind, Integer):
        edges = np.unique(np.ceil(edges) - 0.5)
    return [*edges.tolist()]


def merged_to_arrays(encoder: Encoder) -> dict[str, npt.NDArray[Any]]:
    counts = np.array([len(cuts) for cuts in encoder.edges], dtype=np.int64)
    return {"edges": np.concatenate(encoder.edges), "edge_counts": counts}


def merged_encoder(arrays: Mapping[str, npt.NDArray[Any]], fine: Encoder) -> Encoder:
    """Return the encoder whose cut points, some of the fine ones, stand in the arrays, or raise FileFormatError."""
    counts = array_of(arrays, "edge_counts", np.int64, (len(fine.edges),), 0, FINE)
    edges = array_of(arrays, "edges", np.float64, (int(counts.sum()),))
    cuts = np.split(edges, np.cumsum(counts)[:-1])
    kinds = fine.schema.features.values()
    for kept, known, kind in zip(cuts, fine.edges, kinds, strict=True):
        if isinstance(kind, Numeric):  # a curator's fine bins have one width
            known = np.union1d(known, kind.replaced(cuts=None).bin_edges(FINE))
        if (len(kept) > 0) != (len(known) > 0) or np.any(np.diff(kept) <= 0):
            raise FileFormatError(DAMAGED)
        # Another processor may round exponentials otherwise, so that its fine cut points differ in the last bits.
        with np.errstate(over="ignore"):  # of cut points that are farther apart than the largest number
            nearest = known[np.abs(known - kept[:, None]).argmin(axis=1)] if len(kept) else kept
            same = np.abs(kept - nearest) <= 1e-12 * np.abs(nearest)
        if not same.all():
            raise FileFormatError(DAMAGED)
    by_name = {name: kept.tolist() for name, kept in zip(fine.schema.names, cuts, strict=True)}
    return Encoder(fine.schema.cut_at(by_name), FINE)


@dataclass(frozen=True)
class Ones(ChannelRule):
    """Every record that has a class counts one: in one channel, or in that of its class if there are several."""

    channels: int = 1

    columns = scored = scored_l1 = 0
    l1 = l2_squared = 1

    def __call__(self, margins: Margins, labels: npt.NDArray[np.signedinteger]) -> Channels:
        if self.channels == 1:
            return (labels >= 0).astype(np.int32)[:, None]
        return np.asarray((labels[:, None] == np.arange(self.channels)).astype(np.int32))


class Survey:
    """Histograms of the numeric features of all records, for a share of a budget, by which their fine bins are merged."""

    def __init__(self, budget: Budget, encoder: Encoder, share: Fraction = SHARE) -> None:
        self.encoder = encoder
        self._numeric: list[int] = np.flatnonzero(list(map(len, encoder.edges))).tolist()
        self._noise: Noise | None = None
        self._deviation = 0.0
        self.event, self.left = Sequence(()), Fraction(1)  # their cost, and the share of the budget that they leave
        if self._numeric:
            self._noise = (budget * share / len(self._numeric)).noise()
            self._deviation = self._noise.deviation
            event = self._noise.event("fine bins of a numeric feature", draws=int(encoder.n_codes.max()))
            self.event, self.left = Sequence((event,) * len(self._numeric)), 1 - share

    def histograms(self, ones: Round) -> dict[int, Integers]:
        if self._noise is None:
            return {}
        return {feature: ones.sums(Candidate(feature), self._noise)[0, :, 0] for feature in self._numeric}

    def merge(self, curator: Queryable, bins: int, total: tuple[float, float] | None = None) -> tuple[Encoder, Floats]:
        """Merge the records' fine bins to about ``bins``, and warn of columns; ``total`` is as for ``column_warnings``.

        Return the encoder of the merged bins, and how many records each code has, (codes of all features,): 0 where noise hides
        it, 1 of categories.
        """
        histograms, deviation = self.histograms(curator.open_round(Ones())), self._deviation
        curator.warnings += column_warnings(self.encoder, histograms, deviation, total)
        into, masses = self.merged(histograms, bins), []
        curator.merge(into)
        for feature, codes in enumerate(into):
            members = np.bincount(codes)
            mass: Any = np.ones(len(members))
            if feature in histograms:
                mass = np.bincount(codes, histograms[feature])
                mass = np.where(mass > CLEAR * deviation * np.sqrt(members), mass, 0)
            masses.append(mass)
        return self.encoder.merged(into), np.concatenate(masses)

    def merged(self, histograms: Mapping[int, Integers], bins: int) -> list[Integers]:
        """Return for each feature what its codes become: about so many bins of a numeric one, categories as they are."""
        into = list(map(np.arange, self.encoder.n_codes.tolist()))
        schema = self.encoder.schema
        for feature, noisy in histograms.items():
            kind, counts = schema.features[schema.names[feature]], noisy[:-1]
            assert isinstance(kind, Numeric)
            assert self._noise is not None
            least = self._noise.quantile(1 / FINE)  # which noise alone reaches in about one bin of each feature
            ends = np.concatenate([[kind.low], self.encoder.edges[feature], [kind.end]])
            # A quarter of each width where the range passes the largest float64
            widths = np.diff(ends if math.isfinite(kind.high - kind.low) else ends / 4)
            merged = by_width_and_mass(np.where(counts >= least, counts, 0), widths, bins, BY_MASS)
            into[feature] = np.append(merged, merged[-1] + 1)
        return into


def too_few(records: int, noise: Noise, counts: int, label: str = CLASS) -> tuple[str, ...]:
    """Return a warning if a released number of records, the sum of so many counts, does not stand out from its noise.

    It looks at the released number and public values alone. Without a record that has a class, the warning is missing at most
    once in 1000 fits.
    """
    least = math.ceil(noise.quantile(RARE) * math.sqrt(counts))
    if records >= least:
        return ()
    return (
        f"the noisy number of records with {label} is {records}, which may be noise: noise alone is {least} or more once in "
        f"{round(1 / RARE)} fits. The model may have learned from no record at all. {CHECK}",
    )


def by_width_and_mass(significant: Integers, widths: Floats, bins: int, by_mass: float) -> Integers:
    """Return the new bin of each fine bin: new bins hold like parts of a mixture of the range's width and of its records.

    ``significant`` are the noisy counts that stand out of their noise, zero for the others. Part of the width counts fine bins
    alike, since public ranges are often far too wide, and fine bins are narrow where values are likely. Where one fine bin holds
    most records, it gets one new bin, and the others share out what else follows records: at most as many new bins as have some.
    """
    width = ALIKE / len(widths) + (1 - ALIKE) * widths / widths.sum()
    if significant.max() > significant.sum() / 2:
        mass = one_at_most(significant, min(by_mass * bins, float(np.count_nonzero(significant))))
        weight = one_at_most(mass + (bins - mass.sum()) * width, bins)
    else:
        mass = significant / significant.sum() if significant.any() else width
        weight = one_at_most(by_mass * mass + (1 - by_mass) * width, bins)
    place = np.minimum((np.cumsum(weight) - weight / 2).astype(np.int64), bins - 1)
    return np.asarray(np.unique(place, return_inverse=True)[1].astype(np.int64))


def one_at_most(share: Floats | Integers, total: float) -> Floats:
    """Return weights that sum to ``total``, in the proportion of shares but none above 1 as far as that can be.

    A fine bin is never cut, so what a spike has beyond one new bin goes to the others.
    """
    weight = np.asarray(total * share / share.sum())
    spikes = np.zeros(len(share), dtype=np.bool_)
    while (weight > 1 + 1e-9).any() and (rest := share[~(spikes := spikes | (weight > 1))].sum()) > 0:
        weight = np.where(spikes, 1.0, share * ((total - spikes.sum()) / rest))
    return weight
