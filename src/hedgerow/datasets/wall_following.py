"""The UCI Wall-Following Robot data: which move follows from 24 distances?"""

from __future__ import annotations

import os

import numpy as np

from hedgerow.datasets.dataset import Dataset
from hedgerow.datasets.fetch import Source, read_files
from hedgerow.errors import ConfigurationError
from hedgerow.schema import Numeric, Schema

__all__ = ["load_wall_following"]

SOURCE = Source(
    folder="wall_following",
    hashes={"sensor_readings_24.data": "1108cbbcac9c119519a3c493358d3084bc619b5aaa688212aa75a777aa7bd5fd"},
    page="https://archive.ics.uci.edu/dataset/194/wall+following+robot+navigation+data",
    url="https://archive.ics.uci.edu/static/public/194/wall+following+robot+navigation+data.zip",
)

MOVES = ["Move-Forward", "Sharp-Right-Turn", "Slight-Left-Turn", "Slight-Right-Turn"]
FORWARD, OTHER = "Move-Forward-or-Slight-Right-Turn", "Other-Turn"
MERGED = {"Move-Forward": FORWARD, "Slight-Right-Turn": FORWARD, "Sharp-Right-Turn": OTHER, "Slight-Left-Turn": OTHER}


def load_wall_following(data_home: str | os.PathLike[str] | None = None, *, classes: int = 4) -> Dataset:
    """Load the UCI Wall-Following Robot data (Freire, Veloso and Barreto, 2009; licence CC BY 4.0).

    5456 records, the readings of 24 ultrasound sensors in metres as float64. The sensors measure 0 to 5 m, which is the
    schema's range of each; some readings in the file exceed it by up to 9 cm.

    Parameters
    ----------
    data_home : path, optional
        A folder that holds ``wall_following/sensor_readings_24.data``. By default the folder in ``HEDGEROW_DATA``,
        then the cache, then the UCI repository.
    classes : {4, 2}
        4: the four moves as published. 2: ``Move-Forward`` and ``Slight-Right-Turn`` become
        ``Move-Forward-or-Slight-Right-Turn``, the other two ``Other-Turn`` (3031 and 2425 records).

    Raises
    ------
    ConfigurationError
        `classes` is neither 4 nor 2.
    DatasetError
        The file cannot be found, fetched or verified.

    Examples
    --------
    >>> from hedgerow.datasets import load_wall_following
    >>> load_wall_following().X.shape
    (5456, 24)
    """
    if classes not in (2, 4):
        raise ConfigurationError(
            f"classes={classes!r}, but the robot's moves come as 4 classes or merged into 2. Pass 4 or 2."
        )
    [text] = read_files(SOURCE, data_home).values()
    records = [line.split(",") for line in text.splitlines() if line]
    moves = [record[-1] for record in records]
    return Dataset(
        "wall_following",
        np.array([record[:-1] for record in records], dtype=np.float64),
        np.array(moves if classes == 4 else [MERGED[move] for move in moves]),
        Schema(
            {f"us{sensor}": Numeric(0, 5) for sensor in range(24)},
            classes=MOVES if classes == 4 else [FORWARD, OTHER],
            target="move",
        ),
    )
