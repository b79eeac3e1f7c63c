"""Reading and encoding records from Parquet beside pyarrow, which reads the same columns into arrays: docs/scaling.md.

    python benchmarks/encoding.py --folder /tmp/records [--records 1e6] [--repeats 5]

Both read the files of ``scaling.py`` in turn, batch by batch. pyarrow's numbers become arrays of numpy, and its labels codes of
their dictionary. Ours ends where the first question begins: cells are binned, classes told, and a checksum made of both.
Printed are the medians of processor and wall seconds, and the megabytes of the files a second.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path

import hedgerow as hr
from scaling import pieces

BATCH = 1 << 16


class UntilAsked:
    """Processor and wall seconds until the last block was encoded."""

    def __init__(self) -> None:
        self.begin = self.end = (time.process_time(), time.perf_counter())

    def read(self, share: float | None) -> None:
        self.end = (time.process_time(), time.perf_counter())

    def counted(self, question: int, share: float) -> None:
        """Pass over questions."""

    def seconds(self) -> tuple[float, float]:
        return self.end[0] - self.begin[0], self.end[1] - self.begin[1]


def by_pyarrow(files: list[Path]) -> tuple[float, float]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    clock = UntilAsked()
    for path in files:
        for batch in pq.ParquetFile(path).iter_batches(batch_size=BATCH):
            for column in batch.columns:
                numbers = column.indices if pa.types.is_dictionary(column.type) else column
                numbers.to_numpy(zero_copy_only=False)
            clock.read(None)
    return clock.seconds()


def by_hedgerow(files: list[Path], schema: hr.Schema) -> tuple[float, float]:
    records = hr.Records.from_parquet(files)
    clock = UntilAsked()
    hr.EDPRFClassifier(schema=schema, n_estimators=1, random_state=1).fit(records.with_progress(clock))
    return clock.seconds()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--records", type=lambda text: int(float(text)), default=1_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    files = pieces(options.folder, options.records)
    schema = hr.Schema.load(files[0].parent / "schema.toml")
    size = sum(path.stat().st_size for path in files) / 1e6
    ways = {"pyarrow": lambda: by_pyarrow(files), "hedgerow": lambda: by_hedgerow(files, schema)}
    for way in ways.values():  # once to compile, and so that the system holds the files
        way()
    seen: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for _ in range(options.repeats):
        for name, way in ways.items():
            seen[name].append(way())
    print(f"{options.records} records, {size:.0f} MB\n\n| by | processor, s | MB / s | wall, s | MB / s |")
    print("| -- | -- | -- | -- | -- |")
    for name, times in seen.items():
        processor, wall = (statistics.median(values) for values in zip(*times, strict=True))
        print(f"| {name} | {processor:.2f} | {size / processor:.0f} | {wall:.2f} | {size / wall:.0f} |")


if __name__ == "__main__":
    main()
