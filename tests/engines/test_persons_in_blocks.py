"""A person's records are counted out once over all blocks, wherever they are read from and whatever is asked."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.engines import encode
from hedgerow.engines.encode import ValueCounts
from hedgerow.mechanisms import Randomness
from hedgerow.schema import Encoder
from hedgerow.table import Coded, keep_of

SCHEMA = hr.Schema({"job": hr.Categorical(["spy"])}, classes=["no"])
JOBS = ValueCounts(SCHEMA, (0,), with_labels=True)
ROWS = 12  # of one person, who alone has this job


def in_blocks(sizes):
    """The person's rows in blocks of these sizes, each among rows of others of whom no two are of one person."""
    others = iter(range(10**6))
    for size in sizes:
        job, who = ["spy"] * size + ["cook"] * 3, ["x"] * size + [f"p{next(others)}" for _ in range(3)]
        yield pd.DataFrame({"job": job, "label": "no", "who": who})


def csv(blocks, folder, **given):
    for place, block in enumerate(blocks):
        block.to_csv(folder / f"{place:02}.csv", index=False)
    return hr.Records.from_csv(folder, "label", group="who", **given)


def parquet(blocks, folder, **given):
    for place, block in enumerate(blocks):
        block.to_parquet(folder / f"{place:02}.parquet", row_group_size=2)
    return hr.Records.from_parquet(folder, "label", group="who", **given)


SOURCES = {
    "batches": lambda blocks, folder, **given: hr.Records.from_batches(blocks, "label", group="who", **given),
    "csv": csv,
    "parquet": parquet,
}
SIZES = {"one row a block": [1] * ROWS, "two blocks": [ROWS - 1, 1], "one block": [ROWS]}


@pytest.fixture(params=[False, True], ids=["memory", "disk"])
def spill(request, monkeypatch, tmp_path):
    """Where codes go: as they are, and all of them to disk."""
    if request.param:
        monkeypatch.setattr("hedgerow.engines.local.Spill.take", lambda self, size: False)
    monkeypatch.setattr(encode, "FEWEST_AT_ONCE", 5)  # so that few are looked at together
    (tmp_path / "spill").mkdir()
    return {"spill": tmp_path / "spill"}


def given_by(source, sizes, tmp_path, spill):
    (tmp_path / "data").mkdir()
    return SOURCES[source](list(in_blocks(SIZES[sizes])), tmp_path / "data", **spill)


@pytest.mark.parametrize("most", [1, 3])
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("source", SOURCES)
def test_values_count_each_person_once_over_all_blocks(source, sizes, most, spill, tmp_path):
    given = given_by(source, sizes, tmp_path, spill)
    jobs, labels = given.values(JOBS, keep_of(given.groups_by(JOBS.schema), most, Randomness(most)))
    others = 3 * len(SIZES[sizes])
    assert jobs == {"spy": most, "cook": others}
    assert labels == {"no": most + others}


@pytest.mark.parametrize("most", [1, 3])
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("source", SOURCES)
def test_tables_count_each_person_once_over_all_partitions(source, sizes, most, spill, tmp_path, monkeypatch):
    monkeypatch.setattr("hedgerow.engines.local.MOST_ROWS", 4)
    monkeypatch.setattr("hedgerow.engines.local.FEWEST_ROWS", 4)
    given = given_by(source, sizes, tmp_path, spill)
    table = given.read(Coded(Encoder(SCHEMA, 2)), keep_of(given.groups_by(SCHEMA), most, Randomness(most)))
    counted = sum((np.asarray(part.arrays["labels"]) >= 0).sum() for part in table._engine._partitions)
    table.close()
    assert counted == most + 3 * len(SIZES[sizes])


@pytest.mark.filterwarnings("ignore:no value", "ignore:delta is")
def test_a_value_that_one_person_has_in_many_blocks_is_not_released(tmp_path):
    """At delta 1e-9 a value passes by chance in one release of a billion; thirty rows of one person would pass in each."""
    given = hr.Records.from_batches(list(in_blocks([1] * 60)), "label", group="who")
    for seed in range(5):
        made = hr.private_schema(
            given,
            epsilon=3,
            delta=1e-9,
            categorical=["job"],
            classes=["no", "yes"],
            records_per_person=1,
            random_state=seed,
        )
        assert made.features["job"].values == ("cook",)


@pytest.mark.parametrize("streamed", [False, True], ids=["memory", "stream"])
@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.filterwarnings("ignore:no range", "ignore:delta is")
def test_every_question_reads_so_many_records_of_a_person_as_it_promises(most, streamed):
    """Of one person with very many records, and of others with one each: a release, a report card, a search and its last fit."""
    rows, others = 900, 300
    frame = pd.DataFrame({"a": [0.5] * (rows + others), "label": ["yes"] * rows + ["no"] * others})
    who = ["x"] * rows + [f"p{place}" for place in range(others)]
    schema = hr.Schema({"a": hr.Numeric(0, 1)}, classes=["no", "yes"])
    data, groups = (frame[["a"]], frame["label"]), {"groups": pd.Series(who, name="who")}
    if streamed:
        data, groups = (hr.Records.from_batches([frame.assign(who=who)], "label", group="who"),), {}
    common = {"epsilon": 1000, "records_per_person": most, "random_state": 0, **groups}
    released = hr.private_schema(*data[:1], **common, numeric=["a"], classes=["no", "yes"])
    assert abs(released.ranges_["a"].records - (others + most)) < 1
    fit = {"epsilon": 1000, "records_per_person": most, "random_state": 0}
    tree = hr.EDPRFClassifier(schema=schema, n_estimators=1, max_depth=0)
    model = hr.EDPRFClassifier(schema=schema, n_estimators=1, max_depth=0, **fit).fit(*data, **groups)
    assert model.predict([[0.5]]).tolist() == ["no"]
    card = hr.evaluate(model, *data, **common)
    assert abs(card.records - (others + most)) < 1
    search = hr.PrivateSearchCV(tree, {"max_bins": [2, 3]}, refit=0.5, **fit).fit(*data, **groups)
    assert search.predict([[0.5]]).tolist() == ["no"]
