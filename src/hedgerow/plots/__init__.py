"""Pictures of what a model costs, learns and guarantees, and pages for them."""

from hedgerow.plots.card import Page

__all__ = ["Page"]
