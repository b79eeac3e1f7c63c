"""eDPRF's forest with the budgets of other papers, for the figure that compares allocations and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from hedgerow import published
from hedgerow.parameters import Boolean, Choice, Constraint, RandomSource
from hedgerow.privacy.ledger import Ledger
from hedgerow.schema import Schema
from hedgerow.systems.edprf import EDPRFClassifier
from hedgerow.trees import AllRecords, Geometric, Harmonic, Levels, Linear, Recipe

__all__ = ["ALLOCATIONS", "AllocationForest"]

ALLOCATIONS: Mapping[str, Levels] = {"deng": Geometric(), "tpdprf": Harmonic(), "linear": Linear()}


class AllocationForest(EDPRFClassifier):
    """eDPRF's forest with its own budgets or with those of another paper.

    With another's, every tree reads all records (published: a bootstrap sample) for an equal part of epsilon, and in the
    published form a leaf gets its level's share, as there, and not what its path has left.

    Parameters
    ----------
    epsilon, schema, variant, n_estimators, max_depth, max_bins, stop, adjacency, random_state, ledger
        See ``EDPRFClassifier``.
    allocation : {"own", "deng", "tpdprf", "linear"}
        Whose level budgets: eDPRF's; twice the level above; harmonic; or on a line.
    purity_test : bool
        Published form: whether a node of a single class is a leaf, without noise, as the paper prints.
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **EDPRFClassifier._constraints,
        "allocation": Choice(("own", *ALLOCATIONS)),
        "purity_test": Boolean(),
    }

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        allocation: str = "own",
        purity_test: bool = True,
        n_estimators: int | None = None,
        stop: str = "none",
        variant: str = "private",
        max_depth: int | None = None,
        max_bins: int | None = None,
        schema: Schema | None = None,
        adjacency: str = "add-remove",
        random_state: RandomSource = None,
        ledger: Ledger | None = None,
    ) -> None:
        super().__init__(
            epsilon,
            n_estimators=n_estimators,
            stop=stop,
            variant=variant,
            max_depth=max_depth,
            max_bins=max_bins,
            schema=schema,
            adjacency=adjacency,
            random_state=random_state,
            ledger=ledger,
        )
        self.allocation = allocation
        self.purity_test = purity_test

    def _private(self, schema: Schema, depth: int) -> Recipe:
        recipe = super()._private(schema, depth)
        if self.allocation == "own":
            return recipe
        return replace(recipe, assign=AllRecords(), levels=ALLOCATIONS[self.allocation])

    def _published(self) -> published.Recipe:
        recipe = super()._published()
        if not self.purity_test:
            recipe = replace(recipe, stops=())
        if self.allocation == "own":
            return recipe
        budgets = published.Undivided(ALLOCATIONS[self.allocation])
        return replace(recipe, assign=published.Bootstrap(), budgets=budgets)
