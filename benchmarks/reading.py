"""From files and frames to codes, beside pandas, polars and pyarrow, which read the same files into columns: docs/scaling.md.

    python benchmarks/reading.py --folder /tmp/reading [--records 1e6] [--repeats 3] [--reference OTHER/src]

Made-up records of 20 features and a label: numbers of 4 decimals; numbers and categories; text in quotes; decimal commas and
dates. All read one file in turn, each in a process of its own, after a first run that is not counted. Printed are medians of
processor seconds, the ratio to pyarrow's, and the largest resident memory in MiB. Frames that are in memory follow; their ratio
is to the hedgerow of the reference, the folder ``src`` of another version.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import hedgerow as hr
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
FRAMES = {
    "numpy": "numbers",
    "pandas_numbers": "numbers",
    "polars_numbers": "numbers",
    "pandas_objects": "categories",
    "pandas_shared_objects": "quoted",
    "pandas_text": "quoted",
    "pandas_text_numbers": "numbers",
    "polars_text": "quoted",
    "pyarrow_text": "quoted",
}


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
    from hedgerow.reading.table_file import open_table

    schema = schema_of(form)
    encoder = Encoder(schema, 256)
    with open_table(path, schema.file_form) as table:
        for batch in table.batches():
            encoder.labels(batch["y"])
            encoder.transform({name: batch[name] for name in schema.names})


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


def frame_of(kind: str, path: Path) -> Any:
    """The records of a file as a frame in memory, without labels."""
    import pandas as pd
    import polars as pl
    from pyarrow import csv as arrow

    if kind == "pyarrow_text":
        return arrow.read_csv(path).drop_columns(["y"])
    if kind.startswith("polars"):
        return pl.read_csv(path).drop("y")
    if kind.startswith("pandas_text"):
        return pd.read_csv(path, dtype="string[pyarrow]").drop(columns="y")
    if kind == "pandas_shared_objects":  # one object for each distinct text of a chunk
        return pd.read_csv(path, dtype=object).drop(columns="y")
    frame = pd.read_csv(path).drop(columns="y")
    return frame.to_numpy(float) if kind == "numpy" else frame.astype(object) if kind == "pandas_objects" else frame


def measure(reader: str, path: Path, form: str, repeats: int) -> None:
    """Print processor seconds and memory of one reader, or of a frame's encoding, as JSON."""
    if reader in FRAMES:
        frame, encoder = frame_of(reader, path), Encoder(schema_of(form), 256)

        def read(*_: Any) -> None:
            encoder.transform(frame)
    else:
        read = globals()[f"by_{reader}"]
    seconds = []
    for _ in range(repeats + 1):
        begin = time.process_time()
        read(path, form)
        seconds.append(time.process_time() - begin)
    print(json.dumps([statistics.median(seconds[1:]), peak()]))


def peak() -> float:
    """Return the largest resident memory of this process in MiB; that of getrusage begins with its parent's."""
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--records", type=float, default=1e6)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--reference", type=Path)
    parser.add_argument(
        "--one", nargs=3, help=argparse.SUPPRESS
    )  # reader, file and form: one process of this benchmark
    given = parser.parse_args()
    if given.one:
        reader, path, form = given.one
        measure(reader, Path(path), form, given.repeats)
        return
    given.folder.mkdir(exist_ok=True)
    print(f"{'file':24}{'reader':16}{'seconds':>9}{'ratio':>7}{'MiB':>7}")
    for form in FORMS:
        path = given.folder / f"{form}-{int(given.records)}.csv"
        if not path.exists():
            write(path, form, int(given.records))
        paths = [path]
        if form != "commas":
            from pyarrow import csv as arrow
            from pyarrow import parquet

            paths.append(path.with_suffix(".parquet"))
            if not paths[1].exists():
                parquet.write_table(arrow.read_csv(path), paths[1])
        for one in paths:
            found = {reader: in_process(given, reader, one, form) for reader in READERS}
            for reader, (seconds, memory) in found.items():
                show(one.name, reader, seconds, found["pyarrow"][0], memory)
    for kind, form in FRAMES.items():
        path = given.folder / f"{form}-{int(given.records)}.csv"
        seconds, memory = in_process(given, kind, path, form)
        before = in_process(given, kind, path, form, given.reference)[0] if given.reference else float("nan")
        show("frame in memory", kind, seconds, before, memory)


def in_process(given: Any, reader: str, path: Path, form: str, source: Path | None = None) -> tuple[float, float]:
    """Return the seconds and MiB of one reader in a process of its own; not a number where it fails."""
    command = [sys.executable, __file__, "--folder", str(given.folder), "--repeats", str(given.repeats)]
    places = {} if source is None else {"PYTHONPATH": str(source)}
    command += ["--one", reader, str(path), form]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **places})
    if done.returncode:
        print(done.stderr.strip().splitlines()[-1], file=sys.stderr)
        return float("nan"), float("nan")
    seconds, memory = json.loads(done.stdout)
    return seconds, memory


def show(file: str, reader: str, seconds: float, other: float, memory: float) -> None:
    print(f"{file:24.24}{reader:16}{seconds:9.2f}{seconds / other:7.2f}{memory:7.0f}", flush=True)


if __name__ == "__main__":
    main()
