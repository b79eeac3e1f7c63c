"""Start from a model: its terms in the codes of a new schema, what they say of records, and both models as one.

A start is public or was released. What it says of a record is a function of that record's own codes, so every norm and range of
a round stays as it is (docs/proofs/hedgerow.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.additive.losses import Logistic
from hedgerow.additive.model import DAMAGED, LARGEST_VOTE, OF_START, AdditiveModel, holds
from hedgerow.additive.squared import Squared
from hedgerow.additive.terms import Packed, Term, joined
from hedgerow.arrays import Floats, Integers
from hedgerow.curator import Cut
from hedgerow.errors import ConfigurationError, FileFormatError
from hedgerow.reading.cells import category_key
from hedgerow.schema import Categorical, Encoder, Schema
from hedgerow.table.table import Margins

Arrays = Mapping[str, npt.NDArray[Any]]

MOST_TERMS = 1 << 16  # of a start in a file, which is as many as 1000 fits of 60 rounds have
MOST_VOTES = 1 << 29  # of a record: margins of 32 bits hold them beside 1000 rounds of the largest votes


@dataclass(frozen=True, eq=False)
class StartVotes:
    """What a start says of records that are read in finer codes than its own."""

    packed: Packed  # the start
    into: tuple[Integers, ...]  # (codes,): for each feature the start's code of each finer one

    @classmethod
    def of(cls, start: AdditiveModel, fine: Encoder) -> StartVotes:
        """Return what a model says of records that ``fine`` reads, whose cut points include the model's."""
        return cls(start.packed, tuple(codes_in(start.encoder, fine)))

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
    """Return a fitted model in codes that are merged from those of ``fine``, for a fit with this loss.

    A numeric cut point moves to the nearest one of ``fine``; where ranges are the same it stays where it is. What the model does
    not know is read as its schema reads it: a category as undeclared, a number beyond its range as the nearer end.
    ConfigurationError if schemas or settings do not agree.
    """
    check_schemas(model.encoder.schema, fine.schema)
    into, known = [], []
    for name, edges, kind in zip(fine.schema.names, fine.edges, fine.schema.features.values(), strict=True):
        place = model.encoder.schema.names.index(name)
        if isinstance(kind, Categorical):
            other = model.encoder.schema.features[name]
            assert isinstance(other, Categorical)
            into.append(np.arange(len(kind.values) + 2))
            known.append(categories_of(kind, other))
        else:
            bins = np.append(bins_of(fine, name, model.encoder.edges[place]), len(model.encoder.edges[place]) + 1)
            merged = np.unique(bins[:-1], return_inverse=True)[1]
            if len(edges) and not merged[-1]:  # a feature in bins has two at least
                merged[1:] = 1
            into.append(np.append(merged, merged[-1] + 1).astype(np.int64))
            known.append(bins[np.unique(into[-1], return_index=True)[1]])
    encoder, order = fine.merged(into), [model.encoder.schema.names.index(name) for name in fine.schema.names]
    place_of = {old: new for new, old in enumerate(order)}
    codes = [known[place_of[old]] for old in range(len(order))]
    start, scale = in_units(model, loss)
    terms = tuple(scaled(moved(term, codes, place_of), scale) for term in model.terms)
    check_settings(terms, signs, most_cuts)
    reach = np.abs(start).max(initial=0) + sum(int(np.abs(term.votes).max(initial=0)) for term in joined(terms))
    if reach > MOST_VOTES:
        raise ConfigurationError(
            "what init says of a record may be too large a number for a margin; pass a model that a fit of this library made."
        )
    return replace(model, encoder=encoder, loss=loss, start=start, terms=terms, signs=tuple(signs), parts=None)


def check_schemas(given: Schema, wanted: Schema) -> None:
    """Raise ConfigurationError where a model of one schema cannot be read by another, and say what differs."""
    only = sorted(set(given.names) ^ set(wanted.names))
    if only:
        whose = "init" if only[0] in given.names else "this fit"
        raise ConfigurationError(
            f"init has other features than this fit: only {whose} has {only[0]!r}. Pass a model whose schema has the same names."
        )
    for name, kind in wanted.features.items():
        if type(given.features[name]) is not type(kind):
            raise ConfigurationError(
                f"feature {name!r} is hr.{type(given.features[name]).__name__} in init, but hr.{type(kind).__name__} in this "
                "fit's schema. Declare it alike; ranges and categories may differ."
            )
    if given.classes != wanted.classes:
        raise ConfigurationError(
            f"init predicts the classes {', '.join(map(str, given.classes))}, but this fit's schema declares "
            f"{', '.join(map(str, wanted.classes))}. Declare the same ones, in the same order."
        )
    if type(given.outcome) is not type(wanted.outcome):
        raise ConfigurationError(
            f"the outcome is hr.{type(given.outcome).__name__} in init, but hr.{type(wanted.outcome).__name__} in this fit's "
            "schema. Declare it alike; its range may differ."
        )


def check_settings(terms: Sequence[Term], signs: Sequence[int], most_cuts: int | None) -> None:
    if most_cuts is not None and any(len(term.cuts) > most_cuts for term in terms):
        raise ConfigurationError(
            "init holds features that interact in a way that interaction_cst forbids. Pass a model that was fitted with the same "
            "interaction_cst, or None for it."
        )
    if any(signs) and not holds(terms, signs):
        raise ConfigurationError(
            "the curves of init do not go as monotonic_cst says. Pass a model that was fitted with the same monotonic_cst."
        )


def bins_of(fine: Encoder, name: str, edges: Floats) -> Integers:
    """Return in which bin between ``edges`` the middle of each fine bin of a numeric feature is."""
    kind = fine.schema.features[name]
    assert not isinstance(kind, Categorical)
    ends = np.concatenate([[kind.low], fine.edges[fine.schema.names.index(name)], [kind.high]])
    middle = np.minimum(ends[:-1] / 2 + ends[1:] / 2, np.nextafter(ends[1:], -np.inf))
    bins: Integers = np.searchsorted(edges, np.maximum(middle, ends[:-1]), side="right").astype(np.int64)
    return bins


def categories_of(kind: Categorical, other: Categorical) -> Integers:
    """Return the code in ``other`` of each code of ``kind``: that of undeclared cells for a value that it does not have."""
    code_of = {category_key(value): code for code, value in enumerate(other.values)}
    undeclared = len(other.values) + 1
    codes = [code_of.get(category_key(value), undeclared) for value in kind.values]
    return np.array([*codes, len(other.values), undeclared], dtype=np.int64)


def in_units(model: AdditiveModel, loss: Logistic | Squared) -> tuple[Integers, float]:
    """Return the start margins in the units of ``loss``, and the factor for the model's votes."""
    if not isinstance(model.loss, Squared):
        return model.start, 1.0
    assert isinstance(loss, Squared)
    given, link = model.loss.link, loss.link
    if type(given) is not type(link):
        raise ConfigurationError(
            f"what adds up in init is the {given.scale}, but in this fit the {link.scale}, or another loss has it. Pass a model "
            "that was fitted with the same loss and outcome_transform."
        )
    if given == link:
        return model.start, 1.0
    scale = min(link.vote_steps / given.vote_steps, float(LARGEST_VOTE))
    return whole((given.origin - link.origin) * link.vote_steps + model.start * scale), scale


def moved(term: Term, codes: Sequence[Integers], place_of: dict[int, int]) -> Term:
    """Return a term on other codes and numbers of features; ``codes[j][new]`` is the old code.

    Cuts with all new codes on one side are dropped, with the cells of the other side.
    """
    cuts: list[Cut] = []
    cells = np.arange(len(term.votes))
    for digit, cut in enumerate(reversed(term.cuts)):
        side = cut.side[codes[cut.by]]
        if side.min() == side.max():
            cells = cells[(cells >> digit & 1) == side[0]]
        else:
            cuts.insert(0, Cut(place_of[cut.by], side))
    at = codes[term.feature]
    sums = None if term.sums is None else term.sums[cells][:, at]
    return replace(
        term, cuts=tuple(cuts), feature=place_of[term.feature], votes=term.votes[cells][:, at], sums=sums, noise=0
    )


def scaled(term: Term, scale: float) -> Term:
    if scale == 1:
        return term
    unit = min(term.unit * scale, LARGEST_VOTE)
    return replace(term, votes=whole(term.votes * scale), unit=max(1, round(unit)))


def whole(votes: npt.NDArray[np.floating[Any]]) -> Integers:
    """Return votes as whole numbers; those that are too many for a margin stay so, however many they are."""
    clipped: Integers = np.rint(np.clip(votes, -2 * MOST_VOTES, 2 * MOST_VOTES)).astype(np.int64)
    return clipped


def codes_in(coarse: Encoder, fine: Encoder) -> Iterable[Integers]:
    """Yield for each feature the code of each of a finer encoder's codes; the latter's cut points include the others."""
    for edges, all_edges, codes in zip(coarse.edges, fine.edges, fine.n_codes.tolist(), strict=True):
        if len(all_edges):
            bins = np.searchsorted(edges, all_edges, side="right")
            yield np.concatenate([[0], bins, [len(edges) + 1]]).astype(np.int64)
        else:
            yield np.arange(codes)


def together(start: AdditiveModel, own: AdditiveModel) -> AdditiveModel:
    """Return the sum of a start and of what a fit learned beyond it, in the cut points of both.

    Terms keep their released sums as weights of averages alone, divided evenly among the codes that a bin falls apart into; how
    much noise they hold says ``own``.
    """
    fine = own.encoder
    cuts = {
        name: np.union1d(*edges).tolist()
        for name, *edges in zip(fine.schema.names, start.encoder.edges, own.encoder.edges, strict=True)
        if len(edges[0])
    }
    encoder = Encoder(fine.schema.cut_at(cuts), fine.max_bins)
    terms: list[Term] = []
    for model in (start, own):
        codes = list(codes_in(model.encoder, encoder))
        terms += [spread_out(term, codes) for term in model.terms]
    return replace(own, encoder=encoder, start=start.start + own.start, terms=tuple(terms), parts=(start, own))


def spread_out(term: Term, codes: Sequence[Integers]) -> Term:
    """Return a term on finer codes, ``codes[feature][finer]`` being the one that a finer one is part of."""
    cuts, at = tuple(Cut(cut.by, cut.side[codes[cut.by]]) for cut in term.cuts), codes[term.feature]
    sums = None if term.sums is None else (term.sums // np.bincount(at)[:, None])[:, at]
    return replace(term, cuts=cuts, votes=term.votes[:, at], sums=sums, noise=0)


def restored_parts(
    arrays: Arrays, read: Callable[[Arrays, int], AdditiveModel], most_terms: int, *, started: bool
) -> AdditiveModel:
    """Return the model that ``to_arrays`` wrote, of which ``read`` reads each part, of so many terms at most.

    FileFormatError if it has a start and was not ``started``, or was and has none.
    """
    of_start = {name.removeprefix(OF_START): arrays[name] for name in arrays if name.startswith(OF_START)}
    if bool(of_start) != started:
        raise FileFormatError(DAMAGED)
    if not started:
        return read(arrays, most_terms)
    others = {name: arrays[name] for name in arrays if not name.startswith(OF_START)}
    return together(read(of_start, MOST_TERMS), read(others, most_terms))
