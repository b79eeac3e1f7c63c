import numpy as np
import pytest

from hedgerow.datasets import Dataset
from hedgerow.errors import ConfigurationError
from hedgerow.schema import Categorical, Numeric, Schema


@pytest.fixture
def small():
    schema = Schema({"age": Numeric(0, 100), "sex": Categorical(["F", "M"])}, classes=["no", "yes"], target="ill")
    X = np.array([[str(age), "FM"[age % 2]] for age in range(7)], dtype=object)
    return Dataset("small", X, np.array(["no", "yes", "no", "no", "yes", "no", "yes"]), schema)


def test_split_takes_the_first_of_the_permutation_as_test_part(small):
    order = np.random.RandomState(42).permutation(7)
    X_train, X_test, y_train, y_test = small.split(0.3, 42)
    assert X_test[:, 0].tolist() == [str(row) for row in order[:3]]  # ceil(2.1)
    assert X_train[:, 0].tolist() == [str(row) for row in order[3:]]
    assert y_test.tolist() == small.y[order[:3]].tolist()
    assert y_train.tolist() == small.y[order[3:]].tolist()


@pytest.mark.parametrize("test_size", [0, 1, -0.5, 1.5, 2, 0.999, float("nan")])
def test_split_needs_two_parts(small, test_size):
    with pytest.raises(ConfigurationError, match="pass a fraction"):
        small.split(test_size, 0)
