"""Private tuning of regressors: clipped absolute errors in integers, their range in the event, and refusals."""

import warnings
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from sklearn.base import is_classifier, is_regressor

import hedgerow as hr
from hedgerow.analysis.search import ERROR_STEPS, Scores
from hedgerow.curator import ModelScores, Queryable
from hedgerow.errors import ConfigurationError
from hedgerow.mechanisms import PermuteAndFlip, PerRecordCoin, Randomness
from hedgerow.privacy.accounting import cost
from hedgerow.reading.columns import read_columns
from hedgerow.table import MemoryTable

SCHEMA = hr.Schema({"a": hr.Numeric(0, 1)}, outcome=hr.Numeric(0, 10))


class Constant:
    """A released model that says one number of every record."""

    def __init__(self, value):
        self.value = value

    def predictions(self, X):
        return np.full(len(X["a"]), self.value)


def sample(size, seed):
    X = np.random.default_rng(seed).uniform(size=(size, 1))
    return X, 10 * (X[:, 0] > 0.5)


def compared(table, event):
    """What answers a mechanism by the scores of the models, with the budget of an event."""
    curator = Queryable(table, cost(event), Randomness(0))
    return partial(curator.answer, ModelScores(curator.assign(PerRecordCoin(1)), ERROR_STEPS))


@pytest.fixture
def contest():
    reading = Scores(SCHEMA, (Constant(5.0), Constant(1.25)), 4.0)
    table = MemoryTable.by(reading, [[0.1], [0.2], [0.3], [0.4]], [5, 2.5, 0, None])
    return compared(table, PermuteAndFlip(Fraction(100), ERROR_STEPS).event("a", "b"))


def test_scores_are_sums_of_clipped_errors_in_integers(contest):
    # errors 0, 2.5, 5 of a largest of 4: 64 + 24 + 0; and 3.75, 1.25, 1.25: 4 + 44 + 44
    query, table = contest.args[0], contest.func.__self__._table
    ((scores, offered),) = query.statistics(PermuteAndFlip(Fraction(1), ERROR_STEPS), table, everyone(table))
    assert scores.tolist() == [[88, 92]]
    assert offered.all()


@pytest.mark.parametrize(
    ("largest", "y", "scores"), [(3.0, [4, 4.5, 6, 9], [42, 53, 42, 0]), (0.7, [4.99, 5.01], [63, 63])]
)
def test_a_step_that_is_not_whole_lowers_the_score(largest, y, scores):
    """64 less the error in 64ths of the largest one, rounded up."""
    codes, _ = Scores(SCHEMA, (Constant(5.0),), largest).read(read_columns([[0.5]] * len(y), SCHEMA.features), y)
    assert codes[:, 0].tolist() == scores


def everyone(table):
    return table.assign(Randomness(0).coins(PerRecordCoin(1)))


def test_a_record_adds_at_most_the_range_whatever_it_is():
    reading = Scores(SCHEMA, tuple(map(Constant, np.linspace(0, 10, 30))), 3.0)
    y = [0, 10, 3.3, -1e300, 1e300, float("nan"), "x", None]
    codes, labels = reading.read(read_columns([[0.5]] * len(y), SCHEMA.features), y)
    assert codes.max() <= ERROR_STEPS
    assert labels.tolist() == [0, 0, 0, 0, 0, -1, -1, -1]


@pytest.mark.parametrize("wrong", [1, ERROR_STEPS - 1])
def test_a_mechanism_of_a_smaller_range_is_refused(contest, wrong):
    with pytest.raises(ValueError, match="range"):
        contest(PermuteAndFlip(Fraction(1), wrong))
    assert contest(PermuteAndFlip(Fraction(90), ERROR_STEPS))[0] in (0, 1)


def test_the_better_candidate_is_found_and_certified():
    X, y = sample(8000, 0)
    regressor = hr.HedgerowRegressor(schema=SCHEMA)
    search = hr.PrivateSearchCV(regressor, {"max_bins": [2, 16]}, epsilon=20, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # each part has few records
        search.fit(X, y)
    assert search.certificate_.holds is False  # a seed
    assert search.certificate_.claim.epsilon == 20
    assert search.score(X, y) > 0.5
    assert is_regressor(search)
    assert not is_classifier(search)
    assert not hasattr(search, "predict_proba")
    assert not hasattr(search, "classes_")
    assert "clipped errors" in search.certificate_.details()


@pytest.mark.parametrize(
    ("estimator", "largest"),
    [
        (hr.HedgerowRegressor(schema=SCHEMA), 0),
        (hr.HedgerowRegressor(schema=SCHEMA), 11),
        (hr.HedgerowRegressor(schema=SCHEMA), True),
        (hr.HedgerowRegressor(schema=SCHEMA), float("nan")),
        (hr.HedgerowClassifier(schema=hr.Schema({"a": hr.Numeric(0, 1)}, [0, 1])), 1.0),
        (hr.HedgerowRegressor(schema=hr.Schema({"a": hr.Numeric(0, 1)}, [0, 1])), None),
    ],
)
def test_what_is_no_largest_error_is_refused(estimator, largest):
    search = hr.PrivateSearchCV(estimator, {"max_bins": [2, 16]}, largest_error=largest)
    with pytest.raises(ConfigurationError):
        search.fit([[0.5]] * 10, [1] * 10)


def test_it_scores_by_a_tenth_of_the_range_unless_told():
    regressor = hr.HedgerowRegressor(schema=SCHEMA)
    assert hr.PrivateSearchCV(regressor, {})._largest_error(SCHEMA) == 1.0
    assert hr.PrivateSearchCV(regressor, {}, largest_error=3)._largest_error(SCHEMA) == 3.0
