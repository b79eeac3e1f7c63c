"""The UCI Adult data: does a person earn more than 50 000 dollars a year?"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.datasets.dataset import Dataset
from hedgerow.datasets.fetch import Source, read_files
from hedgerow.schema import Categorical, Numeric, Schema

__all__ = ["load_adult"]

SOURCE = Source(
    folder="adult",
    hashes={
        "adult.data": "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
        "adult.test": "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
    },
    page="https://archive.ics.uci.edu/dataset/2/adult",
    url="https://archive.ics.uci.edu/static/public/2/adult.zip",
)

FEATURES: dict[str, Numeric | Categorical] = {
    "age": Numeric(17, 90),
    "workclass": Categorical(
        [
            "Federal-gov",
            "Local-gov",
            "Never-worked",
            "Private",
            "Self-emp-inc",
            "Self-emp-not-inc",
            "State-gov",
            "Without-pay",
        ]
    ),
    "fnlwgt": Numeric(10000, 1500000),
    "education": Categorical(
        [
            "10th",
            "11th",
            "12th",
            "1st-4th",
            "5th-6th",
            "7th-8th",
            "9th",
            "Assoc-acdm",
            "Assoc-voc",
            "Bachelors",
            "Doctorate",
            "HS-grad",
            "Masters",
            "Preschool",
            "Prof-school",
            "Some-college",
        ]
    ),
    "education-num": Numeric(1, 16),
    "marital-status": Categorical(
        [
            "Divorced",
            "Married-AF-spouse",
            "Married-civ-spouse",
            "Married-spouse-absent",
            "Never-married",
            "Separated",
            "Widowed",
        ]
    ),
    "occupation": Categorical(
        [
            "Adm-clerical",
            "Armed-Forces",
            "Craft-repair",
            "Exec-managerial",
            "Farming-fishing",
            "Handlers-cleaners",
            "Machine-op-inspct",
            "Other-service",
            "Priv-house-serv",
            "Prof-specialty",
            "Protective-serv",
            "Sales",
            "Tech-support",
            "Transport-moving",
        ]
    ),
    "relationship": Categorical(["Husband", "Not-in-family", "Other-relative", "Own-child", "Unmarried", "Wife"]),
    "race": Categorical(["Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "Other", "White"]),
    "sex": Categorical(["Female", "Male"]),
    "capital-gain": Numeric(0, 99999),
    "capital-loss": Numeric(0, 4500),
    "hours-per-week": Numeric(1, 99),
    "native-country": Categorical(
        [
            "Cambodia",
            "Canada",
            "China",
            "Columbia",
            "Cuba",
            "Dominican-Republic",
            "Ecuador",
            "El-Salvador",
            "England",
            "France",
            "Germany",
            "Greece",
            "Guatemala",
            "Haiti",
            "Holand-Netherlands",
            "Honduras",
            "Hong",
            "Hungary",
            "India",
            "Iran",
            "Ireland",
            "Italy",
            "Jamaica",
            "Japan",
            "Laos",
            "Mexico",
            "Nicaragua",
            "Outlying-US(Guam-USVI-etc)",
            "Peru",
            "Philippines",
            "Poland",
            "Portugal",
            "Puerto-Rico",
            "Scotland",
            "South",
            "Taiwan",
            "Thailand",
            "Trinadad&Tobago",
            "United-States",
            "Vietnam",
            "Yugoslavia",
        ]
    ),
}


def load_adult(
    data_home: str | os.PathLike[str] | None = None, *, us_born: bool = False, drop_fnlwgt: bool = False
) -> Dataset:
    """Load the UCI Adult data (Becker and Kohavi, 1996; licence CC BY 4.0).

    32 561 records to train on and 16 281 to test on, 14 features, 24 % with the label ``>50K``; ``?`` marks a missing
    answer. Cells are text. Categories and ranges follow the set's codebook.

    Parameters
    ----------
    data_home : path, optional
        A folder that holds ``adult/adult.data`` and ``adult/adult.test``. By default the folder in ``HEDGEROW_DATA``,
        then the cache, then the UCI repository.
    us_born : bool
        Keep only the records whose ``native-country`` is ``United-States`` and drop that column, which is then the
        same everywhere: 29 170 and 14 662 records remain.
    drop_fnlwgt : bool
        Drop ``fnlwgt``, the census bureau's sampling weight, which is no property of the person.

    Raises
    ------
    DatasetError
        The files cannot be found, fetched or verified.

    Examples
    --------
    >>> from hedgerow.datasets import load_adult
    >>> load_adult().X.shape
    (32561, 14)
    """
    texts = read_files(SOURCE, data_home)
    # The test file begins with a line that is no record.
    train = _records(texts["adult.data"].splitlines())
    test = _records(texts["adult.test"].splitlines()[1:])
    dropped = set()
    if us_born:
        country = list(FEATURES).index("native-country")
        train, test = (part[part[:, country] == "United-States"] for part in (train, test))
        dropped.add("native-country")
    if drop_fnlwgt:
        dropped.add("fnlwgt")
    kept = [index for index, name in enumerate(FEATURES) if name not in dropped]
    schema = Schema(
        {name: feature for name, feature in FEATURES.items() if name not in dropped},
        classes=["<=50K", ">50K"],
        missing=("?",),
        target="income",
    )
    return Dataset("adult", train[:, kept], _labels(train), schema, test[:, kept], _labels(test))


def _records(lines: list[str]) -> npt.NDArray[Any]:
    return np.array([[cell.strip() for cell in line.split(",")] for line in lines if line.strip()], dtype=object)


def _labels(records: npt.NDArray[Any]) -> npt.NDArray[Any]:
    # Labels of the test file end in a dot.
    return np.array([label.rstrip(".") for label in records[:, -1]])
