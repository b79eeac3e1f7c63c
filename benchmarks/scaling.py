"""Time and memory of fits on more records than memory, by the number of records: docs/scaling.md.

    python benchmarks/scaling.py make --records 1e7 --folder /tmp/records       # Parquet, float32, in pieces
    python benchmarks/scaling.py local --folder /tmp/records --records 1e5 1e6 1e7
    python benchmarks/scaling.py memory --folder /tmp/records --records 1e7      # fits on arrays, in memory
    python benchmarks/scaling.py dask --folder /tmp/records --records 1e7
    python benchmarks/scaling.py spark --folder /tmp/records --records 1e6
    python benchmarks/scaling.py dask --folder /tmp/records --records 1e7 --limit 1024     # MiB of each worker

Every fit runs in a process of its own, once before to compile, and prints one line of JSON: seconds of reading and encoding, of
counting, and the largest resident size (mapped pages count). ``local`` runs ``hedgerow train`` itself.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np

FEATURES = 20
PIECE = 1_000_000  # records of a file
GROUP = 100_000  # of a row group
SYSTEMS = {"edprf": {}, "hedgerow": {"delta": 1e-6}}
SCHEMA = 'target = "label"\nclasses = ["no", "yes"]\n' + "".join(
    f"\n[features.f{i}]\nlow = 0\nhigh = 1\n" for i in range(FEATURES)
)


def make(folder: Path, records: int) -> None:
    """Write so many records to a folder, a million a file; files that stand there already are those of a smaller number."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "schema.toml").write_text(SCHEMA, "utf-8")
    names = [f"f{i}" for i in range(FEATURES)]
    for piece in range(-(-records // PIECE)):
        path = folder / f"{piece:05d}.parquet"
        rows = min(PIECE, records - piece * PIECE)
        if path.exists() and pq.ParquetFile(path).metadata.num_rows == rows:
            continue
        generator = np.random.default_rng(piece)
        X = generator.random((rows, FEATURES), dtype=np.float32)
        y = np.where(2 * X[:, 0] + X[:, 1] * X[:, 2] + generator.normal(0, 0.5, rows) > 1.25, "yes", "no")
        table = pa.table({**dict(zip(names, X.T, strict=True)), "label": pa.array(y).dictionary_encode()})
        part = path.with_suffix(".part")
        pq.write_table(table, part, row_group_size=GROUP, compression="none", use_dictionary=["label"])
        part.rename(path)


def pieces(folder: Path, records: int) -> list[Path]:
    """Return the files of the first so many records, which are made where they are absent."""
    own = folder / f"{records}"
    make(own, records)
    return sorted(own.glob("*.parquet"))


class Clock:
    """Seconds of reading and of counting, as a fit tells how far it is."""

    def __init__(self) -> None:
        self.start = time.perf_counter()
        # When the first block was encoded: before that packages are imported and a fit planned.
        self.first: float | None = None
        self.read_until = self.start
        self.processor = [time.process_time()] * 2  # of this process, at the first block and at the last
        self.questions = 0

    def read(self, share: float | None) -> None:
        self.read_until = time.perf_counter()
        self.processor[1] = time.process_time()
        if self.first is None:
            self.first, self.processor[0] = self.read_until, self.processor[1]

    def counted(self, question: int, share: float) -> None:
        self.questions = question

    def times(self) -> dict[str, float]:
        end = time.perf_counter()
        return {
            "plan": round((self.first or self.start) - self.start, 2),
            "read": round(self.read_until - (self.first or self.start), 2),
            "count": round(end - self.read_until, 2),
            "read_processor": round(self.processor[1] - self.processor[0], 3),
            "count_processor": round(time.process_time() - self.processor[1], 3),
            "questions": self.questions,
        }


def resident() -> int:
    """Return the largest resident size of this process so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


def estimator(system: str, schema):
    from hedgerow.systems import system_class

    return system_class(system)(epsilon=1.0, schema=schema, random_state=1, **SYSTEMS[system])


def fit_streamed(system: str, files: list[Path], memory: int, spill: str | None) -> dict:
    """Fit on the files as ``hr.Records``."""
    import hedgerow as hr

    schema, clock = hr.Schema.load(files[0].parent / "schema.toml"), Clock()
    records = hr.Records.from_parquet(files, memory=memory, spill=spill).with_progress(clock)
    estimator(system, schema).fit(records)
    return clock.times()


def fit_in_memory(system: str, files: list[Path]) -> dict:
    """Fit on one array, which must fit memory."""
    import pyarrow.parquet as pq

    import hedgerow as hr
    from hedgerow.curator import Queryable
    from hedgerow.estimator import claim_of, plan_of
    from hedgerow.mechanisms import Randomness
    from hedgerow.privacy.accounting import cost
    from hedgerow.table import Coded, MemoryTable

    schema = hr.Schema.load(files[0].parent / "schema.toml")
    tables = [pq.read_table(path) for path in files]
    X = np.concatenate([np.column_stack([table[name].to_numpy() for name in schema.names]) for table in tables])
    y = np.concatenate([table["label"].to_numpy() for table in tables])
    del tables
    model, randomness = estimator(system, schema), Randomness(1)
    claim = claim_of(model)
    plan = plan_of(model, schema, claim, model._draw_coins(claim, randomness.draw))
    start = time.perf_counter()
    table = MemoryTable.by(Coded(plan.encoder), X, y)
    encoded = time.perf_counter()
    plan.fit(Queryable(table, cost(plan.event), randomness))
    return {"read": round(encoded - start, 2), "count": round(time.perf_counter() - encoded, 2)}


def fit_by_dask(system: str, files: list[Path], workers: int, limit: int) -> dict:
    """Fit on a Dask dataframe of the files, on workers of one thread each."""
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    import hedgerow as hr

    schema = hr.Schema.load(files[0].parent / "schema.toml")
    with (
        LocalCluster(
            workers, threads_per_worker=1, dashboard_address=None, memory_limit=limit << 20 or "auto"
        ) as cluster,
        Client(cluster) as client,
    ):
        clock = Clock()
        ddf = dd.read_parquet([str(path) for path in files])
        records = hr.Records.from_dask(ddf, client=client).with_progress(clock)
        estimator(system, schema).fit(records)
        return clock.times()


def fit_by_spark(system: str, files: list[Path], workers: int, limit: int, partitions: int) -> dict:
    """Fit on a Spark frame of the files, on executors of one core each."""
    from pyspark.sql import SparkSession

    import hedgerow as hr

    schema = hr.Schema.load(files[0].parent / "schema.toml")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master(f"local-cluster[{workers},1,{limit or 2048}]")
        .config("spark.ui.enabled", "false")
        .config("spark.executor.memory", f"{limit or 2048}m")
        .getOrCreate()
    )
    try:
        session.range(1).count()  # starts the executors
        clock = Clock()
        frame = session.read.parquet(*[str(path) for path in files])
        records = hr.Records.from_spark(frame if not partitions else frame.coalesce(partitions)).with_progress(clock)
        estimator(system, schema).fit(records)
        return clock.times()
    finally:
        session.stop()


def command_line(system: str, files: list[Path], memory: str) -> dict:
    """Run ``hedgerow train`` on the files."""
    from hedgerow.cli import main

    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        options = [f"--{name}={value}" for name, value in SYSTEMS[system].items()]
        main(
            [
                *("train", str(files[0].parent / "*.parquet"), "--schema", str(files[0].parent / "schema.toml")),
                *("--epsilon", "1", "--system", system, "--memory", memory, "--out", f"{folder}/m.hedgerow", *options),
            ],
            standalone_mode=False,
        )
        return {"seconds": round(time.perf_counter() - start, 2)}


def run(arguments: argparse.Namespace) -> None:
    """Run one fit, and print what it took."""
    if arguments.shared_features:
        from hedgerow.systems import hedgerow

        hedgerow.RULES = replace(hedgerow.RULES, min_snr_for_cells=float("inf"), pure_min_snr_for_cells=float("inf"))
    files = pieces(arguments.folder, arguments.records[0])
    way, system = arguments.way, arguments.systems[0]
    if way == "train":
        found = command_line(system, files, f"{arguments.memory}MiB")
    elif way == "local":
        found = fit_streamed(system, files, arguments.memory << 20, arguments.spill)
    elif way == "memory":
        found = fit_in_memory(system, files)
    else:
        given = (system, files, arguments.workers, arguments.limit)
        found = fit_by_dask(*given) if way == "dask" else fit_by_spark(*given, arguments.partitions)
    found = {"way": way, "system": system, "records": arguments.records[0], **found, "MiB": resident()}
    print(json.dumps(found), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("way", choices=["make", "train", "local", "memory", "dask", "spark"])
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--records", type=lambda text: int(float(text)), nargs="+", default=[100_000])
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS))
    parser.add_argument("--memory", type=int, default=1024, help="MiB")
    parser.add_argument("--spill")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--limit", type=int, default=0, help="MiB of a worker of Dask (0: its share of the machine) or Spark"
    )
    parser.add_argument("--partitions", type=int, default=0, help="of Spark's frame; 0: as it reads the files")
    parser.add_argument("--shared-features", action="store_true", help="no rounds by cell, as in version 0.3.0")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.way == "make":
        for records in arguments.records:
            pieces(arguments.folder, records)
    elif arguments.one:
        run(arguments)
    else:
        every(arguments)


def every(arguments: argparse.Namespace) -> None:
    """Run each fit in a process of its own, after one on few records that compiles."""
    for system in arguments.systems:
        for place, records in zip(count(), [20_000, *arguments.records]):
            for _ in range(arguments.repeats if place else 1):
                command = [sys.executable, __file__, arguments.way, "--one", "--folder", str(arguments.folder)]
                command += ["--records", str(records), "--systems", system, "--memory", str(arguments.memory)]
                command += ["--workers", str(arguments.workers), "--limit", str(arguments.limit)]
                command += ["--partitions", str(arguments.partitions)]
                command += ["--spill", arguments.spill] if arguments.spill else []
                command += ["--shared-features"] if arguments.shared_features else []
                lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=os.environ).stdout
                if place:
                    print(lines.strip().splitlines()[-1], flush=True)


if __name__ == "__main__":
    main()
