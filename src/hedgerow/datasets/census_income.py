"""The UCI Census-Income (KDD) data: does a person have an income of more than 50 000 dollars a year?"""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib import resources
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.datasets.dataset import Dataset
from hedgerow.datasets.fetch import Source, read_files
from hedgerow.schema import Schema

__all__ = ["load_census_income"]

SOURCE = Source(
    folder="census_income_kdd",
    hashes={
        "census-income.data": "3676a81db7d3528f3f8b9f3c699d0f0aa28db45e6e994fa0b8ed38327539ee86",
        "census-income.test": "98402b1ab879573d0a7f38a699a40258080e25e33d3401e7bf9c96d3fa0fab8c",
    },
    page="https://archive.ics.uci.edu/dataset/117/census+income+kdd",
    url="https://archive.ics.uci.edu/static/public/117/census+income+kdd.zip",
    # The files have 104 and 52 MB, and the zip holds them in a tar.gz, whose tar is unpacked on the way.
    max_bytes=384 * 2**20,
)

WEIGHT = 24  # the column of the instance weight
COLUMNS = 41  # without it, with the label


def load_census_income(data_home: str | os.PathLike[str] | None = None) -> Dataset:
    """Load the UCI Census-Income (KDD) data (Lane and Kohavi, 2000; licence CC BY 4.0).

    199 523 records to train on and 99 762 to test on, 40 features, 6.2 % with the label ``50000+.``; ``?`` marks a
    missing answer. Cells are text; recodes such as ``detailed industry recode`` and ``year`` are categories although
    they are numbers. The instance weight is dropped, as the codebook asks: it says how many people a record stands for.
    Values follow the codebook, which states no ranges; those here are the ones that this library is compared with.

    Parameters
    ----------
    data_home : path, optional
        A folder that holds ``census_income_kdd/census-income.data`` and ``census_income_kdd/census-income.test``, or
        the same as ``.gz``. By default the folder in ``HEDGEROW_DATA``, then the cache (where the files take 156 MB),
        then the UCI repository.

    Raises
    ------
    DatasetError
        The files cannot be found, fetched or verified.

    Examples
    --------
    >>> from hedgerow.datasets import load_census_income
    >>> load_census_income().X.shape
    (199523, 40)
    """
    texts = read_files(SOURCE, data_home)
    # Each text is let go once it is read: together they have 156 MB.
    train, test = (_records(texts.pop(name)) for name in SOURCE.hashes)
    return Dataset(
        "census_income", train[:, :-1], train[:, -1].astype(str), _schema(), test[:, :-1], test[:, -1].astype(str)
    )


def _schema() -> Schema:
    with resources.as_file(resources.files("hedgerow.datasets") / "census_income.toml") as path:
        return Schema.load(path)


def _records(text: str) -> npt.NDArray[Any]:
    lines = text.splitlines()
    return np.fromiter(_cells(lines), dtype=object, count=len(lines) * COLUMNS).reshape(-1, COLUMNS)


def _cells(lines: list[str]) -> Iterator[str]:
    # Equal cells share one text: eight million texts of their own would take half a gigabyte.
    shared: dict[str, str] = {}
    for line in lines:
        cells = line.split(", ")
        del cells[WEIGHT]
        yield from map(shared.setdefault, cells, cells)
