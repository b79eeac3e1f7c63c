"""Batched queries about records, each charged before it is answered: for learners, and for analysts."""

from hedgerow.curator.interactive import Curator, Question
from hedgerow.curator.queryable import Nodes, Queryable
from hedgerow.curator.rounds import Candidate, Cut, Round, Splits, cells_of

__all__ = ["Candidate", "Curator", "Cut", "Nodes", "Queryable", "Question", "Round", "Splits", "cells_of"]
