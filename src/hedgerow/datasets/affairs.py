"""Fair's survey of extramarital affairs, which statsmodels carries: data for a first try, without a network."""

from __future__ import annotations

import numpy as np

from hedgerow.datasets.dataset import Dataset
from hedgerow.errors import DatasetError
from hedgerow.schema import Categorical, Numeric, Schema

__all__ = ["load_affairs"]

# The scales of the package's note on the set; where it states none, round numbers chosen without the answers.
FEATURES: dict[str, Numeric | Categorical] = {
    "rate_marriage": Numeric(1, 5),
    "age": Numeric(15, 50),
    "yrs_married": Numeric(0, 30),
    "children": Numeric(0, 10),
    "religious": Numeric(1, 4),
    "educ": Numeric(9, 20),
    "occupation": Categorical(["1", "2", "3", "4", "5", "6"]),
    "occupation_husb": Categorical(["1", "2", "3", "4", "5", "6"]),
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
    try:
        from statsmodels.datasets import fair
    except ImportError as error:
        raise DatasetError(
            'The survey comes with statsmodels, which is not installed: install it with pip install "hedgerow[demo]".'
        ) from error
    answers = fair.load_pandas().data
    lacking = sorted({*FEATURES, "affairs"} - set(answers.columns))
    if lacking:
        raise DatasetError(
            f"The survey in this statsmodels lacks {', '.join(lacking)}; install the version in hedgerow[demo]."
        )
    X = answers[list(FEATURES)].to_numpy(dtype=np.float64)
    y = np.where(answers["affairs"].to_numpy() > 0, "yes", "no")
    return Dataset("affairs", X, y, Schema(FEATURES, classes=["no", "yes"], target="affair"))
