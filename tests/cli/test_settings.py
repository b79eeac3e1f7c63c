import json

import pytest

import hedgerow as hr
from hedgerow.cli.inputs import read_parameters
from hedgerow.curator.given import RULES
from hedgerow.papers.edprf import EDPRFClassifier
from hedgerow.parameters import parameter


class Approximate(EDPRFClassifier):
    """A system that takes a delta, and shows what reaches it."""

    delta: float = parameter(RULES["delta"], default=0.0)

    def fit(self, X, y, groups=None):
        raise hr.BudgetExceeded(f"delta is {self.delta!r}.")


@pytest.fixture
def approximate(monkeypatch):
    monkeypatch.setattr("hedgerow.cli.train.system_class", lambda name: Approximate)


@pytest.mark.usefixtures("approximate")
@pytest.mark.parametrize(("options", "delta"), [([], "0.0"), (["--delta", "1e-6"], "1e-06"), (["--delta", "0"], "0.0")])
def test_a_delta_reaches_a_system_that_takes_one(train, is_refused, options, delta):
    is_refused(train(*options), 3, f"delta is {delta}.")


@pytest.mark.usefixtures("approximate")
@pytest.mark.parametrize("delta", ["1", "-0.1", "nan", "inf", "tiny"])
def test_a_wrong_delta(train, is_refused, delta):
    is_refused(train("--delta", delta), 2, "--delta", delta)


@pytest.mark.usefixtures("approximate")
def test_a_delta_is_an_option(train, is_refused):
    is_refused(train("--param", "delta=1e-6"), 2, "has no parameter 'delta' for --param")


@pytest.mark.parametrize("delta", ["1e-6", "0"])
def test_a_pure_system_takes_no_delta(train, is_refused, delta):
    is_refused(train("--delta", delta), 2, "EDPRFClassifier is pure epsilon", "--delta")


@pytest.mark.parametrize(("text", "value"), [("true", True), ("False", False)])
def test_a_truth_value_is_written_as_true_or_false(text, value):
    assert read_parameters(hr.CARTDPsAdaBoostClassifier, [f"as_coded={text}"]) == {"as_coded": value}


@pytest.mark.parametrize("value", ['{"age": 1, "b c": -1}', "[1, 0, -1]", "none"])
def test_constraints_are_written_as_json(value):
    found = read_parameters(hr.HedgerowClassifier, [f"monotonic_cst={value}"])
    assert found == {"monotonic_cst": None if value == "none" else json.loads(value)}


@pytest.mark.parametrize("value", ["1", "age", '"age"', "{", "[" * 10**5])
def test_other_constraints_are_refused(train, is_refused, value):
    refused = train("--system", "hedgerow", "--param", f"monotonic_cst={value}")
    is_refused(refused, 2, "monotonic_cst must be a dict of features' names to -1, 0 or 1, a list of these")


def test_constraints_reach_the_model_and_inspect(folder, train, answer):
    result = train("--system", "hedgerow", "--epsilon", "50", "--param", 'monotonic_cst={"age": 1}')
    assert result.exit_code == 0, result.output
    assert answer("inspect", "m.hedgerow")["parameters"]["monotonic_cst"] == {"age": 1}


def test_weights_of_classes_are_written_as_json():
    for kind in (hr.HedgerowClassifier, hr.ForestClassifier):
        assert read_parameters(kind, ['class_weight={"1": 3}']) == {"class_weight": {"1": 3}}
        assert read_parameters(kind, ["class_weight=none"]) == {"class_weight": None}


def test_anything_else_is_no_truth_value(train, is_refused):
    refused = train("--system", "cart-dps-adaboost", "--param", "as_coded=yes")
    is_refused(refused, 2, "as_coded must be True or False")
