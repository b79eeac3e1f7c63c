"""The certificate check: nothing to find in what we ship, and everything that is added to it is found."""

from __future__ import annotations

import json
import warnings
import zipfile
from dataclasses import replace

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.audit import check_model
from hedgerow.errors import FileFormatError, PrivacyLeakWarning
from hedgerow.export.archive import read_archive, write_archive
from hedgerow.systems.registry import system_class

rng = np.random.default_rng(0)
X = np.c_[rng.uniform(0, 1, 300), rng.integers(0, 3, 300)].astype(object)
Y = np.where(X[:, 0] > 0.5, "yes", "no")
SCHEMA = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Categorical([0, 1, 2])}, classes=["no", "yes"])
SMALL = {"n_estimators": 2}  # of systems whose defaults are large
PARAMETERS = {"dpada": {"schedule": "improved"}, "tpdprf": SMALL, "diffprf": SMALL}


def fitted(name, **parameters):
    return system_class(name)(epsilon=1.0, schema=SCHEMA, **parameters).fit(X, Y)


@pytest.fixture(scope="module")
def labels():
    return fitted("edprf", n_estimators=3)


@pytest.fixture(scope="module")
def counts():
    return fitted("forest", n_estimators=2, max_depth=2)


def words(findings):
    assert all(finding.refuted and finding.attack == "contents" for finding in findings)
    return " / ".join(finding.words for finding in findings)


@pytest.mark.filterwarnings("ignore:the noisy number of records")
@pytest.mark.parametrize("name", [info.name for info in hr.list_systems()])
def test_what_we_ship_holds_nothing_unexplained(name, tmp_path):
    model = fitted(name, **PARAMETERS.get(name, {}))
    model.predict(X[:3])
    assert model.feature_importances_.shape == (2,)
    assert check_model(model) == []
    model.save(tmp_path / "model")
    assert check_model(tmp_path / "model") == []


@pytest.mark.parametrize("name", ["dp-adaboost", "hedgerow"])
def test_a_model_with_normal_noise_holds_nothing_unexplained(name):
    assert check_model(fitted(name, delta=1e-6, **SMALL)) == []


def test_reasons_of_the_certificate_are_told_and_refute_nothing():
    with pytest.warns(PrivacyLeakWarning, match="reads ranges"):
        inferred = hr.EDPRFClassifier().fit(X, Y)
    for model, word in (
        (fitted("edprf", random_state=0), "random_state"),
        (fitted("edprf", variant="published"), "without noise"),
        (inferred, "schema was read off the data"),
    ):
        findings = check_model(model)
        told = [f"no guarantee: its own certificate says so: {reason}" for reason in model.certificate_.reasons]
        assert [finding.words for finding in findings] == told
        assert word in " ".join(told)
        assert {(found.attack, found.loss, found.refuted, found.verdict) for found in findings} == {
            ("certificate", 0.0, False, "no guarantee")
        }


@pytest.mark.parametrize(
    ("keep", "found"),
    [
        (lambda model: setattr(model, "n_records_", 300), "attribute n_records_"),
        (lambda model: setattr(model.model_.encoder, "seen", X[:2]), "attribute model_.encoder.seen"),
        (lambda model: object.__setattr__(model.model_.forest, "raw", np.ones(3)), "attribute model_.forest.raw"),
        (lambda model: model.model_.forest.label.__setitem__(-1, 1 - model.model_.forest.label[-1]), None),
    ],
)
def test_attributes_that_no_step_releases_are_found(keep, found):
    model = fitted("edprf", n_estimators=1)
    keep(model)
    assert (found in words(check_model(model))) if found else (check_model(model) == [])


def test_another_share_than_the_released_counts_give_is_found(counts):
    model = fitted("forest", n_estimators=2, max_depth=2)
    model._fitted = replace(model._fitted, model=replace(model.model_, votes=model.model_.votes + 1))
    assert "model_.votes holds other values" in words(check_model(model))


def rewritten(model, path, change):
    """Write a model's file with something changed, and return what the check says."""
    model.save(path)
    document, members = read_archive(path)
    arrays = dict(members)
    change(document, arrays)
    write_archive(path, document, arrays)
    return words(check_model(path))


def _event(document):
    return document["certificate"]["event"]


def drop_a_level(document, arrays):
    paths = _event(document)["part"]["parts"]
    for path in paths:
        if path["event"] == "Sequence":
            path["parts"] = path["parts"][1:]


CHANGES = {
    "an array": (lambda d, a: a.update(depths=np.arange(3)), "array depths, which its plan does not release"),
    "counts of a forest of labels": (
        lambda d, a: a.update(counts=np.zeros((len(a["test"]), 2), dtype=np.int64)),
        "holds counts, but no step",
    ),
    "a level less in the ledger": (drop_a_level, "leaves out what the plan does on level 1"),
    "another claim": (
        lambda d, a: d["certificate"].update(epsilon="1/2"),
        "parameters are not those of its certificate",
    ),
    "more budget": (lambda d, a: d["parameters"].update(epsilon=2.0), "parameters are not those of its certificate"),
    "an entry": (lambda d, a: d.update(records=300), "another entry records"),
    "a label on a node": (
        lambda d, a: a["label"].__setitem__(np.flatnonzero(a["test"] >= 0), 1),
        "mean nothing there",
    ),
    "more trees": (
        lambda d, a: a.update(
            roots=np.append(a["roots"], np.int32(len(a["test"]))),
            **{
                name: np.append(a[name], np.int32(fill))
                for name, fill in (("test", -1), ("first_child", 0), ("label", 0))
            },
        ),
        "4 trees, but 3 were planned",
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_is_changed_in_a_file_is_found(name, labels, tmp_path):
    change, found = CHANGES[name]
    assert found in rewritten(labels, tmp_path / "model", change)


def test_a_seed_that_the_certificate_hides_is_found(tmp_path):
    model = fitted("edprf", n_estimators=2, random_state=1)
    said = rewritten(model, tmp_path / "model", lambda d, a: d["certificate"].update(seeded=False))
    assert said == "the certificate says that the noise has no seed, but the model was fitted with random_state"


def test_more_rounds_than_there_can_be_are_found(tmp_path):
    model = fitted("dpada", n_estimators=3)
    found = rewritten(model, tmp_path / "model", lambda d, a: _event(d)["parts"].append(_event(d)["parts"][0]))
    assert "the model's arrays are not what its plan releases" in found  # no coins marked so many rounds


OF_COUNTS = {
    "real noise": (lambda d, a: a.update(counts=a["counts"] + 0.25), "are not what its plan releases"),
    "counts of inner nodes": (
        lambda d, a: a["counts"].__setitem__(0, [17, 4]),
        "no leaves hold counts, which no step releases",
    ),
    "labels of other counts": (
        lambda d, a: a["label"].__setitem__(-1, 1 - a["label"][-1]),
        "not those of their released counts",
    ),
}


@pytest.mark.parametrize("name", OF_COUNTS)
def test_counts_that_were_not_released_are_found(name, counts, tmp_path):
    change, found = OF_COUNTS[name]
    assert found in rewritten(counts, tmp_path / "model", change)


def add_a_member(path):
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("counts.json", json.dumps([1, 2]))


def again_of(path, document=lambda text: text, names=lambda names: names):
    """Write a file's members again, with something changed."""
    with zipfile.ZipFile(path) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    contents["model.json"] = document(contents["model.json"].decode()).encode()
    with warnings.catch_warnings(), zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        warnings.simplefilter("ignore", UserWarning)  # of members that are there twice
        for name in names(list(contents)):
            info = zipfile.ZipInfo(name)
            archive.writestr(info, contents[name], zipfile.ZIP_DEFLATED)


def in_certificate(text):
    document = json.loads(text)
    document["certificate"]["records"] = 300
    return json.dumps(document, indent=1)


FOREIGN = {
    "a member": (add_a_member, "the file has the member counts.json"),
    "an entry of the certificate": (lambda path: again_of(path, document=in_certificate), "another entry certificate"),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_what_save_would_not_write_is_found(name, labels, tmp_path):
    change, found = FOREIGN[name]
    path = tmp_path / "model"
    labels.save(path)
    change(path)
    assert hr.load(path).predict(X[:1]).shape == (1,)
    said = words(check_model(path))
    assert found in said


TWICE = {
    "a member twice": lambda path: again_of(path, names=lambda names: [names[1], *names]),
    "an entry twice": lambda path: again_of(path, document=lambda text: '{"named": [1, 2, 3],' + text[1:]),
}


@pytest.mark.parametrize("name", TWICE)
def test_what_readers_could_read_in_two_ways_is_refused(name, labels, tmp_path):
    path = tmp_path / "model"
    labels.save(path)
    TWICE[name](path)
    for read in (hr.load, check_model):
        with pytest.raises(FileFormatError):
            read(path)


def test_an_array_that_nobody_asks_for_is_found_and_not_read(labels, tmp_path):
    path = tmp_path / "model"
    labels.save(path)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("votes.npy", b"no array")
    assert hr.load(path).predict(X[:1]).shape == (1,)
    assert "array votes, which its plan does not release" in words(check_model(path))


@pytest.mark.parametrize(
    "parameters",
    [
        {"n_estimators": np.int64(2), "max_depth": np.int32(2)},
        {"epsilon": 1, "random_state": np.random.default_rng(0)},
        {"epsilon": np.float64(0.1), "ledger": hr.Ledger(1)},
    ],
)
def test_values_of_other_types_come_back_as_they_were_saved(parameters, tmp_path):
    schema = hr.Schema({"a": hr.Numeric(0.0, 1), "b": hr.Categorical([0, "1", 2.5])}, classes=["no", "yes"])
    model = hr.EDPRFClassifier(**{"epsilon": 1.0, "schema": schema, "n_estimators": 2, **parameters})
    model.fit({"a": X[:, 0], "b": X[:, 1]}, Y).save(tmp_path / "model")
    assert [found for found in check_model(tmp_path / "model") if found.refuted] == []


def test_another_build_of_the_compression_is_no_finding(labels, tmp_path, monkeypatch):
    path = tmp_path / "model"
    labels.save(path)
    usual = path.read_bytes()
    plain = zipfile.ZipFile.writestr
    monkeypatch.setattr(zipfile.ZipFile, "writestr", lambda *given: plain(*given, compresslevel=1))
    labels.save(path)
    monkeypatch.undo()
    assert path.read_bytes() != usual
    assert check_model(path) == []


def test_what_is_no_model_is_not_checked(tmp_path):
    (tmp_path / "model").write_bytes(b"nothing")
    with pytest.raises(FileFormatError):
        check_model(tmp_path / "model")


def swapped(path, precise, claimed):
    """Write the file of a model with the parameters and the certificate of another fit."""
    precise.save(path)
    document, members = read_archive(path)
    other = path.with_name("other")
    claimed.save(other)
    theirs, _ = read_archive(other)
    document.update(parameters=theirs["parameters"], certificate=theirs["certificate"])
    write_archive(path, document, dict(members))
    return check_model(path)


RECORDS = 4000
WIDE = np.c_[rng.uniform(0, 1, RECORDS), rng.integers(0, 3, RECORDS)].astype(object)
TOLD = {  # systems whose arrays tell the scale of the noise, and what is said
    "hedgerow": "the noise of the rounds costs",
    "hedgerow-regressor": "the noise of the rounds costs",
    "forest": "counts of leaves are near zero",
    "dp-adaboost": "counts of leaves are near zero",
    "dt-diff": "counts of cells are near zero",
}


def large(name, epsilon, **settings):
    y = np.where(WIDE[:, 0].astype(float) > 0.5, "yes", "no")
    schema, y = (SCHEMA.replace(outcome=hr.Numeric(0, 1)), WIDE[:, 0]) if "regressor" in name else (SCHEMA, y)
    if name == "forest":
        settings = {"n_estimators": 8, "max_depth": 8}
    return system_class(name)(epsilon=epsilon, schema=schema, **settings).fit(WIDE, y)


@pytest.mark.parametrize("name", TOLD)
def test_a_model_of_more_budget_under_the_certificate_of_less_is_found(name, tmp_path):
    precise, claimed = large(name, 8.0), large(name, 1.0)
    assert check_model(precise) == check_model(claimed) == []
    assert TOLD[name] in words(swapped(tmp_path / "m", precise, claimed))


def test_noise_that_the_file_states_larger_than_it_was_is_found(tmp_path):
    def change(document, arrays):
        arrays["terms"] = arrays["terms"] * [1, 1, 1, 8]

    model = large("hedgerow", 1.0, n_estimators=30)
    assert check_model(model) == []
    assert "for the noise that the model states" in rewritten(model, tmp_path / "m", change)


def test_more_bins_than_planned_are_found(tmp_path):
    y = np.where(WIDE[:, 0].astype(float) > 0.5, "yes", "no")
    many, few = (system_class("hedgerow")(epsilon=1.0, schema=SCHEMA, max_bins=bins).fit(WIDE, y) for bins in (40, 8))
    assert "but the plan merges them to at most 8" in words(swapped(tmp_path / "m", many, few))
