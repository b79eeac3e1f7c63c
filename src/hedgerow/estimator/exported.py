"""A fitted model as others hold it: the document of its files, and ONNX, SQL and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from hedgerow import __version__
from hedgerow.estimator.plans import Fitted
from hedgerow.export.json_text import json_text
from hedgerow.export.onnx_graph import onnx_model
from hedgerow.export.sql_text import sql_statement
from hedgerow.privacy.certificate import Certificate
from hedgerow.privacy.unit import RECORD

__all__ = ["FORMATS", "Exported", "format_of"]

FORMATS = (1, 2, 3, 4)  # versions of the model files
SINCE = {"cap": 2, "terms": 3, "init_terms": 4}  # arrays that a reader of earlier formats would pass over


def format_of(names: Iterable[str]) -> int:
    """Return the format of a model file with arrays of these names: the first that knows all of them."""
    return max((SINCE.get(name, 1) for name in names), default=1)


class Exported:
    """What every model can be carried out as: all of it is read from released values and costs nothing."""

    @property
    def _result(self) -> Fitted:
        raise NotImplementedError

    def to_onnx(self) -> Any:
        """Return the model as an ONNX graph, which answers as ``predict`` does, and ``predict_proba``.

        There is one input of shape (records, 1) for each feature under its name: float64 for a numeric feature (NaN: missing),
        for a date what ``schema_.features[name].reader(schema_.missing)`` makes of a column (days or seconds since 1970), text
        for a categorical one (``""``: missing; numbers and truth values as ``str`` writes them). The outputs are the labels
        (records,) and the probabilities (records, classes), in this order; they are named ``label`` and ``probabilities``, with
        underscores behind where a feature has that name. Labels are whole numbers, float64 or truth values where all classes are,
        otherwise text. Votes are whole numbers, so labels are those of ``predict`` in every runtime that keeps to the standard,
        and probabilities differ by rounding at most. A regressor's graph has one output, ``prediction``: float64 (records,). The
        metadata hold the certificate and the schema.

        Returns
        -------
        onnx.ModelProto
            Of operator set 20, and 3 of ``ai.onnx.ml``; no operator is the library's own.

        Raises
        ------
        MissingExtraError
            If the package onnx is not installed (the extra ``onnx``).
        ConfigurationError
            If the model cannot be told to other programs; the message says why.

        Examples
        --------
        >>> import numpy as np, hedgerow as hr
        >>> X = np.random.default_rng(0).uniform(0, 1, (200, 1))
        >>> schema = hr.Schema({"a": hr.Numeric(0, 1)}, classes=["low", "high"])
        >>> model = hr.ForestClassifier(schema=schema).fit(X, np.where(X[:, 0] > 0.5, "high", "low"))
        >>> open("model.onnx", "wb").write(model.to_onnx().SerializeToString())  # doctest: +SKIP
        """
        result = self._result
        about = self._document()
        metadata = {
            "hedgerow.version": __version__,
            "hedgerow.class": about["class"],
            **{f"hedgerow.{part}": json.dumps(about[part]) for part in ("certificate", "schema")},
        }
        return onnx_model(result.model.scoring(), metadata, result.certificate.details())

    def to_sql(self, table: str | Sequence[str], dialect: str = "duckdb", *, keep: Sequence[str] = ()) -> str:
        """Return one SELECT statement that answers for the records of a table as ``predict`` does, and ``predict_proba``.

        Its columns are those that ``keep`` names, then ``label``, then ``probability_`` and the class for each class; a
        regressor's are those of ``keep`` and ``prediction``. The order of the rows is the engine's, so keep a key. Columns are
        found by the features' names. They may hold numbers, truth values, dates or text, NULL being missing.

        Parameters
        ----------
        table : str or sequence of str
            The table's name, or its parts, such as ``("main", "people")``; taken as it stands, whatever characters it has.
        dialect : {"duckdb", "postgresql", "sqlite"}
            The engine: DuckDB 1, PostgreSQL 12, SQLite 3.35 with its mathematical functions, or later versions.
        keep : sequence of str
            Columns of the table that the result holds too.

        Raises
        ------
        ConfigurationError
            If the model is too large for a statement, names cannot be told apart in SQL, or the dialect is unknown.

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
        result = self._result
        lines = (f"-- {line}" for line in _about(type(self).__name__, result.certificate))
        return "\n".join([*lines, sql_statement(result.model.scoring(), table, dialect, keep)])

    def to_json(self) -> str:
        """Return the model as JSON text; ``hedgerow.load`` reads a file of it.

        It holds what a model file holds, and under ``answers`` how the model answers: edges and values of the
        features, tests, nodes with whole votes, and in words the rule by which any program scores with them.

        Raises
        ------
        SchemaError
            If the schema holds a text that UTF-8 cannot hold.
        ConfigurationError
            If the model is too large for a text, or a published form has too many cut points.

        Examples
        --------
        >>> import json, numpy as np, hedgerow as hr
        >>> X = np.random.default_rng(0).uniform(0, 1, (200, 1))
        >>> schema = hr.Schema({"a": hr.Numeric(0, 1)}, classes=["low", "high"])
        >>> model = hr.ForestClassifier(schema=schema).fit(X, np.where(X[:, 0] > 0.5, "high", "low"))
        >>> json.loads(model.to_json())["answers"]["features"][0]["name"]
        'a'
        """
        model = self._result.model
        return json_text(self._document(), model.to_arrays(), model.scoring())

    def _document(self) -> dict[str, Any]:
        """Return what the files of a fitted model say of it, or raise SchemaError where UTF-8 cannot hold it."""
        result = self._result
        result.schema.check_text()
        return {
            "format": format_of(result.model.to_arrays()),
            "class": type(self).__name__,
            "parameters": result.parameters,
            "named": result.named,
            "coins": list(result.coins),
            "schema": result.schema.to_dict(),
            "certificate": result.certificate.to_dict(),
        }


def _about(system: str, certificate: Certificate) -> list[str]:
    """Return what a statement says of its model: nothing that a schema could have written."""
    claim = certificate.claim
    delta = f", delta {float(claim.delta):g}" if claim.delta else ""
    holds = "holds" if certificate.holds else "DOES NOT HOLD: see the model's certificate"
    few = certificate.records_per_person
    unit = "" if certificate.unit == RECORD else f", for a person of {few} record{'' if few == 1 else 's'} at most"
    return [
        f"hedgerow {__version__}, {system}: epsilon {float(claim.epsilon):g}{delta}, {claim.adjacency}{unit}",
        f"the guarantee {holds}",
    ]
