"""Pictures of what a model costs, learns and guarantees, and pages for them.

A ``from_...`` class method computes the data of a display, and ``plot`` draws it. Only ``plot`` needs matplotlib, the extra
``plot``. For ``FeatureDisplay``, ``ImportancesDisplay`` and ``ExplanationDisplay``, the class method also draws, as in
scikit-learn.
"""

from hedgerow.plots.card import Page

__all__ = ["Page"]
