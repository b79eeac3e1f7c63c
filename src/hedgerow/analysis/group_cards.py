"""Report cards of groups of records by the categories of one feature, from one query: groups are disjoint."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

from hedgerow.analysis.card import Card
from hedgerow.analysis.classification_card import ReportCard
from hedgerow.analysis.regression_card import RegressionCard
from hedgerow.privacy.certificate import Certificate
from hedgerow.schema.features import Value
from hedgerow.texts import html_table, listed, shortened

LONGEST_NAME = 24
OTHER = "missing or undeclared"


@dataclass(frozen=True, eq=False, repr=False)
class GroupCards(Mapping[Value | None, Any]):
    """The report cards of disjoint groups of records: one for each category that the schema declares of a feature.

    It is a mapping from category to card. The key None has the records whose cell is missing or undeclared.

    Parameters
    ----------
    by : str
        The feature.
    cards : mapping
        The card of each group, a ``ReportCard`` or a ``RegressionCard``. All have one certificate, which covers all groups.

    Examples
    --------
    >>> import numpy as np, hedgerow as hr
    >>> rng = np.random.default_rng(0)
    >>> X = {"a": rng.uniform(0, 1, 6000), "site": rng.choice(["north", "south"], 6000)}
    >>> y = np.where(X["a"] > 0.5, "high", "low")
    >>> features = {"a": hr.Numeric(0, 1), "site": hr.Categorical(["north", "south"])}
    >>> model = hr.HedgerowClassifier(epsilon=1.0, schema=hr.Schema(features, classes=["low", "high"])).fit(X, y)
    >>> test = {"a": rng.uniform(0, 1, 2000), "site": rng.choice(["north", "south"], 2000)}
    >>> cards = hr.evaluate(model, test, np.where(test["a"] > 0.5, "high", "low"), epsilon=1.0, by="site")
    >>> list(cards), bool(cards["north"].accuracy > 0.8)
    (['north', 'south', None], True)
    """

    by: str
    cards: Mapping[Value | None, Card]

    def __getitem__(self, group: Value | None) -> Any:
        return self.cards[group]

    def __iter__(self) -> Iterator[Value | None]:
        return iter(self.cards)

    def __len__(self) -> int:
        return len(self.cards)

    def name(self, group: Value | None) -> str:
        """Return what a group is called where it is shown."""
        return OTHER if group is None else shortened(str(group), LONGEST_NAME)

    @property
    def certificate_(self) -> Certificate:
        """The certificate of all cards together."""
        return next(iter(self.cards.values())).certificate_

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings of all cards, similar ones once, and one that names the groups that are too small for the noise."""
        small = [self.name(group) for group, card in self.cards.items() if card.too_few and group is not None]
        alike = defaultdict[str, list[tuple[str, str]]](list)
        for group, card in self.cards.items():
            for text in () if card.too_few else card.warnings:
                alike[re.sub("[-0-9.]+", "", text)].append((self.name(group), text))
        texts = [
            f"{name}: {text}{f' The same holds for {listed([other for other, _ in others])}.' if others else ''}"
            for (name, text), *others in alike.values()
        ]
        if small:
            texts.append(
                f"the noisy number of records of {listed(small)} does not stand out from its noise, so the card of such a group "
                "says nothing of how good the model is there. Pass more records, fewer bins or a larger epsilon."
            )
        return tuple(texts)

    def to_dict(self) -> dict[str, Any]:
        """Return the cards as plain values for JSON, a list of groups under ``groups``; the group null is None."""
        groups = [{"group": group, **card.to_dict()} for group, card in self.cards.items()]
        return {"by": self.by, "groups": groups}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the cards that ``to_dict`` wrote, with their certificate under ``certificate``; errors as for a card."""
        cards = {}
        for each in values["groups"]:
            kind = RegressionCard if "outcome" in each else ReportCard
            cards[each["group"]] = kind.from_dict({**each, "certificate": values["certificate"]})
        if not cards:
            raise ValueError("no counts of report cards")
        return cls(str(values["by"]), cards)

    def __repr__(self) -> str:
        return f"<GroupCards by {shortened(self.by, LONGEST_NAME)!r}: {len(self)} groups>"

    def __str__(self) -> str:
        head, *rows = self._table()
        widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in (head, *rows)]
        parts = [self._title(), "", *(f"  {line}".rstrip() for line in lines)]
        return "\n".join([*parts, *(f"\nWarning: {text}" for text in self.warnings)])

    def _repr_html_(self) -> str:
        head, *rows = self._table()
        note = " ".join(f"Warning: {text}" for text in self.warnings)
        return html_table(self._title(), rows, head, note=note)

    def _title(self) -> str:
        records = sum(card.records for card in self.cards.values())
        noise = next(iter(self.cards.values())).deviation
        return (
            f"Report cards by {shortened(self.by, LONGEST_NAME)} on about {records:.0f} records (noise: {noise:.3g} a count). "
            "Intervals: 95 %, of these records"
        )

    def _table(self) -> Iterator[tuple[str, ...]]:
        figures = next(iter(self.cards.values())).FIGURES
        yield (shortened(self.by, LONGEST_NAME), "records", *figures)
        for group, card in self.cards.items():
            cells = (_cell(card, name) for name in figures)
            yield (
                self.name(group),
                f"{card.records:.0f}",
                *(["too few"] + [""] * (len(figures) - 1) if card.too_few else cells),
            )


def _cell(card: Card, name: str) -> str:
    value, digits = card.figure(name).value, min(card.digits(name), 3)
    if math.isnan(value):
        return "-"
    low, high = card.interval(name, sampling=False)
    return f"{value:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"
