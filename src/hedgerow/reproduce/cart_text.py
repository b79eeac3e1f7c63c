"""What the paper of CART-DPsAdaBoost says without a figure: of its algorithm (sections 2 and 3) and of its data (4.1)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from hedgerow.datasets.sets import CENSUS_COLUMNS
from hedgerow.mechanisms import Randomness
from hedgerow.papers.boosting import LessLogAlpha, PrintedBoosting, PrintedBoostingPlan
from hedgerow.papers.cart import TWICE_SENSITIVITY, CartTree
from hedgerow.papers.noise import IntervalChoice
from hedgerow.reproduce.claims import fact, stated
from hedgerow.reproduce.experiment import Verdict
from hedgerow.reproduce.fits import Fit, estimator
from hedgerow.reproduce.tasks import load_split
from hedgerow.schema import Categorical, Numeric, Schema

NUMBERS = 5
SCHEMA = Schema(
    {**{f"number {i}": Numeric(0, 1) for i in range(NUMBERS)}, "word": Categorical(["a", "b", "c"])},
    classes=["no", "yes"],
)


def _made_up(records: int = 400) -> tuple[list[list[Any]], list[str]]:
    """Return records of a class that is known but for one in five."""
    random = np.random.RandomState(0)
    numbers = random.uniform(size=(records, NUMBERS))
    words = random.choice(list("abc"), size=records)
    yes = (numbers[:, 0] + numbers[:, 1] > 1) ^ (random.uniform(size=records) < 0.2)
    X: list[list[Any]] = [[*row, word] for row, word in zip(numbers.tolist(), words.tolist(), strict=True)]
    return X, ["yes" if one else "no" for one in yes]


def _fitted(variant: str, **settings: Any) -> Any:
    """Return the system, fitted on the made-up records."""
    model = estimator(Fit("", "cart-dps-adaboost", variant), SCHEMA, 0).set_params(**settings)
    return model.fit(*_made_up())


class _Counting:
    """Randomness that counts the choices by the exponential mechanism."""

    def __init__(self) -> None:
        self.randomness = Randomness(0)
        self.choices = 0

    def draw(self, mechanism: Any, *arguments: Any) -> Any:
        """Draw, and count the runs of intervals of which one each is chosen."""
        if isinstance(mechanism, IntervalChoice):
            self.choices += len(arguments[-1]) - 1
        return self.randomness.draw(mechanism, *arguments)


@fact
def one_choice() -> Verdict:
    """Count the choices by the exponential mechanism at a node."""
    counting: Any = _Counting()
    tree = PrintedBoosting(CartTree(1, len(SCHEMA.names)))
    PrintedBoostingPlan(tree, SCHEMA, Fraction(1), rounds=1).fit_raw(*_made_up(), counting)
    words = f"as printed {counting.choices} times at a node that is offered {NUMBERS} numbers: for each (algorithm 1, step 9)"
    return stated(counting.choices == 1, words)


def _score(a: int, b: int) -> float:
    """Return what one side with so many records of each class adds to -n times the Gini index."""
    return (a * a + b * b) / (a + b) - (a + b) if a + b else 0.0


@fact
def sensitivity() -> Verdict:
    """Compare n times the Gini index, the score as run, on all small counts, and on large ones with a single new record."""
    small = max(abs(_score(a + 1, b) - _score(a, b)) for a, b in product(range(40), repeat=2))
    large = abs(_score(10**6, 1) - _score(10**6, 0))
    words = f"{max(small, large):.4f} at most, of n times the index: one record changes one side"
    return stated(max(small, large) <= TWICE_SENSITIVITY / 2, words)


@fact
def groupings() -> Verdict:
    """Count the divisions of values into two groups."""
    for values in range(2, 9):
        sides = {frozenset((side, tuple(1 - one for one in side))) for side in product((0, 1), repeat=values)}
        proper = sum(len(set(next(iter(pair)))) == 2 for pair in sides)
        if proper != (2**values - 2) // 2:
            return Verdict("does not", f"{proper} of {values} values")
    return Verdict("holds", "counted for 2 to 8 values")


@fact
def raw_numbers() -> Verdict:
    """Say whether models depend on a number of bins."""
    X = _made_up()[0]
    same = [
        np.array_equal(_fitted(variant, max_bins=2).predict(X), _fitted(variant, max_bins=50).predict(X))
        for variant in ("published", "private")
    ]
    words = f"as printed numbers are read {'as they are' if same[0] else 'in bins'}, in the private form "
    return stated(same[0], words + ("as they are" if same[1] else "in public bins [our choice]"))


@fact
def promise() -> Verdict:
    """Say what the certificates of both forms promise."""
    certificates = [_fitted(variant, random_state=None).certificate_ for variant in ("published", "private")]
    proved = "it is proved" if certificates[1].holds else "it is not"
    return stated(
        certificates[0].holds, f"as printed {len(certificates[0].reasons)} steps break it; in the private form {proved}"
    )


@fact
def sum_of_rounds() -> Verdict:
    """Add up the budgets of the rounds of a fit as printed, each from the error of the round before."""
    model, budgets = _fitted("published", n_estimators=10).model_, LessLogAlpha()
    errors = [None, *(float(1 / (1 + np.exp(2 * alpha))) for alpha in model.alphas[:-1])]
    total = sum(budgets.budget(1.0, 10, error) for error in errors)
    return stated(abs(total - 1) < 0.01, f"{len(errors)} rounds spend {total:.2f} at epsilon 1, on made-up records")


def _sizes(task: str) -> tuple[int, int, int, int, int]:
    """Return what table 2 has of a set; of Census-Income with the instance weight, which the loader drops."""
    split = load_split(task)
    numeric = sum(split.schema.is_numeric)
    dropped = CENSUS_COLUMNS - len(split.schema.names) if task == "census" else 0  # with the label, without the weight
    features = len(split.schema.names) + dropped
    return len(split.y_train), len(split.y_test), features, numeric + dropped, features - numeric - dropped


@fact
def features(task: str, features: int, numeric: int, discrete: int) -> Verdict:
    """Check how many features a set has."""
    found = _sizes(task)[2:]
    words = "{} features, {} numeric and {} discrete".format(*found)
    if task == "census":
        words += (
            " with the instance weight. It goes, and 40 stay: it says how many people a record stands for, and its codebook asks "
            "to leave it out"
        )
    return stated(found == (features, numeric, discrete), words)


@fact
def records(task: str, train: int, test: int) -> Verdict:
    """Check how many records a set has."""
    found = _sizes(task)[:2]
    return stated(found == (train, test), f"{found[0]} and {found[1]} lines in the files")


@fact
def fraction(task: str, accuracy: float) -> Verdict:
    """Say whether an accuracy is a whole number of test records."""
    tested = len(load_split(task).y_test)
    right = accuracy * tested
    words = f"{accuracy:.13f} times {tested} is {right:.6f}"
    return stated(abs(right - round(right)) < 1e-6, f"{words}: one run, on all test records, none weighted")


def implied_accuracy(precision: float, recall: float, share: float) -> float:
    """Return the accuracy that follows from precision and recall of a class that has so large a share of the records."""
    right = share * recall
    wrong = right * (1 / precision - 1)
    return right + (1 - share) - wrong


@fact
def implied(task: str, accuracy: float, precision: Sequence[float], recall: Sequence[float]) -> Verdict:
    """Say whether an accuracy can be that of some precision and recall of the larger class."""
    split = load_split(task)
    share = float(np.mean(split.y_test == split.schema.classes[0]))
    found = max(implied_accuracy(*pair, share) for pair in zip(precision, recall, strict=True))
    words = f"with {share:.3f} of one class they imply {found:.3f} at most, the paper says {accuracy:.3f}"
    return stated(found >= accuracy - 0.01, words)
