"""Records on the executors of a Spark cluster: the same bits, also when executors are killed. Run by ``make test-engines``."""

import os
import shutil
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from clusters import executors, spark_frame
from random_records import CASES, estimator, random_records, saved
from whole_analysis import asked
from workers import KILLED, KillAt, killed_at_every_question

import hedgerow as hr
from hedgerow.engines.spark import Jobs, Stores

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
sql = pytest.importorskip("pyspark.sql")
pytestmark = [
    pytest.mark.engines,
    pytest.mark.filterwarnings("default"),  # Spark's own
    pytest.mark.skipif(shutil.which("java") is None, reason="Java is not installed"),
]


def as_read(frame):
    """The rows in the order in which Spark reads them."""
    rows = frame.toPandas()
    return rows.drop(columns="label"), rows["label"]


def on_spark(session, made, folder):
    schema, X, y = made
    frame = spark_frame(session, X.assign(label=y), folder, [50, 51, 51, 120])
    return schema, *as_read(frame), hr.Records.from_spark(frame, label="label")


@pytest.mark.parametrize("case", CASES)
def test_every_private_system_writes_the_same_file(case, spark, tmp_path):
    schema, X, y, records = on_spark(spark, random_records(1), tmp_path / "frame")
    whole = saved(estimator(case, schema).fit(X, y), tmp_path / "whole")
    assert saved(estimator(case, schema).fit(records), tmp_path / "spark") == whole


@pytest.mark.usefixtures("small_samples")
def test_a_sample_is_the_same_bits(spark, tmp_path):
    schema, X, y, records = on_spark(spark, random_records(3, 2000), tmp_path / "frame")
    whole = saved(estimator("hedgerow, delta", schema).fit(X, y), tmp_path / "whole")
    assert saved(estimator("hedgerow, delta", schema).fit(records), tmp_path / "spark") == whole


def test_schemas_report_cards_and_searches_are_the_same_bits(spark, tmp_path):
    schema, X, y, records = on_spark(spark, random_records(5), tmp_path / "frame")
    assert asked(schema, records) == asked(schema, X, y)


@pytest.mark.parametrize("case", KILLED)
@pytest.mark.parametrize("ends", [[200, 201], [450]], ids=["jobs", "lines"])
def test_an_executor_killed_at_every_question_changes_nothing(case, ends, spark, tmp_path):
    def records_of(together):
        frame = spark_frame(spark, together, tmp_path / "frame", ends)
        return hr.Records.from_spark(frame, label="label"), *as_read(frame)

    assert killed_at_every_question(case, records_of, partial(executors, spark), tmp_path) >= 4


def test_progress_tells_every_query(spark, tmp_path):
    """Also one whose job ends before anybody looks at how far it is."""
    schema, X, y, records = on_spark(spark, random_records(7), tmp_path / "frame")
    here, there = KillAt(0, list), KillAt(0, list)
    estimator("edprf", schema).fit(records.with_progress(there))
    table = pa.Table.from_pandas(X.assign(label=y), preserve_index=False)
    estimator("edprf", schema).fit(hr.Records.from_batches(lambda: [table], label="label").with_progress(here))
    assert there.last == here.last > 1


@pytest.mark.parametrize("encrypted", [False, True])
def test_with_a_core_for_each_partition_queries_share_a_job_unless_spark_encrypts(
    encrypted, spark, tmp_path, monkeypatch
):
    schema, X, y = random_records(7)
    records = hr.Records.from_spark(spark_frame(spark, X.assign(label=y), tmp_path / "frame", [100]), label="label")
    both = spark.sparkContext._jsc.sc().getExecutorMemoryStatus
    while both().size() < 3:  # until executors that other tests killed have started anew: the driver counts, too
        time.sleep(0.1)
    jobs, run = [], Jobs.run
    monkeypatch.setattr(Jobs, "run", lambda self, act, progress: jobs.append(act) or run(self, act, progress))
    if encrypted:
        monkeypatch.setattr("hedgerow.engines.lines.ENCRYPTED", ("ui.enabled", "sql.legacy.absent"))
        get = spark.sparkContext.getConf
        monkeypatch.setattr(spark.sparkContext, "getConf", lambda: get().set("spark.sql.legacy.absent", "true"))
    progress = KillAt(0, list)
    there = saved(estimator("hedgerow, delta", schema).fit(records.with_progress(progress)), tmp_path / "there")
    assert there == saved(estimator("hedgerow, delta", schema).fit(X, y), tmp_path / "here")
    assert progress.last > 10
    assert (len(jobs) > progress.last) is encrypted
    assert len(jobs) == 1 or encrypted  # that which encodes


def test_an_interrupted_fit_leaves_the_cores_free(spark, tmp_path):
    schema, X, y = random_records(7)
    records = hr.Records.from_spark(spark_frame(spark, X.assign(label=y), tmp_path / "frame", [100]), label="label")

    class Interrupt(KillAt):
        def counted(self, question, share):
            if question == 3:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        estimator("hedgerow, delta", schema).fit(records.with_progress(Interrupt(0, list)))
    assert spark.sparkContext.parallelize(range(2), 2).count() == 2
    assert not spark.sparkContext.statusTracker().getActiveJobsIds()


def test_many_answers_are_added_up_on_the_executors(spark, tmp_path, monkeypatch):
    monkeypatch.setattr("hedgerow.engines.spark.MANY_CELLS", 1)
    schema, X, y, records = on_spark(spark, random_records(7), tmp_path / "frame")
    whole = saved(estimator("edprf", schema).fit(X, y), tmp_path / "whole")
    assert saved(estimator("edprf", schema).fit(records), tmp_path / "spark") == whole


def test_partitions_that_are_not_on_their_executor_are_encoded_again(spark, tmp_path, monkeypatch):
    """As where Spark sends a task to an executor that does not hold the partition."""
    schema, X, y, records = on_spark(spark, random_records(7), tmp_path / "frame")
    whole = saved(estimator("hedgerow, delta", schema).fit(X, y), tmp_path / "whole")
    asked, again, questions = Stores.asked, Stores.made_again, []

    def clear(_):  # within: executors do not have this module
        for folder in os.environ["SPARK_LOCAL_DIRS"].split(","):
            for table in Path(folder).glob("hedgerow-table-*"):
                shutil.rmtree(table)

    made = []

    def lost(self, facts, packed):
        questions.append(len(questions))
        if questions[-1] in (2, 5):
            spark.sparkContext.parallelize(range(4), 4).foreach(clear)
        return asked(self, facts, packed)

    def counted(self, places, facts, packed):
        made.extend(places)
        return again(self, places, facts, packed)

    monkeypatch.setattr(Stores, "asked", lost)
    monkeypatch.setattr(Stores, "made_again", counted)
    assert saved(estimator("hedgerow, delta", schema).fit(records), tmp_path / "spark") == whole
    assert len(made) >= 2


@pytest.mark.parametrize("change", ["gone", "turned"])
def test_a_partition_that_does_not_come_back_as_it_was_is_a_clear_error(spark, tmp_path, change):
    schema, X, y = random_records(8)
    # More partitions than cores: a Python worker whose executor was killed may answer over its line until it is idle.
    frame = spark_frame(spark, X.assign(label=y), tmp_path / "frame", [50, 60])
    ledger = hr.Ledger(epsilon=1.0)

    class Lose:
        done = False

        def read(self, share):
            pass

        def counted(self, question, share):
            if question == 2 and not self.done:
                self.done = True
                for path in (tmp_path / "frame").glob("*.parquet"):
                    if change == "gone":
                        path.unlink()
                    else:
                        table = pq.read_table(path)
                        pq.write_table(table.take(np.arange(len(table))[::-1]), path)
                for pid in executors(spark):
                    os.kill(pid, 9)

    model = hr.EDPRFClassifier(epsilon=1.0, schema=schema, ledger=ledger)
    with pytest.raises(hr.EngineError, match=r"could not be read|not those that were read before") as caught:
        model.fit(hr.Records.from_spark(frame, label="label", timeout=120).with_progress(Lose()))
    assert ledger.spent == 1
    assert str(len(X)) not in str(caught.value)


def test_a_job_that_gets_no_further_ends_after_the_stated_time(spark, tmp_path):
    schema, X, y = random_records(8)
    frame = spark_frame(spark, X.assign(label=y), tmp_path / "frame", [50])
    ledger = hr.Ledger(epsilon=1.0)
    model = hr.EDPRFClassifier(epsilon=1.0, schema=schema, ledger=ledger)
    records = hr.Records.from_spark(frame, label="label", timeout=0.3)
    with pytest.raises(hr.EngineError, match=r"nothing finished for 0\.3 seconds"):
        model.fit(records)
    assert ledger.spent == 1


@pytest.mark.parametrize("proba", [False, True])
def test_predictions_are_made_by_the_executors(spark, tmp_path, proba):
    schema, X, y, records = on_spark(spark, random_records(9), tmp_path / "frame")
    model = hr.EDPRFClassifier(epsilon=5.0, schema=schema).fit(X, y)
    found = hr.engines.predict(records, model, proba=proba).toPandas()
    if proba:
        assert np.array_equal(found.to_numpy(), model.predict_proba(X))
    else:
        assert found["prediction"].tolist() == model.predict(X).tolist()
