"""scikit-learn's base classes with types. It ships none, and mypy checks no argument of a dataclass with an untyped base."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable

    from sklearn.utils import Tags

    class BaseEstimator:  # noqa: D101
        def get_params(self, deep: bool = True) -> dict[str, Any]: ...  # noqa: D102
        def set_params(self, **parameters: Any) -> Self: ...  # noqa: D102
        def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]: ...
        def __sklearn_clone__(self) -> Self: ...
        def __sklearn_tags__(self) -> Tags: ...
        @property
        def _repr_html_(self) -> Callable[[], str]: ...
        def __getattr__(self, name: str) -> Any: ...

    class ClassifierMixin:  # noqa: D101
        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float: ...  # noqa: D102

    class RegressorMixin:  # noqa: D101
        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float: ...  # noqa: D102

    class MetaEstimatorMixin: ...  # noqa: D101

else:
    from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, RegressorMixin  # noqa: F401
