"""Models in MLflow with their certificates, and nothing of the records: ``log_model``, and what MLflow loads them by.

MLflow's ``autolog`` writes scores on the training records and a digest of them, which no certificate covers (docs/mlflow.md).
"""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hedgerow import __version__
from hedgerow.errors import MissingExtraError
from hedgerow.estimator import PrivateEstimator
from hedgerow.privacy.certificate import shared_in_words
from hedgerow.privacy.exact import decimal_text
from hedgerow.systems import load

FILE, CERTIFICATE = "model.hedgerow", "certificate.txt"


class LoadedModel:
    """What MLflow holds of a model: it answers with labels, and ``model`` is the classifier."""

    def __init__(self, model: PrivateEstimator) -> None:
        self.model = model

    def predict(self, model_input: Any, params: dict[str, Any] | None = None) -> Any:
        """Return the labels of records, columns that are no features being left out."""
        names = list(self.model.schema_.names)
        return self.model.predict(model_input[names] if hasattr(model_input, "columns") else model_input)


def log_model(model: PrivateEstimator, name: str = "model", **given: Any) -> Any:
    """Log a fitted model in the active MLflow run, as a pyfunc model with its certificate.

    The files are those of ``model.save`` and the certificate as text. Tags of the run say what was claimed and whether it holds.
    No metric, no example and no digest of records is written.

    Parameters
    ----------
    model : PrivateEstimator
        The model.
    name : str
        Its name in the run.
    given
        Further arguments of ``mlflow.pyfunc.log_model``. An ``input_example`` of real records would be written as it is.

    Returns
    -------
    mlflow.models.model.ModelInfo
        Its ``model_uri`` loads it: ``mlflow.pyfunc.load_model(uri)``, and as a classifier
        ``mlflow.pyfunc.load_model(uri).unwrap_python_model()`` or ``hedgerow.load`` of its file ``model.hedgerow``.

    Raises
    ------
    MissingExtraError
        If mlflow is not installed (the extra ``mlflow``).
    """
    try:
        mlflow, pyfunc = import_module("mlflow"), import_module("mlflow.pyfunc")
    except ImportError as error:
        raise MissingExtraError(
            'log_model needs mlflow, which is not installed: pip install "hedgerow[mlflow]" brings it.'
        ) from error
    about = _about(model)
    with TemporaryDirectory() as folder:
        data = Path(folder) / "hedgerow"
        data.mkdir()
        model.save(data / FILE)
        (data / CERTIFICATE).write_text(f"{model.certificate_.details()}\n", encoding="utf-8")
        defaults = {"pip_requirements": [f"hedgerow=={__version__}"], "metadata": {"hedgerow": about}}
        info = pyfunc.log_model(
            name=name, loader_module="hedgerow.mlflow", data_path=str(data), **{**defaults, **given}
        )
    mlflow.set_tags({f"hedgerow.{key}": value for key, value in about.items()})
    return info


def _about(model: PrivateEstimator) -> dict[str, str]:
    certificate = model.certificate_
    claim, shared = certificate.claim, shared_in_words(certificate)
    return {
        "class": type(model).__name__,
        "epsilon": decimal_text(claim.epsilon),
        "delta": decimal_text(claim.delta),
        "adjacency": claim.adjacency,
        "records_per_person": str(claim.records_per_person),
        "guarantee": "holds" if certificate.holds else "does not hold: " + json.dumps(list(certificate.reasons))[:400],
        **({} if shared is None else {"starts": shared}),
    }


def _load_pyfunc(path: str) -> LoadedModel:
    """Return the model that MLflow found, by the name that MLflow looks for."""
    place = Path(path)
    return LoadedModel(load(place / FILE if place.is_dir() else place))
