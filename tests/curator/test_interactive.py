"""The interface mode: what an analyst is answered, what it costs, and what no question can get out."""

from __future__ import annotations

import contextlib
import threading
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from helpers import exact_law
from products import thinned

import hedgerow as hr
from hedgerow.audit import check_model
from hedgerow.audit.exact import worst_loss
from hedgerow.curator import Queryable
from hedgerow.curator.interactive import Curator, Question, for_learner
from hedgerow.errors import BudgetExceeded, ConfigurationError
from hedgerow.mechanisms import Exponential, Geometric, PermuteAndFlip, PerRecordCoin, Randomness
from hedgerow.privacy.accounting import Pure, cost
from hedgerow.scores import Gini
from hedgerow.systems import system_class
from hedgerow.systems.trees import DiffPC45Classifier, DiffPID3Classifier, PINQID3Classifier, SuLQID3Classifier
from hedgerow.table import MemoryTable, Sizes

SCHEMA = hr.Schema({"age": hr.Numeric(0, 10), "sex": hr.Categorical(["f", "m"])}, classes=["no", "yes"])
GENERATOR = np.random.default_rng(0)
X = np.empty((400, 2), dtype=object)
X[:, 0] = GENERATOR.uniform(0, 10, 400)
X[:, 1] = GENERATOR.choice(["f", "m"], 400)
Y = np.where(X[:, 0] > 6, "yes", "no")
OTHERS = [(X[:1], Y[:1]), (X[:399], Y[:399]), (X[::-1], Y), (np.array([[None, "?"]], dtype=object), [None])]


def curator_of(records=X, labels=Y, epsilon=1.0, **given) -> Curator:
    return Curator(records, labels, SCHEMA, epsilon, **{"max_bins": 5, "random_state": 0, **given})


class Recorder(Randomness):
    """Writes down the mechanisms, and answers zeros: nothing of the records comes through."""

    def __init__(self):
        super().__init__(0)
        self.drawn = []

    def draw(self, mechanism, *statistics):
        self.drawn.append(mechanism)
        shape = np.shape(statistics[0])
        return np.zeros(shape[:1] if isinstance(mechanism, PermuteAndFlip | Exponential) else shape, dtype=np.int64)


def recorded(records=X, labels=Y, **given) -> tuple[Curator, Recorder]:
    curator = curator_of(records, labels, **given)
    curator._queryable._randomness = Recorder()
    return curator, curator._queryable._randomness


QUESTIONS = {
    "count": lambda curator, epsilon: curator.count(curator.root, epsilon),
    "class counts": lambda curator, epsilon: curator.class_counts(curator.root, epsilon),
    "histogram": lambda curator, epsilon: curator.histogram(curator.root, ["age"], epsilon),
    "histograms": lambda curator, epsilon: curator.histogram(curator.root, ["sex", "age"], epsilon),
    "select": lambda curator, epsilon: curator.select(curator.root, curator.tests(), epsilon),
    "select, exponential": lambda curator, epsilon: curator.select(
        curator.root, curator.tests("mixed"), epsilon, score="information-gain", mechanism="exponential"
    ),
}
every_question = pytest.mark.parametrize("ask", QUESTIONS.values(), ids=QUESTIONS.keys())


def plain(answer):
    return {name: part.tolist() for name, part in answer.items()} if isinstance(answer, dict) else answer.tolist()


# Charging.


@every_question
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_a_question_costs_what_it_names_and_is_answered_at_most_at_that(ask, adjacency):
    curator, recorder = recorded(adjacency=adjacency)
    ask(curator, 0.5)
    assert Fraction(1, 2) * Fraction(999_999, 10**6) < curator.spent <= Fraction(1, 2)
    assert curator.remaining == 1 - curator.spent
    (mechanism,) = recorder.drawn
    assert mechanism.epsilon == Fraction(1, 2) / (1 if adjacency == "add-remove" else 2)


def test_a_histogram_is_asked_at_the_noise_of_as_many_features_as_it_names():
    curator, recorder = recorded()
    curator.histogram(curator.root, ["age"], 0.25)
    curator.histogram(curator.root, ["sex", "age"], 0.25)
    assert recorder.drawn == [Geometric(Fraction(1, 4), 1), Geometric(Fraction(1, 4), 2)]


def test_a_selection_is_asked_at_its_scores_range():
    curator, recorder = recorded(epsilon=10)
    for score, score_range in (("gini", Gini().range), ("max", 1), ("error", 1)):
        curator.select(curator.root, curator.tests(), 0.5, score=score)
        assert recorder.drawn[-1] == PermuteAndFlip(Fraction(1, 2), score_range)
    curator.select(curator.root, curator.tests(), 0.5, score="information-gain")
    assert recorder.drawn[-1].score_range >= np.log2(65_535) * 1024


def test_costs_add_on_a_path_and_disjoint_nodes_count_once():
    curator = curator_of()
    tests = curator.tests()
    children = curator.partition(curator.root, tests, curator.select(curator.root, tests, 0.25))
    curator.count(children, 0.25)
    assert curator.spent <= Fraction(1, 2)
    curator.class_counts(children[np.array([True, False])], 0.5)
    curator.class_counts(children[np.array([False, True])], 0.5)
    assert Fraction(999, 1000) < curator.spent <= 1
    with pytest.raises(BudgetExceeded):
        curator.count(children, 0.01)


@every_question
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_a_refusal_is_the_same_whatever_the_records_are_and_draws_nothing(ask, adjacency):
    messages = set()
    for records, labels in [(X, Y), *OTHERS]:
        curator, recorder = recorded(records, labels, adjacency=adjacency)
        curator.count(curator.root, 0.9)
        before, drawn, asked = curator.spent, len(recorder.drawn), curator.questions
        with pytest.raises(BudgetExceeded) as refusal:
            ask(curator, 0.2)
        messages.add(str(refusal.value))
        assert (curator.spent, len(recorder.drawn), curator.questions) == (before, drawn, asked)
    assert len(messages) == 1


def test_the_whole_budget_can_be_asked_for_and_not_a_hair_more():
    curator = curator_of(epsilon=0.3, adjacency="replace-one")
    for _ in range(3):
        curator.count(curator.root, 0.1)
    assert curator.remaining >= 0
    with pytest.raises(BudgetExceeded):
        curator.count(curator.root, 1e-8)


def test_a_partitioned_node_answers_no_more():
    curator = curator_of()
    curator.partition(curator.root, curator.tests(), [0])
    with pytest.raises(ConfigurationError, match="query its children"):
        curator.count(curator.root, 0.1)


def test_questions_are_written_down():
    curator = curator_of()
    curator.count(curator.root, 0.25)
    curator.histogram(curator.root, ["sex", "age"], 0.25)
    assert curator.questions == (
        Question("number of records", 1, Fraction(1, 4)),
        Question("counts of sex, age by class", 1, Fraction(1, 4)),
    )


# The ledger, and the certificate.


def test_the_ledger_is_booked_once_and_for_all_questions():
    ledger = hr.Ledger(epsilon=2.0)
    curator = curator_of(epsilon=1.5, ledger=ledger)
    assert ledger.spent == Fraction(3, 2)
    for _ in range(3):
        curator.count(curator.root, 0.1)
    SuLQID3Classifier(0.5).fit_curator(curator)
    assert ledger.spent == Fraction(3, 2)
    assert len(ledger.entries) == 1
    with pytest.raises(BudgetExceeded, match="nothing was drawn"):
        curator_of(epsilon=0.6, ledger=ledger)


def test_a_refused_curator_reads_no_record(monkeypatch):
    monkeypatch.setattr("hedgerow.curator.interactive.MemoryTable", None)
    with pytest.raises(BudgetExceeded):
        curator_of(epsilon=3.0, ledger=hr.Ledger(epsilon=2.0))


def test_ledgers_hold_their_adjacency():
    ledger = hr.Ledger(epsilon=2.0, adjacency="replace-one")
    curator_of(epsilon=1.0, adjacency="replace-one", ledger=ledger)
    assert ledger.spent == 1
    with pytest.raises(BudgetExceeded, match="planned for replace-one"):
        curator_of(epsilon=0.1, adjacency="replace-one", ledger=hr.Ledger(epsilon=2.0))


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_the_certificate_covers_every_question(adjacency):
    curator = Curator(X, Y, SCHEMA, 1.0, adjacency=adjacency)
    assert curator.certificate.holds
    assert curator.certificate.spent == 1
    assert not curator_of(adjacency=adjacency).certificate.holds  # seeded
    assert curator_of().seeded
    assert not curator.seeded


@pytest.mark.filterwarnings("ignore::hedgerow.PrivacyLeakWarning")
def test_an_inferred_schema_voids_the_certificate_and_is_refused_by_a_ledger():
    inferred = hr.Schema.infer(X, Y)
    assert not Curator(X, Y, inferred, 1.0).certificate.holds
    with pytest.raises(BudgetExceeded, match="unprotected"):
        Curator(X, Y, inferred, 1.0, ledger=hr.Ledger(epsilon=2.0))


# Answers.


def test_answers_at_a_large_budget_are_the_counts():
    curator = curator_of(epsilon=1e6)
    assert curator.count(curator.root, 1e5).tolist() == [400]
    yes = int((Y == "yes").sum())
    assert curator.class_counts(curator.root, 1e5).tolist() == [[400 - yes, yes]]
    found = curator.histogram(curator.root, ["sex", "age"], 1e5)
    assert list(found) == ["sex", "age"]
    by_sex = [
        [[int(((X[:, 1] == v) & (label == Y)).sum()) for label in ("no", "yes")] for v in ("f", "m")] + [[0, 0]] * 2
    ]
    assert found["sex"].tolist() == by_sex
    bins = (X[:, 0].astype(float) // 2).astype(int)
    by_age = [[int(((bins == b) & (label == Y)).sum()) for label in ("no", "yes")] for b in range(5)]
    assert found["age"][0, :5].tolist() == by_age
    tests = curator.tests()
    chosen = curator.select(curator.root, tests, 1e5)
    assert curator.describe(tests, int(chosen[0]))[0] == "age: [0, 2), [2, 4), [4, 6)"
    children = curator.partition(curator.root, tests, chosen)
    assert curator.class_counts(children, 1e5).tolist() == [[400 - yes, 0], [0, yes]]


def test_tests_are_described_branch_by_branch():
    curator = curator_of()
    tests = curator.tests("binary")
    assert (len(tests), tests.arity.tolist()) == (8, [2] * 8)
    assert curator.describe(tests, 4) == ["age: [0, 2), [2, 4), [4, 6), [6, 8), [8, 10]", "age: missing"]
    left, right = curator.describe(tests, 5)
    assert left == "sex: f"
    assert right.startswith("sex: m, ")
    many = curator.tests("multiway")
    assert many.arity.tolist() == [6, 4]
    assert curator.describe(many, 1)[:2] == ["sex: f", "sex: m"]
    assert curator.tests("mixed").arity.tolist() == [2] * 5 + [4]


def test_offered_tests_alone_are_chosen():
    curator = curator_of(epsilon=100)
    offered = np.zeros((1, 8), dtype=bool)
    offered[0, 6] = True
    assert curator.select(curator.root, curator.tests(), 50, offered=offered).tolist() == [6]


# Wrong input.


@pytest.mark.parametrize(
    "given",
    [
        {"epsilon": 0},
        {"epsilon": -1},
        {"epsilon": float("nan")},
        {"epsilon": "much"},
        {"max_bins": 1},
        {"max_bins": True},
        {"adjacency": "neighbors"},
        {"random_state": -1},
        {"ledger": 3},
        {"labels": Y[:-1]},
        {"records": X[:0], "labels": Y[:0]},
        {"records": X[:, :1]},
    ],
)
def test_wrong_parameters_are_refused(given):
    with pytest.raises(ConfigurationError):
        curator_of(**given)


@pytest.mark.parametrize("schema", [None, {"age": hr.Numeric(0, 10)}])
def test_a_curator_needs_a_schema(schema):
    with pytest.raises(ConfigurationError, match="schema"):
        Curator(X, Y, schema, 1.0)


@pytest.mark.parametrize(
    "ask",
    [
        lambda c: c.count(c.root, 0),
        lambda c: c.count(c.root, -0.5),
        lambda c: c.count(c.root, float("inf")),
        lambda c: c.class_counts(c.root, float("nan")),
        lambda c: c.histogram(c.root, [], 0.1),
        lambda c: c.histogram(c.root, ["age", "age"], 0.1),
        lambda c: c.histogram(c.root, ["weight"], 0.1),
        lambda c: c.tests("ternary"),
        lambda c: c.select(c.root, c.tests(), 0.1, score="accuracy"),
        lambda c: c.select(c.root, c.tests(), 0.1, mechanism="argmax"),
        lambda c: c.select(c.root, c.tests(), 0.1, offered=np.ones(8, dtype=bool)),
        lambda c: c.select(c.root, c.tests(), 0.1, offered=np.ones((1, 8))),
        lambda c: c.select(c.root, c.tests(), 0.1, offered=np.zeros((1, 8), dtype=bool)),
        lambda c: c.partition(c.root, c.tests(), [8]),
        lambda c: c.partition(c.root, c.tests(), [-1]),
        lambda c: c.partition(c.root, c.tests(), [0, 0]),
        lambda c: c.count(type(c.root)(c.root.generation, np.array([1])), 0.1),
        lambda c: c.count(type(c.root)(c.root.generation, np.array([0, 0])), 0.1),
    ],
)
def test_wrong_questions_are_refused_and_cost_nothing(ask):
    curator, recorder = recorded()
    with pytest.raises(ConfigurationError):
        ask(curator)
    assert curator.spent == 0
    assert recorder.drawn == []
    assert curator.questions == ()


# What no question can get out.


PROPERTIES = {
    "adjacency", "certificate", "epsilon", "max_bins", "named", "person", "questions",
    "records_per_person", "remaining", "root", "schema", "seeded", "spent",
}  # fmt: skip
METHODS = {"class_counts", "count", "describe", "histogram", "partition", "select", "tests"}


def test_the_public_names_of_a_curator_are_those_that_these_tests_know():
    assert {name for name in dir(curator_of()) if not name.startswith("_")} == PROPERTIES | METHODS


def test_public_attributes_do_not_depend_on_the_records():
    seen = []
    for records, labels in [(X, Y), *OTHERS]:
        curator = curator_of(records, labels)
        curator.count(curator.root, 0.25)
        values = {name: getattr(curator, name) for name in PROPERTIES - {"root"}}
        assert not any(isinstance(value, MemoryTable | Queryable | np.ndarray) for value in values.values())
        seen.append((values, curator.root.generation, curator.root.index.tolist(), len(curator.root)))
    assert all(found == seen[0] for found in seen)


@every_question
def test_answers_are_what_the_mechanisms_drew_and_nothing_else(ask):
    """With the noise's outcomes fixed, the answers are the same whatever the records are."""
    answers = [plain(ask(recorded(records, labels)[0], 0.5)) for records, labels in [(X, Y), *OTHERS]]
    assert all(answer == answers[0] for answer in answers)


def test_children_are_named_alike_whatever_the_records_are():
    names = []
    for records, labels in [(X, Y), *OTHERS]:
        curator, _ = recorded(records, labels)
        children = curator.partition(curator.root, curator.tests("multiway"), [0])
        names.append((children.generation, children.index.tolist()))
    assert all(name == names[0] for name in names)
    assert names[0][1] == list(range(6))


SMALL = hr.Schema({"a": hr.Categorical(["0", "1"]), "b": hr.Categorical(["0", "1"])}, classes=[0, 1])


def session_law(records, tests_of=lambda curator: curator.tests("multiway"), mechanism="permute-and-flip", **given):
    """Return the exact law of a selection, and one more in each child, at 1/2 each."""
    cells = np.array([record[:2] for record in records], dtype=str).astype(object)

    def ask(source):
        curator = Curator(cells, [record[2] for record in records], SMALL, 1.0, max_bins=2, **given)
        curator._queryable._randomness = source
        tests = tests_of(curator)
        first = curator.select(curator.root, tests, 0.5, score="max", mechanism=mechanism)
        children = curator.partition(curator.root, tests, first)
        some = children[np.arange(len(children)) < 2]  # the values, without missing and undeclared
        second = curator.select(some, tests, 0.5, score="max", mechanism=mechanism)
        assert curator.spent <= 1
        return (*first.tolist(), *second.tolist())

    return exact_law(ask)


@pytest.mark.parametrize("mechanism", ["permute-and-flip", "exponential"])
def test_a_session_costs_at_most_epsilon(mechanism):
    sets = [d for n in (1, 2, 3) for d in combinations_with_replacement(list(product((0, 1), repeat=3)), n)]
    sets += [d := ((0, 0, 0),) * 9 + ((1, 0, 1),) * 9, (*d, (0, 0, 1))]
    laws = {d: session_law(d, mechanism=mechanism) for d in sets}
    pairs = [(d, d[:i] + d[i + 1 :]) for d in sets for i in range(len(d)) if d[:i] + d[i + 1 :] in laws]
    assert len(pairs) > 300
    assert 0.4 < max(worst_loss(laws[one], laws[other]) for one, other in pairs) <= 1 + 1e-9


def test_a_session_costs_at_most_epsilon_when_a_record_is_replaced():
    types = list(product((0, 1), repeat=3))
    laws = {d: session_law(d, adjacency="replace-one") for d in combinations_with_replacement(types, 2)}
    pairs = [(one, other) for one in laws for other in laws if set(one) & set(other)]
    assert 0.2 < max(worst_loss(laws[one], laws[other]) for one, other in pairs) <= 1 + 1e-9


# Bugs.


def foreign_tests():
    """Return tests for a schema with fewer codes: their second feature lies among the codes of our first."""
    schema = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1)}, classes=[0, 1])
    return Curator([[0, 0]], [0], schema, 1.0, max_bins=2).tests("binary")


def test_tests_of_another_schema_are_refused():
    wide = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1)}, classes=[0, 1])
    curator = Curator([[0.5, 0.5]], [0], wide, 1.0, max_bins=10)
    with pytest.raises(ConfigurationError):
        curator.select(curator.root, foreign_tests(), 0.5)


def test_a_partition_by_tests_of_another_schema_is_refused():
    curator = Curator(
        [[0.5, 0.5]], [0], hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1)}, classes=[0, 1]), 1.0, max_bins=2
    )
    other = Curator([[0.5, 0.5]], [0], curator.schema, 1.0, max_bins=10)  # more codes: nothing is read out of bounds
    with pytest.raises(ConfigurationError):
        curator.partition(curator.root, other.tests(), [0])


def test_no_public_method_shows_records_to_the_analysts_code():
    seen = []

    def spy(*raw):
        seen.append(raw)
        raise RuntimeError

    curator = curator_of()
    with pytest.raises(Exception):  # noqa: B017, PT011
        curator.count(curator.root, spy)
    assert not seen


@pytest.mark.filterwarnings("ignore::hedgerow.PrivacyLeakWarning")
def test_a_tree_on_an_inferred_schema_claims_nothing():
    curator = Curator(X, Y, hr.Schema.infer(X, Y), 1.0)
    assert not DiffPID3Classifier(0.5).fit_curator(curator).certificate_.holds


# Learners of the interface mode.

TREES = [SuLQID3Classifier, PINQID3Classifier, DiffPID3Classifier, DiffPC45Classifier]
LEARNERS = [system_class(info.name) for info in hr.list_systems()]
every_learner = pytest.mark.parametrize("learner", LEARNERS)


def curator_for(learner, epsilon, **settings):
    """A curator that reads records as a learner does."""
    return Curator(X, Y, SCHEMA, epsilon, max_bins=255 if learner is hr.HedgerowClassifier else 5, **settings)


@pytest.mark.parametrize(("learner", "adjacency"), thinned(product(LEARNERS, ["add-remove", "replace-one"]), 3))
@pytest.mark.filterwarnings("ignore:the noisy number of records")
def test_every_private_learner_asks_a_curator_and_has_the_guarantee_of_a_fit(learner, adjacency):
    curator = curator_for(learner, 1.0, adjacency=adjacency)
    asked = learner(0.5).fit_curator(curator)
    assert asked.certificate_.holds
    assert check_model(asked) == []
    planned = cost(asked.certificate_.event).under(adjacency).epsilon
    assert Fraction(1, 4) < curator.spent <= planned <= Fraction(1, 2)
    bins = {} if learner is hr.HedgerowClassifier else {"max_bins": 5}
    if learner is hr.ForestClassifier:  # five bins leave a survey nothing to place
        bins["bins"] = "equal-width"
    fitted = learner(0.5, schema=SCHEMA, adjacency=adjacency, **bins).fit(X, Y)
    assert asked.certificate_ == fitted.certificate_


@every_learner
@pytest.mark.filterwarnings("ignore:the noisy number of records")
def test_a_learner_that_asks_after_another_learns_as_if_it_were_the_first(learner):
    """Margins and codes are its own, so an analyst's nodes and the learners before leave no trace but what was spent."""
    curator = curator_for(learner, 10_000.0)
    curator.count(curator.root, 1.0)
    models = [learner(2000.0).fit_curator(curator) for _ in range(2)]
    if learner is not hr.RandomTreesClassifier:  # whose tests are drawn, not chosen
        assert min(model.score(X, Y) for model in models) > 0.85
    table = curator._queryable._table
    assert table._margins is None
    assert len(table.offsets) == 3
    assert curator.count(curator.root, 100.0).tolist() == [400]


def test_a_learner_of_other_bins_is_told_which_curator_it_needs():
    with pytest.raises(hr.ConfigurationError, match=r"255 bins, but the curator has 5; .* max_bins=255"):
        hr.HedgerowClassifier(0.5).fit_curator(Curator(X, Y, SCHEMA, 1.0, max_bins=5))


@pytest.mark.parametrize("learner", [hr.HedgerowClassifier, hr.DPAdaClassifier])
def test_a_curators_questions_are_pure(learner):
    with pytest.raises(hr.ConfigurationError, match="delta must be left out"):
        learner(0.5, delta=1e-6).fit_curator(curator_for(learner, 1.0))


def test_a_learners_plan_is_charged_whole_before_it_asks_and_is_all_that_it_may_ask_for():
    curator = curator_for(DiffPID3Classifier, 1.0)
    learner = for_learner(curator, "a learner", Fraction(1, 2), Pure(Fraction(1, 2), "any", "any"))
    assert curator.spent == Fraction(1, 2)
    assert curator.questions[-1].text == "a learner"
    nodes = learner.assign(PerRecordCoin(1))
    learner.answer(Sizes(nodes), Geometric(Fraction(1, 2)))
    assert curator.spent == Fraction(1, 2)  # out of what it reserved
    with pytest.raises(BudgetExceeded):
        learner.answer(Sizes(nodes), Geometric(Fraction(1, 10)))
    with pytest.raises(BudgetExceeded):
        for_learner(curator, "another", Fraction(3, 5), Pure(Fraction(3, 5), "any", "any"))
    assert curator.spent == Fraction(1, 2)


def test_learners_at_once_get_whole_budgets_or_nothing():
    curator, fitted = curator_for(DiffPID3Classifier, 3.0), []

    def fit():
        with contextlib.suppress(BudgetExceeded):
            fitted.append(DiffPID3Classifier(1.0).fit_curator(curator))

    threads = [threading.Thread(target=fit) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(fitted) == 3
    assert Fraction(299, 100) < curator.spent <= 3


# What an analyst's own code could do with what it is given.


def test_what_tests_are_made_of_cannot_be_changed_under_a_curator():
    """With an arity of 0 a node's records fell to the last child of the node before it, whose path was never charged."""
    tests = curator_of().tests("mixed")
    for array in (tests.arity, tests.offsets, tests.n_codes):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.flags.writeable = True


def test_nodes_and_tests_of_another_class_are_refused_before_they_are_charged():
    """Nodes that say another number of them once they were charged got the counts of all nodes."""
    curator = curator_of(epsilon=1.0)
    tests = curator.tests("multiway")
    kids = curator.partition(curator.root, tests, [0])

    class All(type(kids)):
        def __len__(self):
            return 7

    class Tests(type(tests)):
        pass

    others = Tests(*(getattr(tests, field) for field in ("n_codes", "feature", "kind", "at", "weight")))
    for ask in (
        lambda: curator.class_counts(All(kids.generation, kids.index[1:2]), 0.5),
        lambda: curator.count(All(kids.generation, kids.index[1:2]), 0.5),
        lambda: curator.histogram(All(kids.generation, kids.index[1:2]), ["age"], 0.5),
        lambda: curator.select(kids, others, 0.5),
        lambda: curator.partition(kids, others, np.zeros(len(kids), dtype=np.int64)),
    ):
        with pytest.raises(ConfigurationError):
            ask()
    assert curator.spent == 0


@pytest.mark.parametrize("method", ["partition", "select"])
def test_what_is_checked_is_what_is_asked_also_where_the_array_changes_meanwhile(method, monkeypatch):
    """A thread that wrote between two readings made the children that were charged other than the real ones."""
    curator = curator_of(epsilon=2.0)
    tests = curator.tests("mixed")
    given = np.zeros(1, dtype=np.int64) if method == "partition" else np.zeros((1, len(tests)), dtype=np.bool_)
    given[..., 0] = method == "select"
    seen = []
    whole = MemoryTable.partition if method == "partition" else Randomness.draw

    def meanwhile(self, *asked):
        given[...] = len(tests) - 1 if method == "partition" else True
        seen.append(np.array(asked[-1]))
        return whole(self, *asked)

    monkeypatch.setattr(*((MemoryTable, "partition") if method == "partition" else (Randomness, "draw")), meanwhile)
    if method == "partition":
        children = curator.partition(curator.root, tests, given)
        assert len(children) == tests.arity[0] != tests.arity[-1]
    else:
        assert curator.select(curator.root, tests, 0.5, offered=given).tolist() == [0]
    assert seen[0].ravel()[-1] == 0


every_tree = pytest.mark.parametrize("tree", TREES)


@every_tree
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_a_tree_by_a_curator_has_the_guarantee_of_a_tree_by_fit(tree, adjacency):
    curator = Curator(X, Y, SCHEMA, 1.0, max_bins=5, adjacency=adjacency)
    asked = tree(0.5).fit_curator(curator)
    fitted = tree(0.5, schema=SCHEMA, max_bins=5, adjacency=adjacency).fit(X, Y)
    assert asked.certificate_ == fitted.certificate_
    assert asked.certificate_.holds
    planned = cost(asked.certificate_.event).under(adjacency).epsilon
    assert Fraction(2, 5) < curator.spent <= planned <= Fraction(1, 2)
    assert curator.questions == (Question(f"a model by {tree.__name__}", 1, Fraction(1, 2)),)
    assert asked.schema_ is SCHEMA
    assert asked.classes_.tolist() == ["no", "yes"]
    assert asked.predict_proba(X).shape == (400, 2)


@every_tree
def test_a_tree_by_a_curator_learns_and_survives_a_file(tree, tmp_path):
    curator = Curator(X, Y, SCHEMA, 2000.0, max_bins=7, adjacency="replace-one")
    model = tree(1000.0).fit_curator(curator)
    assert model.score(X, Y) > 0.9
    model.save(tmp_path / "m")
    again = hr.load(tmp_path / "m")
    assert type(again) is tree
    assert again.certificate_ == model.certificate_
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert (again.max_bins, again.adjacency) == (7, "replace-one")


@every_tree
def test_trees_and_questions_share_the_budget_and_what_is_too_much_is_refused(tree):
    messages = set()
    for records, labels in [(X, Y), *OTHERS]:
        curator, recorder = recorded(records, labels)
        curator.count(curator.root, 0.6)
        before = curator.spent
        drawn = len(recorder.drawn)
        with pytest.raises(BudgetExceeded) as refusal:
            tree(0.5).fit_curator(curator)
        messages.add(str(refusal.value))
        assert (curator.spent, len(recorder.drawn), len(curator.questions)) == (before, drawn, 1)
    assert len(messages) == 1
    curator = curator_of()
    curator.count(curator.root, 0.6)
    tree(0.4).fit_curator(curator)
    assert Fraction(9, 10) < curator.spent <= 1
    with pytest.raises(BudgetExceeded):
        curator.count(curator.root, 0.45)


def test_a_tree_by_a_seeded_curator_says_so():
    assert any(
        "random_state" in reason for reason in PINQID3Classifier(0.5).fit_curator(curator_of()).certificate_.reasons
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"variant": "published"}, "variant must be left out"),
        ({"random_state": 3}, "random_state must be left out"),
        ({"ledger": hr.Ledger(epsilon=1.0)}, "ledger must be left out"),
        ({"schema": hr.Schema({"age": hr.Numeric(0, 9)}, classes=["no", "yes"])}, "schema"),
        ({"max_bins": 6}, "max_bins"),
        ({"adjacency": "replace-one"}, "adjacency"),
        ({"max_depth": -1}, "max_depth"),
        ({"epsilon": 0}, "epsilon"),
    ],
)
def test_a_tree_that_wants_what_the_curator_has_not_is_refused(given, message):
    curator, recorder = recorded()
    with pytest.raises(ConfigurationError, match=message):
        hr.PFDPDTClassifier(**given).fit_curator(curator)
    assert curator.spent == 0
    assert recorder.drawn == []


def test_parameters_are_not_written_into_the_estimator():
    curator = Curator(X, Y, SCHEMA, 1.0, max_bins=5, adjacency="replace-one")
    tree = DiffPC45Classifier(0.5)
    before = tree.get_params()
    tree.fit_curator(curator)
    assert tree.get_params() == before


@pytest.mark.parametrize("chosen", [[2.9], ["2"], [True], ["a"], [np.nan], [-1], [10**6], [0, 0], 0, None])
def test_a_partition_takes_tests_by_their_numbers_and_closes_nothing_otherwise(chosen):
    curator = curator_of()
    tests = curator.tests("binary")
    with pytest.raises(ConfigurationError, match=rf"from 0 to {len(tests) - 1} for each of the 1 nodes"):
        curator.partition(curator.root, tests, chosen)
    assert len(curator.partition(curator.root, tests, [0])) == 2


@pytest.mark.parametrize("curator", [X, None, 3])
def test_what_is_no_curator_is_named(curator):
    with pytest.raises(ConfigurationError, match=r"must be an hr.Curator; fit\(X, y\) takes records"):
        DiffPID3Classifier().fit_curator(curator)
