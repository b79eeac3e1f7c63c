"""Trees that can be grown through an analyst's curator."""

from __future__ import annotations

from typing import Any, Self

from hedgerow.errors import BudgetExceeded, ConfigurationError
from hedgerow.estimator import Fitted
from hedgerow.interface import Curator
from hedgerow.parameters import check_parameters, stored_parameters
from hedgerow.privacy.accounting import plan_budget
from hedgerow.privacy.certificate import certify
from hedgerow.privacy.exact import decimal_text, exact
from hedgerow.systems.paper import PaperTree
from hedgerow.trees import ForestPlan

__all__ = ["InterfaceTree"]


class InterfaceTree(PaperTree):
    """A tree of the interface mode: it can be fitted on records, or by asking a curator that holds them.

    Parameters
    ----------
    epsilon, schema, variant, max_depth, max_bins, adjacency, random_state, ledger
        See ``PaperTree``.
    """

    def fit_curator(self, curator: Curator) -> Self:
        """Grow the tree by asking a curator, which charges ``epsilon`` of its own budget.

        Schema, bins, adjacency and noise are the curator's.

        Raises
        ------
        ConfigurationError
            If the estimator asks for the published form, or for a schema, bins or an adjacency that are not the curator's.
        BudgetExceeded
            If the curator has less than ``epsilon`` left; nothing was drawn.
        """
        parameters = check_parameters(self.get_params(deep=False), self._rules())
        self._check_fits(parameters, curator)
        epsilon = exact(parameters["epsilon"])
        used = {**parameters, "max_bins": curator.max_bins, "adjacency": curator.adjacency}
        plan = type(self)(**used)._plan(curator.schema, plan_budget(epsilon, curator.adjacency))
        if epsilon > curator.remaining:
            raise BudgetExceeded(
                f"{type(self).__name__} asks for epsilon {decimal_text(epsilon)}, but the curator has "
                f"{decimal_text(curator.remaining)} left; nothing was drawn."
            )
        certificate = certify(
            type(self).__name__,
            plan.event,
            curator.schema,
            variant=self.variant,
            epsilon=epsilon,
            delta=curator.certificate.delta,
            adjacency=curator.adjacency,
            seeded=curator.seeded,
        )
        assert isinstance(plan, ForestPlan)
        self._forget()
        model = curator._answer(f"a tree by {type(self).__name__}", epsilon, plan.grow_by)
        kept = stored_parameters(used, self._rules())
        self._fitted = Fitted(curator.schema, certificate, model, kept, curator.named)
        return self

    def _check_fits(self, parameters: dict[str, Any], curator: Curator) -> None:
        """Raise ConfigurationError where the estimator asks for what the curator has not."""
        if parameters["variant"] != "private":
            raise ConfigurationError(
                "the published form reads records itself; pass variant='private' to ask a curator."
            )
        if parameters["random_state"] is not None or parameters["ledger"] is not None:
            raise ConfigurationError(
                "the curator has its own noise and ledger; pass random_state=None and ledger=None."
            )
        if self.schema is not None and self.schema is not curator.schema and self.schema != curator.schema:
            raise ConfigurationError("schema is not the curator's; pass the same, or None.")
        if parameters["max_bins"] not in (None, curator.max_bins):
            raise ConfigurationError(f"max_bins is {parameters['max_bins']}, but the curator has {curator.max_bins}.")
        if parameters["adjacency"] not in ("add-remove", curator.adjacency):
            raise ConfigurationError(
                f"adjacency is {parameters['adjacency']!r}, but the curator's is {curator.adjacency!r}."
            )
