"""Records on the workers of a Dask cluster: the same bits, also when workers are killed."""

import asyncio
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from clusters import dask_frame
from products import by_turns
from random_records import CASES, estimator, random_batches, random_records, saved
from whole_analysis import asked
from workers import KILLED, killed_at_every_question

import hedgerow as hr
from hedgerow.engines import store
from hedgerow.engines.store import _TABLES

dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.filterwarnings("default")  # Dask's own; its workers are not warned of anything here


def on_dask(X, y, seed, client, **more):
    return hr.Records.from_dask(
        dask_frame(random_batches(X, y, np.random.default_rng(seed))), label="label", client=client, **more
    )


def check_case(case, made, client, tmp_path):
    schema, X, y = made
    whole = saved(estimator(case, schema).fit(X, y), tmp_path / "whole")
    assert saved(estimator(case, schema).fit(on_dask(X, y, 1, client)), tmp_path / "dask") == whole


@pytest.mark.full
@pytest.mark.parametrize("case", ["hedgerow, delta", "edprf", "dpada"])
def test_a_fit_is_the_same_bits(case, client, tmp_path):
    check_case(case, random_records(5), client, tmp_path)


@pytest.mark.full
@pytest.mark.usefixtures("small_samples")
def test_a_sample_is_the_same_bits(client, tmp_path):
    check_case("hedgerow, delta", random_records(3, 2000), client, tmp_path)


@pytest.mark.parametrize(("case", "seed"), by_turns(CASES, [0, 1, 2], pytest.mark.engines))
def test_every_private_system_writes_the_same_file(case, seed, client, tmp_path):
    check_case(case, random_records(seed), client, tmp_path)


@pytest.mark.full
def test_schemas_report_cards_and_searches_are_the_same_bits(client):
    schema, X, y = random_records(5)
    assert asked(schema, on_dask(X, y, 1, client)) == asked(schema, X, y)


def pids(client):
    return lambda: list(client.run(os.getpid).values())


def cut(client):
    def records_of(together):
        frame = dask_frame([together[:200], together[200:201], together[201:201], together[201:]])
        records = hr.Records.from_dask(frame, label="label", client=client)
        return records, together.drop(columns="label"), together["label"]

    return records_of


@pytest.mark.full
def test_a_worker_killed_in_the_middle_of_a_fit_changes_nothing(client, tmp_path):
    assert killed_at_every_question("edprf", cut(client), pids(client), tmp_path, most=2) == 2


@pytest.mark.engines
@pytest.mark.parametrize("case", KILLED)
def test_a_worker_killed_at_every_question_changes_nothing(case, client, tmp_path):
    assert killed_at_every_question(case, cut(client), pids(client), tmp_path) >= 4


@pytest.mark.full
def test_a_curator_and_its_learners_ask_workers(client):
    schema, X, y = random_records(6)
    curators = [
        hr.Curator(X, y, schema, 2.0, random_state=3),
        hr.Curator(on_dask(X, y, 2, client), None, schema, 2.0, random_state=3),
    ]
    one, other = ([c.count(c.root, 0.5).tolist(), hr.EDPRFClassifier(epsilon=1.0).fit_curator(c)] for c in curators)
    assert one[0] == other[0]
    assert np.array_equal(one[1].predict_proba(X), other[1].predict_proba(X))


@pytest.mark.full
def test_workers_with_large_answers_are_asked_in_turn(client, tmp_path, monkeypatch):
    monkeypatch.setattr("hedgerow.engines.dask.CELLS_AT_ONCE", 1)
    schema, X, y = random_records(7)
    together = X.assign(label=y)
    records = hr.Records.from_dask(
        dask_frame([together[i : i + 40] for i in range(0, len(X), 40)]), "label", client=client
    )
    whole = saved(estimator("edprf", schema).fit(X, y), tmp_path / "whole")
    assert saved(estimator("edprf", schema).fit(records), tmp_path / "dask") == whole


def remembered():
    """How many partitions a worker holds with what a fit made of them."""
    return sum(len(memos) for table in _TABLES.values() for memos in table._caches.values())


def held():
    return len(_TABLES)


@pytest.mark.full
def test_workers_forget_a_fit_that_ended(client):
    schema, X, y = random_records(5)
    estimator("edprf", schema).fit(on_dask(X, y, 1, client))
    for _ in range(100):
        if not any([*client.run(remembered).values(), *client.run(held).values()]):
            break
        time.sleep(0.1)
    else:
        raise AssertionError("workers still remember")


def read(path):
    return pd.read_parquet(path)


def frame_of(paths):
    return dd.from_map(read, paths, meta=read(paths[0]).iloc[:0])


@pytest.fixture
def files(tmp_path):
    pytest.importorskip("pyarrow")
    schema, X, y = random_records(8)
    X["label"] = y
    paths = [tmp_path / f"{place}.parquet" for place in range(3)]
    for place, path in enumerate(paths):
        X[place * 60 : (place + 1) * 60].to_parquet(path)
    return schema, paths


class Once:
    """Does something at the first answer to a question, and kills all workers."""

    def __init__(self, client, act):
        self.client, self.act = client, act

    def read(self, share):
        pass

    def counted(self, question, share):
        if question == 2 and self.act is not None:
            act, self.act = self.act, None
            found = self.client.run(os.getpid).values()
            act()
            for pid in found:
                os.kill(pid, signal.SIGKILL)


def fit_and_lose(files, client, act):
    schema, paths = files
    ledger = hr.Ledger(epsilon=1.0)
    records = hr.Records.from_dask(frame_of(paths), label="label", client=client, timeout=60).with_progress(
        Once(client, act)
    )
    model = hr.EDPRFClassifier(epsilon=1.0, schema=schema, ledger=ledger)
    with pytest.raises(hr.EngineError) as caught:
        model.fit(records)
    assert ledger.spent == 1
    assert not hasattr(model, "model_")
    assert "180" not in str(caught.value)
    return str(caught.value)


@pytest.mark.full
def test_a_partition_that_cannot_come_back_is_a_clear_error(files, client):
    assert "could not be read or counted by any worker" in fit_and_lose(files, client, files[1][0].unlink)


@pytest.mark.full
def test_a_partition_that_comes_back_otherwise_is_refused(files, client):
    def turn():
        for path in files[1]:
            read(path).iloc[::-1].to_parquet(path)

    assert "not those that were read before" in fit_and_lose(files, client, turn)


@pytest.mark.full
def test_without_workers_a_fit_ends_after_the_stated_time(files):
    schema, paths = files
    options = {"n_workers": 0, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        ledger = hr.Ledger(epsilon=1.0)
        records = hr.Records.from_dask(frame_of(paths), label="label", client=client, timeout=1)
        with pytest.raises(hr.EngineError, match="nothing finished for 1 seconds"):
            hr.EDPRFClassifier(epsilon=1.0, schema=schema, ledger=ledger).fit(records)
    assert ledger.spent == 1


@pytest.mark.engines
@pytest.mark.parametrize("sign", [signal.SIGSTOP, signal.SIGKILL])
def test_a_scheduler_that_does_not_answer_ends_a_fit(files, sign, tmp_path):
    schema, paths = files
    where = tmp_path / "scheduler.json"
    run = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard", "--scheduler-file"]
    work = [
        sys.executable,
        "-m",
        "distributed.cli.dask_worker",
        "--no-dashboard",
        "--nthreads",
        "1",
        "--scheduler-file",
    ]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    started = [subprocess.Popen([*command, str(where)], **quiet) for command in (run, work)]
    try:
        while not where.exists():
            time.sleep(0.1)
        client = distributed.Client(scheduler_file=str(where))
        client.wait_for_workers(1)

        class Ending(Once):
            def counted(self, question, share):
                if question == 2:
                    started[0].send_signal(sign)

        ledger = hr.Ledger(epsilon=1.0)
        given = hr.Records.from_dask(frame_of(paths), label="label", client=client, timeout=5)
        start = time.monotonic()
        with pytest.raises(hr.EngineError, match=r"scheduler does not answer|nothing finished|by any worker"):
            hr.EDPRFClassifier(epsilon=1.0, schema=schema, ledger=ledger).fit(given.with_progress(Ending(client, None)))
        assert time.monotonic() - start < 60
        assert ledger.spent == 1
    finally:
        for process in started:
            process.kill()
            process.wait()


@pytest.mark.engines
def test_a_worker_that_stops_within_a_query_ends_a_fit_after_the_stated_time(files):
    schema, paths = files
    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        [pid] = client.run(os.getpid).values()

        class Stopping(Once):
            def counted(self, question, share):
                if question == 2:
                    os.kill(pid, signal.SIGSTOP)

        ledger = hr.Ledger(epsilon=1.0)
        records = hr.Records.from_dask(frame_of(paths), label="label", client=client, timeout=5)
        try:
            with pytest.raises(hr.EngineError, match="nothing finished for 5 seconds"):
                hr.EDPRFClassifier(epsilon=1.0, schema=schema, ledger=ledger).fit(
                    records.with_progress(Stopping(client, None))
                )
        finally:
            os.kill(pid, signal.SIGCONT)
        assert ledger.spent == 1


class Failing:
    """Fails the first message of a query on a worker."""

    def __init__(self):
        self.answered, self.failed = store.answered, False

    def __call__(self, *about):
        if not self.failed:
            self.failed = True
            raise ValueError("a record")
        return self.answered(*about)


def fail_once():
    store.answered = Failing()


def logged(dask_worker):
    store.answered = getattr(store.answered, "answered", store.answered)
    return "".join(line for _, line in dask_worker.get_logs())


@pytest.mark.full
def test_a_message_that_fails_is_repeated_and_is_in_no_log(client, tmp_path):
    client.run(fail_once)
    try:
        check_case("edprf", random_records(5), client, tmp_path)
    finally:
        found = client.run(logged)
    assert not any("Run Failed" in one or "PerRecordCoin" in one for one in found.values())


@pytest.mark.full
def test_wrong_frames_are_refused_before_anything_is_booked(files, client):
    schema, paths = files
    frame, ledger = frame_of(paths), hr.Ledger(epsilon=1.0)
    for records in (
        hr.Records.from_dask(frame, label="none", client=client),
        hr.Records.from_dask(frame.assign(more=1), label="label", client=client),
    ):
        with pytest.raises(hr.SchemaError):
            hr.EDPRFClassifier(epsilon=1.0, schema=schema, ledger=ledger).fit(records)
    assert ledger.spent == 0
    for wrong in ({"client": 5}, {"client": client, "timeout": 0}):
        with pytest.raises(hr.ConfigurationError):
            hr.Records.from_dask(frame, label="label", **wrong)


@pytest.mark.full
def test_an_asynchronous_client_is_refused_before_anything_is_booked(files):
    async def fit():
        options = {"n_workers": 1, "processes": False, "dashboard_address": ":0", "asynchronous": True}
        async with (
            distributed.LocalCluster(**options) as cluster,
            distributed.Client(cluster, asynchronous=True) as one,
        ):
            with pytest.raises(hr.ConfigurationError, match="asynchronous"):
                hr.Records.from_dask(frame_of(files[1]), label="label", client=one)

    asyncio.run(fit())


@pytest.mark.full
def test_no_record_at_all_is_refused_without_a_model(client):
    schema, X, y = random_records(5)
    records = hr.Records.from_dask(dask_frame([X[:0].assign(label=y[:0])]), label="label", client=client)
    with pytest.raises(hr.EngineError, match="no records"):
        hr.EDPRFClassifier(schema=schema).fit(records)


@pytest.mark.full
def test_repr_is_silent(client):
    assert repr(on_dask(*random_records(5)[1:], 1, client)) == "Records.from_dask(<DataFrame>, label='label')"


@pytest.mark.full
def test_dask_and_spark_are_not_imported_before_they_are_used():
    code = (
        "import sys, hedgerow as hr; hr.Records.from_batches({'a': [1]}, label='a'); hr.engines\n"
        "assert not {'dask', 'distributed', 'pyspark'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
