"""What the rows of ``regression.py`` say in counts, from the figures as its table prints them, to three digits.

A reader can check every count against the table, and a page's table can be read back to be counted or merged.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, product, takewhile
from pathlib import Path

import numpy as np
import pandas as pd

Tables = dict[str, pd.DataFrame]  # by data set: test R2, a row a system and a column an epsilon

OURS = "HedgerowRegressor, delta 1e-6"
OURS_PURE = "HedgerowRegressor, pure"
EBM = "DP-EBM, delta 1e-5"
ADA_SSP = "AdaSSP (ours), delta 1e-6"
DIFFPRIVLIB = "diffprivlib LinearRegression, pure"
BOOSTING = "HistGradientBoosting"

# Ours beside every private peer whose guarantee is no stronger, and beside a pure one with and without a delta.
PAIRS = ((OURS, EBM), (OURS, ADA_SSP), (OURS, DIFFPRIVLIB), (OURS_PURE, DIFFPRIVLIB))
TENTHS = ((0.1, 1.0), (1.0, 10.0))  # our epsilon, DP-EBM's
CLOSE = 0.01

# A research prototype in floats, delta 1e-6, by epsilon, and HistGradientBoosting on the same splits: means over 3.
PROTOTYPE_EPSILONS = (0.1, 0.5, 1.0, 3.0, 10.0)
PROTOTYPE: dict[str, tuple[tuple[float, ...], float]] = {
    "diamonds": ((0.908, 0.952, 0.963, 0.966, 0.970), 0.981),
    "CPS1988": ((0.319, 0.344, 0.353, 0.358, 0.362), 0.363),
    "movies": ((0.147, 0.197, 0.210, 0.229, 0.241), 0.266),
    "gss_wages": ((0.253, 0.295, 0.318, 0.343, 0.360), 0.379),
    "flights": ((0.073, 0.118, 0.143, 0.180, 0.204), 0.245),
    "DoctorContacts": ((-0.009, 0.085, 0.096, 0.106, 0.110), 0.220),
    "Computers": ((0.375, 0.728, 0.769, 0.832, 0.882), 0.931),
    "deliveries": ((0.314, 0.809, 0.849, 0.877, 0.889), 0.913),
    "friedman1": ((0.849, 0.940, 0.948, 0.954, 0.956), 0.949),
    "friedman2": ((0.863, 0.899, 0.902, 0.905, 0.906), 0.907),
}


def merge(earlier: Tables, measured: Tables, order: list[str]) -> Tables:
    """Return the rows of both, with systems in the given order; a measured row replaces the earlier one."""
    merged = {}
    for name in {**earlier, **measured}:
        table = measured.get(name, pd.DataFrame()).combine_first(earlier.get(name, pd.DataFrame()))
        merged[name] = table.loc[[system for system in order if system in table.index]]
    return merged


def markdown(tables: Tables) -> str:
    """Return the rows as a Markdown table."""
    epsilons = sorted({epsilon for table in tables.values() for epsilon in table})
    lines = [_line("data", "system", *(f"{epsilon:g}" for epsilon in epsilons)), "|" + "---|" * (len(epsilons) + 2)]
    for name, table in tables.items():
        for system, row in table.reindex(columns=epsilons).iterrows():
            lines.append(_line(name, str(system), *("" if np.isnan(r2) else f"{r2:.3f}" for r2 in row)))
    return "\n".join(lines)


def read(page: Path) -> Tables:
    """Return the rows that a page holds in the form of `markdown`."""
    lines = page.read_text().splitlines()
    starts = (
        number
        for number, (head, rule) in enumerate(pairwise(lines))
        if head.startswith("| data | system |") and rule.startswith("|---|")
    )
    start = next(starts)
    epsilons = [float(cell) for cell in _cells(lines[start])[2:]]
    found: dict[str, dict[str, list[float]]] = {}
    for line in takewhile(lambda line: line.startswith("|"), lines[start + 2 :]):
        name, system, *figures = _cells(line)
        found.setdefault(name, {})[system] = [float(figure or "nan") for figure in figures]
    return {name: pd.DataFrame(rows, index=epsilons).T for name, rows in found.items()}


def summary(tables: Tables) -> str:
    """Return the counts as a Markdown table; what no rows are at hand for is left out."""
    printed = {name: table.round(3) for name, table in tables.items()}
    lines = [_line("what", "count"), "|---|---|"]
    lines += [_line(what, count) for what, count in _counts(printed)]
    return "\n".join(lines)


def prototype_table(tables: Tables) -> str:
    """Return ours less the prototype as a Markdown table, and in the last column the same for HistGradientBoosting."""
    lines = [_line("data", *(f"{epsilon:g}" for epsilon in PROTOTYPE_EPSILONS), BOOSTING)]
    lines.append("|" + "---|" * (len(PROTOTYPE_EPSILONS) + 2))
    for name, (figures, boosting) in PROTOTYPE.items():
        printed = tables.get(name, pd.DataFrame()).round(3)
        pairs = [(_cell(printed, OURS, epsilon), r2) for epsilon, r2 in zip(PROTOTYPE_EPSILONS, figures, strict=True)]
        # An open system's row says the same at every epsilon.
        pairs.append((_cell(printed, BOOSTING, next(iter(printed), np.nan)), boosting))
        differences = [round(ours - theirs, 3) for ours, theirs in pairs]
        if not np.isnan(differences).all():
            lines.append(_line(name, *("" if np.isnan(value) else f"{value + 0.0:+.3f}" for value in differences)))
    return "\n".join(lines)


def _counts(printed: Tables) -> Iterator[tuple[str, str]]:
    for ours, theirs in PAIRS:
        cells = [(table, epsilon) for table in printed.values() for epsilon in table]
        yield from _share(
            f"{ours}: cells above {theirs}",
            [
                _cell(table, ours, epsilon) - _cell(table, theirs, epsilon) > 0
                for table, epsilon in cells
                if _has(table, (ours, epsilon), (theirs, epsilon))
            ],
        )
    for low, high in TENTHS:
        yield from _share(
            f"{OURS} at epsilon {low:g}: sets above {EBM} at {high:g}",
            [
                _cell(table, OURS, low) > _cell(table, EBM, high)
                for table in printed.values()
                if _has(table, (OURS, low), (EBM, high))
            ],
        )
    gaps = [
        _cell(table, BOOSTING, 1.0) - _cell(table, OURS, 1.0)
        for table in printed.values()
        if _has(table, (BOOSTING, 1.0), (OURS, 1.0))
    ]
    if gaps:
        yield f"{BOOSTING} less {OURS} at epsilon 1, median over {len(gaps)} sets", f"{np.median(gaps):.3f}"
    yield from _lowest(printed)
    differences = [
        round(_cell(printed[name], OURS, epsilon) - r2, 3)
        for name, (figures, _) in PROTOTYPE.items()
        for epsilon, r2 in zip(PROTOTYPE_EPSILONS, figures, strict=True)
        if name in printed and _has(printed[name], (OURS, epsilon))
    ]
    yield from _share(f"{OURS}: cells at or above the prototype", [value >= 0 for value in differences])
    yield from _share(
        f"{OURS}: cells at most {CLOSE:g} below the prototype, or above it", [value >= -CLOSE for value in differences]
    )


def _lowest(printed: Tables) -> Iterator[tuple[str, str]]:
    """Yield the lowest mean of ours, and where it is."""
    places = [
        (_cell(table, system, epsilon), name, system, epsilon)
        for (name, table), system in product(printed.items(), (OURS, OURS_PURE))
        for epsilon in table
        if _has(table, (system, epsilon))
    ]
    if places:
        r2, name, system, epsilon = min(places)
        yield "lowest mean of HedgerowRegressor", f"{r2:.3f} ({name}, {system.split(', ')[1]}, epsilon {epsilon:g})"


def _share(what: str, holds: list[bool]) -> Iterator[tuple[str, str]]:
    if holds:
        yield what, f"{sum(holds)} of {len(holds)}"


def _has(table: pd.DataFrame, *places: tuple[str, float]) -> bool:
    return not any(np.isnan(_cell(table, *place)) for place in places)


def _cell(table: pd.DataFrame, system: str, epsilon: float) -> float:
    """Return a figure, or nan where there is none."""
    known = system in table.index and epsilon in table.columns
    return float(table.loc[system, epsilon]) if known else np.nan


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]
