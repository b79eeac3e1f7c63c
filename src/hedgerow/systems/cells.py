"""The base class of classifiers that release cells."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar, cast

import numpy as np
import numpy.typing as npt

from hedgerow.cells.model import CellsModel
from hedgerow.cells.plan import CellsPlan
from hedgerow.cells.recipe import CellsRecipe, MergedCuts, SeparateCuts
from hedgerow.errors import ConfigurationError
from hedgerow.estimator import Plan, PrivateClassifier, PublicCoins, RawPlan
from hedgerow.parameters import Choice, WholeNumber, parameter
from hedgerow.privacy.claim import Claim
from hedgerow.published.cells import PublishedCellsPlan
from hedgerow.schema import Schema
from hedgerow.scores import BRANCH_SCORES
from hedgerow.systems.size import ENOUGH

__all__ = ["CellsClassifier"]

Cells = tuple[dict[str, npt.NDArray[Any]], npt.NDArray[Any], npt.NDArray[Any]]

MAX_BINS = 16


class CellsClassifier(PrivateClassifier):
    """The parent of ``DiffGenClassifier`` and ``DTDiffClassifier``.

    Parameters
    ----------
    epsilon, schema, adjacency, records_per_person, random_state, ledger
        See ``PrivateClassifier``.
    variant : {"private", "published"}
        "private": the form whose guarantee is proved. "published": the form that the paper prints; its certificate says that no
        guarantee holds, and why.
    specializations : int or None
        Maximum number of groups that are divided. None: 10 if the add/remove budget is at least 0.5, otherwise 4; published: 10.
    criterion : {"gini", "max", "information-gain"} or None
        The score that ranks specializations. The private form has no information gain, the published form no Gini score. None:
        "gini"; published: the paper's.
    max_cells : int or None
        Maximum number of cells: a specialization that would exceed it is not a candidate. None: 4096 if the add/remove budget is
        at least 0.5, otherwise 64; published: 2**20.
    max_bins : int or None
        Private form: one more than the number of places where a numeric feature may be cut. None: 16; for DT-Diff 64 if the
        add/remove budget is at least 1.

    Attributes
    ----------
    classes_, schema_, certificate_, n_features_in_
        See ``PrivateClassifier``.
    """

    _cuts: ClassVar[SeparateCuts | MergedCuts]
    _published_criterion: ClassVar[str]

    variant: str = parameter(Choice(("private", "published")), default="private")
    specializations: int | None = parameter(WholeNumber(1, 100, or_none=True), default=None)
    criterion: str | None = parameter(Choice((*BRANCH_SCORES, "information-gain"), or_none=True), default=None)
    max_cells: int | None = parameter(WholeNumber(2, 1 << 20, or_none=True), default=None)
    max_bins: int | None = parameter(WholeNumber(2, 1024, or_none=True), default=None)

    def _plan(self, schema: Schema, claim: Claim, coins: PublicCoins) -> Plan | RawPlan:
        # The papers use their budgets under either adjacency.
        if self.variant == "published":
            return self._published(schema, claim.epsilon)
        return self._private(schema, claim.pure)

    def _private(self, schema: Schema, epsilon: Fraction) -> CellsPlan:
        if self.criterion == "information-gain":
            raise ConfigurationError(
                "criterion is 'information-gain', but normalised information gain makes the choice close to uniform "
                "(docs/proofs/cells.md), so only variant='published' has it; pass criterion='gini' or 'max'."
            )
        enough = epsilon >= ENOUGH
        max_cells = (1 << 12 if enough else 1 << 6) if self.max_cells is None else self.max_cells
        return CellsPlan(
            CellsRecipe(self._cuts, BRANCH_SCORES[self.criterion or "gini"], max_cells),
            schema,
            epsilon,
            specializations=self.specializations or (10 if enough else 4),
            max_bins=self.max_bins or self._default_bins(epsilon),
        )

    def _default_bins(self, epsilon: Fraction) -> int:
        """Return one more than the number of places where a numeric feature may be cut, for an add/remove budget."""
        return MAX_BINS

    def _published(self, schema: Schema, epsilon: Fraction) -> PublishedCellsPlan:
        if self.criterion == "gini":
            raise ConfigurationError(
                "criterion is 'gini', but no paper has it; pass criterion='information-gain' or 'max' for variant='published'."
            )
        return PublishedCellsPlan(
            schema,
            epsilon,
            criterion=self.criterion or self._published_criterion,
            merged=isinstance(self._cuts, MergedCuts),
            specializations=self.specializations or 10,
            max_cells=self.max_cells or 1 << 20,
        )

    def released_cells(self, *, clip: bool = False) -> Cells:
        """Return everything that was released as a weighted table, on which any other learner can be trained, at no cost.

        The table has one row for each cell and class. ``generalize`` gives new records the same columns.

        Parameters
        ----------
        clip : bool
            Whether to omit the rows whose count is not positive. The signed counts of all rows are unbiased, and so are their
            sums. Without the negative counts, sums over many empty cells are too large, but learners accept them.

        Returns
        -------
        columns : dict of ndarray of shape (rows,)
            The features that are divided: the middle of an interval (NaN: missing), or the values of a group as text.
        y : ndarray of shape (rows,)
            The classes.
        weight : ndarray of shape (rows,)
            The noisy number of records, an integer in the private form.
        """
        model = self._cells()
        columns, weight = model.columns(), self._order.columns(model.release.counts).ravel()
        kept = weight > 0 if clip else np.ones(len(weight), dtype=np.bool_)
        columns = {name: np.repeat(column, len(self.classes_))[kept] for name, column in columns.items()}
        y = np.tile(self.classes_, model.cut.n_cells)[kept]
        return columns, y, weight[kept]

    def generalize(self, X: Any) -> dict[str, npt.NDArray[Any]]:
        """Return records as the columns of ``released_cells``, by the released cuts alone."""
        return self._cells().generalize(X)

    def _cells(self) -> CellsModel:
        return cast(CellsModel, self.model_)
