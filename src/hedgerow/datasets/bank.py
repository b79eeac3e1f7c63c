"""The UCI Bank Marketing data: does a client subscribe to a term deposit?"""

from __future__ import annotations

import csv
import os

import numpy as np

from hedgerow.datasets.dataset import Dataset, with_numbers
from hedgerow.datasets.fetch import Source, read_files
from hedgerow.schema import Categorical, Numeric, Schema

SOURCE = Source(
    folder="bank_marketing",
    # The file as published has \r\n line ends and the SHA-256 74adfc57...; this is the one with \n.
    hashes={"bank-additional-full.csv": "233e260d5d1d506a2c10381da5b8c2f75f2c08d1b373ca7b825e39ebe1bd30df"},
    page="https://archive.ics.uci.edu/dataset/222/bank+marketing",
    url="https://archive.ics.uci.edu/static/public/222/bank+marketing.zip",
)

# "unknown" is a value of its own, as the codebook suggests. Months are those of the codebook; in the file nobody was
# called in January or February.
# Days since the last contact, in round numbers: a week, two, a month, a quarter, half a year, a year. The codebook's 999,
# not contacted before, is in the last bin, which is so wide that no fit takes it for a range in another unit.
CONTACTED = [7, 14, 30, 90, 180, 365]
FEATURES: dict[str, Numeric | Categorical] = {
    "age": Numeric(17, 98),
    "job": Categorical(
        [
            "admin.",
            "blue-collar",
            "entrepreneur",
            "housemaid",
            "management",
            "retired",
            "self-employed",
            "services",
            "student",
            "technician",
            "unemployed",
            "unknown",
        ]
    ),
    "marital": Categorical(["divorced", "married", "single", "unknown"]),
    "education": Categorical(
        [
            "basic.4y",
            "basic.6y",
            "basic.9y",
            "high.school",
            "illiterate",
            "professional.course",
            "university.degree",
            "unknown",
        ]
    ),
    "default": Categorical(["no", "unknown", "yes"]),
    "housing": Categorical(["no", "unknown", "yes"]),
    "loan": Categorical(["no", "unknown", "yes"]),
    "contact": Categorical(["cellular", "telephone"]),
    "month": Categorical(["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]),
    "day_of_week": Categorical(["mon", "tue", "wed", "thu", "fri"]),
    "duration": Numeric(0, 5000),
    "campaign": Numeric(1, 60),
    "pdays": Numeric(0, 999, cuts=CONTACTED),
    "previous": Numeric(0, 10),
    "poutcome": Categorical(["failure", "nonexistent", "success"]),
    "emp.var.rate": Numeric(-3.5, 1.5),
    "cons.price.idx": Numeric(92, 95),
    "cons.conf.idx": Numeric(-51, -26),
    "euribor3m": Numeric(0.5, 5.1),
    "nr.employed": Numeric(4950, 5250),
}


def load_bank(data_home: str | os.PathLike[str] | None = None) -> Dataset:
    """Load the UCI Bank Marketing data, with the social and economic context (Moro, Cortez and Rita, 2014; CC BY 4.0).

    41 188 phone calls of a Portuguese bank, 20 features, 11.3 % with the label ``yes``. Cells are numbers or text, as the
    schema has them. The values of categories follow the set's codebook, which states no ranges; those here are the ones that
    this library is compared with. ``duration``, the call's length, is known only when its outcome is: leave it out of a model
    that is to predict. ``pdays`` is 999 for a client who was not called before; its cut points separate these from the others.

    Parameters
    ----------
    data_home : path, optional
        A folder that holds ``bank_marketing/bank-additional-full.csv``, or the same as ``.gz``. By default the folder
        in ``HEDGEROW_DATA``, then the cache, then the UCI repository.

    Raises
    ------
    DatasetError
        The file cannot be found, fetched or verified.

    Examples
    --------
    >>> from hedgerow.datasets import load_bank
    >>> load_bank().X.shape
    (41188, 20)
    """
    [text] = read_files(SOURCE, data_home).values()
    rows = csv.reader(text.splitlines(), delimiter=";")
    next(rows)  # the column names
    records = np.array(list(rows), dtype=object)
    schema = Schema(FEATURES, classes=["no", "yes"], target="y")
    return Dataset("bank", with_numbers(records[:, :-1], schema), records[:, -1].astype(str), schema)
