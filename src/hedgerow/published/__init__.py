"""Published algorithms, literally: they read raw records, so no guarantee holds for what they release."""

from hedgerow.published.forest import PublishedForestPlan
from hedgerow.published.model import PublishedForest

__all__ = ["PublishedForest", "PublishedForestPlan"]
