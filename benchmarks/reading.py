"""From files and frames to codes, beside pandas, polars and pyarrow, which read the same files into columns: docs/scaling.md.

    python benchmarks/reading.py --folder /tmp/reading [--records 1e6] [--repeats 3]

Made-up records of 20 features and a label: numbers of 4 decimals; numbers and categories; text in quotes; decimal commas and
dates. All read one file in turn, each in a process of its own, after a first run that is not counted. Printed are medians of
processor seconds, the ratio to pyarrow's, and the largest resident memory in MiB.
"""

from __future__ import annotations

import argparse
import csv
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import hedgerow as hr
from hedgerow.reading.csv_file import CSVFormat
from hedgerow.reading.table_file import open_table
from hedgerow.schema import Encoder

FEATURES = 20
WORDS = [f"value {place}" for place in range(40)]
FORMS = {
    "numbers": ",",
    "categories": ",",
    "quoted": ",",
    "commas": ";",
}
READERS = ("hedgerow", "pyarrow", "pandas", "polars")


def entry(form: str, place: int) -> Any:
    """The schema's entry of one feature."""
    if form == "quoted" or (form == "categories" and place % 2):
        return hr.Categorical(WORDS)
    if form == "commas":
        return (
            hr.Date("2000-01-01", "2029-12-31", date_format="%d.%m.%Y")
            if place % 4 == 0
            else hr.Numeric(-5, 5, decimal=",")
        )
    return hr.Numeric(-5, 5)


def cells(form: str, place: int, rng: np.random.Generator, records: int) -> list[str]:
    """The text of one column."""
    kind = entry(form, place)
    if isinstance(kind, hr.Categorical):
        return [WORDS[code] for code in rng.integers(0, len(WORDS), records)]
    if isinstance(kind, hr.Date):
        days = np.datetime64("2000-01-01") + rng.integers(0, 10_000, records)
        return [f"{day[8:]}.{day[5:7]}.{day[:4]}" for day in days.astype(str).tolist()]
    numbers = [f"{value:.4f}" for value in rng.normal(size=records)]
    return [number.replace(".", ",") for number in numbers] if form == "commas" else numbers


def schema_of(form: str) -> hr.Schema:
    separator = FORMS[form]
    return hr.Schema(
        {f"x{place}": entry(form, place) for place in range(FEATURES)},
        classes=["no", "yes"],
        target="y",
        delimiter=None if separator == "," else separator,
    )


def write(path: Path, form: str, records: int) -> None:
    """Write one file, a part at a time."""
    rng = np.random.default_rng(0)
    quoting = csv.QUOTE_ALL if form == "quoted" else csv.QUOTE_MINIMAL
    with path.open("w", newline="") as file:
        writer = csv.writer(file, delimiter=FORMS[form], quoting=quoting, lineterminator="\n")
        writer.writerow([*(f"x{place}" for place in range(FEATURES)), "y"])
        for _ in range(max(1, records // 50_000)):
            columns = [cells(form, place, rng, 50_000) for place in range(FEATURES)]
            labels = [("no", "yes")[code] for code in rng.integers(0, 2, 50_000)]
            writer.writerows(zip(*columns, labels, strict=True))


def by_hedgerow(path: Path, form: str) -> None:
    schema = schema_of(form)
    encoder = Encoder(schema, 256)
    with open_table(path, CSVFormat.of(schema)) as table:
        for block in table.batches() if path.suffix == ".parquet" else table.blocks():
            columns = block if isinstance(block, dict) else dict(zip(block.schema.names, block.columns, strict=True))
            encoder.labels(columns.pop("y"))
            encoder.transform(columns)


def by_pyarrow(path: Path, form: str) -> None:
    from pyarrow import csv as arrow
    from pyarrow import parquet

    if path.suffix == ".parquet":
        parquet.read_table(path)
        return
    options = arrow.ConvertOptions(decimal_point="," if form == "commas" else ".")
    arrow.read_csv(path, parse_options=arrow.ParseOptions(delimiter=FORMS[form]), convert_options=options)


def by_pandas(path: Path, form: str) -> None:
    import pandas as pd

    if path.suffix == ".parquet":
        pd.read_parquet(path)
        return
    pd.read_csv(path, sep=FORMS[form], decimal="," if form == "commas" else ".")


def by_polars(path: Path, form: str) -> None:
    import polars as pl

    if path.suffix == ".parquet":
        pl.read_parquet(path)
        return
    pl.read_csv(path, separator=FORMS[form], decimal_comma=form == "commas")


def measure(reader: str, path: Path, form: str, repeats: int) -> None:
    """Print processor seconds and memory of one reader, as JSON."""
    read: Callable[[Path, str], None] = globals()[f"by_{reader}"]
    seconds = []
    for _ in range(repeats + 1):
        begin = time.process_time()
        read(path, form)
        seconds.append(time.process_time() - begin)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps([statistics.median(seconds[1:]), memory]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--records", type=float, default=1e6)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--one", nargs=3, help=argparse.SUPPRESS
    )  # reader, file and form: one process of this benchmark
    given = parser.parse_args()
    if given.one:
        reader, path, form = given.one
        measure(reader, Path(path), form, given.repeats)
        return
    given.folder.mkdir(exist_ok=True)
    print(f"{'file':20}{'reader':10}{'seconds':>9}{'ratio':>7}{'MiB':>7}")
    for form in FORMS:
        path = given.folder / f"{form}-{int(given.records)}.csv"
        if not path.exists():
            write(path, form, int(given.records))
        paths = [path]
        if form != "commas":
            from pyarrow import csv as arrow
            from pyarrow import parquet

            paths.append(path.with_suffix(".parquet"))
            parquet.write_table(arrow.read_csv(path), paths[1])
        for one in paths:
            found = {}
            for reader in READERS:
                command = [sys.executable, __file__, "--folder", str(given.folder), "--repeats", str(given.repeats)]
                done = subprocess.run([*command, "--one", reader, str(one), form], capture_output=True, text=True)
                if done.returncode == 0:
                    found[reader] = json.loads(done.stdout)
            for reader, (seconds, memory) in found.items():
                ratio = seconds / found["pyarrow"][0]
                print(f"{one.name:20.20}{reader:10}{seconds:9.2f}{ratio:7.2f}{memory:7.0f}", flush=True)


if __name__ == "__main__":
    main()
