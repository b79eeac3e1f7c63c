"""Batched queries about records, each charged before it is answered: for learners, and for analysts."""

from hedgerow.curator.interactive import Curator, Question
from hedgerow.curator.queries import (
    CompareMinorities,
    ModelScores,
    Nodes,
    Release,
    SelectLabels,
    SelectSpecializations,
    SelectTests,
)
from hedgerow.curator.queryable import Queryable
from hedgerow.curator.rounds import Candidate, Cut, Round, Splits, cells_of
