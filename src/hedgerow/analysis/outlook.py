"""The plan of a fit before it runs: its costs and its noise, computed from public numbers alone."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import roc_auc_score

from hedgerow.errors import ConfigurationError, shown
from hedgerow.estimator import Plan, RawPlan, certificate_of, claim_of, draw_coins, plan_of, run
from hedgerow.mechanisms import Randomness
from hedgerow.privacy.accounting import (
    Event,
    Gaussian,
    OneOf,
    Parallel,
    PerRecordAssignment,
    Pure,
    Sequence,
    Subsampled,
)
from hedgerow.privacy.certificate import Certificate
from hedgerow.privacy.exact import decimal_text
from hedgerow.schema import Numeric, Schema
from hedgerow.systems import default_system, system_class
from hedgerow.texts import html_table, short_repr

MOST_MADE_UP = 20_000  # records of made-up data: enough to see the noise, few enough to wait for
TEST = 5_000
SEE = "Which epsilon, what it costs in accuracy, and what may be published: docs/guide/epsilon.md."
STRENGTH = 2.5  # of made-up effects, beside standard Gumbel noise for each class


@dataclass(frozen=True)
class Step:
    """One kind of query: how often it reads one record, its cost, and the noise on a count.

    ``noise`` is the standard deviation in records.
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
    made_up_records : int
        The number of synthetic records that the figures were measured on; 0 if there are no figures.
    accuracy, roc_auc, majority : float
        The accuracy and ROC AUC of a fit on synthetic records, and the share of the largest class; NaN without them.

    Examples
    --------
    >>> import hedgerow as hr
    >>> schema = hr.Schema({"age": hr.Integer(17, 90)}, classes=["ill", "well"])
    >>> outlook = hr.plan(schema, records=5000, epsilon=1.0, system="edprf", made_up=False)
    >>> outlook.records, outlook.certificate.holds, outlook.made_up_records
    (5000, True, 0)
    """

    system: str
    records: int
    bins: int
    steps: tuple[Step, ...]
    certificate: Certificate = field(repr=False)
    made_up_records: int = 0
    accuracy: float = math.nan
    roc_auc: float = math.nan
    majority: float = math.nan

    @property
    def questions(self) -> int:
        """The number of queries that read one record: rounds, levels and the rest."""
        return sum(step.times for step in self.steps)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain values for JSON."""
        made_up = {
            "records": self.made_up_records,
            "accuracy": self.accuracy,
            "roc_auc": self.roc_auc,
            "majority": self.majority,
        }
        return {
            "system": self.system,
            "records": self.records,
            "bins": self.bins,
            "questions": self.questions,
            "steps": [vars(step) for step in self.steps],
            "claim": {
                "epsilon": str(self.certificate.epsilon),
                "delta": str(self.certificate.delta),
                "adjacency": self.certificate.adjacency,
                "records_per_person": self.certificate.records_per_person,
            },
            "made_up": made_up if self.made_up_records else None,
        }

    __repr__ = short_repr

    def _rows(self) -> list[tuple[str, str, str, str, str, str]]:
        return [
            (
                str(step.times),
                step.purpose,
                step.cost,
                f"{step.noise:.1f}",
                f"{100 * step.noise / self.records:.2f} %",
                step.mechanism,
            )
            for step in self.steps
        ]

    def _repr_html_(self) -> str:
        headers = ("times", "step", "cost of one", "noise (records)", "noise (share)", "mechanism")
        return html_table(self._title(), self._rows(), headers, note=" ".join([*self._made_up(), SEE]))

    def _title(self) -> str:
        claim = self.certificate
        return (
            f"Plan of {self.system}: epsilon = {decimal_text(claim.epsilon)}, delta = {decimal_text(claim.delta)}, "
            f"for {claim.unit.neighbors(claim.adjacency)}; nothing was read or spent"
        )

    def _made_up(self) -> Iterator[str]:
        """Yield a sentence with the figures on synthetic records, if there are any."""
        if self.made_up_records:
            yield (
                f"On {self.made_up_records} synthetic records of this schema (not a forecast for yours): accuracy "
                f"{self.accuracy:.3f}, ROC AUC {self.roc_auc:.3f}. Always predicting the largest class: {self.majority:.3f}."
            )

    def __str__(self) -> str:
        rows = [
            self._title(),
            "",
            f"  records     {self.records}, as stated by the caller",
            f"  bins        at most {self.bins} for a numeric feature",
            f"  queries     {self.questions} that read one record",
            "",
            "  for each kind of query: how many, the cost of one, and its noise on a count, in records and as a share of them",
        ]
        width = max((len(step.purpose) for step in self.steps), default=0)
        wide = max((len(step.cost) for step in self.steps), default=0)
        for times, purpose, price, noise, share, mechanism in self._rows():
            rows.append(f"    {times:>4} x {purpose:<{width}}  {price:<{wide}}  {noise:>9}  {share:>9}  {mechanism}")
        for text in (*self._made_up(), SEE):
            rows += ["", f"  {text}"]
        return "\n".join(rows)


def plan(
    schema: Schema,
    *,
    records: int,
    epsilon: float,
    delta: float = 0.0,
    system: str | None = None,
    adjacency: str = "add-remove",
    records_per_person: int | None = None,
    made_up: bool = True,
    seed: int = 0,
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
    made_up : bool, default True
        For classifiers: whether to run the fit on at most 20 000 synthetic records of this schema.
    seed : int, default 0
        The seed of the synthetic records and of the noise on them.
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
    >>> outlook = hr.plan(schema, records=5000, epsilon=1.0, system="edprf", made_up=False)
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
    made = plan_of(estimator, schema, claim, draw_coins(estimator, claim, Randomness(seed).draw))
    assert not isinstance(made, RawPlan), "a private form"
    certificate = certificate_of(estimator, schema, claim, made, seeded=False, person=schema.person)
    figures = _made_up_figures(made, schema, int(records), seed) if made_up and schema.classes else {}
    return FitPlan(
        kind.__name__, int(records), made.encoder.max_bins, tuple(_steps(made.event)), certificate, **figures
    )


def _steps(event: Event) -> Iterator[Step]:
    """Yield each kind of query once, with how often one record pays for it."""
    for step, times in Counter(map(_step, _leaves(event))).items():
        yield replace(step, times=times)


def _leaves(event: Event) -> Iterator[Pure | Gaussian]:
    """Yield the queries on the costliest path: of parallel parts, those of the one with the most."""
    match event:
        case Pure() | Gaussian():
            yield event
        case OneOf():
            yield from _leaves(event.parts[0])
        case Parallel():
            yield from max((list(_leaves(part)) for part in event.parts), key=len, default=[])
        case Sequence():
            for part in event.parts:
                yield from _leaves(part)
        case PerRecordAssignment() | Subsampled():
            yield from _leaves(event.part)


def _step(leaf: Pure | Gaussian) -> Step:
    if isinstance(leaf, Gaussian):
        price, noise = f"mu^2 {decimal_text(leaf.mu_squared, 4)}", 1 / math.sqrt(leaf.mu_squared)
        return Step(leaf.purpose, "rounded normal noise", 1, price, noise)
    price, noise = f"epsilon {decimal_text(leaf.epsilon, 4)}", math.sqrt(2) / float(leaf.epsilon)
    return Step(leaf.purpose, leaf.mechanism, 1, price, noise)


def _made_up_figures(made: Plan, schema: Schema, records: int, seed: int) -> dict[str, Any]:
    size = min(records, MOST_MADE_UP)
    X, place = _made_up(schema, size + TEST, np.random.default_rng(seed))
    labels = np.array(schema.classes, dtype=object)[place]
    train = {name: cells[:size] for name, cells in X.items()}
    test = {name: cells[size:] for name, cells in X.items()}
    model, _ = run(made, train, labels[:size], Randomness(seed))
    p, truth = model.probabilities(test), place[size:]
    areas = [
        roc_auc_score(truth == k, p[:, k])
        for k in range(1 if len(schema.classes) == 2 else 0, len(schema.classes))
        if 0 < np.count_nonzero(truth == k) < TEST
    ]
    return {
        "made_up_records": size,
        "accuracy": float(np.mean(p.argmax(axis=1) == truth)),
        "roc_auc": float(np.mean(areas)) if areas else 0.5,
        "majority": float(np.bincount(truth).max() / TEST),
    }


def _made_up(
    schema: Schema, size: int, rng: np.random.Generator
) -> tuple[dict[str, npt.NDArray[Any]], npt.NDArray[np.int64]]:
    """Return made-up cells by feature and the place of each label: every feature has an effect, some large and most small."""
    score = np.zeros((size, len(schema.classes)))
    columns: dict[str, npt.NDArray[Any]] = {}
    weights = 1 / np.arange(1.0, len(schema.names) + 1)
    rng.shuffle(weights)
    weights /= math.sqrt(float((weights**2).sum()))
    for weight, (name, feature) in zip(weights, schema.features.items(), strict=True):
        if isinstance(feature, Numeric):
            place = rng.random(size)
            numbers = feature.low * (1 - place) + feature.high * place
            effect = np.outer(2 * place - 1, rng.normal(size=len(schema.classes)))
            if isinstance(feature.cell(feature.low), str):
                columns[name] = np.array([feature.cell(number) for number in numbers.tolist()], dtype=object)
            else:
                columns[name] = numbers
        else:
            code = rng.integers(0, len(feature.values), size)
            effect = rng.normal(size=(len(feature.values), len(schema.classes)))[code]
            columns[name] = np.array(feature.values, dtype=object)[code]
        score += weight * effect
    labels: npt.NDArray[np.int64] = (STRENGTH * score + rng.gumbel(size=score.shape)).argmax(axis=1)
    return columns, labels
