"""Frames on clusters whose partitions are given, and the processes of executors."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path


def partition(place, batches):
    return batches[place]


def dask_frame(batches):
    """A Dask dataframe whose partitions are these, also where they are empty."""
    import dask.dataframe as dd

    meta = batches[0].iloc[:0]
    return dd.from_map(partition, range(len(batches)), batches=batches, meta=meta)


def spark_frame(session, together, folder, ends):
    """A Spark frame of files, each of which is a partition."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    schema = pa.Table.from_pandas(together, preserve_index=False).schema
    for place, (start, end) in enumerate(zip([0, *ends], [*ends, len(together)], strict=True)):
        table = pa.Table.from_pandas(together[start:end], schema=schema, preserve_index=False)
        pq.write_table(table, folder / f"{place:02d}.parquet")
    return session.read.parquet(str(folder))


def executors(session):
    """The processes of a session's executors; each holds the Python workers of its tasks."""
    found = subprocess.run(["pgrep", "-f", "CoarseGrainedExecutorBackend"], capture_output=True, text=True).stdout
    own = []
    for pid in map(int, found.split()):
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        if session.sparkContext.applicationId.encode() in command and b"java" in command.split(b"\0")[0]:
            own.append(pid)
    return own
