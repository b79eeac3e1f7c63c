"""What papers say that needs no runs: budgets, guarantees, mechanisms, algorithms and data, each computed again."""

from __future__ import annotations

import itertools
import math
import operator
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, cast

import numpy as np

from hedgerow import datasets
from hedgerow.arrays import Floats
from hedgerow.curator import Curator
from hedgerow.errors import HedgerowError
from hedgerow.estimator import result_of
from hedgerow.mechanisms import Randomness
from hedgerow.papers import dpada
from hedgerow.papers.boosting import Fit as Learned
from hedgerow.papers.boosting import PrintedBoosting
from hedgerow.papers.cart import CartTree, PrintedCart
from hedgerow.papers.dpada import ExactStump, PrintedDPAda
from hedgerow.papers.forest import FixedSize
from hedgerow.papers.noise import IntervalChoice, RealExponential, RealPermuteAndFlip
from hedgerow.papers.records import RawRecords
from hedgerow.papers.reproduce.drawing import figure3
from hedgerow.papers.reproduce.fits import Fit, estimator, load_split
from hedgerow.papers.reproduce.readings import AllocationForest
from hedgerow.papers.reproduce.verdicts import Verdict, low_to_high
from hedgerow.papers.trees import PrintedPlan, PrintedTrees
from hedgerow.schema import Categorical, Numeric, Schema
from hedgerow.systems import system_class
from hedgerow.systems.base import Size

TWO_FEATURES = Schema({"number": Numeric(0, 1), "word": Categorical(["a", "b"])}, classes=["no", "yes"])


def stated(right: bool, words: str) -> Verdict:
    """Return whether something that has no noise is as the paper says."""
    return Verdict("holds" if right else "does not", words)


# Budgets of trees


def figure3_numbers() -> Verdict:
    paths = figure3()
    booked = tuple(round(amount, 2) for amount in (*paths[-1], paths[1][-1]))
    return stated(booked == (0.18, 0.27, 0.55, 0.82), f"booked as printed: {', '.join(f'{a:.2f}' for a in booked)}")


def every_path() -> Verdict:
    """Say whether every path spends the whole budget."""
    totals = [sum(path) for path in figure3()]
    return stated(
        all(math.isclose(total, 1) for total in totals), f"the paths cost {', '.join(f'{t:g}' for t in totals)}"
    )


def deeper_gets_more() -> Verdict:
    levels = figure3()[-1]
    return stated(list(levels) == sorted(set(levels)), f"the levels get {', '.join(f'{a:.2f}' for a in levels)}")


TREES = 35


def paths_of(allocation: str) -> list[Fraction]:
    """Return what the paths of one of 35 trees of treeDepth 6 cost with a paper's budgets, as printed, shortest first."""
    forest = AllocationForest(1.0, variant="published", allocation=allocation)._published()
    shares = forest.shares(Fraction(1), TREES, 5)
    tests = [sum((level.test for level in shares[:number]), Fraction(0)) for number in range(len(shares))]
    return [above + level.leaf for above, level in zip(tests, shares, strict=True)]


def idle_budgets() -> Verdict:
    """Say whether the rivals' paths that end early leave budget idle, and eDPRF's do not."""
    paths = {
        name: paths_of(kind) for name, kind in [("DiffPRF_linear", "linear"), ("TpDPRF", "tpdprf"), ("DiffPRF", "deng")]
    }
    spent = {name: float(costs[1] / costs[-1]) for name, costs in paths.items()}
    full = len(set(paths_of("own"))) == 1
    words = ", ".join(f"{name} {share:.2f}" for name, share in spent.items())
    return stated(
        full and max(spent.values()) < 1, f"a leaf on level 2 ends a path that used {words} of its budget, eDPRF 1"
    )


def tree_budgets() -> Verdict:
    own, rival = (float(paths_of(name)[-1]) for name in ("own", "deng"))
    return stated(own == 1 and rival < 0.03, f"eDPRF's tree gets {own:g}, a rival's {rival:.4f}")


def all_records_used(shrinking: bool) -> Verdict:
    """Say whether the trees' parts are together all records, but for fewer than one for each tree."""
    words, right = [], True
    for name, records in {"diabetes": 11_200, "robot": 4364}.items():
        used = sum(FixedSize(shrinking=shrinking).sizes(records, TREES))
        words.append(f"{name}: {used} of {records}")
        right &= records - used < TREES
    return stated(right, f"{'; '.join(words)}, in {TREES} parts")


# Guarantees

FITS = 40
FORESTS = ("edprf", "deng-diffprf", "tpdprf", "diffprf-linear")


def answers_differ(kind: type[Any], records: int, odd: bool, **settings: Any) -> int:
    """Return how many of 40 fits, on records of one class and perhaps one odd record more, answer some question otherwise."""
    schema = Schema({"a": Numeric(0, 1), "b": Numeric(0, 1)}, classes=["no", "yes"])
    X = np.vstack([np.random.default_rng(0).uniform(size=(records, 2)), np.full((int(odd), 2), 0.95)])
    y = ["no"] * records + ["yes"] * odd
    queries = np.array(list(itertools.product(np.linspace(0, 1, 11), repeat=2)))
    count = 0
    for seed in range(FITS):
        model = kind(epsilon=1.0, schema=schema, variant="published", random_state=seed, **settings).fit(X, y)
        count += len(np.unique(model.predict_proba(queries), axis=0)) > 1
    return count


def leaks(system: str, records: int, **settings: Any) -> Verdict:
    """Say whether a published form is private: an outcome that one record turns from impossible to likely says no.

    On records of one class every tree is a leaf, by the paper's own steps, and all questions get the same answer.
    """
    without, odd = (answers_differ(system_class(system), records, odd, **settings) for odd in (False, True))
    words = (
        f"answers differ from question to question in {without} of {FITS} fits on {records} records of one class, where no "
        f"node may be split, and in {odd} of {FITS} with one record more: no epsilon bounds that"
    )
    return Verdict("does not" if without == 0 and odd > FITS // 4 else "cannot be told", words)


def certified(system: str, variant: str) -> tuple[bool, int]:
    """Return whether a system's certificate at epsilon 1 holds, and how many steps are unprotected."""
    model = estimator(Fit("", system, variant), TWO_FEATURES, None)
    certificate = model.fit([[0.2, "a"], [0.7, "b"]], ["no", "yes"]).certificate_
    return certificate.holds, len(certificate.unprotected)


def all_private(variant: str) -> Verdict:
    """Say whether the certificates of all four forests hold."""
    answers = {system: certified(system, variant) for system in FORESTS}
    words = ", ".join(
        f"{system} {'yes' if holds else f'no, {reasons} reasons'}" for system, (holds, reasons) in answers.items()
    )
    return stated(all(holds for holds, _ in answers.values()), f"certificates: {words}")


def is_private(variant: str) -> Verdict:
    """Say whether fits of all four schedules of DPAda have a certificate which holds, and spend epsilon at most."""
    models = [fitted_rounds(schedule, 30, None, variant) for schedule in SCHEDULES.values()]
    steps = [step for model in models for step in model.certificate_.unprotected]
    if steps:
        return Verdict("does not", f"{len(set(steps))} kinds of unprotected steps; one of them: {steps[0]}")
    spent = max(float(model.certificate_.spent) for model in models)
    return stated(
        all(model.certificate_.holds for model in models) and spent <= 1, f"{spent:.3g} is spent at epsilon 1"
    )


def promise() -> Verdict:
    """Say what the certificates of both forms of CART-DPsAdaBoost promise."""
    printed, private = (_cart(variant, random_state=None).certificate_ for variant in ("published", "private"))
    proved = "it is proved" if private.holds else "it is not"
    return stated(printed.holds, f"as printed {len(printed.reasons)} steps break it; in the private form {proved}")


def through_curator(systems: Sequence[str]) -> Verdict:
    """Say whether the private form of each system fits by asking a curator, and answers."""
    refused = list(filter(None, map(_refusal, systems)))
    words = f"{len(systems)} of {len(systems)} fitted through a curator: {', '.join(systems)}"
    return stated(not refused, "; ".join(refused) or words)


def _refusal(system: str) -> str:
    """Return why a system does not learn through a curator, or nothing."""
    X = [[0.1, "a"], [0.3, "a"], [0.7, "b"], [0.9, "b"]] * 5
    curator = Curator(X, ["no", "no", "yes", "yes"] * 5, TWO_FEATURES, epsilon=1.0)
    try:
        model = system_class(system)(epsilon=1.0).fit_curator(curator)
    except HedgerowError as error:
        return f"{system}: {error}"
    return "" if len(model.predict(X)) == len(X) and curator.spent > 0 else f"{system}: the curator was asked nothing"


# The algorithm of CART-DPsAdaBoost

NUMBERS = 5
MADE_UP = Schema(
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


def _cart(variant: str, **settings: Any) -> Any:
    """Return the system, fitted on the made-up records."""
    model = estimator(Fit("", "cart-dps-adaboost", variant), MADE_UP, 0).set_params(**settings)
    return model.fit(*_made_up())


class _Counting:
    """Randomness that notes which kinds of choices a node makes."""

    def __init__(self) -> None:
        self.randomness = Randomness(0)
        self.kinds: Counter[str] = Counter()

    def draw(self, mechanism: Any, *arguments: Any) -> Any:
        if isinstance(mechanism, IntervalChoice):
            self.kinds["cut"] += len(arguments[-1]) - 1  # runs of intervals, of which one each is chosen
        elif isinstance(mechanism, RealExponential | RealPermuteAndFlip):
            self.kinds["test"] += 1
        return self.randomness.draw(mechanism, *arguments)


def kinds_of_choices(printed: Any, size: Size) -> Counter[str]:
    counting: Any = _Counting()
    PrintedPlan(printed, MADE_UP, Fraction(1), size).fit_raw(*_made_up(), counting)
    return counting.kinds


def one_choice() -> Verdict:
    """Say in which stages of a node the exponential mechanism is used: its cuts, or its choice among features too."""
    own = kinds_of_choices(PrintedBoosting(CartTree(1, len(MADE_UP.names))), Size(1, 1, 5))
    draws = f"{own['cut']} draws for {NUMBERS} numbers"
    words = f"in one stage of a node, its cuts ({draws}); the feature is the best by the raw index"
    return stated(set(own) == {"cut"}, words)


def path_budgets() -> Verdict:
    """Read off the printed form's reasons what a path of algorithm 1 spends, in budgets of its tree."""
    [reason] = [one for one in _cart("published").certificate_.reasons if "times the tree's budget on a path" in one]
    times = float(reason.rpartition(", ")[2].split()[0])
    return stated(
        abs(times - 1) < 1e-9, f"a path of {CartTree().max_depth} tests spends {times:.3g} times its tree's budget"
    )


def raw_numbers() -> Verdict:
    """Say whether models depend on a number of bins."""
    X = _made_up()[0]
    same = [
        np.array_equal(*(_cart(variant, max_bins=bins).predict(X) for bins in (2, 50)))
        for variant in ("published", "private")
    ]
    words = f"as printed numbers are read {'as they are' if same[0] else 'in bins'}, in the private form "
    return stated(same[0], words + ("as they are" if same[1] else "in public bins [our choice]"))


def sum_of_rounds() -> Verdict:
    """Add up the budgets of the rounds of a fit as printed, each from the error of the round before."""
    model, printed = _cart("published", n_estimators=10).model_, PrintedCart(CartTree())
    errors = [None, *(float(1 / (1 + np.exp(2 * alpha))) for alpha in model.alphas[:-1])]
    total = sum(printed.budget(1.0, 10, error) for error in errors)
    return stated(abs(total - 1) < 0.01, f"{len(errors)} rounds spend {total:.2f} at epsilon 1, on made-up records")


# The rounds of DPAda

SCHEDULES = {"DPAda_Swing": "swing", "DPAda_Random": "random", "DPAda_Improved": "improved", "DPAda": "from-second"}
ROUNDS = (30, 50, 70, 90, 100)
RUNS = 10
FORTY = [(7 * i % 40) / 40 for i in range(40)]
RECORDS = [[number, "ab"[i % 3 == 0]] for i, number in enumerate(FORTY)]
LABELS = ["yes" if (i % 5 < 2) != (number > 0.6) else "no" for i, number in enumerate(FORTY)]  # no stump is right


def fitted_rounds(schedule: str, rounds: int, run: int | None, form: str = "published") -> Any:
    """Return a model of made-up records; without a run no seed spoils the certificate."""
    size = {"n_estimators": rounds, "schedule": schedule}
    model = dpada.DPAdaClassifier(epsilon=1.0, schema=TWO_FEATURES, variant=form, random_state=run, **size)
    return model.fit(RECORDS, LABELS)


@lru_cache
def noisy_rounds(schedule: str, rounds: int) -> tuple[int, ...]:
    """Return how many rounds of published models, one for each run, noise followed."""
    fits = [result_of(fitted_rounds(schedule, rounds, run)) for run in range(RUNS)]
    return tuple(sum(marked <= len(cast(Any, fit.model).alphas) for marked in fit.coins) for fit in fits)


METHODS = {**SCHEDULES, "algorithm 3": "all"}
RELATIONS = {"=": operator.eq, "<=": operator.le, "<": operator.lt}


def _most_noisy(label: str, rounds: int) -> int:
    """Return the most noisy rounds of a published model that coins may give."""
    coins = np.ones(rounds), np.arange(rounds) % 2  # no coins give more than one of these
    return max(int(dpada.SCHEDULES[METHODS[label]](rounds, lambda *_, shown=shown: shown).sum()) for shown in coins)


def numbers_of_noisy_rounds(says: Sequence[str]) -> Verdict:
    """Judge a chain such as ``DPAda <= m - 1`` of numbers of noisy rounds: of every fit, and of the most that coins may give."""
    labels = [term for term in says[::2] if term in METHODS]

    def right(rounds: int, counts: Mapping[str, int]) -> bool:
        known = {"m - 1": rounds - 1, "m // 2": rounds // 2, **counts}
        chain = zip(says[:-1:2], says[1::2], says[2::2], strict=True)
        return all(RELATIONS[sign](known[less], known[more]) for less, sign, more in chain)

    fits = [
        right(rounds, {label: noisy_rounds(METHODS[label], rounds)[run] for label in labels})
        for rounds in ROUNDS
        for run in range(RUNS)
    ]
    always = all(right(rounds, {label: _most_noisy(label, rounds) for label in labels}) for rounds in ROUNDS)
    last = ROUNDS[-1]
    words = ", ".join(
        f"{label} {low_to_high(noisy_rounds(METHODS[label], last), '')} (at most {_most_noisy(label, last)})"
        for label in labels
    )
    return stated(
        all(fits) and always,
        f"in {sum(fits)} of {len(fits)} fits, and by the most that coins may give {'too' if always else 'not'}; of {last} "
        f"rounds: {words}",
    )


def weights_after_first(records: int, wrong: int) -> Floats:
    """Return the normalized weights after a first round whose stump is wrong on the first records."""
    error = wrong / records
    return np.where(np.arange(records) < wrong, 0.5 / error, 0.5 / (1 - error)) / records


def exact_sensitivities() -> Verdict:
    """Compare what equations 14 to 16 state with what one record more changes: 100 records, half of them misclassified."""
    fewer, more = weights_after_first(100, 50), weights_after_first(101, 50)
    stated_bounds = fewer.max() - 1 / 100, 1 / 100 - fewer.min()
    changes = abs(more.max() - fewer.max()), abs(more.min() - fewer.min())
    words = (
        f"with 100 records, half of them wrong, equation 15 states {stated_bounds[1]:g} for the least weight; one record more "
        f"changes it by {changes[1]:.6f}"
    )
    return stated(all(c <= b + 1e-12 for c, b in zip(changes, stated_bounds, strict=True)), words)


def kept_distribution() -> Verdict:
    """Measure how much of the weights algorithm 2 moves from record to record, at the size of Adult, B = 1 and m = 50."""
    weights = weights_after_first(29170, 5800)
    moved = {}
    for words, ties in (("each tied record", "each"), ("one record", "one")):
        noisy = PrintedDPAda(ExactStump(), ties).perturbed
        runs = [abs(noisy(weights, 1.0, 50, Randomness(seed)) - weights).sum() / 2 for seed in range(20)]
        moved[words] = float(np.mean(runs))
    words = ", ".join(f"{share:.2f} with noise on {name}" for name, share in moved.items())
    return stated(max(moved.values()) < 0.5, f"of the whole weight algorithm 2 moves {words} (means of 20 draws)")


def budgets_of_weights() -> Verdict:
    """Add up (B / m) w over the extreme weights of each round, at B = 1 and m = 50, when all weights are extreme."""
    weights, rounds = weights_after_first(29170, 5800), 50
    total = rounds * float(weights.sum()) / rounds
    return stated(total <= 1 + 1e-9, f"where all weights are extreme the budgets add up to {total:.3g} at B = 1")


def thinned_to_the_letter() -> Verdict:
    """Count the noisy rounds that definition 7 to the letter leaves: it thins a run of ones between two zeros alone."""
    m = ROUNDS[-1]
    coins = [0, *[1] * (m - 1)]  # no zero follows the run
    return stated(sum(coins[1:]) < m - 1, f"coins 0, 1, 1, ... 1 leave {sum(coins[1:])} of {m} rounds noisy")


SMALLEST = {"rounds": 10, "features": 4, "records": 500}
FACTORS = (1, 2, 4)


@dataclass(frozen=True)
class CountedStump(ExactStump):
    """The weak learner of DPAda that counts the weights which a stump reads, of each feature, and the candidates behind them."""

    steps: list[int] = field(default_factory=list)

    def fitter(self, training: RawRecords, holdout: RawRecords) -> Learned:
        fit, steps = super().fitter(training, holdout), training.columns.size
        steps += sum(len(np.unique(column)) - 1 for column in training.columns)

        def counted(*arguments: Any) -> PrintedTrees:
            self.steps.append(steps)
            return fit(*arguments)

        return counted


@lru_cache
def steps_of(schedule: str, rounds: int, features: int, records: int) -> int:
    """Return the steps of one published fit on made-up records, each with noise of its own."""
    generator = np.random.default_rng(0)
    X = generator.uniform(size=(records, features))
    y = np.where((X[:, 0] > 0.5) ^ (generator.uniform(size=records) < 0.3), "yes", "no")
    schema = Schema({f"f{place}": Numeric(0, 1) for place in range(features)}, classes=["no", "yes"])
    stump, randomness = CountedStump(), Randomness(0)
    counted = PrintedDPAda(stump)
    marked = (np.flatnonzero(dpada.SCHEDULES[schedule](rounds, randomness.draw)) + 1).tolist()
    plan = PrintedPlan(counted, schema, Fraction(1), Size(rounds, 1, 5), tuple(marked))
    fitted = plan.fit_raw(X, y, randomness)
    assert len(fitted.alphas) == rounds  # no fit ends early
    return sum(stump.steps)


def powers(schedule: str) -> dict[str, float]:
    """Return with which power the steps of a fit grow with its rounds, its features and its records, the others at rest."""
    exponents = {}
    for name in SMALLEST:
        sizes = [SMALLEST[name] * factor for factor in FACTORS]
        counts = [steps_of(schedule, *{**SMALLEST, name: size}.values()) for size in sizes]
        exponents[name] = float(np.polyfit(np.log(sizes), np.log(counts), 1)[0])
    return exponents


def linear(schedule: str, tolerance: float) -> Verdict:
    """Say whether the steps of a fit grow in proportion to its rounds, its features and its records."""
    exponents = powers(schedule)
    words = ", ".join(f"{name} to the power {power:.3f}" for name, power in exponents.items())
    right = all(abs(power - 1) <= tolerance for power in exponents.values())
    return stated(right, f"counted steps grow with {words}")


# Data sets


def data_set(task: str, words: str, dropped: int = 0, **says: int) -> Verdict:
    """Compare a set with what a paper counts in it; ``dropped`` numeric features of the files are not read."""
    split = load_split(task)
    numeric = sum(split.schema.is_numeric)
    train, test = len(split.y_train), len(split.y_test)
    counts = {"records": train + test, "train": train, "test": test}
    counts |= {"features": len(split.schema.names) + dropped, "numeric": numeric + dropped}
    counts |= {"discrete": len(split.schema.names) - numeric, "classes": len(split.schema.classes)}
    return stated(all(counts[name] == number for name, number in says.items()), words % counts)


def eighty_twenty() -> Verdict:
    splits = [load_split(task) for task in ("diabetes", "robot")]
    sizes = [(len(split.y_train), len(split.y_test)) for split in splits]
    right = all(abs(test / (train + test) - 0.2) < 0.001 for train, test in sizes)
    return stated(right, "; ".join(f"{train} + {test}" for train, test in sizes))


def imbalance() -> Verdict:
    """Check the share of the larger class before the set is balanced."""
    labels = datasets.load_diabetes_prediction().y
    share = float(np.mean(labels == "0"))
    return stated(abs(share - 0.92) < 0.01, f"{share:.1%} of {len(labels)} records are of the larger class")


def born_abroad(share: float, tolerance: float) -> Verdict:
    """Say whether a share of Adult's records, training and test, has another native country than the US."""
    data = datasets.load_adult()
    assert data.X_test is not None
    place = data.schema.names.index("native-country")
    countries = np.concatenate((data.X[:, place], data.X_test[:, place]))
    abroad, unknown = float(np.mean(countries != "United-States")), float(np.mean(countries == "?"))
    words = f"{abroad:.3f}, {unknown:.3f} of them without a country; {abroad - share:+.3f} from the paper's {share:.2f}"
    return stated(abs(abroad - share) <= tolerance, words)


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


def implied(task: str, accuracy: float, precision: Sequence[float], recall: Sequence[float]) -> Verdict:
    """Say whether an accuracy can be that of some precision and recall of the larger class."""
    split = load_split(task)
    share = float(np.mean(split.y_test == split.schema.classes[0]))
    most = max(implied_accuracy(*pair, share) for pair in zip(precision, recall, strict=True))
    words = f"with {share:.3f} of one class they imply {most:.3f} at most, the paper says {accuracy:.3f}"
    return stated(most >= accuracy - 0.01, words)


DESCRIBED = "%(records)s records, %(discrete)s discrete and %(numeric)s continuous features, %(classes)s classes"
FEATURES = " records, %(numeric)s continuous and %(discrete)s discrete features, %(classes)s classes"
LINES = "%(train)s and %(test)s lines in the files"

FACTS: Mapping[str, Callable[[], Verdict]] = {
    "diabetes: 92 to 8 before it is balanced (within .01)": imbalance,
    "diabetes: 14 000 records, 4 discrete and 4 continuous features, 2 classes": partial(
        data_set, "diabetes", DESCRIBED, records=14000, discrete=4, numeric=4, classes=2
    ),
    "robot: 5456 records, 0 discrete and 25 continuous features, 2 classes": partial(
        data_set, "robot", DESCRIBED, records=5456, discrete=0, numeric=25, classes=2
    ),
    "four fifths train and one fifth tests": eighty_twenty,
    "levels get .18, .27 and .55, and a leaf on level 2 gets .82": figure3_numbers,
    "every path spends the tree's whole budget, 1": every_path,
    "deeper levels get more": deeper_gets_more,
    "each of n trees gets the whole epsilon, and a rival's an n-th": tree_budgets,
    "shares by level leave budget idle where paths end early, eDPRF's do not": idle_budgets,
    "the trees' parts together are all records (but for fewer than there are trees)": partial(all_records_used, False),
    "the same by algorithm 4 to the letter, which takes a T-th of the records that are left": partial(
        all_records_used, True
    ),
    "pfDPDT is epsilon_tree-differentially private": partial(leaks, system="pfdpdt", records=40),
    "eDPRF is epsilon-differentially private (three trees, their votes)": partial(
        leaks, system="edprf", records=120, n_estimators=3
    ),
    "what algorithm 6 predicts with it is, too (one tree, its labels alone)": partial(
        leaks, system="edprf", records=40, n_estimators=1
    ),
    "all four algorithms are epsilon-differentially private": partial(all_private, variant="published"),
    "their private forms are, by their certificates": partial(all_private, variant="private"),
    "the private forms learn through a curator, in interface mode": partial(
        through_curator, systems=["edprf", "pfdpdt", "tradition", "deng-diffprf", "tpdprf", "diffprf-linear"]
    ),
    "Adult_train: 32 561 records, 6 continuous and 8 discrete features, 2 classes": partial(
        data_set, "adult", f"%(train)s{FEATURES}", train=32561, numeric=6, discrete=8, classes=2
    ),
    "Adult_test: 16 281 records, 6 continuous and 8 discrete features, 2 classes": partial(
        data_set, "adult", f"%(test)s{FEATURES}", test=16281, numeric=6, discrete=8, classes=2
    ),
    "Bank Marketing: 41 188 records, 10 continuous and 10 discrete features, 2 classes": partial(
        data_set, "bank", f"%(records)s{FEATURES}", records=41188, numeric=10, discrete=10, classes=2
    ),
    "16 % of Adult's records are not from the US (within .01)": partial(born_abroad, share=0.16, tolerance=0.01),
    "DPAda, in which noise begins with round 2, has m - 1 noisy rounds": partial(
        numbers_of_noisy_rounds, ["DPAda", "=", "m - 1"]
    ),
    "the same of algorithm 3 as it is printed": partial(numbers_of_noisy_rounds, ["algorithm 3", "=", "m - 1"]),
    "DPAda_Swing has m / 2, rounded down": partial(numbers_of_noisy_rounds, ["DPAda_Swing", "=", "m // 2"]),
    "DPAda_Random has m - 1 at most": partial(numbers_of_noisy_rounds, ["DPAda_Random", "<=", "m - 1"]),
    "the same by definition 7 to the letter, which thins a run of ones between two zeros": thinned_to_the_letter,
    "the budgets of the largest and the least weights add up to B at most": budgets_of_weights,
    "the sensitivities of the largest and the least weight are exact": exact_sensitivities,
    "noise on the largest and the least weight keeps the main distribution of weights (moves less than half)": kept_distribution,
    "DPAda_Improved has fewer than m - 1": partial(numbers_of_noisy_rounds, ["DPAda_Improved", "<", "m - 1"]),
    "DPAda_Improved has no more than DPAda_Swing, and this has fewer than DPAda": partial(
        numbers_of_noisy_rounds, ["DPAda_Improved", "<=", "DPAda_Swing", "<", "DPAda"]
    ),
    "DPAda_Random has fewer than DPAda": partial(numbers_of_noisy_rounds, ["DPAda_Random", "<", "DPAda"]),
    "all four algorithms, as printed, are B-DP": partial(is_private, variant="published"),
    "the private forms of all four are epsilon-DP": partial(is_private, variant="private"),
    **{
        f"{name} takes O(mdn): steps in proportion to rounds, features and records (powers 1 within 0.05)": partial(
            linear, schedule=schedule, tolerance=0.05
        )
        for name, schedule in SCHEDULES.items()
    },
    "the classifier is epsilon-differentially private": promise,
    "the budgets of the rounds add up to epsilon (within .01)": sum_of_rounds,
    "the levels' budgets on a path add up to the tree's": path_budgets,
    "the exponential mechanism is called in one stage of a node, where DiffPRFs calls it in two": one_choice,
    "no data need to be cut into bins before": raw_numbers,
    "Adult: 32561 records to train on and 16281 to test on": partial(data_set, "adult", LINES, train=32561, test=16281),
    "Adult: 14 features, 6 numeric and 8 discrete": partial(
        data_set,
        words="%(features)s features, %(numeric)s numeric and %(discrete)s discrete",
        task="adult",
        features=14,
        numeric=6,
        discrete=8,
    ),
    "Census-Income: 199523 records to train on and 99763 to test on": partial(
        data_set, "census", LINES, train=199523, test=99763
    ),
    "Census-Income: 41 features, 8 numeric and 33 discrete": partial(
        data_set,
        words="%(features)s features, %(numeric)s numeric and %(discrete)s discrete with the instance weight. It goes, and 40 "
        "stay: it says how many people a record stands for, and its codebook asks to leave it out",
        task="census",
        dropped=1,
        features=41,
        numeric=8,
        discrete=33,
    ),
    "Adult: the printed best accuracy is a whole number of test records": partial(
        fraction, task="adult", accuracy=0.8081813156441
    ),
    "Census-Income: the printed best accuracy is a whole number of test records": partial(
        fraction, task="census", accuracy=0.7993123634249
    ),
    "Adult: printed precision and recall (table 3) can have the printed accuracy (within .01)": partial(
        implied,
        task="adult",
        accuracy=0.8081813156441,
        precision=[0.84468, 0.85507, 0.86235, 0.86325, 0.86813],
        recall=[0.72529, 0.8365, 0.86885, 0.85866, 0.85467],
    ),
    "Census-Income: printed precision and recall (table 3) can have the printed accuracy (within .01)": partial(
        implied,
        task="census",
        accuracy=0.7993123634249,
        precision=[0.99106, 0.99468, 0.99711, 0.99618, 0.99714],
        recall=[0.71032, 0.73238, 0.73736, 0.7427, 0.7459],
    ),
}
