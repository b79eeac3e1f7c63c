"""The published data sets: where each comes from, how its files are read, and what is public about it."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.datasets.dataset import Dataset, Published, packaged_schema
from hedgerow.errors import ConfigurationError, DatasetError, install_words
from hedgerow.files import packaged_table
from hedgerow.schema import Schema

SOURCES = packaged_table("hedgerow.datasets", "sources")

# Adult, from 1996: the label is whether a person earns more than 50 000 dollars a year


def _adult_rows(lines: list[str]) -> Iterator[list[str]]:
    for line in lines:
        if line.strip() and not line.startswith("|"):  # as the first line of the test file, which is no record
            yield [cell.strip() for cell in line.rstrip(".").split(",")]  # labels of the test file end in a dot


ADULT = Published("adult", rows=_adult_rows, **SOURCES["adult"])


def load_adult(
    data_home: str | os.PathLike[str] | None = None, *, us_born: bool = False, drop_fnlwgt: bool = False
) -> Dataset:
    """Load the UCI Adult data (Becker and Kohavi, 1996; licence CC BY 4.0).

    32 561 records to train on and 16 281 to test on, 14 features, 24 % with the label ``>50K``; ``?`` marks a missing
    answer. Cells are numbers or text, as the schema has them. Categories and ranges follow the set's codebook.

    Parameters
    ----------
    data_home : path, optional
        A folder that holds ``adult/adult.data`` and ``adult/adult.test``. The default is that of ``hedgerow.datasets``.
    us_born : bool
        Keep only the records whose ``native-country`` is ``United-States`` and drop that column, which is then the
        same everywhere: 29 170 and 14 662 records remain.
    drop_fnlwgt : bool
        Drop ``fnlwgt``, the census bureau's sampling weight, which is no property of the person.

    Raises
    ------
    DatasetError
        If the files cannot be found, fetched or verified.

    Examples
    --------
    >>> from hedgerow.datasets import load_adult
    >>> load_adult().X.shape
    (32561, 14)
    """
    data = ADULT.load(data_home)
    if us_born:
        data = _without(data, "native-country", only="United-States")
    return _without(data, "fnlwgt") if drop_fnlwgt else data


def _without(data: Dataset, name: str, only: str | None = None) -> Dataset:
    """Return a data set of two parts without a feature, and with the records alone whose cell of it is ``only``."""
    place, schema = data.schema.names.index(name), data.schema
    parts = []
    for X, y in ((data.X, data.y), (data.X_test, data.y_test)):
        assert X is not None
        assert y is not None
        kept = slice(None) if only is None else X[:, place] == only
        parts += [np.delete(X[kept], place, axis=1), y[kept]]
    features = {other: feature for other, feature in schema.features.items() if other != name}
    left = Schema(features, classes=schema.classes, missing=schema.missing, target=schema.target)
    return Dataset(data.name, parts[0], parts[1], left, parts[2], parts[3])


# Bank Marketing: the label is whether a client subscribes to a term deposit

BANK = Published("bank", rows=lambda lines: csv.reader(lines[1:], delimiter=";"), **SOURCES["bank"])


def load_bank(data_home: str | os.PathLike[str] | None = None) -> Dataset:
    """Load the UCI Bank Marketing data, with the social and economic context (Moro, Cortez and Rita, 2014; CC BY 4.0).

    41 188 phone calls of a Portuguese bank, 20 features, 11.3 % with the label ``yes``. Cells are numbers or text, as the
    schema has them. The values of categories follow the set's codebook, which states no ranges; those here are the ones that
    this library is compared with. ``duration``, the call's length, is known only when its outcome is: leave it out of a model
    that is to predict. ``pdays`` is 999 for a client who was not called before; its cut points separate these from the others.

    Parameters
    ----------
    data_home : path, optional
        A folder that holds ``bank_marketing/bank-additional-full.csv``. The default is that of ``hedgerow.datasets``.

    Raises
    ------
    DatasetError
        If the files cannot be found, fetched or verified.

    Examples
    --------
    >>> from hedgerow.datasets import load_bank
    >>> load_bank().X.shape
    (41188, 20)
    """
    return BANK.load(data_home)


# Census-Income (KDD), from 1994 and 1995: the label is whether a person has an income of more than 50 000 dollars a year

CENSUS_WEIGHT = 24  # the column of the instance weight


def _census_rows(lines: list[str]) -> Iterator[list[str]]:
    # Equal cells share one text: eight million texts of their own would take half a gigabyte.
    shared: dict[str, str] = {}
    for line in lines:
        cells = line.split(", ")
        del cells[CENSUS_WEIGHT]
        yield list(map(shared.setdefault, cells, cells))


CENSUS_INCOME = Published("census_income", rows=_census_rows, **SOURCES["census_income"])


def load_census_income(data_home: str | os.PathLike[str] | None = None) -> Dataset:
    """Load the UCI Census-Income (KDD) data (Lane and Kohavi, 2000; licence CC BY 4.0).

    199 523 records to train on and 99 762 to test on, 40 features, 6.2 % with the label ``50000+.``; ``?`` marks a
    missing answer. Cells are numbers or text, as the schema has them; recodes such as ``detailed industry recode`` and
    ``year`` are categories although they are numbers. The instance weight is dropped, as the codebook asks: it says how many
    people a record stands for. Values follow the codebook, which states no ranges; those here are the ones that this library
    is compared with.

    Parameters
    ----------
    data_home : path, optional
        A folder that holds ``census_income_kdd/census-income.data`` and ``census_income_kdd/census-income.test``. The default
        is that of ``hedgerow.datasets``; in the cache, the files take 156 MB.

    Raises
    ------
    DatasetError
        If the files cannot be found, fetched or verified.

    Examples
    --------
    >>> from hedgerow.datasets import load_census_income
    >>> load_census_income().X.shape
    (199523, 40)
    """
    return CENSUS_INCOME.load(data_home)


# Diabetes prediction: the label is whether a patient has diabetes

BALANCED_PER_CLASS = 7000  # records of each class that the eDPRF paper draws

DIABETES = Published("diabetes_prediction", rows=lambda lines: csv.reader(lines[1:]), **SOURCES["diabetes_prediction"])


def load_diabetes_prediction(data_home: str | os.PathLike[str] | None = None, *, balanced: bool = False) -> Dataset:
    """Load the diabetes prediction data from a copy that the user has.

    100 000 records, 8 features, 8.5 % with the label ``1``. Cells are numbers or text, as the schema has them. Ranges are
    usual medical ones. The set has no licence that allows hedgerow to fetch or to pass it on.

    Parameters
    ----------
    data_home : path, optional
        The file ``diabetes_prediction_dataset.csv`` itself, or a folder that holds
        ``diabetes_prediction/diabetes_prediction_dataset.csv``. The default is that of ``hedgerow.datasets``.
    balanced : bool
        Draw 7000 records of each class without replacement with ``numpy.random.RandomState(42)``: all of class ``0``
        as drawn, then all of class ``1``.

    Raises
    ------
    DatasetError
        If the files cannot be found, fetched or verified.

    Examples
    --------
    >>> from hedgerow.datasets import load_diabetes_prediction
    >>> load_diabetes_prediction().X.shape
    (100000, 8)
    """
    data = DIABETES.load(data_home)
    if not balanced:
        return data
    generator = np.random.RandomState(42)  # the legacy generator, as in Dataset.split
    classes = [np.flatnonzero(data.y == label) for label in ("0", "1")]
    rows = np.concatenate([generator.choice(rows, BALANCED_PER_CLASS, replace=False) for rows in classes])
    return Dataset(data.name, data.X[rows], data.y[rows], data.schema)


# Wall-Following Robot: the label is which move follows from 24 distances

FORWARD, OTHER = "Move-Forward-or-Slight-Right-Turn", "Other-Turn"
MERGED = {"Move-Forward": FORWARD, "Slight-Right-Turn": FORWARD, "Sharp-Right-Turn": OTHER, "Slight-Left-Turn": OTHER}

WALL_FOLLOWING = Published(
    "wall_following",
    rows=lambda lines: (line.split(",") for line in lines if line),
    dtype=np.float64,
    **SOURCES["wall_following"],
)


def load_wall_following(data_home: str | os.PathLike[str] | None = None, *, classes: int = 4) -> Dataset:
    """Load the UCI Wall-Following Robot data (Freire, Veloso and Barreto, 2009; licence CC BY 4.0).

    5456 records, the readings of 24 ultrasound sensors in metres as float64. The sensors measure 0 to 5 m, which is the
    schema's range of each; some readings in the file exceed it by up to 9 cm.

    Parameters
    ----------
    data_home : path, optional
        A folder that holds ``wall_following/sensor_readings_24.data``. The default is that of ``hedgerow.datasets``.
    classes : {4, 2}
        4: the four moves as published. 2: ``Move-Forward`` and ``Slight-Right-Turn`` become
        ``Move-Forward-or-Slight-Right-Turn``, the other two ``Other-Turn`` (3031 and 2425 records).

    Raises
    ------
    ConfigurationError
        `classes` is neither 4 nor 2.

    Examples
    --------
    >>> from hedgerow.datasets import load_wall_following
    >>> load_wall_following().X.shape
    (5456, 24)
    """
    if classes not in (2, 4):
        raise ConfigurationError(f"classes={classes!r}, but the moves are 4 classes, or merged into 2; pass 4 or 2.")
    data = WALL_FOLLOWING.load(data_home)
    if classes == 4:
        return data
    merged = np.array([MERGED[move] for move in data.y.tolist()])
    return Dataset(data.name, data.X, merged, data.schema.replace(classes=[FORWARD, OTHER]))


# Two sets that statsmodels carries, so that a first try needs no network

VISITS_COLUMNS = ("mdvis", "lncoins", "idp", "lpi", "fmde", "physlm", "disea", "hlthg", "hlthf", "hlthp")


def load_affairs() -> Dataset:
    """Load the answers of 6366 wives to a survey (Fair, 1978), carried by statsmodels.

    The label says whether a wife spent any time in extramarital affairs: ``yes`` for 2053 of them, else ``no``. `X` is
    float64, as the package stores it. The schema is written by hand: scales and occupations, codes from 1 to 6, stand in the
    package's note, ``statsmodels.datasets.fair.NOTE``; age, years married and children have round numbers as ranges.

    Raises
    ------
    DatasetError
        If the files cannot be found, fetched or verified.

    Examples
    --------
    >>> from hedgerow.datasets import load_affairs
    >>> survey = load_affairs()
    >>> survey.X.shape
    (6366, 8)
    """
    answers, schema = _carried("fair"), packaged_schema("affairs")
    X = answers[list(schema.names)].to_numpy(dtype=np.float64)
    return Dataset("affairs", X, np.where(answers["affairs"].to_numpy() > 0, "yes", "no"), schema)


def load_doctor_visits() -> Dataset:
    """Load 20190 person-years of the RAND Health Insurance Experiment, carried by statsmodels.

    The label is the number of outpatient visits to a doctor in a year, from 0 to 77; a record is one person in one year. The
    package does not say which records are of one person, so a random split may put years of one person into both parts, and
    a guarantee for this set is one for person-years.

    `X` is float64. The package stores logarithms of the coinsurance rate, the incentive payment and the expenditure limit;
    here they are in percent and dollars. Its three indicators of self-rated health are one number, from 1, excellent, to 4,
    poor. A physical limitation is 0 or 1, or between them where the publisher filled a gap. Ranges that the package's note
    does not state are round numbers that hold every value of the published set.

    Raises
    ------
    DatasetError
        If the files cannot be found, fetched or verified.

    Examples
    --------
    >>> from hedgerow.datasets import load_doctor_visits
    >>> visits = load_doctor_visits()
    >>> visits.X.shape, visits.schema.outcome.high == 100
    ((20190, 7), True)
    """
    years = _carried("randhie")
    visits, coinsurance, deductible, payment, limit, limitation, diseases, good, fair, poor = (
        years[name].to_numpy(dtype=np.float64) for name in VISITS_COLUMNS
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
    return Dataset("doctor visits", np.column_stack(columns), visits, packaged_schema("doctor_visits"))


def _dollars(log: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the amounts of logs of ``max(1, amount)``: 0 where the log is."""
    return np.where(log > 0, np.exp(log).round(2), 0.0)


def _carried(name: str) -> Any:
    try:
        return getattr(import_module("statsmodels.datasets"), name).load_pandas().data
    except ImportError as error:
        raise DatasetError(install_words("This data set comes with statsmodels", "demo")) from error
