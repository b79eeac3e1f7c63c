"""The experiments of the three papers, as data, and the engine that runs them."""

from hedgerow.reproduce.run import Request, reproduce
from hedgerow.reproduce.statements import PAPERS, experiments_named

__all__ = ["PAPERS", "Request", "experiments_named", "reproduce"]
