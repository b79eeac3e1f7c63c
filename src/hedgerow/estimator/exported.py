"""The formats of a fitted model: the document of its files, and ONNX, SQL and JSON."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hedgerow import __version__
from hedgerow.errors import ConfigurationError
from hedgerow.estimator.plans import ClassOrder, Fitted
from hedgerow.export import ScoringForm
from hedgerow.export.json_text import json_text
from hedgerow.export.onnx_graph import onnx_model
from hedgerow.export.sql_text import sql_statement
from hedgerow.privacy.certificate import Certificate, shared_in_words
from hedgerow.privacy.claim import RECORD
from hedgerow.schema import Schema

FORMATS = (1, 2, 3, 4, 5)  # versions of the model files
PRINTED = (
    "the published form is for reproduction: fit and predict only. It has no guarantee, so it is neither saved nor exported; "
    "pass variant='private' for a model to keep."
)
SINCE = {  # arrays that a reader of earlier formats would ignore
    "cap": 2,
    "terms": 3,
    "init_terms": 4,
    "features": 5,
    "init_features": 5,
    "log_link": 5,
    "count_weight": 5,
}

# In files whose schema has another order, which those of version 0.3 and before followed
SORTED = {"class_order": "sorted"}


def format_of(names: Iterable[str]) -> int:
    """Return the format of a model file with arrays of these names: the first format that has all of them."""
    return max((SINCE.get(name, 1) for name in names), default=1)


def follows_schema(document: Mapping[str, Any], schema: Schema) -> bool:
    """Return whether a model file was written when ``classes_`` was in the schema's order, and this is not the sorted one."""
    return not ClassOrder.of(schema).is_given and any(document.get(name) != value for name, value in SORTED.items())


class Exported:
    """The export formats of every model. They contain released values only and cost nothing."""

    @property
    @abstractmethod
    def _result(self) -> Fitted: ...

    @property
    def _exportable(self) -> Fitted:
        result = self._result
        if result.certificate.variant != "private":
            raise ConfigurationError(PRINTED)
        return result

    def to_onnx(self) -> Any:
        """Return the model as an ONNX graph with the outputs of ``predict`` and ``predict_proba``.

        There is one input of shape (records, 1) for each feature, under its name. A numeric feature is float64 (NaN: missing). A
        date is the result of ``schema_.features[name].reader(schema_.missing)`` for a column (days or seconds since 1970). A
        categorical feature is text (``""``: missing; numbers and truth values as ``str`` writes them). The outputs are the labels
        (records,) and the probabilities (records, classes), in this order. They are named ``label`` and ``probabilities``,
        followed by underscores if a feature has that name. Labels are whole numbers, float64 or truth values if all classes are,
        otherwise text. Votes are whole numbers, so labels equal those of ``predict`` in every runtime that follows the standard,
        and probabilities differ at most by rounding. A regressor's graph has one output, ``prediction``: float64 (records,). The
        metadata contain the certificate and the schema.

        Returns
        -------
        onnx.ModelProto
            With operator set 20, and 3 of ``ai.onnx.ml``; it has no custom operators.

        Raises
        ------
        MissingExtraError
            If the package onnx is not installed (the extra ``onnx``).
        ConfigurationError
            If the model cannot be exported; the message says why. A published form cannot.
        """
        result = self._exportable
        about = self._document()
        metadata = {
            "hedgerow.version": __version__,
            "hedgerow.class": about["class"],
            **{f"hedgerow.{part}": json.dumps(about[part]) for part in ("certificate", "schema")},
        }
        return onnx_model(self._scoring(), metadata, result.certificate.details())

    def to_sql(
        self, table: str | Sequence[str], dialect: str = "duckdb", *, keep: Sequence[str] = (), typed: bool = False
    ) -> str:
        """Return one SELECT statement that predicts the records of a table as ``predict`` and ``predict_proba`` do.

        Its columns are those that ``keep`` names, then ``label``, then for each class ``probability_`` followed by the class. For
        a regressor they are those of ``keep`` and ``prediction``. The order of the rows is the engine's, so keep a key. Columns
        are matched by the features' names. They may contain numbers, truth values, dates or text; NULL is missing.

        Parameters
        ----------
        table : str or sequence of str
            The table's name, or its parts, such as ``("main", "people")``. It is used literally, whatever its characters.
        dialect : {"duckdb", "postgresql", "sqlite"}
            The engine: DuckDB 1, PostgreSQL 12, SQLite 3.35 with its mathematical functions, or later versions.
        keep : sequence of str
            Columns of the table to copy to the result.
        typed : bool, default False
            Whether the columns of features whose text the schema declares a format of, such as a decimal comma, contain numbers
            and dates. The statement does not read such text.

        Raises
        ------
        ConfigurationError
            If the schema declares a format of text and ``typed`` is False, if the model is too large for a statement or of a
            published form, if names are not distinct in SQL, or if the dialect is unknown.

        Examples
        --------
        >>> import numpy as np, hedgerow as hr, sqlite3
        >>> X = np.random.default_rng(0).uniform(0, 1, (200, 1))
        >>> schema = hr.Schema({"a": hr.Numeric(0, 1)}, classes=["low", "high"])
        >>> model = hr.ForestClassifier(schema=schema).fit(X, np.where(X[:, 0] > 0.5, "high", "low"))
        >>> database = sqlite3.connect(":memory:")
        >>> _ = database.execute("CREATE TABLE new AS SELECT 1 AS id, 0.75 AS a")
        >>> ((key, label, *_),) = database.execute(model.to_sql("new", "sqlite", keep=["id"]))
        >>> (key, label) == (1, model.predict([[0.75]])[0])
        True
        """
        result = self._exportable
        lines = (f"-- {line}" for line in _about(type(self).__name__, result.certificate))
        return "\n".join([*lines, sql_statement(self._scoring(), table, dialect, keep, typed=typed)])

    def to_json(self) -> str:
        """Return the model as JSON text, for people and other programs; ``hedgerow.load`` reads the files of ``save`` alone.

        It contains the parameters, the schema and the certificate. Under ``answers`` it has what another program needs to
        predict: edges and values of the features, tests, nodes with whole votes, and a description of the rule.

        Raises
        ------
        SchemaError
            If the schema contains text that cannot be encoded in UTF-8.
        ConfigurationError
            If the model is too large for JSON text, or of a published form.
        """
        return json_text(self._document(), self._scoring())

    def _scoring(self) -> ScoringForm:
        return ClassOrder.of(self._result.schema).form(self._exportable.model.form)

    def _document(self) -> dict[str, Any]:
        result = self._exportable
        result.schema.check_text()
        return {
            "format": format_of(result.model.to_arrays()),
            "class": type(self).__name__,
            "parameters": result.parameters,
            "named": result.named,
            "coins": list(result.coins),
            "schema": result.schema.to_dict(),
            **({} if ClassOrder.of(result.schema).is_given else SORTED),
            "certificate": result.certificate.to_dict(),
        }


def _about(system: str, certificate: Certificate) -> list[str]:
    """Return a statement's comments about its model, which contain no text that a schema could define."""
    claim = certificate.claim
    delta = f", delta {float(claim.delta):g}" if claim.delta else ""
    holds = "holds" if certificate.holds else "DOES NOT HOLD: see the model's certificate"
    few, shared = certificate.records_per_person, shared_in_words(certificate)
    unit = "" if certificate.unit == RECORD else f", for a person of {few} record{'' if few == 1 else 's'} at most"
    return [
        f"hedgerow {__version__}, {system}: epsilon {float(claim.epsilon):g}{delta}, {claim.adjacency}{unit}",
        f"the guarantee {holds}",
        *(() if shared is None else (f"starts: {shared}",)),
    ]
