"""What estimators that may start from a fitted model share."""

from __future__ import annotations

from copy import copy, deepcopy
from typing import Any, Self

from sklearn.base import clone

from hedgerow.additive.model import AdditiveModel
from hedgerow.errors import ConfigurationError
from hedgerow.estimator import Draw, PrivateEstimator, PublicCoins, result_of
from hedgerow.parameters import Flag, Instance, parameter
from hedgerow.privacy.certificate import Certificate, starts_from
from hedgerow.privacy.claim import Claim
from hedgerow.privacy.guarantee import Start

STARTED = (1,)  # stored with a model that started from another, so that a loaded model plans as the fit did
RULE = (
    "a fitted model of the same class, to start from: a public one or one that was released before; pass what fit or hr.load "
    "returned, or None"
)


class FittedInstance(Instance):
    """A fitted estimator, or None."""

    def plain(self, value: PrivateEstimator | None) -> PrivateEstimator | None:
        """Return a shallow copy, so that a plan and its certificate read one model: later fits of ``value`` do not change it."""
        return copy(value)


class StartingEstimator(PrivateEstimator):
    """An estimator with the parameters ``init``, a fitted estimator of the same class to start from, and ``public_start``."""

    init: PrivateEstimator | None = parameter(FittedInstance(PrivateEstimator, RULE), default=None)
    public_start: bool = parameter(Flag(), default=False)

    def _initial(self) -> AdditiveModel | None:
        """Return the model to start from, or raise ConfigurationError if it is not of this class."""
        if self.init is None:
            return None
        if type(self.init) is not type(self):
            raise ConfigurationError(
                f"init is {type(self.init).__name__}, but it must be {type(self).__name__}: {RULE}."
            )
        if not hasattr(self.init, "_fitted"):
            raise ConfigurationError(f"init is not fitted, but it must be {RULE}.")
        model = result_of(self.init).model
        assert isinstance(model, AdditiveModel)
        return model

    def _draw_coins(self, claim: Claim, draw: Draw) -> PublicCoins:
        return () if self.init is None else STARTED

    def _check_coins(self, coins: PublicCoins, certificate: Certificate) -> None:
        if coins != (STARTED if certificate.starts else ()):
            raise ValueError("the certificate names a start if and only if there is one.")

    def _starts(self) -> tuple[Start, ...]:
        if self.init is None:
            return ()
        return starts_from(result_of(self.init).certificate, public=self.public_start)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name. Parameters of ``init`` are not among them, for either value of ``deep``."""
        parameters: dict[str, Any] = super().get_params(deep=False)
        return parameters

    def _cloned(self) -> Self:
        """Return an unfitted estimator with the same parameters and the same fitted ``init``."""
        parameters = self.get_params()
        others = {name: clone(value, safe=False) for name, value in parameters.items() if name != "init"}
        made = type(self)(**{**parameters, **others})
        if "_metadata_request" in vars(self):  # as scikit-learn's own clones do
            vars(made)["_metadata_request"] = deepcopy(self._metadata_request)
        return made
