"""Two data sets that statsmodels carries, so that a first try needs no network."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.datasets.dataset import Dataset
from hedgerow.errors import DatasetError
from hedgerow.schema import Categorical, Integer, Numeric, Schema

__all__ = ["load_affairs", "load_doctor_visits"]

# The scales of the package's note on the set; where it states none, round numbers chosen without the answers.
OF_AFFAIRS: dict[str, Numeric | Categorical] = {
    "rate_marriage": Numeric(1, 5),
    "age": Numeric(15, 50),
    "yrs_married": Numeric(0, 30),
    "children": Numeric(0, 10),
    "religious": Numeric(1, 4),
    "educ": Numeric(9, 20),
    "occupation": Categorical(["1", "2", "3", "4", "5", "6"]),
    "occupation_husb": Categorical(["1", "2", "3", "4", "5", "6"]),
}
COLUMNS = ("mdvis", "lncoins", "idp", "lpi", "fmde", "physlm", "disea", "hlthg", "hlthf", "hlthp")

OF_VISITS: dict[str, Numeric | Categorical] = {
    "coinsurance": Numeric(0, 100),
    "individual_deductible": Categorical(["0", "1"]),
    "incentive_payment": Numeric(0, 2000),
    "expenditure_limit": Numeric(0, 5000),
    "physical_limitation": Numeric(0, 1),
    "chronic_diseases": Numeric(0, 60),
    "health": Numeric(1, 4),
}


def load_affairs() -> Dataset:
    """Load the answers of 6366 wives to a survey (Fair, 1978), carried by statsmodels.

    The label says whether a wife spent any time in extramarital affairs: ``yes`` for 2053 of them, else ``no``. `X` is
    float64, as the package stores it; the two occupations are codes from 1 to 6.

    The schema is written by hand. The scales of the marriage's rating (1 very poor to 5 very good), of religiousness (1
    not to 4 strongly), of education (9 grade school to 20 advanced degree) and the occupations stand in the package's
    note, ``statsmodels.datasets.fair.NOTE``. The note states none for age, years married and children; there the ranges
    are round numbers: 15 to 50 years of age, 0 to 30 years of marriage, 0 to 10 children.

    Raises
    ------
    DatasetError
        statsmodels is not installed, or its copy lacks a column.

    Examples
    --------
    >>> from hedgerow.datasets import load_affairs
    >>> survey = load_affairs()
    >>> survey.X.shape
    (6366, 8)
    """
    answers = _carried("fair", [*OF_AFFAIRS, "affairs"])
    X = answers[list(OF_AFFAIRS)].to_numpy(dtype=np.float64)
    y = np.where(answers["affairs"].to_numpy() > 0, "yes", "no")
    return Dataset("affairs", X, y, Schema(OF_AFFAIRS, classes=["no", "yes"], target="affair"))


def load_doctor_visits() -> Dataset:
    """Load 20190 person-years of the RAND Health Insurance Experiment, carried by statsmodels.

    The label is the number of outpatient visits to a doctor in a year, from 0 to 77; a record is one person in one year. The
    package does not say which records are of one person, so a random split may put years of one person into both parts, and
    a guarantee for this set is one for person-years.

    `X` is float64. The package stores logarithms of the coinsurance rate, the incentive payment and the expenditure limit;
    here they are in percent and dollars. Its three indicators of self-rated health are one number, from 1, excellent, to 4,
    poor. A physical limitation is 0 or 1, or between them where the publisher filled a gap. The range of the coinsurance
    rate stands in the package's note, ``statsmodels.datasets.randhie.NOTE``. Where the note states none, the ranges are
    round numbers that hold every value of the published set.

    Raises
    ------
    DatasetError
        statsmodels is not installed, or its copy lacks a column.

    Examples
    --------
    >>> from hedgerow.datasets import load_doctor_visits
    >>> visits = load_doctor_visits()
    >>> visits.X.shape, visits.schema.outcome.high == 100
    ((20190, 7), True)
    """
    years = _carried("randhie", COLUMNS)
    visits, coinsurance, deductible, payment, limit, limitation, diseases, good, fair, poor = (
        years[name].to_numpy(dtype=np.float64) for name in COLUMNS
    )
    columns = (
        np.rint(np.expm1(coinsurance)),
        deductible,
        _dollars(payment),
        _dollars(limit),
        limitation,
        diseases,
        1 + good + 2 * fair + 3 * poor,
    )
    return Dataset(
        "doctor visits", np.column_stack(columns), visits, Schema(OF_VISITS, outcome=Integer(0, 100), target="visits")
    )


def _dollars(log: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the amounts of logs of ``max(1, amount)``: 0 where the log is."""
    return np.where(log > 0, np.exp(log).round(2), 0.0)


def _carried(name: str, columns: Iterable[str]) -> Any:
    """Return the frame of a data set of statsmodels."""
    try:
        found = getattr(import_module("statsmodels.datasets"), name).load_pandas().data
    except ImportError as error:
        raise DatasetError(
            'This data set comes with statsmodels, which is not installed: install it with pip install "hedgerow[demo]".'
        ) from error
    lacking = sorted(set(columns) - set(found.columns))
    if lacking:
        raise DatasetError(
            f"The set {name} in this statsmodels lacks {', '.join(lacking)}; install the version in hedgerow[demo]."
        )
    return found
