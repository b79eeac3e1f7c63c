"""An additive model: what it says of records, as arrays, and as trees for exports."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, cast

import numpy as np
import numpy.typing as npt

from hedgerow.additive.losses import Logistic
from hedgerow.additive.packed import Packed
from hedgerow.additive.squared import Squared
from hedgerow.additive.terms import Term, joined
from hedgerow.arrays import Floats, Integers
from hedgerow.export import Link, ScoringForm, Softmax, readings_of
from hedgerow.lazy_values import lazy
from hedgerow.margins import UNIT, VOTE_STEPS
from hedgerow.schema import Encoder
from hedgerow.schema.columns import read_columns
from hedgerow.survey import merged_to_arrays
from hedgerow.texts import short_repr

__all__ = ["AdditiveModel", "scoring"]

Codes = npt.NDArray[np.unsignedinteger]

OF_START = "init_"  # begins the names of the arrays of a start
USUAL = Logistic.tenths  # of a loss whose cap is not written to files


@dataclass(frozen=True, eq=False)
class AdditiveModel:
    """A start and terms, whose votes add up to margins."""

    encoder: Encoder
    loss: Logistic | Squared
    start: Integers  # (columns,), the margin of every record before the first term
    terms: tuple[Term, ...]  # in the order of their rounds
    signs: tuple[int, ...] = ()  # how the margin may go with each feature: 1 rising, -1 falling, 0 either
    parts: tuple[AdditiveModel, AdditiveModel] | None = (
        None  # a start, and what was learned beyond it, of which it is the sum
    )

    importance_rule: ClassVar[str] = (
        "share of the standard deviations of what features add to a prediction; all bins count alike"
    )

    __repr__ = short_repr

    @property
    def scale(self) -> Literal["log-odds", "outcome", "log outcome"]:
        """What margins say."""
        return "log-odds"

    @property
    def origin(self) -> float:
        """What the model says where all votes add up to zero."""
        return 0.0

    @property
    def vote_steps(self) -> float:
        """How many votes a unit of what the model says is, here a log-odds of 1."""
        return VOTE_STEPS

    def curve(self, feature: int) -> Floats:
        """Return the sum of a feature's terms without cuts, (codes, columns), in log-odds."""
        total = np.zeros((int(self.encoder.n_codes[feature]), len(self.start)), dtype=np.int64)
        for term in self.terms:
            if term.feature == feature and not term.cuts:
                total += term.votes[0]
        return np.asarray(total / self.vote_steps)

    @property
    def own(self) -> AdditiveModel:
        """What a fit learned itself: the model, or what it holds beyond its start."""
        return self if self.parts is None else self.parts[1]

    @lazy
    def packed(self) -> Packed:
        """The terms as predictions read them."""
        return Packed(self.start, joined(self.terms), self.encoder.dtype)

    def margins(self, codes: Codes) -> npt.NDArray[np.signedinteger]:
        """Return the margins of records by their codes (records, features), of shape (records, columns), in votes."""
        return self.packed.margins(codes)

    def answers(self, X: Any, answer: Callable[[Integers], Floats]) -> Floats:
        """Return the values of ``answer`` at the margins (records, columns), record by record."""
        columns = read_columns(X, self.encoder.schema.features)
        packed = self.packed
        looked_up = packed.table(answer, columns.n_rows)
        return self.encoder.answers(
            columns, lambda codes: looked_up(packed.margins(codes)), reads=packed.reads, by_column=True
        )

    def decision(self, X: Any) -> Floats:
        """Return the margins of records, (records, classes), or for two classes the second's log-odds, (records,)."""
        return self.answers(X, lambda margins: self.shown(margins / self.vote_steps))

    def shown(self, values: Floats) -> Floats:
        """Return values (..., columns) as ``decision`` shows them: without the only column of two classes."""
        return values[..., 0] if len(self.encoder.schema.classes) in (0, 2) else values

    def probabilities(self, X: Any) -> Floats:
        """Return the probabilities of the classes, of shape (records, classes)."""
        return self.answers(X, lambda margins: self._logistic.probabilities(margins / VOTE_STEPS))

    def staged_margins(self, X: Any) -> Iterator[Floats]:
        """Yield the margins (records, columns), in log-odds, after each of the fit's own terms."""
        codes = self.encoder.transform(X)
        for margins in self.staged(codes):
            yield margins / self.vote_steps

    def staged(self, codes: Codes) -> Iterator[Integers]:
        """Yield the margins of records by their codes, in votes, after each of the fit's own terms; the array is used again."""
        margins = np.tile(self.start, (len(codes), 1))
        given = len(self.terms) - len(self.own.terms)
        for number, term in enumerate(self.terms):
            term(codes, margins)
            if number >= given:
                yield margins

    def staged_decision(self, X: Any) -> Iterator[Floats]:
        """Yield ``decision`` after each of the terms."""
        return map(self.shown, self.staged_margins(X))

    def staged_probabilities(self, X: Any) -> Iterator[Floats]:
        """Yield ``probabilities`` after each of the terms."""
        return map(self._logistic.probabilities, self.staged_margins(X))

    def importances(self) -> Floats:
        """Return the share of each feature in the spread of all terms, (features,); zeros where no term spreads."""
        spread = np.zeros(len(self.encoder.n_codes))
        for term in joined(self.terms):
            np.add.at(spread, list(term.features), term.spread())
        return spread / spread.sum() if spread.sum() > 0 else spread

    def scoring(self) -> ScoringForm:
        """Return the scoring rule of the model, for programs that do not know this library."""
        return scoring(self.encoder, self.start, joined(self.terms), Softmax(VOTE_STEPS, self._logistic.cap / UNIT))

    @property
    def _logistic(self) -> Logistic:
        return cast(Logistic, self.loss)  # or another loss of classes

    def _loss_to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {} if self._logistic.tenths == USUAL else {"cap": np.array([self._logistic.cap], dtype=np.int64)}

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the named arrays of format 3 of the model files, or 4 with a start, which ``files.restored`` reads."""
        if self.parts is not None:
            start, own = (part.to_arrays() for part in self.parts)
            return {**own, **{f"{OF_START}{name}": array for name, array in start.items()}}
        about = [(term.feature, len(term.cuts), term.sums is not None, term.noise) for term in self.terms]
        cuts = [(cut.by, cut.code) for term in self.terms for cut in term.cuts]
        votes = [term.votes.reshape(-1, term.columns) for term in self.terms]
        sums = [term.sums.reshape(-1, term.sums.shape[2]) for term in self.terms if term.sums is not None]
        return {
            "start": self.start,
            "terms": np.array(about, dtype=np.int64).reshape(-1, 4),
            "cuts": np.array(cuts, dtype=np.int64).reshape(-1, 2),
            "votes": np.concatenate([np.zeros((0, len(self.start)), dtype=np.int64), *votes]),
            "sums": np.concatenate([np.zeros((0, self.loss.channels), dtype=np.int64), *sums]),
            **self._loss_to_arrays(),
            **merged_to_arrays(self.encoder),
        }


def scoring(encoder: Encoder, start: Integers, terms: Sequence[Term], link: Link) -> ScoringForm:
    """Return a start (columns,) and terms as trees; of two classes the first gets no votes."""
    sides = {(cut.by, cut.side.tobytes()): (cut.by, cut.side) for term in terms for cut in term.cuts}
    codes = {feature: (feature, np.arange(encoder.n_codes[feature])) for feature in (term.feature for term in terms)}
    tests = {key: number for number, key in enumerate([*sides, *codes])}
    read = [*sides.values(), *codes.values()]
    branch = np.zeros((len(read), int(encoder.n_codes.max())), dtype=np.int64)
    for row, (_, branches) in zip(branch, read, strict=True):
        row[: len(branches)] = branches
    test, first_child, votes, roots = [np.array([-1])], [np.zeros(1, dtype=np.int64)], [start[None]], [0]
    for term in terms:
        roots.append(sum(map(len, test)))
        cuts = [tests[cut.by, cut.side.tobytes()] for level, cut in enumerate(term.cuts) for _ in range(1 << level)]
        shape = _shape(len(term.votes), term.votes.shape[1])
        inner = np.array([*cuts, *[tests[term.feature]] * len(term.votes)])
        test.append(np.where(shape == 0, -1, np.pad(inner, (0, len(shape) - len(inner)))))
        first_child.append(np.where(shape == 0, 0, shape + roots[-1]))
        none = np.zeros((len(inner), len(start)), dtype=np.int64)
        votes.append(np.concatenate([none, term.votes.reshape(-1, len(start))]))
    of_nodes = np.concatenate(votes)
    return ScoringForm(
        readings_of(encoder),
        encoder.schema.classes,
        np.array(roots),
        np.concatenate(test),
        np.concatenate(first_child),
        np.array([feature for feature, _ in read], dtype=np.int64),
        branch,
        np.hstack([np.zeros_like(of_nodes), of_nodes]) if len(encoder.schema.classes) == 2 else of_nodes,
        link,
    )


def _shape(cells: int, codes: int) -> Integers:
    """Return the first child of each node of a term's tree, 0 for leaves: a level a cut, a node a cell, its codes."""
    first_child = np.zeros(2 * cells - 1 + cells * codes, dtype=np.int64)
    first_child[: cells - 1] = 2 * np.arange(cells - 1) + 1
    first_child[cells - 1 : 2 * cells - 1] = 2 * cells - 1 + codes * np.arange(cells)
    return first_child
