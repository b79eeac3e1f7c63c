"""eDPRF and its tree pfDPDT: Wang, Qiu, Zhao, Zou and Wang, Journal of Software 36(7), 2025."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar

from hedgerow.estimator import Plan, PrivateClassifier
from hedgerow.mechanisms import PermuteAndFlip
from hedgerow.parameters import Choice, Constraint, Integer
from hedgerow.privacy.exact import exact
from hedgerow.privacy.ledger import Ledger
from hedgerow.published import PublishedForestPlan
from hedgerow.schema import Schema
from hedgerow.scores import Gini
from hedgerow.trees import ForestPlan, Harmonic, Multiway, NoisyMinority, PerRecord, Recipe, SelectLabel, SelectTest

__all__ = ["EDPRFClassifier", "PFDPDTClassifier"]

STOPS: Mapping[str, NoisyMinority | None] = {"none": None, "noisy-minority": NoisyMinority()}
ENOUGH = Fraction(1, 2)  # the add/remove budget from which more trees and a test more are worth their noise
MAX_BINS = 5
PAPER_TREES, PAPER_DEPTH = 35, 5  # treeDepth 6


class _PermuteAndFlipTrees(PrivateClassifier):
    """The recipe of the paper in its two forms; the difference between them is the privacy review (docs/proofs/edprf.md)."""

    max_depth: int | None
    max_bins: int | None
    stop: str

    @abstractmethod
    def _trees(self, default: int) -> int:
        """Return the number of trees, given the default of the form."""

    def _plan(self, schema: Schema, epsilon: Fraction) -> Plan:
        return self._published(schema) if self.variant == "published" else self._private(schema, epsilon)

    def _private(self, schema: Schema, epsilon: Fraction) -> ForestPlan:
        enough = epsilon >= ENOUGH
        trees = self._trees(11 if enough else 5)
        depth = (3 if enough else 2) + (trees == 1)
        recipe = Recipe(
            assign=PerRecord(),  # the paper: parts of one fixed size
            candidates=Multiway(),  # bins from the schema; the paper: from each node's records
            levels=Harmonic(),  # equations 9 and 10
            split=SelectTest(PermuteAndFlip, Gini()),  # at range 2; the paper: 4, half the signal
            leaf=SelectLabel(PermuteAndFlip),  # at range 1; the paper: 2
            stop=STOPS[self.stop],  # the paper: nodes of a single class
        )
        return ForestPlan(recipe, schema, epsilon, **self._size(trees, depth))

    def _published(self, schema: Schema) -> PublishedForestPlan:
        # The parts stand in published/recipe.py; budgets are read as the paper does, whatever the adjacency.
        return PublishedForestPlan(schema, exact(self.epsilon), **self._size(self._trees(PAPER_TREES), PAPER_DEPTH))

    def _size(self, trees: int, default_depth: int) -> dict[str, int]:
        return {
            "n_estimators": trees,
            "max_depth": default_depth if self.max_depth is None else self.max_depth,
            "max_bins": MAX_BINS if self.max_bins is None else self.max_bins,
        }


class EDPRFClassifier(_PermuteAndFlipTrees):
    """Differentially private random forest by permute-and-flip (eDPRF).

    Wang, Qiu, Zhao, Zou and Wang, Journal of Software 36(7), 2025, algorithms 2 to 5.

    Releases  ``n_estimators`` trees with one label per leaf.
    Costs     ``epsilon``, pure. Private form: each record is in one tree, by its own coin, and on each path of a tree the
              levels' budgets add up to at most ``epsilon`` (docs/proofs/edprf.md).
    Departs   (private) from the paper where its steps read raw data: records go to trees by coins and not in equal parts,
              bins are cut from the schema's ranges, no node stops because it is pure, every branch exists whether or not a
              record takes it; and the selections use the one-sided ranges, twice the paper's signal at the same epsilon.
    Published the paper's steps as printed, for reproduction: its certificate says that no guarantee holds, and why.

    Parameters
    ----------
    epsilon : float, default 1.0
        The total privacy budget, read as its shortest decimal.
    schema : Schema or None
        What is public about the data. None infers it from the records, which voids the guarantee.
    variant : {"private", "published"}
        The form whose guarantee is proved, or the form that the paper prints.
    n_estimators : int or None
        Number of trees. None: 11 from an add/remove budget of 0.5 on, otherwise 5 [our choice]; published: 35.
    max_depth : int or None
        Tests on a path; the paper's treeDepth is one more. None: 3 from an add/remove budget of 0.5 on, otherwise 2 [our
        choice]; published: 5.
    max_bins : int or None
        Equal-width bins of a numeric feature. None: 5 [our choice, the paper is silent].
    stop : {"none", "noisy-minority"}
        Private form: grow every path to its end, or make a node a leaf where its noisy minority count is small. The stop
        owns a part of each level's budget, which small trees cannot spare.
    adjacency : {"add-remove", "replace-one"}
        What neighboring data sets are. For one record replaced the plan runs at half the budget.
    random_state : None, int or numpy generator
        None draws from the operating system, as a guarantee needs; anything else is for tests.
    ledger : Ledger or None
        Where the fit's plan is booked before anything is drawn.

    Attributes
    ----------
    classes_, schema_, certificate_, n_features_in_
        See ``PrivateClassifier``.

    Notes
    -----
    ``predict_proba`` returns the shares of the trees' votes: a ranking, not calibrated probabilities. Ties go to the first
    class of the schema.

    Examples
    --------
    >>> import numpy as np, hedgerow as hr
    >>> X = np.random.default_rng(0).uniform(0, 1, (2000, 2))
    >>> y = np.where(X[:, 0] > 0.5, "high", "low")
    >>> schema = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1)}, classes=["high", "low"])
    >>> model = hr.EDPRFClassifier(epsilon=1.0, schema=schema).fit(X, y)
    >>> model.certificate_.holds
    True
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "variant": Choice(("private", "published")),
        "n_estimators": Integer(1, 100_000, or_none=True),
        "max_depth": Integer(0, 64, or_none=True),
        "max_bins": Integer(2, 1024, or_none=True),
        "stop": Choice(tuple(STOPS)),
    }

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        schema: Schema | None = None,
        variant: str = "private",
        n_estimators: int | None = None,
        max_depth: int | None = None,
        max_bins: int | None = None,
        stop: str = "none",
        adjacency: str = "add-remove",
        random_state: Any = None,
        ledger: Ledger | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.schema = schema
        self.variant = variant
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.max_bins = max_bins
        self.stop = stop
        self.adjacency = adjacency
        self.random_state = random_state
        self.ledger = ledger

    def _trees(self, default: int) -> int:
        return default if self.n_estimators is None else self.n_estimators


class PFDPDTClassifier(_PermuteAndFlipTrees):
    """One differentially private decision tree by permute-and-flip (pfDPDT), the tree of eDPRF.

    Wang, Qiu, Zhao, Zou and Wang, Journal of Software 36(7), 2025, algorithm 5.

    Releases  one tree with one label per leaf.
    Costs     ``epsilon``, pure: on each path the levels' budgets add up to at most ``epsilon`` (docs/proofs/edprf.md).
    Departs   from the paper as ``EDPRFClassifier`` does.

    Parameters
    ----------
    epsilon, schema, variant, max_bins, stop, adjacency, random_state, ledger
        See ``EDPRFClassifier``.
    max_depth : int or None
        Tests on a path; the paper's treeDepth is one more. None: 4 from an add/remove budget of 0.5 on, otherwise 3 [our
        choice]; published: 5.
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        name: rule for name, rule in EDPRFClassifier._constraints.items() if name != "n_estimators"
    }

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        schema: Schema | None = None,
        variant: str = "private",
        max_depth: int | None = None,
        max_bins: int | None = None,
        stop: str = "none",
        adjacency: str = "add-remove",
        random_state: Any = None,
        ledger: Ledger | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.schema = schema
        self.variant = variant
        self.max_depth = max_depth
        self.max_bins = max_bins
        self.stop = stop
        self.adjacency = adjacency
        self.random_state = random_state
        self.ledger = ledger

    def _trees(self, default: int) -> int:
        return 1
