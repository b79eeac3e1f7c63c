"""The plan of a fit before it runs: its costs and its noise, computed from public numbers alone."""

from __future__ import annotations

import csv
import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.errors import ConfigurationError, shown
from hedgerow.estimator import RawPlan, certificate_of, claim_of, draw_coins, plan_of
from hedgerow.mechanisms import Randomness
from hedgerow.privacy import accounting
from hedgerow.privacy.certificate import Certificate
from hedgerow.privacy.exact import decimal_text
from hedgerow.schema import Schema
from hedgerow.systems import default_system, system_class
from hedgerow.texts import short_repr

SEE = "Which epsilon, what it costs in accuracy, and what may be published: docs/guide/epsilon.md."


@dataclass(frozen=True)
class Step:
    """One kind of query of a plan.

    Parameters
    ----------
    purpose, mechanism : str
        What is released, and how.
    times : int
        How often it reads one record.
    cost : str
        What one such query costs.
    noise : float
        The standard deviation of the noise on a count, in records.
    """

    purpose: str
    mechanism: str
    times: int
    cost: str
    noise: float


@dataclass(frozen=True, repr=False)
class FitPlan:
    """The plan of a fit, computed from public numbers.

    Parameters
    ----------
    system : str
        The class.
    records : int
        The assumed number of records.
    bins : int
        The most bins of a numeric feature.
    steps : tuple of Step
        The queries. Where a fit has alternatives, the first is shown.
    certificate : Certificate
        The certificate that a fit would have.

    Examples
    --------
    >>> import hedgerow as hr
    >>> schema = hr.Schema({"age": hr.Integer(17, 90)}, classes=["ill", "well"])
    >>> outlook = hr.plan(schema, records=5000, epsilon=1.0, system="edprf")
    >>> outlook.records, outlook.certificate.holds
    (5000, True)
    """

    system: str
    records: int
    bins: int
    steps: tuple[Step, ...]
    certificate: Certificate = field(repr=False)

    @property
    def questions(self) -> int:
        """The number of queries that read one record: rounds, levels and the rest."""
        return sum(step.times for step in self.steps)

    __repr__ = short_repr

    def __str__(self) -> str:
        claim = self.certificate
        rows = [
            f"Plan of {self.system}: epsilon = {decimal_text(claim.epsilon)}, delta = {decimal_text(claim.delta)}, "
            f"for {claim.unit.neighbors(claim.adjacency)}; nothing was read or spent",
            "",
            f"  records     {self.records}, as stated by the caller",
            f"  bins        at most {self.bins} for a numeric feature",
            f"  queries     {self.questions} that read one record",
            "",
            "  for each kind of query: how many, the cost of one, and its noise on a count, in records and as a share of them",
        ]
        width = max((len(step.purpose) for step in self.steps), default=0)
        wide = max((len(step.cost) for step in self.steps), default=0)
        for step in self.steps:
            share = f"{100 * step.noise / self.records:.2f} %"
            kind = f"{step.times:>4} x {step.purpose:<{width}}  {step.cost:<{wide}}"
            rows.append(f"    {kind}  {step.noise:>9.1f}  {share:>9}  {step.mechanism}")
        return "\n".join([*rows, "", f"  {SEE}"])


def plan(
    schema: Schema,
    *,
    records: int,
    epsilon: float,
    delta: float = 0.0,
    system: str | None = None,
    adjacency: str = "add-remove",
    records_per_person: int | None = None,
    **parameters: Any,
) -> FitPlan:
    """Compute what a fit would cost and how noisy it would be, before anything is spent.

    It reads no records and no files. The result depends on its arguments alone.

    Parameters
    ----------
    schema : Schema
        What is public about the records. Its entries must be given or released, not inferred.
    records : int
        The number of records, as stated by their owner or released before. Do not pass a length that is not public.
    epsilon, delta, adjacency, records_per_person
        The claim, as for a fit.
    system : str, optional
        The name of one of ``hr.list_systems()``. None: "hedgerow", or "hedgerow-regressor" if the schema has an outcome.
    **parameters
        Parameters of the system, such as ``max_depth=4``.

    Returns
    -------
    FitPlan
        Every kind of query with its cost and its noise. ``print`` shows it as a page.

    Raises
    ------
    ConfigurationError
        If an argument is wrong.

    Examples
    --------
    >>> import hedgerow as hr
    >>> schema = hr.Schema({"age": hr.Integer(17, 90), "smokes": hr.Boolean()}, classes=["ill", "well"])
    >>> outlook = hr.plan(schema, records=5000, epsilon=1.0, system="edprf")
    >>> outlook.questions > 0, max(step.noise for step in outlook.steps) > 1
    (True, True)
    """
    if not isinstance(schema, Schema) or schema.inferred:
        raise ConfigurationError(
            "schema must be an hr.Schema whose entries are public or released: what was inferred is read off the records."
        )
    if isinstance(records, bool) or not isinstance(records, int | np.integer) or not 1 <= records < 2**40:
        raise ConfigurationError(
            f"records is {shown(records)}, but it is how many there are, as their owner states; pass a whole number from 1 up."
        )
    kind = system_class(system or default_system(schema))
    settings = {**parameters, **({"delta": delta} if delta else {})}
    estimator = kind(
        epsilon=epsilon, schema=schema, adjacency=adjacency, records_per_person=records_per_person, **settings
    )
    if estimator.variant != "private":
        raise ConfigurationError("a published form has no guarantee to be planned; leave variant out.")
    claim = claim_of(estimator)
    made = plan_of(estimator, schema, claim, draw_coins(estimator, claim, Randomness(0).draw))
    assert not isinstance(made, RawPlan), "a private form"
    certificate = certificate_of(estimator, schema, claim, made, seeded=False, person=schema.person)
    # Each kind of query once, with how often one record pays for it.
    steps = (replace(step, times=times) for step, times in Counter(map(_step, _leaves(made.event))).items())
    return FitPlan(kind.__name__, int(records), made.encoder.max_bins, tuple(steps), certificate)


class Benchmark(NamedTuple):
    """What fits and report cards of a public set showed at each epsilon; arrays are of shape (epsilons,)."""

    data: str
    epsilons: Floats  # pure, for one record added or removed
    kept: Floats  # the score as a share of boosting's without privacy: of the ROC AUC above 1/2, or of R2
    width: Floats  # of the score's 95 % interval for the noise, in a report card on a quarter as many records


def benchmarks_of(records: int, *, classes: bool) -> list[Benchmark]:
    """Return the benchmarks of classifiers or of regressors for a number of records, from the table that is shipped.

    ``benchmarks/outlook.py`` measured it. Figures are interpolated in the logarithm of the number of records. For a set with
    fewer records they are those at its largest number.
    """
    cells = defaultdict[str, dict[tuple[float, int], tuple[float, float]]](dict)
    with Path(__file__).with_name("outlook.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["kind"] == ("classes" if classes else "numbers"):
                kept = float(row["score"]) / float(row["boosting"])
                cells[row["data"]][float(row["epsilon"]), int(row["records"])] = kept, float(row["width"])
    made = []
    for data, of in cells.items():
        epsilons, sizes = (np.array(sorted(set(values))) for values in zip(*of, strict=True))
        found = np.array([[of[epsilon, size] for size in sizes] for epsilon in epsilons])
        means = [[np.interp(math.log(records), np.log(sizes), row[:, k]) for row in found] for k in range(2)]
        made.append(Benchmark(data, epsilons, *map(np.array, means)))
    return made


def _leaves(event: accounting.Event) -> Iterator[accounting.Pure | accounting.Gaussian]:
    """Yield the queries on the costliest path: of parallel parts, those of the one with the most."""
    match event:
        case accounting.Pure() | accounting.Gaussian():
            yield event
        case accounting.OneOf():
            yield from _leaves(event.parts[0])
        case accounting.Parallel():
            yield from max((list(_leaves(part)) for part in event.parts), key=len, default=[])
        case accounting.Sequence():
            for part in event.parts:
                yield from _leaves(part)
        case accounting.PerRecordAssignment() | accounting.Subsampled():
            yield from _leaves(event.part)


def _step(leaf: accounting.Pure | accounting.Gaussian) -> Step:
    if isinstance(leaf, accounting.Gaussian):
        price, noise = f"mu^2 {decimal_text(leaf.mu_squared, 4)}", 1 / math.sqrt(leaf.mu_squared)
        return Step(leaf.purpose, "rounded normal noise", 1, price, noise)
    price, noise = f"epsilon {decimal_text(leaf.epsilon, 4)}", math.sqrt(2) / float(leaf.epsilon)
    return Step(leaf.purpose, leaf.mechanism, 1, price, noise)
