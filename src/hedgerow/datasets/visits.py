"""Visits to a doctor in the RAND Health Insurance Experiment, which statsmodels carries: counts for a first regression."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hedgerow.datasets.dataset import Dataset
from hedgerow.errors import DatasetError
from hedgerow.schema import Categorical, Integer, Numeric, Schema

__all__ = ["load_doctor_visits"]

COLUMNS = ("mdvis", "lncoins", "idp", "lpi", "fmde", "physlm", "disea", "hlthg", "hlthf", "hlthp")

FEATURES: dict[str, Numeric | Categorical] = {
    "coinsurance": Numeric(0, 100),
    "individual_deductible": Categorical(["0", "1"]),
    "incentive_payment": Numeric(0, 2000),
    "expenditure_limit": Numeric(0, 5000),
    "physical_limitation": Numeric(0, 1),
    "chronic_diseases": Numeric(0, 60),
    "health": Numeric(1, 4),
}


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
    try:
        from statsmodels.datasets import randhie
    except ImportError as error:
        raise DatasetError(
            'The visits come with statsmodels, which is not installed: install it with pip install "hedgerow[demo]".'
        ) from error
    years = randhie.load_pandas().data
    lacking = sorted(set(COLUMNS) - set(years.columns))
    if lacking:
        raise DatasetError(
            f"The visits in this statsmodels lack {', '.join(lacking)}; install the version in hedgerow[demo]."
        )
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
        "doctor visits", np.column_stack(columns), visits, Schema(FEATURES, outcome=Integer(0, 100), target="visits")
    )


def _dollars(log: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the amounts of logs of ``max(1, amount)``: 0 where the log is."""
    return np.where(log > 0, np.exp(log).round(2), 0.0)
