"""Persons whose records lie in several partitions of a cluster: the bits of a frame in memory, also when workers are killed."""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import time
import unicodedata

import numpy as np
import pandas as pd
import pytest
from clusters import dask_frame, executors, spark_frame
from person_spellings import NOBODY, TEXTS, check_reader
from products import by_turns
from random_records import CASES, estimator, random_batches, random_records, saved
from whole_analysis import asked

import hedgerow as hr
from hedgerow.engines import store
from hedgerow.engines.encode import ValueCounts
from hedgerow.mechanisms import PerRecordCoin, Randomness
from hedgerow.reading.persons import Groups
from hedgerow.schema import Encoder
from hedgerow.table import Coded, Keep, Share, Sizes, keep_of
from hedgerow.table.reading import least

pytestmark = pytest.mark.filterwarnings("default", "ignore:the noisy number of records")
on_clusters = [
    pytest.param("dask", marks=pytest.mark.engines),
    pytest.param("spark", marks=pytest.mark.engines),
]
IDS = ["p-1", "p-2", "3", "004.10", "4.1", None, "", "secret-person", "p-9"]


class Cluster:
    """Frames whose rows say who they are of, on Dask or Spark, and the processes that hold them."""

    def __init__(self, request, tmp_path):
        self.kind, self._folder = request.param, tmp_path / "frame"
        self._session = request.getfixturevalue("client" if self.kind == "dask" else "spark")

    def pids(self):
        return list(self._session.run(os.getpid).values()) if self.kind == "dask" else executors(self._session)

    def records(self, batches, **more):
        """Records in these partitions, their features, their labels and whom they are of, in the order of the records."""
        if self.kind == "dask":
            frame, together = dask_frame(batches), pd.concat(batches, ignore_index=True)
            records = hr.Records.from_dask(frame, "label", client=self._session, group="who", **more)
        else:
            ends = np.cumsum([len(batch) for batch in batches])[:-1].tolist()
            frame = spark_frame(self._session, pd.concat(batches, ignore_index=True), self._folder, ends)
            together = frame.toPandas()
            records = hr.Records.from_spark(frame, "label", group="who", **more)
        return records, together.drop(columns=["label", "who"]), together["label"], together["who"]

    def made(self, seed, **more):
        schema, X, y = random_records(seed)
        batches = random_batches(X.assign(who=persons_of(len(X), seed)), y, np.random.default_rng(1))
        return schema, *self.records(batches, **more)


@pytest.fixture
def cluster(request, tmp_path):
    if request.param == "spark" and shutil.which("java") is None:
        pytest.skip("Java is not installed")
    return Cluster(request, tmp_path)


@pytest.fixture(autouse=True)
def few_at_once(monkeypatch):
    """Persons are told apart a few at a time."""
    monkeypatch.setattr("hedgerow.engines.encode.FEWEST_AT_ONCE", 100)


def persons_of(count, seed):
    """Ids of which some have many records and most have two or three, in all partitions; some are missing."""
    rng = np.random.default_rng(seed)
    ids = np.array([*IDS, *(f"q{i}" for i in range(60))], dtype=object)
    return np.where(rng.random(count) < 0.4, ids[rng.integers(0, len(IDS), count)], ids[rng.integers(9, 69, count)])


def check_same(case, made, tmp_path):
    schema, records, X, y, who = made
    whole = estimator(case, schema, records_per_person=2).fit(X, y, groups=who)
    found = estimator(case, schema, records_per_person=2).fit(records)
    assert saved(found, tmp_path / "found") == saved(whole, tmp_path / "whole")
    assert found.certificate_.person == "who"
    assert saved(whole.fit(X, y), tmp_path / "all") != saved(found, tmp_path / "found")


# The quick run starts one cluster, of Dask, for the tests of this file; tests/engines/test_dask.py is full.
@pytest.mark.parametrize("cluster", ["dask"], indirect=True)
@pytest.mark.parametrize("case", ["edprf", "hedgerow, delta"])
def test_a_fit_is_the_same_bits(case, cluster, tmp_path):
    check_same(case, cluster.made(5), tmp_path)


@pytest.mark.parametrize(
    ("case", "cluster"), by_turns(CASES, ["dask", "spark"], pytest.mark.engines), indirect=["cluster"]
)
def test_every_private_form_writes_the_same_file(case, cluster, tmp_path):
    check_same(case, cluster.made(11), tmp_path)


def table_of(records, schema, most=2):
    return records.read(Coded(Encoder(schema, 4)), keep_of(records.groups_by(schema), most, Randomness(0)))


@pytest.mark.parametrize("cluster", ["dask"], indirect=True)
def test_what_workers_hold_of_a_fit_is_without_ids(cluster):
    schema, records, X, *_ = cluster.made(5)
    table = table_of(records, schema)
    for _ in range(100):  # Dask drops what nothing needs a little later
        if not any(cluster._session.run(held_ids).values()):
            break
        time.sleep(0.1)
    assert not any(cluster._session.run(held_ids).values())
    table.answer(Sizes(table.assign(Randomness(0).coins(PerRecordCoin(1)))))
    assert sum(cluster._session.run(held_rows).values()) == len(X)
    table.close()


def held_ids(dask_worker):
    """How many partitions with ids Dask has on a worker."""
    return sum(len(getattr(one, "ids", ())) > 0 for one in dask_worker.data.values())


def held_rows():
    """How many records a worker holds, of which it has codes and labels alone."""
    arrays = [arrays for table in store._TABLES.values() for arrays in table._arrays]
    assert all(set(one) == {"codes", "labels"} for one in arrays)
    return sum(len(one["labels"]) for one in arrays)


@pytest.mark.parametrize("cluster", on_clusters, indirect=True)
def test_schemas_report_cards_and_searches_are_the_same_bits(cluster):
    schema, records, X, y, who = cluster.made(5)
    found = asked(schema, records, records_per_person=2)
    assert found == asked(schema, X, y, groups=who, records_per_person=2)
    assert found != asked(schema, X, y, records_per_person=2)


@pytest.mark.parametrize("cluster", ["dask", on_clusters[1]], indirect=True)
@pytest.mark.parametrize("most", [1, 3])
def test_values_are_those_of_records_that_count(cluster, most):
    """Whether they have a label or not; and exactly those that count in memory."""
    schema, records, X, y, who = cluster.made(5)
    asked_of = ValueCounts(schema, tuple(range(len(schema.names))), with_labels=True)
    whole = keep_of(Groups("who", who.to_numpy(dtype=object)), most, Randomness(3))
    expected = asked_of(X, y, whole.of(np.ones(len(X), dtype=np.bool_)))
    assert records.values(asked_of, keep_of(records.groups_by(asked_of.schema), most, Randomness(3))) == expected
    assert records.values(asked_of) == asked_of(X, y) != expected


def each_by_itself(self, sizes, at_once, candidates):
    masks = []
    for size, one in zip(sizes, candidates(Share(0, 1, self.most, self.words)), strict=True):
        mask = np.zeros(size, dtype=np.bool_)
        mask[one.rows[least(one.ids, one.words, self.most)]] = True
        masks.append(np.packbits(mask))
    return masks


@pytest.mark.parametrize("cluster", ["dask", on_clusters[1]], indirect=True)
def test_a_choice_in_each_partition_alone_is_noticed(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(Keep, "chosen", each_by_itself)
    made = cluster.made(5)
    with pytest.raises(AssertionError):
        check_same("edprf", made, tmp_path)


class Killing:
    """Kills a worker at the first answer to a question; or all of them, once ``act`` was called."""

    def __init__(self, cluster, question, act=None):
        self.cluster, self.question, self.act, self.killed = cluster, question, act, 0

    def read(self, share):
        pass

    def counted(self, question, share):
        if question == self.question and not self.killed:
            pids = sorted(self.cluster.pids())
            if self.act is None:
                pids = pids[question % len(pids) :][:1]
            else:
                self.act()
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
            self.killed = len(pids)


@pytest.mark.parametrize("cluster", on_clusters, indirect=True)
@pytest.mark.parametrize("question", [1, 2, 3])
def test_a_worker_lost_in_the_middle_of_a_fit_changes_nothing(cluster, question, tmp_path):
    schema, records, X, y, who = cluster.made(5)
    model = estimator("edprf", schema, records_per_person=2)
    whole = saved(model.fit(X, y, groups=who), tmp_path / "whole")
    watch = Killing(cluster, question)
    assert saved(model.fit(records.with_progress(watch)), tmp_path / "found") == whole
    assert watch.killed == 1


@pytest.mark.parametrize("cluster", on_clusters, indirect=True)
def test_workers_lost_while_persons_are_told_apart_change_nothing(cluster, tmp_path, monkeypatch):
    schema, records, X, y, who = cluster.made(5)
    model = estimator("edprf", schema, records_per_person=2)
    whole = saved(model.fit(X, y, groups=who), tmp_path / "whole")
    right, killed = Keep.chosen, []

    def chosen(self, sizes, at_once, candidates):
        def losing(share):
            found = candidates(share)
            if share.number < 2:
                killed.append(sorted(cluster.pids())[0])
                os.kill(killed[-1], signal.SIGKILL)
            return found

        return right(self, sizes, at_once, losing)

    monkeypatch.setattr(Keep, "chosen", chosen)
    assert saved(model.fit(records), tmp_path / "found") == whole
    assert len(killed) == 2


def read(path):
    return pd.read_parquet(path)


@pytest.fixture
def files(tmp_path):
    """Two files whose codes are the same if persons stand in another order."""
    frame = pd.DataFrame({"n": 5.0, "label": "no", "who": [f"secret-{i % 40}" for i in range(120)]})
    paths = [tmp_path / f"{place}.parquet" for place in range(2)]
    for place, path in enumerate(paths):
        frame[place * 60 : (place + 1) * 60].to_parquet(path)
    return hr.Schema({"n": hr.Numeric(0, 10)}, classes=["no", "yes"]), paths


@pytest.mark.engines
def test_a_partition_that_comes_back_with_other_persons_is_refused(files, client):
    schema, paths = files
    frame = pytest.importorskip("dask.dataframe").from_map(read, paths, meta=read(paths[0]).iloc[:0])

    def turn():
        for path in paths:
            table = read(path)
            table.assign(who=table["who"].to_numpy()[::-1]).to_parquet(path)

    class Here:
        def pids(self):
            return list(client.run(os.getpid).values())

    ledger = hr.Ledger(epsilon=1.0, records_per_person=2)
    records = hr.Records.from_dask(frame, "label", client=client, group="who").with_progress(Killing(Here(), 2, turn))
    model = hr.EDPRFClassifier(epsilon=1.0, schema=schema, ledger=ledger, records_per_person=2)
    with pytest.raises(hr.EngineError, match="not those that were read before") as caught:
        model.fit(records)
    assert ledger.spent == 1
    assert not hasattr(model, "model_")
    assert not {"secret", "120", "60"} & set(str(caught.value).replace("-", " ").split())


@pytest.mark.parametrize("second", ["whole numbers", "floats", "missing"])
def test_a_partition_whose_ids_are_of_another_type_is_refused(second, client):
    """One that reads ids from text, and one that takes them for numbers, would read one person as two."""
    ids = {
        "whole numbers": (["007", "A1"], [7, 8]),
        "floats": ([1, 2], [2.0**53, np.nan]),  # the type decides and no cell: a float that may be inexact is no id
        "missing": (["007", "A1"], [np.nan, np.nan]),
    }[second]
    schema = hr.Schema({"n": hr.Numeric(0, 10)}, classes=["no", "yes"])
    batches = [pd.DataFrame({"n": 5.0, "label": "no", "who": who}) for who in ids]
    frame = pytest.importorskip("dask.dataframe").from_map(taken, [0, 1], batches=batches, meta=batches[0].iloc[:0])
    records = hr.Records.from_dask(frame, "label", client=client, group="who")
    if second in ("floats", "missing"):
        table_of(records, schema).close()
        return
    with pytest.raises(hr.EngineError, match="another type than the frame's"):
        table_of(records, schema)


def taken(place, batches):
    return batches[place]


def test_workers_that_may_normalize_text_otherwise_are_refused(client, monkeypatch):
    schema, X, y = random_records(5)
    frame = dask_frame([X.assign(label=y, who="p")])
    ledger = hr.Ledger(epsilon=9, records_per_person=2)
    records = hr.Records.from_dask(frame, "label", client=client, group="who")
    monkeypatch.setattr(unicodedata, "unidata_version", "1.0")
    with pytest.raises(hr.EngineError, match="Unicode version differs"):
        estimator("edprf", schema, records_per_person=2, ledger=ledger).fit(records)
    assert ledger.spent == 0
    with pytest.raises(
        hr.EngineError, match="Unicode version differs"
    ):  # also one that came after the others were asked
        table_of(records, schema)


@pytest.mark.engines
@pytest.mark.skipif(shutil.which("java") is None, reason="Java is not installed")
def test_executors_that_may_normalize_text_otherwise_are_refused(spark, tmp_path, monkeypatch):
    schema, X, y = random_records(5)
    records = hr.Records.from_spark(
        spark_frame(spark, X.assign(label=y, who="p"), tmp_path / "frame", [50]), "label", group="who"
    )
    monkeypatch.setattr(unicodedata, "unidata_version", "1.0")
    with pytest.raises(hr.EngineError, match="Unicode version differs"):
        table_of(records, schema)


@pytest.mark.parametrize("cluster", ["dask", on_clusters[1]], indirect=True)
def test_ids_stay_on_the_workers(cluster, tmp_path):
    schema, records, *_ = cluster.made(5)
    model = estimator("edprf", schema, records_per_person=2).fit(records)
    texts = [model.certificate_.details(), repr(model), repr(records)]
    for text in (*map(str.encode, texts), pickle.dumps(model), saved(model, tmp_path / "m")):
        assert b"secret-person" not in text


def test_a_group_that_is_another_column_is_refused(client):
    frame = dask_frame([pd.DataFrame({"n": [5.0], "label": "no", "who": "p"})])
    for wrong in ("label", "n", 5):
        with pytest.raises(hr.ConfigurationError, match="group is"):
            hr.Records.from_dask(frame, "label", client=client, group=wrong, drop=["n"])
    lacking = hr.Records.from_dask(frame, "label", client=client, group="whom", drop=["who"])
    with pytest.raises(hr.SchemaError, match="no column 'whom'"):
        hr.EDPRFClassifier(schema=hr.Schema({"n": hr.Numeric(0, 9)}, classes=["no", "yes"])).fit(lacking)


def text_frame(ids, labels):
    frame = pd.DataFrame({"a": "x", "who": ids, "label": labels}, dtype=object)
    return [frame[place::3].reset_index(drop=True) for place in range(3)]


@pytest.mark.full
def test_ids_that_dask_reads_are_persons_as_written(client):
    def fit_of(ids, labels):
        frame = dask_frame(text_frame(ids, labels))
        return lambda model: model.fit(hr.Records.from_dask(frame, client=client, group="who"))

    check_reader(TEXTS, [*NOBODY, None], fit_of, seeds=range(2))


@pytest.mark.engines
def test_ids_that_spark_reads_are_persons_as_written(spark, tmp_path):
    def fit_of(ids, labels):
        together = pd.concat(text_frame(ids, labels))
        frame = spark_frame(spark, together, tmp_path / "ids", [20, 40])
        return lambda model: model.fit(hr.Records.from_spark(frame, group="who"))

    check_reader(TEXTS, [*NOBODY, None], fit_of, seeds=range(2))
