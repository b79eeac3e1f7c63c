"""Several owners, one model: each keeps its records, and a coordinator learns masked sums (docs/guide/owners.md)."""

from hedgerow.engines.federated.coordinator import Flower, InProcess, Transport, records
from hedgerow.engines.federated.masks import Identity
from hedgerow.engines.federated.owner import Owner, Party

__all__ = ["Flower", "Identity", "InProcess", "Owner", "Party", "Transport", "records"]
