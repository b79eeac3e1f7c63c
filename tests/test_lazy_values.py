"""Values that are computed once, and no lock that a forked process could wait for."""

import ast
import os
import signal
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numba.core.compiler_lock import global_compiler_lock

import hedgerow as hr
from hedgerow.engines import store
from hedgerow.lazy_values import lazy
from hedgerow.ledgers import database

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
SOURCE = Path(hr.__file__).parent


@dataclass(frozen=True)
class Square:
    side: int

    @lazy
    def area(self) -> list[int]:
        """The area."""
        return [self.side**2]


def test_a_value_is_computed_once_and_by_name():
    square = Square(3)
    assert square.area is square.area
    assert vars(square)["area"] == [9]
    assert Square(3) == square
    assert Square.area.__doc__ == "The area."


def test_no_attribute_has_a_lock_that_a_class_shares():
    found = []
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [node.attr] if isinstance(node, ast.Attribute) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.ImportFrom) else []
            found += [str(path)] * ("cached_property" in names)
    assert found == []


def test_a_process_that_is_forked_gets_its_own_lazy_values():
    """A thread computes a lazy value while the process forks; the child computes that of another object."""
    if not hasattr(os, "fork"):
        pytest.skip("no fork")
    computing, go_on = threading.Event(), threading.Event()

    class Slow:
        def __init__(self, waits):
            self.waits = waits

        @lazy
        def value(self):
            if self.waits:
                computing.set()
                go_on.wait(60)
            return 1

    assert ends_in_a_fork(lambda: Slow(True).value, computing, go_on, lambda: Slow(False).value)


@pytest.mark.parametrize("lock", [global_compiler_lock, store._LOCK, database._ALONE])
def test_a_fork_waits_for_locks_of_the_process(lock):
    if not hasattr(os, "fork"):
        pytest.skip("no fork")
    holding, go_on = threading.Event(), threading.Event()

    def hold_for_a_moment():
        with lock:
            holding.set()
            go_on.wait(0.2)

    def hold_too():
        with lock:
            pass

    assert ends_in_a_fork(hold_for_a_moment, holding, go_on, hold_too)


def ends_in_a_fork(busy, begun, go_on, work):
    """Whether ``work`` ends in a child that is forked while a thread is within ``busy``."""
    thread = threading.Thread(target=busy)
    thread.start()
    try:
        assert begun.wait(60)
        return ends_in_a_child(work)
    finally:
        go_on.set()
        thread.join()


def ends_in_a_child(work, seconds=60):
    child = os.fork()
    if child == 0:
        signal.alarm(seconds)  # which ends a child that waits forever
        try:
            work()
        finally:
            os._exit(0)
    return os.waitpid(child, 0)[1] == 0


def test_children_fit_that_are_forked_during_a_fit():
    if not hasattr(os, "fork"):
        pytest.skip("no fork")
    X = np.random.default_rng(0).random((2000, 2))
    y = np.where(X[:, 0] > 0.5, "a", "b")
    schema = hr.Schema({name: hr.Numeric(0, 1) for name in "pq"}, classes=["a", "b"])
    stop = threading.Event()

    def fit():
        hr.HedgerowClassifier(epsilon=1.0, schema=schema, ledger=hr.Ledger(epsilon=1)).fit(X, y)

    def busy():
        while not stop.is_set():
            fit()

    fit()
    thread = threading.Thread(target=busy)
    thread.start()
    try:
        for _ in range(10):
            assert ends_in_a_child(fit)
            time.sleep(0.01)
    finally:
        stop.set()
        thread.join()
