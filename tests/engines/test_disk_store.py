"""Partitions on an executor's disk: whatever is lost, altered or half written there is absent, and any process answers alike."""

import multiprocessing
import os
import shutil
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from stored_partitions import partitions, task

from hedgerow.engines import store
from hedgerow.engines.store import DiskStore, OpenStore
from hedgerow.errors import EngineError

fcntl = pytest.importorskip("fcntl")

KEY = bytes(range(32))


@pytest.fixture
def stored(tmp_path):
    """A store with partitions, and what these must be."""
    facts = [one for one, _ in partitions()]
    kept = DiskStore(tmp_path, "t", KEY, facts)
    for one, rows in partitions():
        kept.put(one.place, rows)
    return kept, facts


def ask(kept, facts, question):
    return [kept.answer(question, one.place) for one in facts]


def answers(kept, facts, question):
    found = ask(kept, facts, question)
    assert [one.places for one in found] == [(one.place,) for one in facts]
    return [one.sum.tolist() for one in found]


def elsewhere(kept, facts, question):
    """What another process answers."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(ask, (kept, facts, question))


def test_another_process_answers_from_what_this_one_made(stored):
    kept, facts = stored
    whole = answers(kept, facts, task())
    found = elsewhere(kept, facts, task().after(1))
    assert [one.sum.tolist() for one in found] == whole
    assert sum(np.sum(one) for one in whole) > 0


def test_partitions_say_that_they_are_absent_or_lack_commands(stored, tmp_path):
    kept, facts = stored
    assert [one.outdated for one in ask(kept, facts, task().after(1))] == [(0,), (1,), (2,), (3,)]
    assert DiskStore(tmp_path, "other", KEY, facts).answer(task(), 0).absent == (0,)
    assert DiskStore(tmp_path, "t", bytes(32), facts).answer(task(), 0).absent == (0,)
    with pytest.raises(EngineError, match="not those that were read before"):
        DiskStore(tmp_path, "t", KEY, [replace(facts[0], digest=b"other")]).answer(task(), 0)


@pytest.mark.parametrize("name", ["codes", "labels", "index"])
def test_any_byte_of_a_partition_that_is_altered_makes_it_absent(name, stored):
    kept, _facts = stored
    (path,) = kept.folder.glob(f"0.{name}")
    right = path.read_bytes()
    for place in range(0, len(right), 1 + len(right) // 40):
        path.write_bytes(right[:place] + bytes([right[place] ^ 1]) + right[place + 1 :])
        assert kept.answer(task(), 0).absent == (0,)
    for wrong in (b"", right[:-1], right + b"\0"):
        path.write_bytes(wrong)
        assert kept.answer(task(), 0).absent == (0,)
    path.write_bytes(right)
    assert kept.answer(task(), 0).places == (0,)


@pytest.mark.parametrize("name", ["part-1", "index"])
def test_what_a_log_made_is_made_again_where_it_was_altered(name, stored):
    kept, facts = stored
    whole = answers(kept, facts, task())
    path = kept.folder / "log-log" / f"0.{name}"
    right = path.read_bytes()
    path.write_bytes(right[:-1] + bytes([right[-1] ^ 1]))
    assert kept.answer(task().after(1), 0).outdated == (0,)
    assert answers(kept, facts, task()) == whole
    assert answers(kept, facts, task().after(1)) == whole


def test_files_of_one_partition_do_not_stand_for_another(stored):
    kept, _facts = stored
    for path in kept.folder.glob("3.*"):
        path.rename(path.with_name(path.name.replace("3.", "0.")))
    assert kept.answer(task(), 0).absent == (0,)


def test_a_process_that_ends_while_it_counts_leaves_nothing_that_counts_twice(stored, monkeypatch):
    kept, facts = stored
    whole = answers(kept, facts, task())

    def broken(self, records):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(type(task().commands[0][1]), "apply", broken)
        with pytest.raises(KeyboardInterrupt):
            kept.answer(replace(task(), commands=((2, task().commands[0][1]),), end=2, since=1), 0)
    assert kept.answer(task().after(1), 0).outdated == (0,)
    assert answers(kept, facts, task()) == whole


def test_a_task_that_runs_twice_at_a_time_is_answered_without_the_memo(stored):
    kept, facts = stored
    whole = answers(kept, facts, task())
    with open(kept.folder / "log-log" / "0.lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert kept.answer(task().after(1), 0).outdated == (0,)
        assert answers(kept, facts, task()) == whole
    assert answers(kept, facts, task().after(1)) == whole


def test_older_tables_and_logs_give_way(stored, tmp_path):
    kept, _facts = stored
    for number in range(store.MOST_LOGS + 1):
        assert kept.answer(task(f"log{number}"), 3).places == (3,)
        os.utime(kept.folder / f"log-log{number}", (number, number))
    assert len(list(kept.folder.glob("log-*"))) == store.MOST_LOGS
    assert not (kept.folder / "log-log0").exists()
    os.utime(kept.folder, (0, 0))
    for number in range(store.MOST_TABLES):
        other = DiskStore(tmp_path, f"t{number}", KEY)
        other.put(0, next(partitions())[1])
        os.utime(other.folder, (number + 1, number + 1))
    assert len(list(tmp_path.iterdir())) == store.MOST_TABLES
    assert not kept.folder.exists()


def test_a_table_that_answered_stays_longer_than_one_that_did_not(stored, tmp_path):
    kept, facts = stored
    others = [DiskStore(tmp_path, f"t{number}", KEY) for number in range(store.MOST_TABLES)]
    for number, other in enumerate(others[:-1]):
        other.put(0, next(partitions())[1])
        os.utime(other.folder, (number + 1, number + 1))
    assert answers(kept, facts, task())
    os.utime(kept.folder, (0, 0))  # as if its logs had been made long ago
    assert answers(kept, facts, task().after(1))
    others[-1].put(0, next(partitions())[1])
    assert kept.folder.exists()
    assert not others[0].folder.exists()


def test_a_table_that_is_closed_is_removed(stored, tmp_path, monkeypatch):
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path},{tmp_path / 'other'}")
    spread = [store.disk_store("s", KEY, place) for place in range(2)]
    assert {one.parent for one in spread} == {tmp_path, tmp_path / "other"}
    for place, one in enumerate(spread):
        one.put(place, next(partitions())[1])
    store.remove("s")
    assert not any(one.folder.exists() for one in spread)
    assert stored[0].folder.exists()


def test_a_folder_is_out_of_sight_before_its_files_are_removed(stored, monkeypatch):
    kept, facts = stored
    whole, remove, seen = answers(kept, facts, task()), shutil.rmtree, []

    def watched(folder, **options):
        seen.append([one.absent for one in ask(kept, facts, task())])
        remove(folder, **options)

    with monkeypatch.context() as patch:
        patch.setenv("SPARK_LOCAL_DIRS", str(kept.parent))
        patch.setattr(shutil, "rmtree", watched)
        store.remove("t")
    assert seen == [[(one.place,) for one in facts]]
    assert list(kept.parent.iterdir()) == []
    for one, rows in partitions():
        kept.put(one.place, rows)
    assert answers(kept, facts, task()) == whole


def test_a_log_that_makes_room_is_out_of_sight_before_its_files_are_removed(stored, monkeypatch):
    kept, facts = stored
    remove, seen = shutil.rmtree, []

    def watched(folder, **options):
        seen.append(sorted(one.name for one in kept.folder.glob("log-*")))
        remove(folder, **options)

    monkeypatch.setattr(shutil, "rmtree", watched)
    for number in range(store.MOST_LOGS + 1):
        answers(kept, facts, replace(task(), log=f"{number}"))
        os.utime(kept.folder / f"log-{number}", (number, number))
    assert seen == [[f"log-{number}" for number in range(1, store.MOST_LOGS)]]


def test_a_folder_whose_removal_was_broken_off_is_removed_with_the_next_table(stored, monkeypatch):
    kept, facts = stored
    answers(kept, facts, task())
    with monkeypatch.context() as patch:
        patch.setenv("SPARK_LOCAL_DIRS", str(kept.parent))
        patch.setattr(shutil, "rmtree", lambda folder, **options: None)
        store.remove("t")
    assert len(list(kept.parent.iterdir())) == 1
    for one, rows in partitions():
        kept.put(one.place, rows)
    assert list(kept.parent.iterdir()) == [kept.folder]


def test_files_are_for_this_user_alone(stored):
    kept, facts = stored
    answers(kept, facts, task())
    for folder in (kept.folder, kept.folder / "log-log"):
        assert os.stat(folder).st_mode & 0o077 == 0


def test_a_table_that_is_removed_while_it_answers_leaves_no_folder_that_others_may_enter(stored, monkeypatch):
    kept, facts = stored
    whole, make = answers(kept, facts, task()), store._make

    def removed(folder, *more):
        shutil.rmtree(kept.folder)
        make(folder, *more)

    with monkeypatch.context() as patch:
        patch.setattr(store, "_make", removed)
        assert kept.answer(task(), 0).sum.tolist() == whole[0]
    assert not kept.folder.exists()
    assert kept.answer(task(), 0).absent == (0,)


def test_an_open_store_reads_files_once_and_leaves_what_it_made_when_it_is_closed(stored, monkeypatch):
    kept, facts = stored
    whole, read, reads = answers(kept, facts, task()), store.Files.read, []
    monkeypatch.setattr(store.Files, "read", lambda self, *changing: reads.append(self) or read(self, *changing))
    open_store = OpenStore(kept, 0)
    for _ in range(3):
        assert open_store.answer(task().after(1), 0).sum.tolist() == whole[0]
    assert len(reads) == 2  # the partition and its cache
    assert elsewhere(kept, facts[:1], task().after(1))[0].outdated == (0,)  # while this process has the cache
    open_store.close()
    assert elsewhere(kept, facts[:1], task().after(1))[0].sum.tolist() == whole[0]


def test_an_open_store_gives_the_cache_of_a_log_back_when_it_is_asked_about_another(stored):
    kept, facts = stored
    whole = answers(kept, facts, task())
    with closing(OpenStore(kept, 0)) as open_store:
        assert open_store.answer(task().after(1), 0).sum.tolist() == whole[0]
        assert open_store.answer(replace(task(), log="other"), 0).sum.tolist() == whole[0]
        assert elsewhere(kept, facts[:1], task().after(1))[0].sum.tolist() == whole[0]
        assert open_store.answer(replace(task(), log="other").after(1), 0).sum.tolist() == whole[0]


def test_an_open_store_of_a_process_that_is_killed_leaves_no_cache(stored):
    kept, facts = stored
    whole = answers(kept, facts, task())
    process = multiprocessing.get_context("spawn").Process(target=ask_and_end, args=(kept, task().after(1)))
    process.start()
    process.join()
    assert process.exitcode == 9
    assert kept.answer(task().after(1), 0).outdated == (0,)
    assert answers(kept, facts, task()) == whole


def ask_and_end(kept, question):
    open_store = OpenStore(kept, 0)
    assert open_store.answer(question, 0).places == (0,)
    os._exit(9)


def test_an_open_store_without_its_partition_says_that_it_is_absent(tmp_path):
    assert OpenStore(DiskStore(tmp_path, "t", KEY, [one for one, _ in partitions()]), 0).answer(task(), 0).absent == (
        0,
    )
