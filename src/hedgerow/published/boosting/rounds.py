"""What a round of a published boosting system may spend, and what its tree weighs in the vote."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Floats
from hedgerow.privacy.exact import decimal_text
from hedgerow.published.case import Case

__all__ = [
    "AdaBoostStep",
    "BoostingStep",
    "CodedStep",
    "EqualRounds",
    "LessLogAlpha",
    "RoundBudgets",
    "WholeRounds",
    "adaboost_alpha",
    "round_budget",
]


LEAST_ERROR = 1e-10
ROUNDING = 1e-12  # an error of one half is not above one half because its sum was rounded
LEAST_ALPHA = 2e-10  # its logarithm is finite
RESERVE = 0.001  # of a round's equal share, where the rule gives nothing


def adaboost_alpha(error: float) -> float:
    """Return ln((1 - e) / e) / 2 for an error e that is kept between 1e-10 and 1/2."""
    error = min(max(error, LEAST_ERROR), 0.5)
    return math.log((1 - error) / error) / 2


def round_budget(epsilon: float, rounds: int, error: float) -> float:
    """Return the budget of a round of CART-DPsAdaBoost, eps / T - ln(alpha), after a round with such an error.

    Read literally: it is negative after errors that are small, and above eps / T after errors above .1192.
    """
    return epsilon / rounds - math.log(max(adaboost_alpha(error), LEAST_ALPHA))


class RoundBudgets(Protocol):
    """A rule for the budget of a round."""

    def budget(self, epsilon: float, rounds: int, error: float | None) -> float:
        """Return the budget of a round after one with such an error, None before the first."""

    def reasons(self, case: Case) -> Iterator[str]:
        """Yield what is read without protection."""
        yield from ()


@dataclass(frozen=True)
class EqualRounds(RoundBudgets):
    """Every round gets epsilon / T."""

    def budget(self, epsilon: float, rounds: int, error: float | None) -> float:
        """Return the budget of a round."""
        return epsilon / rounds


@dataclass(frozen=True)
class WholeRounds:
    """Every single count spends all of epsilon: the code of CART-DPsAdaBoost."""

    def budget(self, epsilon: float, rounds: int, error: float | None) -> float:
        """Return the budget of a round."""
        return epsilon

    def reasons(self, case: Case) -> Iterator[str]:
        """Yield what is read without protection."""
        yield (
            "each noisy count spends the whole epsilon, and nothing adds them up over the candidates, nodes, levels and "
            f"{case.trees} rounds"
        )


@dataclass(frozen=True)
class LessLogAlpha:
    """eps / T - ln(alpha): algorithm 3 of CART-DPsAdaBoost, with alpha of the round before.

    The paper's alpha is known at the round's end only. The first round takes alpha = 1, and a rest that is not positive
    becomes .001 eps / T [inferred]; alpha is at least 2e-10, so that no budget is infinite [our choice].
    """

    def budget(self, epsilon: float, rounds: int, error: float | None) -> float:
        """Return the budget of a round."""
        budget = epsilon / rounds if error is None else round_budget(epsilon, rounds, error)
        return budget if budget > 0 else RESERVE * epsilon / rounds

    def reasons(self, case: Case) -> Iterator[str]:
        """Yield what is read without protection."""
        if case.trees == 1:
            return
        epsilon, rounds = float(case.epsilon), case.trees
        used = [
            f"{round_budget(epsilon, rounds, error):.4g} after an error of {error:g}" for error in (0.05, 0.2, 0.3, 0.4)
        ]
        text = (
            f"a round's budget is epsilon / {rounds} - ln(alpha), read off the raw training error of the round before: "
            f"nominally {decimal_text(case.epsilon / rounds)}, really {', '.join(used)}"
        )
        if round_budget(epsilon, rounds, 0.0) < 0:
            zero = 1 / (1 + math.exp(2 * math.exp(epsilon / rounds)))  # where alpha is e^(epsilon / T)
            text += f"; below an error of {zero:.3g} it is negative, and .001 of the nominal one stands in"
        yield text


class BoostingStep(Protocol):
    """A rule for the weight of a tree."""

    def start(self, records: int) -> Floats:
        """Return the weights (records,) of the first round."""

    def error(self, wrong: npt.NDArray[np.bool_], weights: Floats) -> float:
        """Return the error of a tree that is ``wrong`` (records,)."""

    def stops(self, error: float) -> bool:
        """Return whether training ends without the tree."""

    def alpha(self, error: float) -> float:
        """Return the weight of a tree with such an error."""

    @property
    def ends_without_error(self) -> bool:
        """Whether training ends with a tree that has no error on the records that are held out."""

    def reasons(self, case: Case) -> Iterator[str]:
        """Yield what is read without protection."""


@dataclass(frozen=True)
class AdaBoostStep:
    """AdaBoost: the weighted error, an end where it is above 1/2, and half its log-odds.

    An error below 1e-10 is taken as that, so that no weight is infinite [our choice, the papers are silent].
    """

    ends_without_error: ClassVar[bool] = False

    def start(self, records: int) -> Floats:
        """Return the weights (records,) of the first round."""
        return np.full(records, 1 / records)

    def error(self, wrong: npt.NDArray[np.bool_], weights: Floats) -> float:
        """Return the error of a tree that is ``wrong`` (records,)."""
        return float(weights[wrong].sum())

    def stops(self, error: float) -> bool:
        """Return whether training ends without the tree."""
        return error > 0.5 + ROUNDING

    def alpha(self, error: float) -> float:
        """Return the weight of a tree with such an error."""
        return adaboost_alpha(error)

    def reasons(self, case: Case) -> Iterator[str]:
        """Yield what is read without protection."""
        yield (
            "the weights of the trees are exact: with k errors of N training records that of the first is ln((N - k) / k) / 2, "
            "and for N and N + 1 no two such values are the same. So the model tells for certain that one more record trained "
            "it, unless the first tree has no error both times: delta = 1 at every epsilon"
        )
        if case.trees > 1:
            yield "the number of rounds follows from the raw training errors, since an error above 1/2 ends the training"


@dataclass(frozen=True)
class CodedStep:
    """The code of CART-DPsAdaBoost: half the decimal log-odds of the unweighted error, and weights that start at 1.

    An error of 0 is taken as .001 and one of 1 as .999. Training ends with a tree without an error on the held-out records.
    """

    ends_without_error: ClassVar[bool] = True

    def start(self, records: int) -> Floats:
        """Return the weights (records,) of the first round."""
        return np.ones(records)

    def error(self, wrong: npt.NDArray[np.bool_], weights: Floats) -> float:
        """Return the error of a tree that is ``wrong`` (records,)."""
        return float(wrong.mean())

    def stops(self, error: float) -> bool:
        """Return whether training ends without the tree: never."""
        return False

    def alpha(self, error: float) -> float:
        """Return the weight of a tree with such an error."""
        error = {0.0: 0.001, 1.0: 0.999}.get(error, error)
        return math.log10((1 - error) / error) / 2

    def reasons(self, case: Case) -> Iterator[str]:
        """Yield what is read without protection."""
        yield (
            "the weights of the trees are exact functions of k errors of N training records, log10((N - k) / k) / 2, which "
            "are never the same for N and N + 1: delta = 1 at every epsilon, but where k is 0 or all"
        )
