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
from hedgerow.arrays import for_each
from hedgerow.engines.arrays import Spill, _OnDisk
from hedgerow.engines.encode import check_codes


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
        ("engines/arrays.py", "engines/encode.py", "engines/local.py"),
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
    for where, prepared, _ in at_every_line(
        ("engines/arrays.py", "engines/encode.py", "engines/local.py"), prepare, lambda prepared: prepared[0].close()
    ):
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
            ("engines/arrays.py", "engines/encode.py", "engines/local.py"),
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


@pytest.mark.parametrize("size", [1, 3, 4, 5, 16384, 16385, 40000])
@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint64, np.float64])
def test_any_byte_that_is_altered_on_disk_is_found(tmp_path, size, dtype):
    random = np.random.default_rng(size)
    with Spill(tmp_path, 0) as spill:
        arrays = spill.arrays()
        array = random.integers(0, 200, size).astype(dtype)
        arrays["a"] = array
        [path] = tmp_path.glob("*/*.bin")
        whole = path.read_bytes()
        assert np.array_equal(arrays["a"], array)
        for place in {0, len(whole) - 1, *random.integers(0, len(whole), 10).tolist()}:
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << int(random.integers(8))]) + whole[place + 1 :])
            with pytest.raises(hr.EngineError, match="altered"):
                arrays["a"]
        for other in (whole[4:] + whole[:4], whole[::-1]):
            path.write_bytes(other)
            if other != whole:
                with pytest.raises(hr.EngineError, match="altered"):
                    arrays["a"]
        path.write_bytes(whole)
        assert np.array_equal(arrays["a"], array)
        arrays["a"] = array + 1
        assert np.array_equal(arrays["a"], array + 1)


def test_keys_are_of_each_spill_so_that_nobody_can_forge_a_checksum(tmp_path):
    array = np.arange(1000)
    with Spill(tmp_path, 0) as one, Spill(tmp_path, 0) as other:
        assert one.checksums.of(array) == one.checksums.of(array.copy())
        assert one.checksums.of(array) != other.checksums.of(array)


SPILLED = hr.Schema(
    {"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1), "c": hr.Categorical(["x", "y"])}, ["no", "yes"], person="who"
)


@pytest.mark.parametrize("kind", [hr.HedgerowClassifier, hr.ForestClassifier, hr.EDPRFClassifier])
def test_a_fit_ends_where_any_array_that_it_spilled_was_altered(tmp_path, monkeypatch, kind):
    """Each array that is read back is altered once, in a fit of its own, at a byte by chance."""
    monkeypatch.setattr("hedgerow.engines.local.FEWEST_ROWS", 300)
    monkeypatch.setattr("hedgerow.engines.local.MOST_ROWS", 300)
    random = np.random.default_rng(0)
    n = 1000
    batch = {"a": random.random(n), "b": random.random(n), "c": random.choice(["x", "y"], n)}
    batch |= {"who": random.integers(0, 700, n), "y": random.choice(["no", "yes"], n)}
    reads, target, read = 0, -1, _OnDisk.read

    def altered(disk, checksums):
        nonlocal reads
        reads += 1
        if reads - 1 == target:
            content = bytearray(disk.path.read_bytes())
            if content:
                content[int(random.integers(len(content)))] ^= 255
                disk.path.write_bytes(content)
        return read(disk, checksums)

    def fit():
        nonlocal reads
        reads = 0
        records = hr.Records.from_batches(lambda: [batch], "y", spill=tmp_path)
        object.__setattr__(records.source, "memory", 0)
        return kind(1.0, schema=SPILLED, random_state=1, max_bins=8).fit(records)

    monkeypatch.setattr(_OnDisk, "read", altered)
    fit()
    tried = sorted(set(np.linspace(0, reads - 1, 40).astype(int).tolist()))
    for place in tried:
        target = place
        with pytest.raises(hr.EngineError, match="altered"):
            fit()
    assert list(tmp_path.iterdir()) == []


def test_codes_beyond_their_feature_are_refused_before_a_kernel_counts_by_them():
    check_codes(np.array([[0, 2], [1, 0]], dtype=np.uint8), np.array([2, 3]))
    check_codes(np.empty((0, 2), dtype=np.uint8), np.array([2, 3]))
    with pytest.raises(hr.EngineError, match="does not have"):
        check_codes(np.array([[0, 3], [1, 0]], dtype=np.uint8), np.array([2, 3]))
