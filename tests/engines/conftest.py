import os
import sys
from dataclasses import replace

import pytest
from helpers import select_by_cell
from random_records import random_records

from hedgerow.systems import hedgerow

SMALL_SAMPLES = {"cut_sample": 50.0, "curve_sample": 20.0, "curve_sample_snr": 1e-6}


@pytest.fixture(params=[False, True], ids=["shared features", "features by cell"])
def small_samples(request, monkeypatch):
    """Selections read samples of few records, in rounds of either kind."""
    for name in ("RULES", "OUTCOME_RULES"):
        monkeypatch.setattr(hedgerow, name, replace(getattr(hedgerow, name), **SMALL_SAMPLES))
    if request.param:
        select_by_cell(monkeypatch)


@pytest.fixture(params=[0, 1, 2], ids="seed {}".format)
def made(request):
    """A random schema, and random records of it."""
    return random_records(request.param)


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """Two workers of Dask."""
    dask, distributed = pytest.importorskip("dask"), pytest.importorskip("distributed")
    folder = str(tmp_path_factory.mktemp("dask"))
    options = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50, "local_directory": folder}
    # A LocalCluster gives a worker up for good if it is away 15 seconds after it was lost, also where it was killed once more
    # just then.
    patient = dask.config.set({"distributed.deploy.lost-worker-timeout": "1 hour"})
    with patient, distributed.LocalCluster(n_workers=2, **options) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    """A cluster of two executors, which are processes that can be lost: local mode has none."""
    sql = pytest.importorskip("pyspark.sql")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_WORKER_DIR"] = str(tmp_path_factory.mktemp("spark"))
    session = (
        sql.SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.ui.enabled", "false")
        .config("spark.executor.memory", "1g")
        .config("spark.sql.files.openCostInBytes", "134217728")  # a file is a partition
        .config("spark.deploy.maxExecutorRetries", "-1")  # one is killed at each question
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
