"""Where partitions of records are counted: on this machine, by Dask, by Spark. Each is imported when it is used."""

from hedgerow.engines.local import LocalEngine
from hedgerow.engines.records import Records

__all__ = ["LocalEngine", "Records"]
