"""Released models outside the library: one form of how a model answers, and its writers (ONNX, SQL, JSON).

The form stands below the learners, whose models say it of themselves; the writers know nothing of any system.
"""

from hedgerow.export.dialects import DIALECTS
from hedgerow.export.form import (
    Link,
    Mean,
    NumberReading,
    OutcomeLog,
    OutcomeRange,
    Reading,
    ScoringForm,
    Softmax,
    ValueReading,
    readings_of,
    shares_of_votes,
    whole_votes_of_labels,
)

__all__ = [
    "DIALECTS",
    "Link",
    "Mean",
    "NumberReading",
    "OutcomeLog",
    "OutcomeRange",
    "Reading",
    "ScoringForm",
    "Softmax",
    "ValueReading",
    "readings_of",
    "shares_of_votes",
    "whole_votes_of_labels",
]
