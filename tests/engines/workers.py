"""Fits whose workers are killed by SIGKILL in the middle of a question."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

from random_records import random_records, saved

import hedgerow as hr
from hedgerow.systems import system_class

# Few levels or rounds: each of their questions costs a fit and a worker that begins anew.
KILLED = {
    "edprf": ("edprf", {"n_estimators": 5}),
    "forest": ("forest", {"n_estimators": 2, "max_depth": 3, "assignment": "per-record"}),
    "hedgerow": ("hedgerow", {"n_estimators": 2, "delta": 1e-6}),
}


class KillAt:
    """Kills a process at the first answer to a question; 0 kills none, and counts the questions."""

    def __init__(self, question: int, pids: Callable[[], list[int]]) -> None:
        self.question, self.pids, self.last, self.killed = question, pids, 0, []

    def read(self, share):
        pass

    def counted(self, question, share):
        if question == self.question and not self.killed:
            pids = sorted(self.pids())
            self.killed.append(pids[question % len(pids)])
            os.kill(self.killed[0], signal.SIGKILL)
        self.last = question


def killed_at_every_question(case, records_of, pids, tmp_path, most=None):
    """Kill a worker at every question of a fit in turn: the same file, one charge; return how many questions there were.

    ``records_of`` returns records, and their features and labels in the order in which they are read.
    """
    name, settings = KILLED[case]
    schema, X, y = random_records(3, 900)

    def fit(records, labels=None):
        ledger = hr.Ledger(epsilon=3.0, delta=1e-6)
        model = system_class(name)(epsilon=3.0, schema=schema, random_state=7, ledger=ledger, **settings)
        file = saved(model.fit(records, labels), tmp_path / "model")
        assert ledger.spent == 3
        assert [entry.state for entry in ledger.entries] == ["finished"]
        return file

    records, X, y = records_of(X.assign(label=y))
    whole = fit(X, y)
    watch = KillAt(0, pids)
    assert fit(records.with_progress(watch)) == whole
    questions = watch.last if most is None else min(watch.last, most)
    for question in range(1, questions + 1):
        watch = KillAt(question, pids)
        assert fit(records.with_progress(watch)) == whole, question
        assert len(watch.killed) == 1
    return questions
