"""300 files and frames have the codes that release 0.3.0 gave them; ``codes_of_0_3.txt`` has a digest of each.

This file wrote them, run with 0.3.0 as ``hedgerow``. Quoted cells have no line breaks here, which 0.3.0
read as the ends of records, and no cell is a no-break space, which was no white space.
"""

import csv
import datetime
import hashlib
import random
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from products import thinned

import hedgerow as hr
from hedgerow.reading.table_file import FileForm, read_table
from hedgerow.schema import Encoder

DIGESTS = Path(__file__).with_name("codes_of_0_3.txt")
ROWS, SEEDS = 60, 25
WORDS = [
    "",
    " ",
    "NA",
    "nan",
    "None",
    "true",
    "False",
    "inf",
    "-Infinity",
    "1e400",
    "1_000",
    "0x10",
    "\u0663",
    "",
    "?",
]
EDGES = ["0.1", ".3", "2.5", "9.999999999999998", "9.999999999999999", "0.30000000000000004"]
SCHEMA = hr.Schema(
    {
        "age": hr.Integer(0, 120),
        "score": hr.Numeric(-1000, 1000),
        "cut": hr.Numeric(0, 10, cuts=[0.1, 0.3, 2.5, 9.999999999999998]),
        "amount": hr.Numeric(-1e6, 1e6, decimal=",", thousands="."),
        "comma": hr.Numeric(-100, 100, decimal=","),
        "job": hr.Categorical(["nurse", "cook", "\xe9clair", 'say "hi"', "a,b;c"]),
        "code": hr.Categorical([1, 2.5, 10, "x"]),
        "smoker": hr.Boolean(),
        "day": hr.Date("2000-01-01", "2030-01-01"),
        "moment": hr.Date("2000-01-01 00:00:00", "2030-01-01 00:00:00"),
        "german": hr.Date("2000-01-01", "2030-01-01", date_format="%d.%m.%Y"),
        "american": hr.Date("2000-01-01 00:00:00", "2030-01-01 00:00:00", date_format="%m/%d/%y %H:%M"),
    },
    classes=["no", "yes", "3"],
    missing=["?", "-9", "1999-09-09"],
)


def cell(name, rng):
    """The text of one cell; one in eight is of no declared form."""
    if rng.random() < 0.125:
        return rng.choice([*WORDS, "-9", "1999-09-09", "  12  ", "12.5", "1.234,5", "2020-02-30", "31.12.2019", "x"])
    number = rng.uniform(-1200, 1200) * 10.0 ** rng.randint(-4, 3)
    moment = datetime.datetime(1995, 1, 1) + datetime.timedelta(seconds=rng.randrange(40 * 365 * 86400))
    by_name = {
        "age": lambda: rng.choice(
            [str(rng.randrange(-5, 140)), f"{rng.uniform(0, 120):.2f}", f" {rng.randrange(100)} "]
        ),
        "score": lambda: rng.choice(
            [repr(number), f"{number:.3e}", f"{number:.2f}", str(rng.randrange(10**18)), f"+{abs(number)!r}"]
        ),
        "cut": lambda: rng.choice(
            ["0.1", ".3", "2.5", "9.999999999999998", "9.999999999999999", "0.30000000000000004", repr(number)]
        ),
        "amount": lambda: f"{number * 100:,.2f}".translate(str.maketrans(",.", ".,")),
        "comma": lambda: f"{number / 10:.4f}".replace(".", ","),
        "job": lambda: rng.choice(["nurse", "cook ", "\xe9clair", 'say "hi"', "a,b;c", "Cook"]),
        "code": lambda: rng.choice(["1", "1.0", "2.5", "1e1", "x", "X", "2.50"]),
        "smoker": lambda: rng.choice(["true", "FALSE", "1", "0", "yes"]),
        "day": lambda: rng.choice([str(moment.date()), str(moment), moment.isoformat(), f"{moment.date()} "]),
        "moment": lambda: rng.choice(
            [str(moment), f"{moment}Z", f"{moment}+02:00", f"{moment}.25", str(moment.date())]
        ),
        "german": lambda: rng.choice(
            [f"{moment:%d.%m.%Y}", f"{moment.day}.{moment.month}.{moment.year}", str(moment.date())]
        ),
        "american": lambda: rng.choice([f"{moment:%m/%d/%y %H:%M}", f"{moment:%m/%d/%y}", f"{moment}"]),
        "y": lambda: rng.choice(["no", "yes", " yes", "3", "3.0", "No"]),
    }
    return by_name[name]()


def texts_of(seed):
    rng = random.Random(seed)
    return {name: [cell(name, rng) for _ in range(ROWS)] for name in [*SCHEMA.names, "y"]}


def typed(texts):
    """The same records with types of their own, None where a text is not of the type."""

    def of(read, cells):
        found = []
        for text in cells:
            try:
                found.append(read(text))
            except ValueError:
                found.append(None)
        return found

    day, moment = datetime.date.fromisoformat, datetime.datetime.fromisoformat
    kinds = {"age": lambda text: int(float(text)) if abs(float(text)) < 1e6 else None, "score": float, "cut": float}
    kinds |= {"day": lambda text: day(text.strip()), "moment": lambda text: moment(text).replace(tzinfo=None)}
    return {name: of(kinds[name], cells) if name in kinds else cells for name, cells in texts.items()}


def as_csv(texts, separator, quoting, end, encoding):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        with path.open("w", newline="", encoding=encoding, errors="replace") as file:
            writer = csv.writer(file, delimiter=separator, quoting=quoting, lineterminator=end)
            writer.writerow(texts)
            writer.writerows(zip(*texts.values(), strict=True))
        return read_table(path, FileForm(separator, encoding))


def as_objects(columns):
    return {name: np.array([*cells, None], dtype=object)[:-1] for name, cells in columns.items()}


def as_arrow(columns):
    import pyarrow as pa

    return pa.table({name: pa.array(cells) for name, cells in columns.items()})


def as_polars(columns):
    import polars as pl

    return pl.DataFrame(columns, strict=False)


CONTAINERS = {
    "csv": lambda texts: as_csv(texts, ",", csv.QUOTE_MINIMAL, "\n", "utf-8"),
    "csv quoted": lambda texts: as_csv(texts, ";", csv.QUOTE_ALL, "\r\n", "utf-8"),
    "csv windows": lambda texts: as_csv(texts, "\t", csv.QUOTE_MINIMAL, "\n", "windows-1252"),
    "lists": lambda texts: texts,
    "objects": as_objects,
    "pandas": pd.DataFrame,
    "pandas objects": lambda texts: pd.DataFrame(as_objects(typed(texts)), dtype=object),
    "pandas categories": lambda texts: pd.DataFrame(texts).astype("category"),
    "arrow": as_arrow,
    "arrow types": lambda texts: as_arrow(typed(texts)),
    "polars": as_polars,
    "polars types": lambda texts: as_polars(typed(texts)),
}


def digest(container, seed):
    table = CONTAINERS[container](texts_of(seed))
    if isinstance(table, dict):
        table = dict(table)
        labels = table.pop("y")
    else:
        labels = table["y"]
        table = table.drop(columns="y") if isinstance(table, pd.DataFrame) else table.select(SCHEMA.names)
    encoder = Encoder(SCHEMA, [16, 255, 1000][seed % 3])
    codes = np.ascontiguousarray(encoder.transform(table), dtype="<i4")
    given = hashlib.blake2b(codes.tobytes(), digest_size=6)
    given.update(np.asarray(encoder.labels(labels), dtype="<i4").tobytes())
    return given.hexdigest()


@pytest.mark.parametrize("seeds", thinned([range(6), range(6, SEEDS)], 2), ids=["first", "rest"])
@pytest.mark.parametrize("container", CONTAINERS)
def test_codes_are_those_of_0_3(container, seeds):
    if "arrow" in container or "polars" in container:
        pytest.importorskip(container.split()[0].replace("arrow", "pyarrow"))
    known = dict(line.rsplit(" ", 1) for line in DIGESTS.read_text().splitlines())
    found = {f"{container} {seed}": digest(container, seed) for seed in seeds}
    assert found == {name: known[name] for name in found}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    lines = [f"{container} {seed} {digest(container, seed)}\n" for container in CONTAINERS for seed in range(SEEDS)]
    sys.stdout.writelines(lines)
