"""What a constructor of ``hr.Records`` does not take is refused by a sentence that names the constructor that does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.errors import ConfigurationError

FRAME = pd.DataFrame({"a": [0.1, 0.2], "t": ["n", "y"]})
SCHEMA = hr.Schema({"a": hr.Numeric(0, 1)}, classes=["n", "y"], target="t")


def of(package, make):
    """Return what makes an object with a package, where it is installed."""
    return lambda: make(pytest.importorskip(package))


class DataFrame:
    """What stands for a frame of Spark, which is told by where its class is defined."""


DataFrame.__module__ = "pyspark.sql.dataframe"

GIVEN = {
    "pandas": lambda: FRAME,
    "polars, lazy": of("polars", lambda polars: polars.LazyFrame({"a": [0.1]})),
    "Dask": of("dask.dataframe", lambda dask: dask.from_pandas(FRAME, npartitions=1)),
    "Spark": DataFrame,
    "a path": lambda: "none.csv",
    "None": lambda: None,
    "numbers": lambda: [1, 2],
    "an array": lambda: np.zeros((3, 2)),
    "bytes": lambda: b"none.csv",
    "a column": lambda: FRAME["a"],
}
OWN = {
    "from_parquet": ("a path",),
    "from_csv": ("a path",),
    "from_batches": ("pandas", "polars, lazy", "numbers"),
    "from_dask": ("Dask",),
    "from_spark": ("Spark",),
}


@pytest.mark.parametrize("constructor", OWN)
def test_the_error_names_all_constructors(constructor):
    for given, make in GIVEN.items():
        if given not in OWN[constructor]:
            with pytest.raises(ConfigurationError) as refused:
                getattr(hr.Records, constructor)(make(), "t")
            assert str(refused.value).startswith(f"hr.Records.{constructor} got ")
            assert "tables (such as polars' collect_batches()) by from_batches" in str(refused.value)
            assert "0.1" not in str(refused.value)


@pytest.mark.parametrize("constructor", ["from_parquet", "from_csv"])
@pytest.mark.parametrize("paths", ["none.csv", ["none.csv", "none.csv"], Path("none.csv") / "below"])
def test_a_path_that_does_not_exist(constructor, paths, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigurationError, match="there is no file 'none"):
        getattr(hr.Records, constructor)(paths)


@pytest.mark.parametrize(
    "batches", [[1, 2], ["a.csv", "b.csv"], lambda: iter([FRAME["a"]]), [{"a": [0.1], "t": ["n"]}, None]]
)
def test_batches_that_are_no_tables_are_refused(batches):
    records = hr.Records.from_batches(batches, "t")
    with pytest.raises(hr.HedgerowError, match="but it must be a pandas, polars or pyarrow table"):
        hr.EDPRFClassifier(epsilon=1.0, schema=SCHEMA).fit(records)


@pytest.mark.filterwarnings("ignore")
def test_a_function_that_returns_no_batches_is_refused():
    records = hr.Records.from_batches(lambda: "people.csv", "t")
    with pytest.raises(ConfigurationError, match=r"from_batches got builtins\.str"):
        hr.EDPRFClassifier(epsilon=1.0, schema=SCHEMA).fit(records)
