"""Where partitions of records are counted: on this machine, by Dask, by Spark. Each is imported when it is used."""

from hedgerow.engines.records import predict

__all__ = ["predict"]
