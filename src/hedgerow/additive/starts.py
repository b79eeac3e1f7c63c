"""Warm starts from an ``init`` model (a start): its terms in the codes of this fit, its votes, and the sum of both models.

A start is public or was released. Its votes for a record depend only on that record's own codes, so the norms and ranges of
rounds do not change (docs/proofs/hedgerow.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from hedgerow.additive.losses import Logistic
from hedgerow.additive.model import LARGEST_VOTE, AdditiveModel, Packed, joined
from hedgerow.additive.monotone import holds
from hedgerow.additive.round import Term
from hedgerow.additive.squared import Squared
from hedgerow.arrays import Integers
from hedgerow.curator import Cut
from hedgerow.errors import ConfigurationError
from hedgerow.schema import Categorical, Encoder, Schema
from hedgerow.table.table import Margins

MOST_TERMS = 1 << 16  # of a start in a file: those of 1000 fits of 60 rounds
MOST_VOTES = 1 << 29  # of a start for a record: 32-bit margins hold them plus 1000 rounds of the largest votes


@dataclass(frozen=True, eq=False)
class StartVotes:
    """A start's votes for records whose codes are finer than its own."""

    packed: Packed  # the start
    into: list[Integers]  # for each feature, (codes,): the start's code for each finer code

    @property
    def columns(self) -> int:
        return len(self.packed.start)

    def __call__(self, codes: npt.NDArray[np.unsignedinteger], margins: Margins) -> None:
        own = np.empty(codes.shape, dtype=self.packed.dtype, order="F")
        for feature in self.packed.reads:
            own[:, feature] = self.into[feature][codes[:, feature]]
        margins += self.packed.margins(own)


def start_on(
    model: AdditiveModel,
    fine: Encoder,
    loss: Logistic | Squared,
    signs: Sequence[int] = (),
    most_cuts: int | None = None,
) -> AdditiveModel:
    """Return a fitted model in codes that are merged from those of ``fine``, for a fit with this loss."""
    # A numeric cut point moves to the nearest one of ``fine``; if ranges are the same, it stays. Values that the model's schema
    # does not have are read as that schema reads them: a category as undeclared, a number beyond the range as the nearer end.
    # ConfigurationError if schemas or settings do not agree.
    given, wanted = model.encoder.schema, fine.schema
    check_schemas(given, wanted)
    into, place_of, codes = [], {}, [np.empty(0, dtype=np.int64)] * len(given.names)
    for new, (name, kind) in enumerate(wanted.features.items()):
        old = given.names.index(name)
        place_of[old] = new
        if isinstance(kind, Categorical):
            other = cast(Categorical, given.features[name])
            code_of = {other.key(value): code for code, value in enumerate(other.values)}
            missing, undeclared = len(other.values), len(other.values) + 1
            known = [code_of.get(kind.key(value), undeclared) for value in kind.values]
            codes[old] = np.array([*known, missing, undeclared], dtype=np.int64)
            into.append(np.arange(len(codes[old])))
        else:  # the model's bin that holds the middle of each fine bin
            edges, ends = model.encoder.edges[old], np.concatenate([[kind.low], fine.edges[new], [kind.high]])
            middle = np.minimum(ends[:-1] / 2 + ends[1:] / 2, np.nextafter(ends[1:], -np.inf))
            bins = np.searchsorted(edges, np.maximum(middle, ends[:-1]), side="right").astype(np.int64)
            merged = np.unique(bins, return_inverse=True)[1]
            if len(fine.edges[new]) and not merged[-1]:  # a binned feature has at least two bins
                merged[1:] = 1
            into.append(np.append(merged, merged[-1] + 1).astype(np.int64))
            codes[old] = np.append(bins, len(edges) + 1)[np.unique(into[-1], return_index=True)[1]]
    start, scale = in_units(model, loss)
    terms = []
    for term in model.terms:
        moved = moved_term(term, codes, place_of)
        if scale != 1:
            unit = max(1, round(min(moved.unit * scale, LARGEST_VOTE)))
            moved = replace(moved, votes=whole(moved.votes * scale), unit=unit)
        if most_cuts is not None and len(moved.cuts) > most_cuts:
            raise ConfigurationError(
                "init has interactions that interaction_cst forbids; pass the interaction_cst of init."
            )
        terms.append(moved)
    if any(signs) and not holds(terms, signs):
        raise ConfigurationError("the curves of init do not go as monotonic_cst says; pass the monotonic_cst of init.")
    reach = np.abs(start).max(initial=0) + sum(int(np.abs(term.votes).max(initial=0)) for term in joined(terms))
    if reach > MOST_VOTES:
        raise ConfigurationError("predictions of init may be too large for a margin; pass a model that was fitted.")
    encoder = fine.merged(into)
    if isinstance(loss, Squared) and isinstance(model.loss, Squared):  # by which its sums were measured
        loss = replace(loss, count_weight=model.loss.count_weight)
    return replace(model, encoder=encoder, loss=loss, start=start, terms=tuple(terms), signs=tuple(signs), parts=None)


def check_schemas(given: Schema, wanted: Schema) -> None:
    def declared(schema: Schema) -> dict[str, str]:
        kinds = {f"feature {name!r}": f"hr.{type(kind).__name__}" for name, kind in schema.features.items()}
        return {
            **kinds,
            "the outcome": f"hr.{type(schema.outcome).__name__}",
            "the list of classes": repr(schema.classes),
        }

    own, ours = declared(given), declared(wanted)
    for what in own | ours:
        one, other = own.get(what, "missing"), ours.get(what, "missing")
        if one != other:
            raise ConfigurationError(
                f"{what} is {one} in init, but {other} in this fit's schema. Declare the same names, kinds and classes; ranges "
                "and categories may differ."
            )


def in_units(model: AdditiveModel, loss: Logistic | Squared) -> tuple[Integers, float]:
    if not isinstance(model.loss, Squared):
        return model.start, 1.0
    assert isinstance(loss, Squared)
    given, link = model.loss.link, loss.link
    if type(given) is not type(link):
        raise ConfigurationError(
            f"init adds up the {given.scale}, unlike this fit; pass the loss and outcome_transform of init."
        )
    if given == link:
        return model.start, 1.0
    scale = min(link.vote_steps / given.vote_steps, float(LARGEST_VOTE))
    return whole((given.origin - link.origin) * link.vote_steps + model.start * scale), scale


def moved_term(term: Term, codes: Sequence[Integers], place_of: Mapping[int, int] | Sequence[int]) -> Term:
    """Return a term with other codes and feature indices; ``codes[j][new]`` is the old code, ``place_of[j]`` the new index."""
    # Cuts with all new codes on one side are dropped, with the cells of the other side.
    cuts: list[Cut] = []
    cells = np.arange(len(term.votes))
    for digit, cut in enumerate(reversed(term.cuts)):
        side = cut.side[codes[cut.by]]
        if side.min() == side.max():
            cells = cells[(cells >> digit & 1) == side[0]]
        else:
            cuts.insert(0, Cut(place_of[cut.by], side))
    features = term.feature[cells].tolist()
    n_codes = np.array([len(codes[j]) for j in features])
    used = np.arange(n_codes.max()) < n_codes[:, None]
    at = np.zeros(used.shape, dtype=np.int64)
    for row, j in zip(at, features, strict=True):
        row[: len(codes[j])] = codes[j]
    place, known = (cells[:, None], at), used[..., None]
    votes, sums = term.votes[place] * known, None if term.sums is None else term.sums[place] * known
    feature, counts = np.array([place_of[j] for j in features]), None if term.n_codes is None else n_codes
    return replace(term, cuts=tuple(cuts), feature=feature, votes=votes, sums=sums, noise=0, n_codes=counts, basis=None)


def whole(votes: npt.NDArray[np.floating[Any]]) -> Integers:
    """Return votes as integers, clipped so that they do not overflow but votes too large for a margin stay too large."""
    return np.asarray(np.rint(np.clip(votes, -2 * MOST_VOTES, 2 * MOST_VOTES)).astype(np.int64))


def codes_in(coarse: Encoder, fine: Encoder) -> list[Integers]:
    """Return for each feature the coarse code of each fine code; the fine cut points must include the coarse ones."""
    codes = []
    for edges, all_edges, count in zip(coarse.edges, fine.edges, fine.n_codes.tolist(), strict=True):
        bins = np.searchsorted(edges, all_edges, side="right")
        codes.append(np.array([0, *bins, len(edges) + 1]) if len(all_edges) else np.arange(count))
    return codes


def together(start: AdditiveModel, own: AdditiveModel) -> AdditiveModel:
    """Return the sum of a start and a fit's own model, with the cut points of both."""
    # Terms keep their released sums only as weights of averages: those of a bin are divided evenly among its finer bins. Bands
    # use the sums of ``own``, whose noise is known.
    fine, cuts = own.encoder, {}
    for name, old, new in zip(fine.schema.names, start.encoder.edges, own.encoder.edges, strict=True):
        if len(old):
            cuts[name] = np.union1d(old, new).tolist()
    encoder = Encoder(fine.schema.cut_at(cuts), fine.max_bins)
    terms: list[Term] = []
    for model in (start, own):
        codes = codes_in(model.encoder, encoder)
        for term in model.terms:
            if term.sums is not None:
                shares = np.ones(term.votes.shape[:2], dtype=np.int64)
                for row, j in zip(shares, term.feature.tolist(), strict=True):
                    row[: int(codes[j].max()) + 1] = np.bincount(codes[j])
                term = replace(term, sums=term.sums // shares[..., None])
            terms.append(moved_term(term, codes, range(len(codes))))
    return replace(own, encoder=encoder, start=start.start + own.start, terms=tuple(terms), parts=(start, own))
