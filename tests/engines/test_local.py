"""Sums over partitions hold each of them once, whoever answers; and arrays go where they fit."""

import gc
import os
import re
import shutil
import threading

import numpy as np
import pytest
from full_disks import full_disk
from interruption import at_every_line

import hedgerow as hr
from hedgerow.engines.spill import Spill
from hedgerow.threads import for_each


def test_arrays_fill_memory_first_and_then_files(tmp_path):
    with Spill(tmp_path, 100) as spill:
        arrays = spill.arrays()
        arrays["a"] = np.arange(10)
        assert list(tmp_path.iterdir()) == []
        arrays["b"] = np.arange(10.0).reshape(2, 5)
        (folder,) = tmp_path.iterdir()
        assert len(list(folder.iterdir())) == 1
        arrays["b"] = -arrays["b"]
        assert np.array_equal(arrays["b"], -np.arange(10.0).reshape(2, 5))
        assert len(list(folder.iterdir())) == 1
        arrays["b"] = np.zeros((3, 0), dtype=np.int8)
        assert arrays["b"].shape == (3, 0)
        arrays["c"] = np.zeros((0, 4), dtype=np.int8)
        del arrays["a"]
        arrays["d"] = np.arange(12)
        assert sorted(arrays) == ["b", "c", "d"]
        assert list(folder.iterdir()) == []
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def spilled(tmp_path):
    with Spill(tmp_path, 0) as spill:
        yield spill.arrays()


def opened(folder, mappings=1):
    spill = Spill(folder, 0)
    return spill, *(spill.arrays() for _ in range(mappings))


def damaged(tmp_path, size):
    for path in tmp_path.glob("*/*.bin"):
        os.truncate(path, size)


def test_what_the_disk_does_not_take_is_an_error_without_numbers(spilled, tmp_path):
    array = np.zeros(4321, dtype=np.uint8)
    with full_disk(2048), pytest.raises(hr.EngineError, match="spill=") as new:
        spilled["a"] = array
    assert "a" not in spilled
    spilled["a"] = array
    with full_disk(2048), pytest.raises(hr.EngineError) as over:
        spilled["a"] = array + 1
    damaged(tmp_path, 2048)
    with pytest.raises(hr.EngineError) as short:
        spilled["a"]
    for caught in new, over, short:
        assert not re.search("[0-9]", str(caught.value))
        assert caught.value.__suppress_context__


def test_arrays_that_cannot_be_read_are_deleted_and_made_anew(spilled, tmp_path):
    """What an interrupted write leaves: a memo begins anew by deleting all that it has."""
    spilled["a"] = spilled["b"] = np.arange(10)
    damaged(tmp_path, 8)
    assert "a" in spilled
    spilled.clear()
    assert len(spilled) == 0
    spilled["a"] = np.arange(10)
    assert spilled["a"].tolist() == list(range(10))


# A file that was just opened, or not closed yet.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_write_that_is_broken_off_leaves_no_name(tmp_path):
    """At any line: what is found by a name is whole, and the next write of it is as the first."""
    array, kept = np.arange(100), set()
    for where, (spill, arrays), _ in at_every_line(
        ("engines/spill.py",),
        lambda: opened(tmp_path),
        lambda prepared: prepared[1].__setitem__("a", array),
    ):
        kept.add("a" in arrays)
        assert np.array_equal(arrays.get("a", array), array), where
        arrays["a"] = -array
        assert np.array_equal(arrays["a"], -array)
        spill.close()
        assert list(tmp_path.iterdir()) == []
    assert kept == {False, True}


def test_nothing_is_written_after_the_end(tmp_path):
    """Threads may be at work when a second interruption ends the wait for them."""
    with Spill(tmp_path, 0) as spill:
        arrays = spill.arrays()
        arrays["a"] = np.arange(10)
    for name in "ab":
        with pytest.raises(hr.EngineError):
            arrays[name] = -np.arange(10)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.full
def test_an_end_that_is_broken_off_leaves_no_folder(tmp_path):
    def prepare():
        spill = Spill(tmp_path, 0)
        spill.arrays()["a"] = np.arange(10)
        return [spill]

    places = 0
    for where, prepared, _ in at_every_line(("engines/spill.py",), prepare, lambda prepared: prepared[0].close()):
        prepared.clear()
        gc.collect()
        assert list(tmp_path.iterdir()) == [], where
        places += 1
    assert places > 5


def test_a_removal_that_is_interrupted_or_finds_a_file_more_begins_anew(tmp_path, monkeypatch):
    rmtree, begun = shutil.rmtree, []

    def broken_off(folder, **how):
        begun.append(folder)
        if len(begun) == 1:
            raise KeyboardInterrupt
        if len(begun) > 2:
            rmtree(folder, **how)

    spill = Spill(tmp_path, 0)
    spill.arrays()["a"] = np.arange(10)
    monkeypatch.setattr(shutil, "rmtree", broken_off)
    with pytest.raises(KeyboardInterrupt):
        spill.close()
    assert list(tmp_path.iterdir()) == []


def test_the_handler_of_a_signal_may_spill_at_any_line(tmp_path):
    """On the thread that may hold the lock, for which it would wait for ever."""

    def act():
        for _, (spill, *_), _ in at_every_line(
            ("engines/spill.py",),
            lambda: opened(tmp_path, 2),
            lambda prepared: prepared[1].__setitem__("a", np.arange(10)),
            lambda prepared: prepared[2].__setitem__("a", np.arange(9)),
        ):
            spill.close()
            places.append(list(tmp_path.iterdir()))

    places = []
    thread = threading.Thread(target=act, daemon=True)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()
    assert len(places) > 10
    assert not any(places)


def test_threads_within_threads_do_their_work_themselves():
    done = []
    for_each(
        range(3), lambda outer: for_each(range(4), lambda inner: done.append((outer, inner)), threads=4), threads=2
    )
    assert sorted(done) == [(outer, inner) for outer in range(3) for inner in range(4)]


def test_what_has_not_begun_when_one_fails_never_does():
    done = []

    def work(item):
        if item == 0:
            raise ZeroDivisionError
        done.append(item)

    with pytest.raises(ZeroDivisionError):
        for_each(range(1000), work, threads=2)
    assert len(done) < 999
