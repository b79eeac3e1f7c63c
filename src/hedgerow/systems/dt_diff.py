"""DT-Diff: Zhu, Xiong, Xiang and Zhou, TrustCom 2013."""

from __future__ import annotations

from fractions import Fraction

from hedgerow.cells import MergedCuts
from hedgerow.systems.cells import CellsClassifier

__all__ = ["DTDiffClassifier"]

FINE = 64  # bins where the budget can tell them apart: one selection over all cuts costs no more for many


class DTDiffClassifier(CellsClassifier):
    """Differentially private data release for decision trees (DT-Diff), as reconstructed.

    Zhu, Xiong, Xiang and Zhou, TrustCom 2013. We had only its abstract and a table in later work. This class is DiffGen with one
    selection per step over all schemes, so that no budget is spent on cut points alone [our reconstruction].

    Releases  a table of cells with noisy class counts, as ``DiffGenClassifier`` does.
    Costs     ``epsilon``, pure: half of it for the specializations, the rest for the counts (docs/proofs/cells.md).
    Departs   (private) as ``DiffGenClassifier`` does, except that it selects by the exponential mechanism. All cuts of an
              interval together have the same weight as one group of a categorical feature.

    Parameters
    ----------
    epsilon, schema, variant, specializations, criterion, max_cells, max_bins, adjacency, records_per_person, random_state, ledger
        See ``DiffGenClassifier``; the published form's default criterion is Max.

    Attributes
    ----------
    classes_, schema_, certificate_, n_features_in_
        See ``PrivateClassifier``.

    Examples
    --------
    >>> import numpy as np, hedgerow as hr
    >>> X = np.random.default_rng(0).uniform(0, 1, (2000, 2))
    >>> y = np.where(X[:, 0] > 0.5, "high", "low")
    >>> schema = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1)}, classes=["low", "high"])
    >>> model = hr.DTDiffClassifier(epsilon=1.0, schema=schema).fit(X, y)
    >>> columns, labels, weight = model.released_cells(clip=True)
    >>> model.certificate_.holds, sorted(columns)
    (True, ['a', 'b'])
    """

    _cuts = MergedCuts()
    _published_criterion = "max"

    def _default_bins(self, epsilon: Fraction) -> int:
        return FINE if epsilon >= 1 else super()._default_bins(epsilon)
