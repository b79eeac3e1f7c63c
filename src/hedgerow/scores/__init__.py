"""What to ask of a node: candidate tests and scores."""

from hedgerow.scores.scores import (
    BRANCH_SCORES,
    SCORES,
    BranchScore,
    Candidates,
    ClassCount,
    Error,
    Gini,
    InformationGain,
    Majority,
    Max,
    Minority,
    Purity,
    Score,
    Specializations,
    binary,
    mixed,
    most_concerned,
    multiway,
    multiway_or_binary,
)
