"""Released models outside the library: one form of how a model answers, and its writers (ONNX, SQL, JSON)."""

from hedgerow.export.form import Link, Mean, OutcomeLog, OutcomeRange, ScoringForm, Softmax, Trees
from hedgerow.export.readings import NumberReading, Reading, ValueReading, readings_of
from hedgerow.export.sql_text import DIALECTS
