"""Batched questions about records, each charged before it is answered: what learners ask, and what analysts hold."""

from hedgerow.curator.interactive import Curator, Question
from hedgerow.curator.queryable import Nodes, Queryable
from hedgerow.curator.rounds import Round
from hedgerow.curator.splits import Cut, Split, Splits

__all__ = ["Curator", "Cut", "Nodes", "Queryable", "Question", "Round", "Split", "Splits"]
