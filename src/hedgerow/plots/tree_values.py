"""One tree of a private forest as plain values: tests, branches and leaves, with their texts."""

from __future__ import annotations

from typing import Any

import numpy as np

from hedgerow.boosting.plan import BoostedModel, lead
from hedgerow.estimator import ClassOrder
from hedgerow.schema import Categorical, Numeric
from hedgerow.schema.features import Feature
from hedgerow.texts import printable
from hedgerow.trees import ForestModel

__all__ = ["branch_text", "leaf_text", "tree_values"]


def tree_values(model: ForestModel, tree: int) -> dict[str, Any]:
    """Return a tree (from 0) as nested plain values: a leaf has a label, every other node a feature and branches.

    A leaf of a booster has its contribution to the log-odds: of each class, or of two classes the second's alone. Classes are in
    the order of ``classes_``.
    """
    return _node(model, int(model.forest.roots[tree]))


def leaf_text(leaf: dict[str, Any]) -> str:
    """Return the text of a leaf: its label, with its noisy counts if it has them, or its contribution to the log-odds."""
    text = printable(str(leaf["label"]))
    if "log_odds" in leaf:
        return f"log-odds {', '.join(f'{added:+.3f}' for added in leaf['log_odds'])}"
    return f"{text}, noisy counts {', '.join(map(str, leaf['noisy_counts']))}" if "noisy_counts" in leaf else text


def _node(model: ForestModel, node: int) -> dict[str, Any]:
    forest, schema = model.forest, model.encoder.schema
    test = int(forest.test[node])
    if test < 0:
        leaf: dict[str, Any] = {"label": schema.classes[int(forest.label[node])]}
        if isinstance(model, BoostedModel) and model.share is not None:
            # The counts may be weights in other units.
            leaf["log_odds"] = ClassOrder.of(schema).margins(lead(model.share[[node]])[0]).reshape(-1).tolist()
        elif forest.counts is not None:
            leaf["noisy_counts"] = ClassOrder.of(schema).columns(forest.counts[node]).tolist()
        return leaf
    feature, first = int(forest.candidates.feature[test]), int(forest.first_child[node])
    branch_of_code = forest.candidates.branches([test])[0, : int(model.encoder.n_codes[feature])]
    name = schema.names[feature]
    return {
        "feature": name,
        "branches": [
            {
                "when": branch_text(
                    name,
                    schema.features[name],
                    np.flatnonzero(branch_of_code == branch).tolist(),
                    model.encoder.max_bins,
                ),
                "node": _node(model, first + branch),
            }
            for branch in range(int(forest.candidates.arity[test]))
        ],
    }


def branch_text(name: str, feature: Feature, codes: list[int], max_bins: int) -> str:
    """Return the cells of a feature that take a branch, such as "age in [18, 32.4) or missing" or "job = nurse"."""
    if isinstance(feature, Categorical):
        others = [code for code in range(feature.n_codes(max_bins)) if code not in codes]
        if len(others) == 1 and len(codes) > 1:
            return f"{printable(name)} not {_cells_text(feature, others, max_bins)}"
    return f"{printable(name)} {_cells_text(feature, codes, max_bins)}"


def _cells_text(feature: Feature, codes: list[int], max_bins: int) -> str:
    n_values = feature.n_codes(max_bins) - (1 if isinstance(feature, Numeric) else 2)
    values = [code for code in codes if code < n_values]
    if isinstance(feature, Numeric):
        labels = [feature.interval_label(run[0], run[-1], max_bins) for run in _runs(values)]
        parts = [f"in {label}" if label.startswith("[") else f"= {label}" for label in labels]
    else:
        parts = ["= " + ", ".join(printable(feature.code_label(code, max_bins)) for code in values)] if values else []
    return " or ".join([*parts, *(feature.code_label(code, max_bins) for code in codes if code >= n_values)])


def _runs(codes: list[int]) -> list[list[int]]:
    """Return ascending codes as runs of neighbors."""
    runs: list[list[int]] = []
    for code in codes:
        if runs and runs[-1][-1] == code - 1:
            runs[-1].append(code)
        else:
            runs.append([code])
    return runs
