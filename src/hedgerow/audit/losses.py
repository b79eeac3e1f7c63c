"""What a fit of a shipped estimator loses on tiny data, exactly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from hedgerow.audit.exact import Grid, Law, open_law, worst_event, worst_loss
from hedgerow.audit.findings import Finding, system_name
from hedgerow.errors import ConfigurationError
from hedgerow.estimator import Model, Plan, PrivateEstimator, RawPlan, claim_of, draw_coins, plan_of, run
from hedgerow.mechanisms import Randomness
from hedgerow.privacy.claim import Claim
from hedgerow.reading.persons import read_groups
from hedgerow.schema.encoder import Encoder
from hedgerow.table import Keep, keep_of
from hedgerow.texts import counted

Row = tuple[Any, ...]  # the cells of a record, then its label
Rows = tuple[Row, ...]
Ids = tuple[Any, ...] | None  # who the records are of

ROUNDING = 1e-9  # of sums of floats; a loss is told that much smaller


def exact_loss(
    estimator: PrivateEstimator,
    first: Iterable[Row],
    second: Iterable[Row],
    *,
    grid: Grid = Grid(),
    groups: tuple[Sequence[Any], Sequence[Any]] | None = None,
) -> Finding:
    """Return how much a fit of an estimator loses between two small data sets, by the exact law of both fits.

    The shipped fit runs on both data sets over all outcomes of its draws. Everything that is drawn counts as released, with the
    model, but no coin that decides which records take part where. There are as many runs as outcomes, so the schema
    should have one or two features of two values, and the estimator one or two trees of one test, or two rounds.

    Parameters
    ----------
    estimator : PrivateEstimator
        An unfitted estimator with a schema.
    first, second : sequence of tuple
        Neighboring data sets: the cells of each record, then its label. They differ in as many records as the estimator's
        ``records_per_person`` at most.
    grid : Grid
        What is told of noisy counts, and with what the fit goes on.
    groups : pair of sequences, optional
        Who the records of either data set are of, as for ``fit``: the data sets then differ in all the records of one person.

    Raises
    ------
    ConfigurationError
        If the data sets are no neighbors, or a label is none of the schema's classes.

    Returns
    -------
    Finding
        Its loss is told 1e-9 smaller than it is, so that rounding refutes nothing.

    Examples
    --------
    >>> import hedgerow as hr
    >>> from hedgerow.audit import exact_loss
    >>> schema = hr.Schema({"a": hr.Categorical(["x", "y"])}, classes=["no", "yes"])
    >>> model = hr.EDPRFClassifier(epsilon=1.0, schema=schema, n_estimators=1, max_depth=0)
    >>> finding = exact_loss(model, [("x", "no")], [("x", "no"), ("x", "no")])
    >>> round(finding.loss, 4), finding.refuted
    (1.0, False)
    """
    laws = Laws(estimator, grid)
    rows, who = neighbors_of(estimator, laws.claim, first, second, groups)
    return laws.finding(*rows, who)


def planned(estimator: PrivateEstimator) -> tuple[Claim, Plan | RawPlan]:
    if estimator.schema is None:
        raise ConfigurationError("the estimator has no schema, so what it does depends on the records; pass one.")
    claim = claim_of(estimator)
    return claim, plan_of(estimator, estimator.schema, claim, draw_coins(estimator, claim, Randomness(0).draw))


class Laws:
    def __init__(self, estimator: PrivateEstimator, grid: Grid) -> None:
        self.claim, self._plan = planned(estimator)
        self._estimator = estimator
        self._grid = grid
        self._known: dict[tuple[Rows, Ids], Law] = {}
        self._delta = float(self.claim.delta)

    def loss(self, first: Rows, second: Rows) -> float:
        return worst_loss(self._law(first), self._law(second), self._delta)

    def finding(self, first: Rows, second: Rows, who: tuple[Ids, Ids] = (None, None)) -> Finding:
        laws, delta = (self._law(first, who[0]), self._law(second, who[1])), self._delta
        forth, back = worst_event(*laws, delta), worst_event(*laws[::-1], delta)
        event = max(forth, back, key=lambda event: event.loss)
        likely, other = ("first", "second") if event is forth else ("second", "first")
        what = "a set of releases" if delta else "one release"
        words = f"{what} has probability {event.probability:.4g} on the {likely} data set and {event.other:.4g} on the {other}"
        if event.other == 0:
            words = f"releases of probability {event.probability:.4g} on the {likely} data set are impossible on the {other}"
        epsilon = float(self.claim.epsilon)
        return Finding(
            subject=f"{system_name(type(self._estimator).__name__)}, {self._estimator.variant}",
            attack="exact",
            pair=difference(first, second),
            adjacency=self.claim.adjacency,
            epsilon=epsilon,
            delta=delta,
            loss=max(0.0, event.loss - ROUNDING),
            confidence=1.0,
            power=epsilon,
            words=words,
        )

    def _law(self, rows: Rows, ids: Ids = None) -> Law:
        if (rows, ids) not in self._known:
            X, y, keep = read_rows(rows, ids, self.claim)
            self._known[rows, ids] = open_law(
                lambda source: kept(run(self._plan, X, y, source, keep(source))[0]), self._grid
            )
        return self._known[rows, ids]


def read_rows(rows: Rows, ids: Ids, claim: Claim) -> tuple[list[Row], list[Any], Callable[[Randomness], Keep | None]]:
    groups = read_groups(ids, len(rows), ())
    return (
        [row[:-1] for row in rows],
        [row[-1] for row in rows],
        lambda source: keep_of(groups, claim.records_per_person, source),
    )


def kept(model: Model) -> tuple[tuple[str, bytes], ...]:
    arrays = model.to_arrays()
    return tuple((name, arrays[name].tobytes()) for name in sorted(arrays))


def difference(first: Rows, second: Rows) -> str:
    sides = Counter(first) - Counter(second), Counter(second) - Counter(first)
    removed, added = (" and ".join(map(str, rows.elements())) for rows in sides)
    if removed and added:
        return f"{counted(len(first), 'record')}, of which {removed} is replaced by {added}"
    return f"{counted(min(len(first), len(second)), 'record')}, and the same with {removed or added}"


def neighbors_of(
    estimator: PrivateEstimator, claim: Claim, first: Iterable[Row], second: Iterable[Row], groups: Any
) -> tuple[tuple[Rows, Rows], tuple[Ids, Ids]]:
    rows: tuple[Rows, Rows] = (tuple(first), tuple(second))
    who: tuple[Ids, Ids] = (None, None) if groups is None else (tuple(groups[0]), tuple(groups[1]))
    check_labels((*rows[0], *rows[1]), estimator)
    check_neighbors(rows, who, claim)
    return rows, who


def check_labels(rows: Sequence[Row], estimator: PrivateEstimator) -> None:
    """Raise ConfigurationError where a label is no class, as a fit leaves such a record out; None is a missing label."""
    schema, labels = estimator.schema, [row[-1] for row in rows]
    assert schema is not None  # without one nothing is planned
    places = Encoder(schema, 2).labels(labels)
    for label, place in zip(labels, places, strict=True):
        if place < 0 and label is not None:
            raise ConfigurationError(
                f"the label {label!r} is none of the schema's classes, so a fit leaves its record out and nothing would be "
                f"tested; pass one of {', '.join(map(repr, schema.classes))}, or None for a missing label."
            )


def check_neighbors(rows: tuple[Rows, Rows], who: tuple[Ids, Ids], claim: Claim) -> None:
    """Raise ConfigurationError unless data sets differ in all records of one person, or, without ids, in as many at most."""
    most = claim.records_per_person
    first, second = (Counter(zip(some, ids or some, strict=True)) for some, ids in zip(rows, who, strict=True))
    sides = first - second, second - first
    if who == (None, None):
        changed, allowed = [side.total() for side in sides], range(1, most + 1)
        what = "one record" if most == 1 else f"{most} records at most"
    else:
        persons = [{person for _, person in side} for side in sides]
        whole = not {person for _, person in first & second} & (persons[0] | persons[1])
        changed, allowed = [len(own) for own in persons], range(1, 1 + whole)
        what = "all the records of one person"
    removed, added = (number in allowed for number in changed)
    one_side = (removed and changed[1] == 0) or (added and changed[0] == 0)
    if not (one_side if claim.adjacency == "add-remove" else removed and added):
        raise ConfigurationError(
            f"the second data set has {sides[1].total()} records that the first has not, and lacks {sides[0].total()}, so they "
            f"are no neighbors for {claim.adjacency}; let them differ in {what}."
        )
