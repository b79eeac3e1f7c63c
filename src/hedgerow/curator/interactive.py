"""The interface mode: an analyst sends queries to a curator until the budget is spent."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from fractions import Fraction
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Integers, without_sizes
from hedgerow.curator.given import RULES, read_given
from hedgerow.curator.queries import Nodes, SelectTests
from hedgerow.curator.queryable import Queryable
from hedgerow.engines.records import Records
from hedgerow.errors import ConfigurationError
from hedgerow.ledgers.ledger import Ledger
from hedgerow.mechanisms import SELECTIONS, Geometric, PerRecordCoin, Randomness
from hedgerow.parameters import Constraint, Instance, RandomSource, WholeNumber, check_parameters
from hedgerow.privacy.accounting import Event, Pure
from hedgerow.privacy.certificate import Certificate, certify
from hedgerow.privacy.claim import Claim
from hedgerow.privacy.exact import decimal_text, exact
from hedgerow.schema import Encoder, Schema
from hedgerow.scores import SCORES, Candidates, binary, mixed, multiway
from hedgerow.table import ClassCounts, Coded, Histogram, MemoryTable, Sizes, keep_of
from hedgerow.texts import counted, short_repr

OWN_RULES: Mapping[str, Constraint] = {
    "schema": Instance(Schema, "an hr.Schema, which says what is public about the data"),
    "max_bins": WholeNumber(2, 1024),
    **{name: rule for name, rule in RULES.items() if name != "delta"},
}


@dataclass(frozen=True, repr=False)
class Question:
    """One query that was answered.

    Parameters
    ----------
    text : str
        What it returned.
    nodes : int
        How many nodes it covered.
    epsilon : Fraction
        Its epsilon, as passed.
    """

    text: str
    nodes: int
    epsilon: Fraction

    __repr__ = short_repr


class Curator:
    """Holds records and answers queries about them with noise, until its budget is spent.

    The analyst gets released values and names of nodes, never records. A node is a set of records. ``root`` holds all of them,
    and ``partition`` divides nodes by tests. Costs add up along a path from the root. Queries of disjoint nodes compose in
    parallel (docs/proofs/composition.md).

    Parameters
    ----------
    X : data frame (pandas, polars, pyarrow), array of shape (n_samples, n_features), or Records
        The records. Columns of a frame are matched by name; columns of an array are in the schema's order.
    y : sequence of length n_samples
        The labels; None with ``hr.Records``, which hold them. A record whose label is missing or not in the schema is
        ignored.
    schema : Schema
        What is public about the data.
    epsilon : float
        The budget of all queries together, read as its shortest decimal. The ledger is charged when the curator is made.
    max_bins : int, default 10
        Equal-width bins of a numeric feature.
    adjacency : {"add-remove", "replace-one"}
        What neighboring data sets are. Under "replace-one" each query runs at half its epsilon.
    random_state : None, int or numpy generator
        None draws from the operating system's entropy, which a guarantee requires. Other values are for tests.
    ledger : Ledger or None
        The ledger that is charged before any record is read.
    groups : sequence of length n_samples, optional
        The person of each record, as for ``fit``. Omit it if the schema names a column of X as ``person``.
    records_per_person : int, optional
        The guarantee protects a person, of whom at most this many records are read. None: the schema's value.

    Attributes
    ----------
    root : Nodes
        The node of all records.
    questions : tuple of Question
        The queries so far: ``text``, the number of ``nodes``, and ``epsilon``. They hold only what the analyst passed.

    Raises
    ------
    BudgetExceeded
        By any query that would take a path above the budget. The query is not answered, and the message does not depend on
        the records.

    Examples
    --------
    >>> import hedgerow as hr, numpy as np
    >>> schema = hr.Schema({"a": hr.Numeric(0, 1)}, classes=["no", "yes"])
    >>> X = np.random.default_rng(0).uniform(size=(1000, 1))
    >>> curator = hr.Curator(X, np.where(X[:, 0] > 0.5, "yes", "no"), schema, epsilon=1.0)
    >>> tests = curator.tests("binary")
    >>> chosen = curator.select(curator.root, tests, epsilon=0.5)
    >>> children = curator.partition(curator.root, tests, chosen)
    >>> curator.class_counts(children, epsilon=0.5).shape
    (2, 2)
    >>> curator.remaining
    Fraction(0, 1)
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        schema: Schema,
        epsilon: float,
        *,
        max_bins: int = 10,
        adjacency: str = "add-remove",
        random_state: RandomSource = None,
        ledger: Ledger | None = None,
        groups: Any = None,
        records_per_person: int | None = None,
    ) -> None:
        given = {"schema": schema, "epsilon": epsilon, "max_bins": max_bins, "adjacency": adjacency}
        given |= {"random_state": random_state, "ledger": ledger, "records_per_person": records_per_person}
        values = check_parameters(given, OWN_RULES)
        if schema is None:
            raise ConfigurationError("schema is None; pass an hr.Schema, by which records are read.")
        of_one = values["records_per_person"] or schema.records_per_person
        self._claim = Claim(exact(epsilon), Fraction(0), values["adjacency"], of_one)
        X, y, self._named, persons = read_given(X, y, groups, schema)
        self._person = None if persons is None else persons.name
        self._randomness = Randomness(random_state)
        self._encoder = Encoder(schema, values["max_bins"])
        # The whole budget is charged at once, so the ledger entry is finished when the curator is ready.
        with nullcontext() if ledger is None else ledger.reserve(self.certificate), without_sizes():
            keep = keep_of(persons, self.records_per_person, self._randomness)
            elsewhere, reading = isinstance(X, Records), Coded(self._encoder)
            table = X.read(reading, keep) if elsewhere else MemoryTable.by(reading, X, y, keep)
            self._queryable = Queryable(table, self._claim.pure, self._randomness)
            self._questions: list[Question] = []
            self._warned_of: set[str] = set()
            self.root = self._queryable.assign(PerRecordCoin(1))

    # They cannot be set: models that are fitted by queries state them.
    schema = property(attrgetter("_encoder.schema"), doc="What is public about the records.")
    max_bins = property(attrgetter("_encoder.max_bins"), doc="Equal-width bins of a numeric feature.")
    adjacency = property(attrgetter("_claim.adjacency"), doc="What neighboring data sets are.")
    records_per_person = property(attrgetter("_claim.records_per_person"), doc="How many records of a person are read.")
    person = property(
        attrgetter("_person"), doc='The column of person ids, "" if it is unnamed; None if there is none.'
    )
    named = property(attrgetter("_named"), doc="Whether the records had column names.")
    seeded = property(attrgetter("_randomness.seeded"), doc="Whether the noise comes from ``random_state``.")
    epsilon = property(attrgetter("_claim.epsilon"), doc="The budget of all queries together, exact.")

    @property
    def questions(self) -> tuple[Question, ...]:
        """The queries so far."""
        return tuple(self._questions)

    @property
    def spent(self) -> Fraction:
        """The epsilon spent on the costliest path so far, exact."""
        return self._queryable.spent * (self._claim.epsilon / self._claim.pure)

    @property
    def remaining(self) -> Fraction:
        """The epsilon that remains on the costliest path, exact. Other paths may have more."""
        return self._claim.epsilon - self.spent

    @property
    def certificate(self) -> Certificate:
        """The guarantee for all answers of this curator together."""
        event = Pure(self._claim.pure, "a curator that stops at its budget", "questions of an analyst")
        return certify("Curator", event, self.schema, self._claim, seeded=self.seeded, person=self._person)

    def __repr__(self) -> str:
        """Return the budget and the number of queries; it does not depend on the records."""
        spent = f"spent={decimal_text(self.spent)} in {counted(len(self._questions), 'question')}"
        return f"<Curator: epsilon={decimal_text(self.epsilon)}, {spent}>"

    def tests(self, kind: str = "binary") -> Candidates:
        """Return public tests: "binary", "multiway" or "mixed" (cuts of numeric features, a branch for each value of others).

        Test t reads feature ``tests.feature[t]`` and has ``tests.arity[t]`` branches; ``describe`` says which cells take them.
        """
        n_codes, is_numeric = self._encoder.n_codes, self.schema.is_numeric
        kinds = {"binary": binary, "multiway": multiway, "mixed": mixed}
        if kind not in kinds:
            raise ConfigurationError(f"kind is {kind!r}; pass 'binary', 'multiway' or 'mixed'.")
        return kinds[kind](n_codes, is_numeric)

    def describe(self, tests: Candidates, test: int) -> list[str]:
        """Return which cells take each branch of a test, such as "age: [17, 31.6), [31.6, 46.2)"."""
        name = self.schema.names[int(tests.feature[test])]
        feature = self.schema.features[name]
        branch = tests.branches([test])[0, : int(tests.n_codes[tests.feature[test]])]
        labels = np.array([feature.code_label(code, self.max_bins) for code in range(len(branch))], dtype=object)
        return [f"{name}: {', '.join(labels[branch == b])}" for b in range(int(tests.arity[test]))]

    def count(self, nodes: Nodes, epsilon: float) -> Integers:
        """Return the number of records in each node, of shape (nodes,), with two-sided geometric noise."""
        answer = self._queryable.answer(Sizes(nodes), Geometric(self._budget(epsilon)))
        return self._asked("number of records", nodes, epsilon, answer)

    def class_counts(self, nodes: Nodes, epsilon: float) -> Integers:
        """Return the number of records of each class in each node, of shape (nodes, classes), with geometric noise.

        It warns of classes of which no count so far stands out from its noise.
        """
        answer = self._queryable.answer(ClassCounts(nodes), Geometric(self._budget(epsilon)))
        self._warn()
        return self._asked("class counts", nodes, epsilon, answer)

    def histogram(self, nodes: Nodes, features: Iterable[str], epsilon: float) -> dict[str, Integers]:
        """Return for each feature the records of each node by code and class, of shape (nodes, codes, classes), with noise.

        A record is in one cell of each feature's histogram, so the features share ``epsilon``. The codes of a feature are its
        bins or declared values, then "missing", then for categories "undeclared". It warns of classes of which no count so far
        stands out from its noise, and by the counts of ``root`` of columns that are hardly read.
        """
        names = list(features)
        unknown = [name for name in names if name not in self.schema.features]
        wanted = set(names)
        if unknown or not names or len(wanted) != len(names):
            raise ConfigurationError(f"features are {names!r}; pass different names of the schema.")
        asked = np.array([name in wanted for name in self.schema.features])
        noise = Geometric(self._budget(epsilon), len(names))
        counts = self._queryable.answer(Histogram(nodes, np.tile(asked, (len(nodes), 1))), noise)
        self._asked(f"counts of {', '.join(names)} by class", nodes, epsilon, counts)
        ends = np.cumsum(self._encoder.n_codes)
        parts = dict(zip(self.schema.names, np.split(counts, ends[:-1], axis=1), strict=True))
        self._warn()
        return {name: parts[name] for name in names}

    def select(
        self,
        nodes: Nodes,
        tests: Candidates,
        epsilon: float,
        *,
        score: str = "gini",
        mechanism: str = "permute-and-flip",
        offered: npt.NDArray[np.bool_] | None = None,
    ) -> Integers:
        """Select a test for each node by its score, and return their numbers, of shape (nodes,).

        Parameters
        ----------
        nodes, tests, epsilon
            The nodes, the tests to select from, and the cost for each node.
        score : {"gini", "max", "information-gain", "error"}
            The score of a test.
        mechanism : {"permute-and-flip", "exponential"}
            The selection mechanism.
        offered : ndarray of shape (nodes, tests), bool, or None
            The tests that each node may take, chosen by public or released values. None: all.
        """
        if score not in SCORES or mechanism not in SELECTIONS:
            raise ConfigurationError(
                f"pass a score of {', '.join(SCORES)}, and a mechanism of {', '.join(SELECTIONS)}."
            )
        allowed = np.ones((len(nodes), len(tests)), dtype=np.bool_) if offered is None else np.array(offered)
        selection = SELECTIONS[mechanism](self._budget(epsilon), SCORES[score].range)
        chosen = self._queryable.answer(SelectTests(nodes, tests, allowed, SCORES[score]), selection)
        return self._asked(f"a test by {SCORES[score].name}", nodes, epsilon, chosen)

    def partition(self, nodes: Nodes, tests: Candidates, chosen: npt.ArrayLike) -> Nodes:
        """Return the children of all nodes, also empty ones, each node's in the order of its test's branches.

        This costs nothing, because tests are public or released. The parent nodes are closed.
        """
        return self._queryable.partition(nodes, tests, np.array(chosen))

    def _warn(self) -> None:
        for message in self._queryable.warnings_of(self._encoder):
            about = message.partition(": the counts add up to ")[0]  # what follows changes with each count
            if about not in self._warned_of:
                self._warned_of.add(about)
                warnings.warn(message, UserWarning, stacklevel=3)

    def _budget(self, epsilon: float) -> Fraction:
        return replace(self._claim, epsilon=exact(epsilon)).pure

    def _asked(self, text: str, nodes: Nodes, epsilon: float, answer: Integers) -> Integers:
        self._questions.append(Question(text, len(nodes), exact(epsilon)))
        return answer


# Not methods: with a learner's queries an analyst's own code could read records.


def public_draws(curator: Curator) -> Callable[..., Any]:
    """Return a function that draws a learner's public coins from the curator's randomness, at no cost."""
    return curator._queryable.draw_public


def for_learner(curator: Curator, text: str, epsilon: Fraction, event: Event) -> Queryable:
    """Reserve the cost of a learner's plan, or raise BudgetExceeded, and return the queryable that a learner needs."""
    queryable = curator._queryable.for_learner(event)
    curator._questions.append(Question(text, 1, epsilon))
    return queryable
