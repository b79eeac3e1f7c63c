"""ForestClassifier's survey: bins where the records are, at a public cost."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.curator import Queryable
from hedgerow.curator.survey import Survey
from hedgerow.errors import BudgetExceeded
from hedgerow.mechanisms import Budget, Randomness
from hedgerow.privacy.accounting import cost
from hedgerow.privacy.claim import Claim
from hedgerow.systems import trees
from hedgerow.table import Coded, MemoryTable
from hedgerow.trees import SurveyedForestPlan

SCHEMA = hr.Schema(
    {"a": hr.Numeric(0, 100), "b": hr.Numeric(-1, 1), "c": hr.Categorical(["x", "y"])}, classes=["no", "yes"]
)
GENERATOR = np.random.default_rng(4)
ROWS = 20_000
X = {
    "a": GENERATOR.exponential(0.5, ROWS),
    "b": GENERATOR.normal(0, 0.01, ROWS),
    "c": GENERATOR.choice(["x", "y"], ROWS),
}
Y = np.where((X["a"] > 0.4) ^ (GENERATOR.random(ROWS) < 0.1), "yes", "no")
PARTS = {
    "candidates": list(trees.CANDIDATES),
    "selection": ["permute-and-flip", "exponential"],
    "assignment": list(trees.ASSIGNMENTS),
}


def plan_of(epsilon=1, **parts):
    estimator = hr.ForestClassifier(schema=SCHEMA, **parts)
    return estimator._plan(SCHEMA, Claim(Fraction(epsilon), Fraction(0), "add-remove"), None)


def test_bins_that_follow_the_records_see_what_equal_ones_cannot():
    model = hr.ForestClassifier(epsilon=2.0, schema=SCHEMA, random_state=1).fit(X, Y)
    assert model.certificate_.holds is False  # a seed
    assert (model.predict(X) == Y).mean() > 0.8


@pytest.mark.parametrize(("candidates", "selection", "assignment"), list(product(*PARTS.values())))
def test_the_cost_is_within_the_budget_and_does_not_depend_on_the_bins(candidates, selection, assignment):
    if selection == "noisy-histograms" and candidates != "multiway":
        pytest.skip("refused")
    plan = plan_of(candidates=candidates, selection=selection, assignment=assignment, n_estimators=3)
    assert isinstance(plan, SurveyedForestPlan)
    whole = cost(plan.event).epsilon
    assert Fraction(9, 10) < whole <= 1
    for bins in (2, 3, 7):
        merges = [np.minimum(np.arange(codes), bins - 1) for codes in plan.encoder.n_codes.tolist()]
        inner = plan._forest(plan.encoder.merged(merges))
        assert cost(inner.event).epsilon == cost(plan.event.parts[-1]).epsilon


@pytest.mark.parametrize("planted", [False, True])
def test_a_survey_of_more_than_its_share_is_refused(planted):
    """The curator's ceiling is the plan's cost: a survey that asks at five times its share is stopped before it answers."""
    plan = plan_of()
    table = MemoryTable.by(Coded(plan.encoder), X, Y)
    curator = Queryable(table, cost(plan.event), Randomness(3))
    if not planted:
        plan.fit(curator)
        assert curator.spent <= 1
        return
    plan._survey = Survey(Budget(Fraction(1)), plan.encoder, Fraction(1, 10))
    with pytest.raises(BudgetExceeded):
        plan.fit(curator)


def test_a_saved_forest_keeps_its_bins(tmp_path):
    model = hr.ForestClassifier(epsilon=2.0, schema=SCHEMA, random_state=1).fit(X, Y)
    model.save(tmp_path / "m")
    again = hr.load(tmp_path / "m")
    assert np.array_equal(model.predict_proba(X), again.predict_proba(X))
    assert [list(edges) for edges in again.model_.encoder.edges] == [
        list(edges) for edges in model.model_.encoder.edges
    ]


def test_a_schema_without_numbers_needs_no_survey():
    schema = hr.Schema({"c": hr.Categorical(["x", "y"])}, classes=["no", "yes"])
    plan = hr.ForestClassifier(schema=schema)._plan(schema, Claim(Fraction(1), Fraction(0), "add-remove"), None)
    assert not isinstance(plan, SurveyedForestPlan)


@pytest.mark.parametrize("system", [hr.ForestClassifier, hr.HedgerowClassifier])
@pytest.mark.parametrize("kinds", [{"a": hr.Numeric(0, 1000)}, {"a": hr.Integer(0, 100_000)}])
def test_through_a_curator_bins_are_the_analysts(system, kinds):
    """The codes of 255 bins of one width are merged as what they are, and not as the fine bins of a plain fit."""
    schema = hr.Schema(kinds, classes=["no", "yes"])
    values = GENERATOR.uniform(0, 1000, 5000)
    labels = np.where(values > 400, "yes", "no")
    curator = hr.Curator({"a": values}, labels, schema, epsilon=4.0, max_bins=255, random_state=2)
    model = system(epsilon=2.0).fit_curator(curator)
    plain = system(epsilon=2.0, schema=schema, random_state=2).fit({"a": values}, labels)
    right = [(m.predict({"a": values}) == labels).mean() for m in (model, plain)]
    assert right[1] > 0.85
    assert right[0] > (0.85 if schema.features["a"].high == 1000 else 0.5)


@pytest.mark.parametrize("bins", [7, 10, 255])
def test_a_forest_takes_an_analysts_bins(bins, tmp_path):
    curator = hr.Curator(X, Y, SCHEMA, epsilon=4.0, max_bins=bins, random_state=2)
    model = hr.ForestClassifier(epsilon=2.0).fit_curator(curator)
    assert model.bins == "survey"  # the parameter as it was given
    model.save(tmp_path / "m")
    again = hr.load(tmp_path / "m")
    assert again.bins == ("survey" if bins == 255 else "equal-width")
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
