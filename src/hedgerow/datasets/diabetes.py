"""The Kaggle diabetes prediction data: does a patient have diabetes?"""

from __future__ import annotations

import csv
import os
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.datasets.dataset import Dataset
from hedgerow.datasets.fetch import Source, read_file, read_files
from hedgerow.schema import Categorical, Numeric, Schema

__all__ = ["load_diabetes_prediction"]

SOURCE = Source(
    folder="diabetes_prediction",
    hashes={"diabetes_prediction_dataset.csv": "f233fc470e904201f35310d061cb46ca0a6bc7ca5c3e428b769fb4f87f69929b"},
    page="https://www.kaggle.com/datasets/iammustafatz/diabetes-prediction-dataset",
)

FEATURES: dict[str, Numeric | Categorical] = {
    "gender": Categorical(["Female", "Male", "Other"]),
    "age": Numeric(0, 80),
    "hypertension": Categorical(["0", "1"]),
    "heart_disease": Categorical(["0", "1"]),
    "smoking_history": Categorical(["No Info", "current", "ever", "former", "never", "not current"]),
    "bmi": Numeric(10, 96),
    "HbA1c_level": Numeric(3.5, 9),
    "blood_glucose_level": Numeric(80, 300),
}
# The eDPRF paper draws this many records of each class.
BALANCED_PER_CLASS = 7000


def load_diabetes_prediction(data_home: str | os.PathLike[str] | None = None, *, balanced: bool = False) -> Dataset:
    """Load the diabetes prediction data from a copy that the user has.

    100 000 records, 8 features, 8.5 % with the label ``1``. Cells are text. Ranges are usual medical ones. The set has
    no licence that allows hedgerow to fetch or to pass it on.

    Parameters
    ----------
    data_home : path, optional
        The file ``diabetes_prediction_dataset.csv`` itself, or a folder that holds
        ``diabetes_prediction/diabetes_prediction_dataset.csv``. By default the folder in ``HEDGEROW_DATA``, then the
        cache.
    balanced : bool
        Draw 7000 records of each class without replacement with ``numpy.random.RandomState(42)``: all of class ``0``
        as drawn, then all of class ``1``.

    Raises
    ------
    DatasetError
        The file cannot be found or verified.

    Examples
    --------
    >>> from hedgerow.datasets import load_diabetes_prediction
    >>> load_diabetes_prediction().X.shape
    (100000, 8)
    """
    if data_home is not None and os.path.isfile(data_home):
        text = read_file(SOURCE, data_home)
    else:
        [text] = read_files(SOURCE, data_home).values()
    rows = csv.reader(text.splitlines())
    next(rows)  # the column names
    records = np.array(list(rows), dtype=object)
    if balanced:
        records = records[_balanced_rows(records[:, -1])]
    schema = Schema(FEATURES, classes=["0", "1"], target="diabetes")
    return Dataset("diabetes_prediction", records[:, :-1], records[:, -1].astype(str), schema)


def _balanced_rows(labels: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    # The legacy generator, as in Dataset.split.
    generator = np.random.RandomState(42)
    return np.concatenate(
        [generator.choice(np.flatnonzero(labels == label), BALANCED_PER_CLASS, replace=False) for label in ("0", "1")]
    )
