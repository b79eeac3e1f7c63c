"""What a worker process holds of partitions: the same answers with any budget of memory, and nothing left behind."""

import os
import pickle
from dataclasses import replace

import numpy as np
import pytest
from stored_partitions import SIZES, partitions, task

from hedgerow.engines import store
from hedgerow.engines.arrays import Spill
from hedgerow.engines.encode import Facts, Rows
from hedgerow.engines.store import MemoryStore, answered, close, forget, hold
from hedgerow.errors import EngineError
from hedgerow.table import Sizes
from hedgerow.table.partitioned import Nodes


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    """A process that holds nothing yet."""
    monkeypatch.setattr(store, "_TABLES", {})
    monkeypatch.setattr(store, "_SPILLS", [])


def ask(question, threads=1, table="t"):
    return answered(table, range(len(SIZES)), pickle.dumps(question), threads)


def held_at(folder, memory, table="t"):
    for facts, rows in partitions():
        hold(table, facts, rows, folder, memory)


def files(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize("memory", [0, 500, 1 << 20])
@pytest.mark.parametrize("threads", [1, 3])
def test_any_budget_of_memory_and_any_threads_give_the_same_answer(memory, threads, tmp_path):
    held_at(tmp_path, memory)
    found = ask(task(), threads)
    assert sorted(found.places) == [0, 1, 2, 3]
    together = Rows(
        *(np.concatenate(arrays) for arrays in zip(*((r.codes, r.labels) for _, r in partitions()), strict=True)), b""
    )
    one = MemoryStore(Spill(tmp_path, 1 << 20))
    one.put(Facts(0, 0, b""), together)
    assert np.array_equal(found.sum, one.answer(task(), 0).sum)
    assert found.sum.sum() == 2 * (together.labels >= 0).sum()
    assert bool(files(tmp_path)) == (memory < 1 << 20)
    forget("log")
    close("t")
    assert not files(tmp_path)
    assert store._SPILLS[0]._left == memory


def test_partitions_say_that_they_are_absent_or_lack_commands(tmp_path):
    assert ask(task()).absent == (0, 1, 2, 3)
    held_at(tmp_path, 1 << 20)
    news = task().after(1)
    assert ask(news).outdated == (0, 1, 2, 3)
    whole = ask(task())
    assert np.array_equal(ask(news).sum, whole.sum)
    forget("log")
    assert ask(news).outdated == (0, 1, 2, 3)
    assert answered("t", [9], pickle.dumps(task()), 1).absent == (9,)
    assert ask(replace(task(), query=Sizes(Nodes(1, 2, None, None)))).sum.sum() == whole.sum.sum() // 2


def test_a_partition_with_other_records_is_refused(tmp_path):
    facts, rows = next(partitions())
    with pytest.raises(EngineError, match="not those that were read before"):
        hold("t", replace(facts, digest=b"other"), rows, tmp_path, 1 << 20)
    assert answered("t", [0], pickle.dumps(task()), 1).absent == (0,)


def test_older_tables_and_logs_give_way(tmp_path):
    for number in range(store.MOST_TABLES + 2):
        held_at(tmp_path, 0, f"t{number}")
    kept = len(files(tmp_path))
    assert ask(task(), table="t1").absent == (0, 1, 2, 3)
    assert ask(task(), table="t2").places == (0, 1, 2, 3)
    close("t2")
    for number in range(store.MOST_LOGS + 2):
        ask(task(f"log{number}"), table="t3")
    assert ask(task("log2").after(1), table="t3").places == (0, 1, 2, 3)
    assert ask(task("log1").after(1), table="t3").outdated == (0, 1, 2, 3)
    for number in range(store.MOST_TABLES + 2):
        close(f"t{number}")
    assert kept
    assert not files(tmp_path)


def test_files_are_for_this_user_alone(tmp_path):
    held_at(tmp_path, 0)
    for path in tmp_path.rglob("*"):
        assert os.stat(path).st_mode & 0o077 == 0
