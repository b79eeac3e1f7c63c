"""What to ask of a node: candidate tests and scores."""

from hedgerow.scores.scores import (
    BRANCH_SCORES,
    CLASS_COUNTS,
    SCORES,
    BranchScore,
    Candidates,
    Error,
    Gini,
    InformationGain,
    Majority,
    Max,
    Purity,
    Score,
    Specializations,
    binary,
    mixed,
    most_concerned,
    multiway,
)
