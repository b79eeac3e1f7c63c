"""The interface mode: an analyst asks a curator one question after another, and the budget stops them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Integers
from hedgerow.curator.queryable import Nodes, Queryable
from hedgerow.engines.records import Records
from hedgerow.errors import ConfigurationError, without_sizes
from hedgerow.limits import MOST_RECORDS_OF_ONE
from hedgerow.mechanisms import SELECTIONS, Geometric, PerRecordCoin, Randomness
from hedgerow.notebook import html_table
from hedgerow.parameters import Choice, Constraint, Exact, Instance, Integer, RandomSource, Seed, check_parameters
from hedgerow.privacy.accounting import Adjacency, check_adjacency
from hedgerow.privacy.certificate import Certificate, certify
from hedgerow.privacy.claim import Claim
from hedgerow.privacy.events import Event, Pure
from hedgerow.privacy.exact import decimal_text, exact
from hedgerow.privacy.ledger import Ledger
from hedgerow.schema import Encoder, Schema
from hedgerow.schema.columns import read_records
from hedgerow.schema.person_column import read_groups, split_groups
from hedgerow.schema.persons import Groups
from hedgerow.scores import SCORES, Candidates, binary, mixed, multiway
from hedgerow.table import MemoryTable, keep_of
from hedgerow.texts import counted, short_repr

__all__ = ["Curator", "Question", "for_learner", "public_draws"]


LATEST = 10  # questions that notebooks show

RULES: Mapping[str, Constraint] = {
    "schema": Instance(Schema, "an hr.Schema, which says what is public about the data"),
    "epsilon": Exact(exact, "the privacy budget, a number from 1e-9 to 1e9; pass for example epsilon=1.0"),
    "max_bins": Integer(2, 1024),
    "adjacency": Choice(get_args(Adjacency)),
    "records_per_person": Integer(1, MOST_RECORDS_OF_ONE, or_none=True),
    "random_state": Seed(),
    "ledger": Instance(Ledger, "an hr.Ledger, which keeps budgets; pass hr.Ledger(epsilon=...) or None"),
}


@dataclass(frozen=True, repr=False)
class Question:
    """One question that was answered: what was asked of how many nodes, and its epsilon.

    Parameters
    ----------
    text : str
        What was asked.
    nodes : int
        Of how many nodes.
    epsilon : Fraction
        What was named for it.

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

    def __repr__(self) -> str:
        return short_repr(self)


class Curator:
    """Holds records and answers questions about them with noise, until its budget is spent.

    The analyst gets released values and names of nodes, never records. A node is a set of records; ``root`` is all of them,
    and ``partition`` divides nodes by tests. What is asked of a node and of the nodes above it adds up, what is asked of
    disjoint nodes counts once (docs/proofs/composition.md).

    Parameters
    ----------
    X : data frame (pandas, polars, pyarrow), array of shape (n_samples, n_features), or Records
        The records; a frame's columns are found by name, an array's stand in the schema's order.
    y : sequence of length n_samples
        The labels; None with ``hr.Records``, which hold them. A record whose label is missing or not in the schema is left
        out, by public rule.
    schema : Schema
        What is public about the data.
    epsilon : float
        The budget of all questions together, read as its shortest decimal; it is booked in the ledger at once.
    max_bins : int, default 10
        Equal-width bins of a numeric feature.
    adjacency : {"add-remove", "replace-one"}
        What neighboring data sets are; for one record replaced every question gets half the noise budget that it names.
    random_state : None, int or numpy generator
        None draws from the operating system, as a guarantee needs; anything else is for tests.
    ledger : Ledger or None
        Where the budget is booked before any record is read.
    groups : sequence of length n_samples, optional
        Who each record is of, as for ``fit``; leave it out where the schema names a column of X as ``person``.
    records_per_person : int, optional
        The guarantee is for one person, of whom at most so many records are read; None: as the schema says.

    Attributes
    ----------
    root : Nodes
        The node of all records.
    questions : tuple of Question
        What was asked so far. Public: it says nothing that the analyst did not say.

    Raises
    ------
    BudgetExceeded
        By any question that would take a path above the budget: it is not answered, and the message is the same whatever the
        records are.

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
        check_parameters(given, RULES)
        if schema is None:
            raise ConfigurationError(
                "schema is None, but a curator reads records by a public schema; pass an hr.Schema."
            )
        self._schema, self._max_bins = schema, int(max_bins)
        of_one = schema.records_per_person if records_per_person is None else int(records_per_person)
        self._claim = Claim(exact(epsilon), Fraction(0), check_adjacency(adjacency), of_one)
        X, y, self._named, persons = _read(X, y, groups, schema)
        self._person = None if persons is None else persons.name
        self._randomness = Randomness(random_state)
        self._encoder = Encoder(schema, self._max_bins)
        # The whole budget is booked at once, so the entry is finished when the curator stands ready to answer.
        with nullcontext() if ledger is None else ledger.reserve(self.certificate), without_sizes():
            keep = keep_of(persons, self.records_per_person, self._randomness)
            elsewhere = isinstance(X, Records)
            table = X.table(self._encoder, keep) if elsewhere else MemoryTable.of(self._encoder, X, y, keep)
            self._queryable = Queryable(table, self._claim.pure, self._randomness)
            self._questions: list[Question] = []
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
        """How many records of one person are read at most."""
        return self._claim.records_per_person

    @property
    def person(self) -> str | None:
        """The column that tells persons apart, "" where it has no name; None: there is none."""
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
        """What was asked so far."""
        return tuple(self._questions)

    @property
    def epsilon(self) -> Fraction:
        """The budget of all questions together, exact."""
        return self._claim.epsilon

    @property
    def spent(self) -> Fraction:
        """The epsilon of the costliest path of questions so far, exact."""
        return self._queryable.spent * (self._claim.epsilon / self._claim.pure)

    @property
    def remaining(self) -> Fraction:
        """What the costliest path has left, exact; other paths may have more."""
        return self._claim.epsilon - self.spent

    @property
    def certificate(self) -> Certificate:
        """The guarantee of everything that this curator will ever answer."""
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
        """Return the budget and the number of questions, and nothing of the records."""
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
        answer = self._queryable.count(nodes, Geometric(self._budget(epsilon)))
        return self._asked("number of records", nodes, epsilon, answer)

    def class_counts(self, nodes: Nodes, epsilon: float) -> Integers:
        """Return the number of records of each class in each node, of shape (nodes, classes), with geometric noise."""
        answer = self._queryable.class_counts(nodes, Geometric(self._budget(epsilon)))
        return self._asked("class counts", nodes, epsilon, answer)

    def histogram(self, nodes: Nodes, features: Iterable[str], epsilon: float) -> dict[str, Integers]:
        """Return for each feature the records of each node by code and class, of shape (nodes, codes, classes), with noise.

        A record is in one cell of each feature's histogram, so the features share ``epsilon``. Codes are the bins or the
        values of the schema, then missing, and for categories undeclared.
        """
        names = list(features)
        unknown = [name for name in names if name not in self._schema.features]
        wanted = set(names)
        if unknown or not names or len(wanted) != len(names):
            raise ConfigurationError(f"features are {names!r}; pass different names of the schema.")
        asked = np.array([name in wanted for name in self._schema.features])
        noise = Geometric(self._budget(epsilon), len(names))
        counts = self._queryable.histogram(nodes, np.tile(asked, (len(nodes), 1)), noise)
        self._asked(f"counts of {', '.join(names)} by class", nodes, epsilon, counts)
        ends = np.cumsum(self._encoder.n_codes)
        parts = dict(zip(self._schema.names, np.split(counts, ends[:-1], axis=1), strict=True))
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
        """Return a test for each node, of shape (nodes,), chosen by its score.

        Parameters
        ----------
        nodes, tests, epsilon
            What is asked, of which nodes, at what cost.
        score : {"gini", "max", "information-gain", "error"}
            What ranks the tests.
        mechanism : {"permute-and-flip", "exponential"}
            How one is chosen.
        offered : ndarray of shape (nodes, tests), bool, or None
            Which tests each node may take, by public or released values; None: all.
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
        chosen = self._queryable.select(nodes, tests, allowed, SCORES[score], selection)
        return self._asked(f"a test by {SCORES[score].name}", nodes, epsilon, chosen)

    def partition(self, nodes: Nodes, tests: Candidates, chosen: npt.ArrayLike) -> Nodes:
        """Return the children of all nodes, each node's in the order of its test's branches, also the empty ones.

        It is free: tests are public or released. The nodes themselves are closed.
        """
        return self._queryable.partition(nodes, tests, np.array(chosen))

    def _budget(self, epsilon: float) -> Fraction:
        return replace(self._claim, epsilon=exact(epsilon)).pure

    def _asked(self, text: str, nodes: Nodes, epsilon: float, answer: Integers) -> Integers:
        self._questions.append(Question(text, len(nodes), exact(epsilon)))
        return answer


def _read(X: Any, y: Any, groups: Any, schema: Schema) -> tuple[Any, Any, bool, Groups | None]:
    """Return records and labels whose shapes were checked, whether columns have names, and who the records are of."""
    if isinstance(X, Records):
        if y is not None:
            raise ConfigurationError("hr.Records hold their labels; pass None for y, and name their column by label=.")
        if groups is not None:
            raise ConfigurationError(
                "hr.Records hold who they are of; leave out groups, and name its column by group=."
            )
        X.check(schema)
        return X, None, True, X.groups_by(schema)
    X, groups = split_groups(X, groups, schema.person)
    columns, labels = read_records(X, y, schema.features, schema.labels)
    return columns, labels, columns.named, read_groups(groups, columns.n_rows, schema.missing, schema.person)


# Not methods: through a learner's questions an analyst's own code would see records.


def public_draws(curator: Curator) -> Callable[..., Any]:
    """Return what draws a learner's public coins from the curator's randomness; it is free."""
    return curator._queryable.draw_public


def for_learner(curator: Curator, text: str, epsilon: Fraction, event: Event) -> Queryable:
    """Reserve what a learner's plan costs, or raise BudgetExceeded, and return what a learner of this library asks.

    ``text`` and ``epsilon`` stand among the curator's questions from then on.
    """
    queryable = curator._queryable.for_learner(event)
    curator._questions.append(Question(text, 1, epsilon))
    return queryable
