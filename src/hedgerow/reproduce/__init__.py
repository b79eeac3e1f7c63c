"""The experiments of the three papers, as data, and the engine that runs them."""

from hedgerow.reproduce.catalogue import PAPERS, experiments_named
from hedgerow.reproduce.run import Request, reproduce

__all__ = ["PAPERS", "Request", "experiments_named", "reproduce"]
