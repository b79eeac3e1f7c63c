"""Checks of what callers pass: arguments, records, and labels or columns that scikit-learn's tools changed before ``fit``.

Some tools number the labels that they find, so a label may reach ``fit`` as the number of another class. Others draw a record
several times, or pass parts of the columns. They are recognized by the functions that are being called, which depend on no
record. A function in a worker process does not see its callers, so a clone keeps what was known where it was made.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Integral
from types import FrameType
from typing import Any, get_args

import numpy as np
from sklearn.base import is_classifier
from sklearn.exceptions import NotFittedError

from hedgerow.arrays import without_sizes
from hedgerow.engines.records import Records
from hedgerow.errors import ConfigurationError
from hedgerow.files import MOST_RECORDS_OF_ONE
from hedgerow.ledgers.ledger import Ledger
from hedgerow.mechanisms import Randomness
from hedgerow.parameters import Choice, Constraint, Exact, Instance, Seed, WholeNumber, check_parameters
from hedgerow.privacy.accounting import Adjacency
from hedgerow.privacy.claim import Claim
from hedgerow.privacy.exact import exact, exact_delta
from hedgerow.reading.cells import category_key
from hedgerow.reading.columns import check_same_order, read_records
from hedgerow.reading.persons import Groups, read_groups, split_groups, without_column
from hedgerow.schema import Schema

RULES: Mapping[str, Constraint] = {
    "epsilon": Exact(exact, "the privacy budget, a number from 1e-9 to 1e9; pass for example epsilon=1.0"),
    "delta": Exact(
        exact_delta, "the probability that the guarantee fails, from 0 to below 1; pass for example delta=1e-7"
    ),
    "adjacency": Choice(get_args(Adjacency)),
    "records_per_person": WholeNumber(1, MOST_RECORDS_OF_ONE, or_none=True),
    "random_state": Seed(),
    "ledger": Instance(Ledger, "an hr.Ledger, which keeps budgets; pass hr.Ledger(epsilon=...) or None"),
}


def promised(records: int, **given: Any) -> tuple[Claim, Randomness]:
    """Return the claim of a query and the source of its draws; ``records`` of a person if ``records_per_person`` is None."""
    values = check_parameters(given, {name: RULES[name] for name in given})
    delta = exact_delta(values.get("delta", 0))
    of_one = values["records_per_person"]
    claim = Claim(exact(values["epsilon"]), delta, values["adjacency"], records if of_one is None else of_one)
    return claim, Randomness(values["random_state"])


@without_sizes()
def read_given(
    X: Any, y: Any, groups: Any, schema: Schema, *, again: bool = False, call: Call | None = None
) -> tuple[Any, Any, bool, Groups | None]:
    """Return the records and their labels, whether the records have column names, and the person of each record.

    ``again`` means that records are read several times. ``call`` is the tools of scikit-learn that pass these arguments; if they
    change the labels, labels are read from the column of ``X`` that the schema names as ``target``. Raises what ``read_records``,
    ``Records.check`` and ``check_call`` do; for ``Records`` also with labels beside them.
    """
    if isinstance(X, Records):
        check_alone(y, groups)
        X.check(schema, again=again, fit=call is not None)
        return X, None, True, X.groups_by(schema)
    check_same_order(X, groups, "groups")
    X, target, persons = schema.without_ignored(X), None, None
    if by_person := groups is not None or schema.person is not None:
        X, groups = split_groups(X, groups, schema.person)
    if schema.target is not None:
        X, target = without_column(X, schema.target)
    read_target = y is None and target is not None
    if call is not None and call != Call():
        read_target |= check_call(call, schema, has_target=target is not None, has_names=not isinstance(X, np.ndarray))
    if read_target:
        y = target
    columns, labels = read_records(X, y, schema.features, schema.labels)
    if by_person:
        persons = read_groups(groups, columns.n_rows, schema.missing, schema.person)
    return columns, labels, columns.named, persons


def check_alone(y: Any, groups: Any) -> None:
    if y is not None:
        raise ConfigurationError("hr.Records hold their labels; pass y=None, and name the label column by label=.")
    if groups is not None:
        raise ConfigurationError("hr.Records hold person ids themselves; omit groups, and name the column by group=.")


# Methods for which cross_val_predict numbers labels.
BY_COLUMN = ("predict_proba", "predict_log_proba", "decision_function")

# What passes X and y on as they are.
TRANSPARENT = ("sklearn.base", "sklearn.pipeline", "sklearn.utils.")
TRANSPARENT_FUNCTIONS = {
    ("sklearn.model_selection._validation", "cross_val_predict"),
    ("sklearn.model_selection._validation", "_fit_and_predict"),
}


ENSEMBLES = "Use hr.ForestClassifier(n_estimators=...) or hr.HedgerowClassifier, each an ensemble by itself."
AVERAGE = (
    "It also reads predictions as these numbers. Fit the models one by one and average their predict_proba, or use "
    "StackingClassifier with the column of labels in X, named as target in the schema."
)
CALIBRATE = "Use method='sigmoid' or 'isotonic', or declare classes that are numbers."


@dataclass(frozen=True)
class Call:
    """The tools that call ``fit``, by their names; None where there is no such tool."""

    numbers: str | None = None  # the tool that numbers the labels that it finds
    instead: str = ""  # what to use instead of it; none for a tool that passes labels in a column of X
    indicators: str | None = None  # the tool that replaces labels by 0 and 1
    repeats: str | None = None  # the tool that may draw a record several times
    columns: str | None = None  # the tool that passes other columns than those of X
    # Whether a tool between ``fit`` and the one that numbers labels may compare predictions with these numbers
    compared: bool = False
    # The columns of X, which the innermost tool that knows names passes on, maybe as an array without them
    names: tuple[str, ...] | None = None


def current_call(schema: Schema | None, known: Call | None = None) -> Call:
    call, compared, in_task = Call(), False, False
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        here, frame = frame, frame.f_back
        module, function = here.f_globals.get("__name__", ""), here.f_code.co_name
        # A lambda or comprehension belongs to the function around it.
        if not module.startswith("sklearn.") or function.startswith("<"):
            continue
        values = here.f_locals
        if call.names is None:
            call = replace(call, names=_names(module, function, values))
        tool = _tool(module, function, values, schema)
        in_task = in_task or (module, function) == ("sklearn.utils.parallel", "__call__")
        if tool is not None:
            call = _joined(call, tool, compared=compared)
        elif not module.startswith(TRANSPARENT) and (module, function) not in TRANSPARENT_FUNCTIONS:
            compared = True
    return _joined(call, known, compared=compared) if in_task and known is not None else call


def _joined(inner: Call, outer: Call, *, compared: bool) -> Call:
    """Return what two tools do together, of which the inner one decides about labels."""
    labels = inner if inner.numbers or inner.indicators or not (outer.numbers or outer.indicators) else outer
    return replace(
        labels,
        repeats=inner.repeats or outer.repeats,
        columns=inner.columns or outer.columns,
        names=inner.names if inner.names is not None else outer.names,
        compared=labels.compared or (compared and labels is outer),
    )


def _names(module: str, function: str, values: Mapping[str, Any]) -> tuple[str, ...] | None:
    tool = values.get("self", values.get("ensemble"))
    if module != "sklearn.pipeline":
        names = getattr(tool, "feature_names_in_", None)
        return None if names is None else tuple(map(str, names))
    if function != "fit":
        return None
    try:
        return tuple(name.rsplit("__", 1)[-1] for name in tool[:-1].get_feature_names_out())
    except (AttributeError, TypeError, ValueError, NotFittedError):  # a step without names, or none before the model
        return ()


def _tool(module: str, function: str, values: Mapping[str, Any], schema: Schema | None) -> Call | None:
    """Return what a function of scikit-learn does to labels and records; None if it does nothing to them."""
    name = type(values["self"]).__name__ if "self" in values else ""
    match module.removeprefix("sklearn."), function:
        case "ensemble._voting", "fit":
            return Call(numbers="VotingClassifier", instead=AVERAGE)
        case "ensemble._base", "_fit_single_estimator":
            voting = values.get("message_clsname") == "Voting"
            return Call(numbers="VotingClassifier", instead=AVERAGE) if voting else Call(numbers="StackingClassifier")
        case "ensemble._stacking", "fit":
            return Call(numbers="StackingClassifier")
        case "model_selection._validation", "_fit_and_predict" if values.get("method") in BY_COLUMN:
            return Call(numbers=f"cross_val_predict(method={values['method']!r})")
        case "calibration", "_fit_classifier_calibrator_pair" if values.get("method") == "temperature":
            # It numbers labels that are text only.
            if schema is not None and any(isinstance(label, str) for label in schema.classes):
                return Call(numbers="CalibratedClassifierCV(method='temperature')", instead=CALIBRATE)
        case "ensemble._gb", "fit":
            return Call(numbers="GradientBoostingClassifier", instead=ENSEMBLES)
        case "multiclass", "_fit_binary":
            if values.get("classes") is None:  # it codes labels by 0 or -1 and 1
                return Call(numbers="OutputCodeClassifier", instead=ENSEMBLES)
            return Call(indicators="OneVsRestClassifier or OneVsOneClassifier")
        case ("feature_selection._rfe", "_fit") | ("feature_selection._sequential", "fit"):
            return Call(columns=name or "RFE")
        case "multioutput", "fit" if "Chain" in name:
            return Call(columns=name)
        case "ensemble._bagging", "_parallel_build_estimators":
            ensemble = values["ensemble"]
            kind, most = type(ensemble).__name__, ensemble.max_features
            share = most / ensemble.n_features_in_ if isinstance(most, Integral) else most
            return Call(
                numbers=kind if is_classifier(ensemble) else None,
                instead=ENSEMBLES if is_classifier(ensemble) else "",
                repeats=kind if values.get("bootstrap", True) else None,
                columns=kind if ensemble.bootstrap_features or share < 1 else None,
            )
        case "ensemble._weight_boosting", "_boost":
            return Call(repeats=name or "AdaBoostRegressor")
    return None


def check_call(call: Call, schema: Schema, *, has_target: bool, has_names: bool) -> bool:
    """Return whether labels must be read from the target column of X, because y does not hold them.

    ``has_target`` says whether X has that column, ``has_names`` whether it is anything but an array, whose columns are matched by
    position. ConfigurationError if a tool changes labels or draws records in a way that the model cannot support.
    """
    if call.repeats is not None:
        raise ConfigurationError(
            f"{call.repeats} draws records with replacement, so they are protected less than the certificate would state. Use "
            "hr.ForestClassifier(n_estimators=...), hr.HedgerowClassifier or hr.HedgerowRegressor, each an ensemble by itself."
            + (" BaggingRegressor(bootstrap=False) draws each record once." if "Regressor" in call.repeats else "")
        )
    if call.columns is not None:
        way = "Use SelectFromModel, which fits once on all columns, or choose features by feature_importances_ and declare a "
        way += "schema of these."
        if call.columns.startswith("Bagging"):
            way = "Leave out max_features and bootstrap_features."
        elif "Chain" in call.columns:
            way = f"Use MultiOutput{call.columns.removesuffix('Chain')}."
        raise ConfigurationError(
            f"{call.columns} passes parts of the columns of X, or further ones, without their names, so they cannot be matched "
            f"to the schema. {way}"
        )
    names = tuple(schema.names)
    if not has_names and call.names and call.names != names and set(names) <= set(call.names):
        raise ConfigurationError(
            "A tool of scikit-learn passes the columns of X without their names, and not in the schema's order. Give it "
            "X[list(schema.names)], or set_output(transform='pandas') and verbose_feature_names_out=False to a ColumnTransformer."
        )
    if schema.outcome is not None:
        return False
    if call.indicators is not None:
        if {category_key(label) for label in schema.classes} != {0.0, 1.0}:
            raise ConfigurationError(
                f"{call.indicators} replaces labels by 0 and 1, which are not the classes of the schema. Declare "
                "classes=[0, 1] for this estimator, or fit it alone: it supports several classes."
            )
        return False
    if call.numbers is None:
        return False
    begin = (
        f"{call.numbers} numbers the labels that it finds before it fits, so a number may stand for another class than in the "
        "schema. "
    )
    if call.instead:
        raise ConfigurationError(begin + call.instead)
    if call.compared:
        raise ConfigurationError(
            f"{begin}A tool inside of it compares predictions with these numbers. Use the model without that tool."
        )
    if not has_target:
        named = f"the column {schema.target!r}, the schema's target"
        column = "the column of labels, named as in hr.Schema(..., target='label')" if schema.target is None else named
        stacked = ". A final_estimator gets predictions as X, so it must be of another library"
        other = stacked if call.numbers.startswith("Stacking") else ", or use method='predict'"
        raise ConfigurationError(
            f"{begin}Pass X as a data frame that also has {column}: then labels are read from it, and it is no feature{other}."
        )
    return True
