"""The interface mode: an analyst sends queries to a curator until the budget is spent."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Integers
from hedgerow.curator.given import RULES, read_given
from hedgerow.curator.queries import Nodes, SelectTests
from hedgerow.curator.queryable import Queryable
from hedgerow.engines.records import Records
from hedgerow.errors import ConfigurationError, without_sizes
from hedgerow.ledgers.ledger import Ledger
from hedgerow.mechanisms import SELECTIONS, Geometric, PerRecordCoin, Randomness
from hedgerow.parameters import Constraint, Instance, RandomSource, WholeNumber, check_parameters
from hedgerow.privacy.accounting import Adjacency, Event, Pure, check_adjacency
from hedgerow.privacy.certificate import Certificate, certify
from hedgerow.privacy.claim import Claim
from hedgerow.privacy.exact import decimal_text, exact
from hedgerow.released_warnings import class_warnings, column_warnings
from hedgerow.schema import Encoder, Schema
from hedgerow.scores import SCORES, Candidates, binary, mixed, multiway
from hedgerow.table import ClassCounts, Histogram, MemoryTable, Sizes, keep_of
from hedgerow.texts import counted, html_table, short_repr

LATEST = 10  # queries that notebooks show

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
        What the query returned.
    nodes : int
        The number of nodes that it covered.
    epsilon : Fraction
        Its epsilon, as passed.

    Examples
    --------
    >>> import hedgerow as hr
    >>> schema = hr.Schema({"a": hr.Categorical(["x", "y"])}, classes=["no", "yes"])
    >>> curator = hr.Curator([["x"], ["y"]], ["no", "yes"], schema, epsilon=1.0)
    >>> counts = curator.class_counts(curator.root, epsilon=0.5)
    >>> [question] = curator.questions
    >>> question.nodes, float(question.epsilon)
    (1, 0.5)
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
        The queries so far. They are public, because they hold only what the analyst passed.

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
        check_parameters(given, OWN_RULES)
        if schema is None:
            raise ConfigurationError(
                "schema is None, but a curator reads records by a public schema; pass an hr.Schema."
            )
        self._schema, self._max_bins = schema, int(max_bins)
        of_one = schema.records_per_person if records_per_person is None else int(records_per_person)
        self._claim = Claim(exact(epsilon), Fraction(0), check_adjacency(adjacency), of_one)
        X, y, self._named, persons = read_given(X, y, groups, schema)
        self._person = None if persons is None else persons.name
        self._randomness = Randomness(random_state)
        self._encoder = Encoder(schema, self._max_bins)
        # The whole budget is charged at once, so the ledger entry is finished when the curator is ready.
        with nullcontext() if ledger is None else ledger.reserve(self.certificate), without_sizes():
            keep = keep_of(persons, self.records_per_person, self._randomness)
            elsewhere = isinstance(X, Records)
            table = X.table(self._encoder, keep) if elsewhere else MemoryTable.of(self._encoder, X, y, keep)
            self._queryable = Queryable(table, self._claim.pure, self._randomness)
            self._questions: list[Question] = []
            self._warned_of: set[str] = set()
            self.root = self._queryable.assign(PerRecordCoin(1))

    @property
    def schema(self) -> Schema:
        """What is public about the records."""
        return self._schema

    @property
    def max_bins(self) -> int:
        """Equal-width bins of a numeric feature."""
        return self._max_bins

    @property
    def adjacency(self) -> Adjacency:
        """What neighboring data sets are."""
        return self._claim.adjacency

    @property
    def records_per_person(self) -> int:
        """The most records of one person that are read."""
        return self._claim.records_per_person

    @property
    def person(self) -> str | None:
        """The column of person ids, "" if it has no name; None if there is none."""
        return self._person

    @property
    def named(self) -> bool:
        """Whether the records had column names."""
        return self._named

    @property
    def seeded(self) -> bool:
        """Whether the noise comes from ``random_state`` and not from the operating system."""
        return self._randomness.seeded

    @property
    def questions(self) -> tuple[Question, ...]:
        """The queries so far."""
        return tuple(self._questions)

    @property
    def epsilon(self) -> Fraction:
        """The budget of all queries together, exact."""
        return self._claim.epsilon

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
        return certify(
            "Curator",
            Pure(self._claim.pure, "a curator that stops at its budget", "questions of an analyst"),
            self._schema,
            variant="private",
            claim=self._claim,
            seeded=self._randomness.seeded,
            person=self._person,
        )

    def __repr__(self) -> str:
        """Return the budget and the number of queries; it does not depend on the records."""
        spent = f"spent={decimal_text(self.spent)} in {counted(len(self._questions), 'question')}"
        return f"<Curator: epsilon={decimal_text(self.epsilon)}, {spent}>"

    def _repr_html_(self) -> str:
        budget = f"epsilon {decimal_text(self.epsilon)}, spent on the costliest path {decimal_text(self.spent)}"
        shown = [(q.text, q.nodes, decimal_text(q.epsilon)) for q in self._questions[-LATEST:]]
        earlier = len(self._questions) - len(shown)
        note = f"{earlier} earlier questions: curator.questions" if earlier else ""
        return html_table(f"Curator: {budget}", shown, ("question", "nodes", "epsilon"), note=note)

    def tests(self, kind: str = "binary") -> Candidates:
        """Return public tests: "binary", "multiway" or "mixed" (cuts of numeric features, a branch for each value of others).

        Test t reads feature ``tests.feature[t]`` and has ``tests.arity[t]`` branches; ``describe`` says which cells take them.
        """
        n_codes, is_numeric = self._encoder.n_codes, self._schema.is_numeric
        if kind == "multiway":
            return multiway(n_codes)
        if kind not in ("binary", "mixed"):
            raise ConfigurationError(f"kind is {kind!r}; pass 'binary', 'multiway' or 'mixed'.")
        return binary(n_codes, is_numeric) if kind == "binary" else mixed(n_codes, is_numeric)

    def describe(self, tests: Candidates, test: int) -> list[str]:
        """Return which cells take each branch of a test, such as "age: [17, 31.6), [31.6, 46.2)"."""
        name = self._schema.names[int(tests.feature[test])]
        feature = self._schema.features[name]
        branch = tests.branches([test])[0, : int(tests.n_codes[tests.feature[test]])]
        labels = np.array([feature.code_label(code, self._max_bins) for code in range(len(branch))], dtype=object)
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
        unknown = [name for name in names if name not in self._schema.features]
        wanted = set(names)
        if unknown or not names or len(wanted) != len(names):
            raise ConfigurationError(f"features are {names!r}; pass different names of the schema.")
        asked = np.array([name in wanted for name in self._schema.features])
        noise = Geometric(self._budget(epsilon), len(names))
        counts = self._queryable.answer(Histogram(nodes, np.tile(asked, (len(nodes), 1))), noise)
        self._asked(f"counts of {', '.join(names)} by class", nodes, epsilon, counts)
        ends = np.cumsum(self._encoder.n_codes)
        parts = dict(zip(self._schema.names, np.split(counts, ends[:-1], axis=1), strict=True))
        messages: tuple[str, ...] = ()
        if nodes.generation == self.root.generation:  # within other nodes a column may well have one value
            by_code = {
                place: parts[name][0].sum(axis=1) for place, name in enumerate(self._schema.names) if name in wanted
            }
            deviation = noise.deviation * math.sqrt(self._queryable.n_classes)
            messages = column_warnings(self._encoder, by_code, deviation)
        self._warn(messages)
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
                f"score is {score!r} and mechanism {mechanism!r}; pass one of {', '.join(SCORES)}, and one of "
                f"{', '.join(SELECTIONS)}."
            )
        allowed = np.ones((len(nodes), len(tests)), dtype=np.bool_) if offered is None else np.array(offered)
        if allowed.shape != (len(nodes), len(tests)) or allowed.dtype != np.bool_:
            raise ConfigurationError("offered must be truth values of shape (nodes, tests).")
        selection = SELECTIONS[mechanism](self._budget(epsilon), SCORES[score].range)
        chosen = self._queryable.answer(SelectTests(nodes, tests, allowed, SCORES[score]), selection)
        return self._asked(f"a test by {SCORES[score].name}", nodes, epsilon, chosen)

    def partition(self, nodes: Nodes, tests: Candidates, chosen: npt.ArrayLike) -> Nodes:
        """Return the children of all nodes, also empty ones, each node's in the order of its test's branches.

        This costs nothing, because tests are public or released. The parent nodes are closed.
        """
        return self._queryable.partition(nodes, tests, np.array(chosen))

    def _warn(self, messages: tuple[str, ...] = ()) -> None:
        """Warn by released counts, once of each class and column."""
        classes = self._schema.classes if self._schema.outcome is None else ()
        hidden = [name for name, is_hidden in zip(classes, self._queryable.evidence.hidden, strict=False) if is_hidden]
        if classes and not self._warned_of.issuperset(map(repr, hidden)):
            self._warned_of.update(map(repr, hidden))
            messages += class_warnings(classes, self._queryable.evidence)
        for message in messages:
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
    """Reserve the cost of a learner's plan, or raise BudgetExceeded, and return the queryable that a learner needs.

    ``text`` and ``epsilon`` are added to the curator's queries.
    """
    queryable = curator._queryable.for_learner(event)
    curator._questions.append(Question(text, 1, epsilon))
    return queryable
