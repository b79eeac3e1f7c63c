"""What each feature contributes to a model's prediction for a record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Floats
from hedgerow.schema import Encoder
from hedgerow.texts import MOST_COLUMNS, html_table, short_repr, shortened


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """What each feature contributes to a model's predictions for records. Post-processing of a released model: no cost.

    The baseline and the contributions of a record add up to ``total``, which is ``decision_function`` if ``scale`` is "log-odds"
    and ``predict_proba`` if it is "probability".

    Parameters
    ----------
    names : tuple of str
        The features.
    classes : tuple
        The classes, sorted. For two classes, contributions are to the second class only.
    scale : {"log-odds", "probability", "outcome"}
        The scale on which contributions add up.
    baseline : float or ndarray of shape (classes,)
        The prediction if every feature contributes its average over its cells.
    contributions : ndarray of shape (records, features) or (records, features, classes)
        What the cell of each feature adds to the baseline.
    cells : ndarray of shape (records, features), object
        Descriptions of the cells, as the model reads them.
    deviation : ndarray of the shape of ``contributions``, or None
        The standard deviation of the contributions due to the added noise; None if it is not known.
    rule : str
        How contributions are computed, in one sentence.

    Examples
    --------
    >>> import numpy as np, hedgerow as hr
    >>> X = np.random.default_rng(0).uniform(0, 1, (2000, 2))
    >>> y = np.where(X[:, 0] > 0.5, "high", "low")
    >>> schema = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1)}, classes=["low", "high"])
    >>> model = hr.HedgerowClassifier(epsilon=1.0, schema=schema).fit(X, y)
    >>> found = model.explain(X[:3])
    >>> found.names, found.scale, found.contributions.shape
    (('a', 'b'), 'log-odds', (3, 2))
    >>> bool(np.allclose(found.baseline + found.contributions.sum(axis=1), model.decision_function(X[:3])))
    True
    """

    names: tuple[str, ...]
    classes: tuple[Any, ...]
    scale: Literal["log-odds", "probability", "outcome", "log outcome"]
    baseline: float | Floats
    contributions: Floats
    cells: npt.NDArray[np.object_]
    deviation: Floats | None
    rule: str

    @property
    def total(self) -> Floats:
        """The sum of the baseline and the contributions, of shape (records,) or (records, classes)."""
        return np.asarray(self.baseline + self.contributions.sum(axis=1))

    __repr__ = short_repr

    def _repr_html_(self) -> str:
        """Return a table with a row per record: the largest contributions and the total."""
        several = self.contributions.ndim == 3
        place = self.total.argmax(axis=1) if several else np.zeros(len(self.contributions), dtype=np.int64)
        added, total = self.contributions, self.total
        if several:
            added = np.take_along_axis(added, place[:, None, None], axis=2)[:, :, 0]
            total = np.take_along_axis(total, place[:, None], axis=1)[:, 0]
        top = np.argsort(-np.abs(added).mean(axis=0), kind="stable")[: MOST_COLUMNS - 3].tolist() if len(added) else []
        rows = []
        for record, sums in enumerate(added):
            cells = [f"{sums[i]:+.3g}\n{shortened(str(self.cells[record, i]), 40)}" for i in top]
            kind = [self.classes[place[record]]] if several else []
            rows.append((record, *kind, *cells, f"{total[record]:.4g}"))
        headers = ("record", *(["class"] if several else []), *(self.names[i] for i in top), "total")
        title = f"What the features add to the {self.scale}" + (
            " of the class with the largest total" if several else ""
        )
        hidden = len(self.names) - len(top)
        note = f"{hidden} features with smaller contributions are not shown. " * (hidden > 0) + self.rule
        return html_table(title, rows, headers, note=note)


def cells_in_words(encoder: Encoder, codes: npt.NDArray[np.unsignedinteger]) -> npt.NDArray[np.object_]:
    """Return descriptions of the codes, of shape (records, features)."""
    out = np.empty(codes.shape, dtype=object)
    for place, (name, count) in enumerate(zip(encoder.schema.names, encoder.n_codes.tolist(), strict=True)):
        kind = encoder.schema.features[name]
        used = np.unique(codes[:, place])
        words = np.empty(count, dtype=object)
        words[used] = [kind.code_label(int(code), encoder.max_bins) for code in used]
        out[:, place] = words[codes[:, place]]
    return out
