from fractions import Fraction

import matplotlib
import pytest

import hedgerow as hr
from hedgerow.errors import ConfigurationError
from hedgerow.plots import BudgetDisplay
from hedgerow.plots.budget import budget_paths
from hedgerow.privacy.events import Gaussian, OneOf, Parallel, Pure, Sequence, Subsampled, Unprotected

matplotlib.use("Agg")

SCHEMA = hr.Schema(
    {"a": hr.Categorical(["x", "y"]), "b": hr.Numeric(0, 1), "c": hr.Numeric(0, 1)}, classes=["no", "yes"]
)
RECORDS, LABELS = [["x", 0.1, 0.2], ["y", 0.3, 0.5]], ["no", "yes"]


def fitted(kind, **parameters):
    return kind(schema=SCHEMA, **parameters).fit(RECORDS, LABELS)


def rounded(path):
    return [(step.level, step.purpose, round(float(step.amount), 2)) for step in path.steps]


def test_the_papers_figure_3():
    budget = budget_paths(fitted(hr.PFDPDTClassifier, max_depth=2).certificate_.event)
    assert [rounded(path) for path in budget.paths] == [
        [(1, "leaf label", 1.0)],
        [(1, "test of a node", 0.18), (2, "leaf label", 0.82)],
        [(1, "test of a node", 0.18), (2, "test of a node", 0.27), (3, "leaf label", 0.55)],
    ]
    assert budget.unit == "epsilon"


@pytest.mark.parametrize(
    "model",
    [
        pytest.param(lambda: fitted(hr.EDPRFClassifier, n_estimators=3), id="a record in one tree"),
        pytest.param(lambda: fitted(hr.PFDPDTClassifier, stop="noisy-minority"), id="a stop"),
        pytest.param(lambda: fitted(hr.DiffGenClassifier), id="cells"),
    ],
)
def test_every_path_spends_the_whole_budget_and_no_more(model):
    for path in budget_paths(model().certificate_.event).paths:
        assert Fraction(999999, 1000000) < path.total <= 1


@pytest.mark.parametrize(
    ("kind", "parameters", "words"),
    [
        (hr.EDPRFClassifier, {"n_estimators": 3}, "one of 3 trees, and every record is in one of them"),
        (hr.DiffPRFsClassifier, {}, "one of 3 trees or rounds, all on the same records"),
        (hr.TpDPRFClassifier, {}, "one of 4 trees or rounds, all on the same records"),
        (hr.DPAdaClassifier, {"n_estimators": 60}, "one of 60 trees or rounds, all on the same records"),
        (
            hr.CARTDPsAdaBoostClassifier,
            {},
            "one of 10 trees or rounds, all on the same records; on a sample in which a record is with probability 0.5",
        ),
        (hr.PFDPDTClassifier, {}, ""),
    ],
)
def test_the_words_say_how_trees_share_the_records(kind, parameters, words):
    assert budget_paths(fitted(kind, **parameters).certificate_.event).words.startswith(words)


def test_equal_steps_of_a_path_are_one():
    step = Pure(Fraction(1, 4), "m", "count", 1)
    [path] = budget_paths(Sequence((step, step, Pure(Fraction(1, 2), "m", "leaf", 2)))).paths
    assert rounded(path) == [(1, "count", 0.5), (2, "leaf", 0.5)]
    assert path.name == "leaf, level 2"


def test_gaussian_noise_is_counted_as_rho():
    budget = budget_paths(Sequence((Gaussian(Fraction(1, 5), 1, "sums"), Pure(Fraction(1, 2), "m", "test"))))
    assert budget.unit == "rho"
    sums, test = budget.paths[0].steps
    assert float(sums.amount) == pytest.approx(0.1)
    assert 0 < test.amount <= Fraction(1, 8)


@pytest.mark.filterwarnings("ignore:the noisy number of records")
@pytest.mark.parametrize(("delta", "unit"), [(0.0, "epsilon"), (1e-6, "rho")])
def test_of_alternative_plans_the_first_is_shown(delta, unit):
    event = fitted(hr.HedgerowClassifier, delta=delta).certificate_.event
    budget = budget_paths(event)
    [path] = budget.paths
    assert [step.purpose for step in path.steps][-2:] == [
        "cut, or candidate, of a round",
        "gradients and curvatures of the candidate's cells",
    ]
    *survey, choice = event.parts
    assert isinstance(choice, OneOf)
    assert path == budget_paths(Sequence((*survey, choice.parts[0]))).paths[0]
    assert all(path != budget_paths(Sequence((*survey, other))).paths[0] for other in choice.parts[1:])
    assert budget.words == f"{choice.label}; drawn is the first of the {len(choice.parts)} choices"
    assert budget.unit == unit


def test_alternatives_are_found_in_every_kind_of_plan():
    small, large = Pure(Fraction(1, 4), "m", "small"), Pure(Fraction(1, 2), "m", "large")
    plan = Subsampled(Parallel((OneOf((small, large), "the size chooses"), large)), Fraction(1, 2))
    budget = budget_paths(plan)
    assert [path.name for path in budget.paths] == ["small", "large"]
    assert budget.words.endswith("at most; the size chooses; drawn is the first of the 2 choices")


def test_paths_are_shortest_first():
    test, leaf = Pure(Fraction(1, 4), "m", "test", 1), Pure(Fraction(1, 2), "m", "leaf", 1)
    budget = budget_paths(Parallel((Sequence((test, leaf)), leaf)))
    assert [len(path.steps) for path in budget.paths] == [1, 2]


def test_without_a_budget_there_is_nothing_to_draw():
    with pytest.raises(ConfigurationError, match="nothing to draw"):
        budget_paths(Parallel((Unprotected("raw"),)))


@pytest.mark.parametrize("kind", ["paths", "tree"])
def test_the_picture_shows_the_numbers(kind):
    display = BudgetDisplay.from_estimator(fitted(hr.PFDPDTClassifier, max_depth=2)).plot(kind=kind)
    texts = " ".join(text.get_text() for text in display.ax_.texts)
    assert [number for number in ("0.18", "0.27", "0.55", "0.82") if number not in texts] == []
    assert "PFDPDTClassifier, private" in display.ax_.get_title(loc="left")
    assert display.figure_ is display.ax_.figure


def test_a_published_form_books_no_budgets_that_a_picture_could_show():
    with pytest.raises(hr.ConfigurationError):
        BudgetDisplay.from_estimator(fitted(hr.EDPRFClassifier, variant="published"))


def test_bars_end_where_the_budget_ends():
    display = BudgetDisplay.from_estimator(fitted(hr.PFDPDTClassifier, max_depth=2)).plot()
    ends = {}
    for bar in display.ax_.patches:
        ends[bar.get_y()] = max(ends.get(bar.get_y(), 0), bar.get_x() + bar.get_width())
    assert list(ends.values()) == pytest.approx([1, 1, 1])


def test_an_unknown_kind_is_refused():
    with pytest.raises(ConfigurationError, match="'paths' or 'tree'"):
        BudgetDisplay.from_estimator(fitted(hr.PFDPDTClassifier)).plot(kind="pie")
