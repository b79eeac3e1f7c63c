"""Model files that version 0.2.0 wrote load and predict the same to the last bit.

The files and what their models said were written by that version: HedgerowClassifier without and with a delta, with rounds on the
sides of one and of two cuts, strict rounds, three classes, constraints, weights and persons, on the same made-up records.
"""

import json
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.errors import FileFormatError
from hedgerow.export.archive import read_archive, write_archive

FOLDER = Path(__file__).parent / "fixtures" / "models-0.2.0"
SAID = json.loads((FOLDER / "predictions.json").read_text("utf-8"))
FILES = sorted(path.stem for path in FOLDER.glob("*.hedgerow"))


def records():
    return {name: [row[place] for row in SAID["rows"]] for place, name in enumerate(SAID["columns"])}


def test_all_files_are_there():
    assert sorted(SAID["models"]) == FILES
    assert len(FILES) == 12


@pytest.mark.parametrize("name", FILES)
def test_a_model_says_what_it_said(name):
    model, said = hr.load(FOLDER / f"{name}.hedgerow"), SAID["models"][name]
    # Processors round exponentials in their own way, in the last bits.
    np.testing.assert_allclose(model.predict_proba(records()), said["probabilities"], rtol=1e-12)
    np.testing.assert_allclose(model.decision_function(records()), said["decision"], rtol=1e-12, atol=1e-15)
    assert len(getattr(model.model_, "terms", None) or model.model_.forest.roots) == said["rounds"]


@pytest.mark.parametrize("name", FILES)
def test_what_is_read_off_a_model_is_what_was(name):
    model, said = hr.load(FOLDER / f"{name}.hedgerow"), SAID["models"][name]
    np.testing.assert_allclose(model.feature_curve("age")[1], said["curve"], rtol=1e-12, atol=1e-15)
    found = model.explain(records())
    assert np.array_equal(found.total, model.decision_function(records()))
    assert found.deviation is None  # their sums are of cells whose noise this version does not follow
    cuts = [len(part.conditions) for group in model.interactions_ for part in group.parts]
    assert (len(cuts) > 0) == (said["interactions"] > 0)
    if 2 not in cuts:
        assert len(cuts) == said["interactions"]
    if not cuts:  # a cut counts for the feature that is cut since
        np.testing.assert_allclose(model.feature_importances_, said["importances"], rtol=1e-12)
        np.testing.assert_allclose(found.contributions, said["contributions"], rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", FILES)
def test_a_model_is_written_anew_and_says_the_same(name, tmp_path):
    model = hr.load(FOLDER / f"{name}.hedgerow")
    model.save(tmp_path / "again.hedgerow")
    again = hr.load(tmp_path / "again.hedgerow")
    assert np.array_equal(again.predict_proba(records()), model.predict_proba(records()))
    assert again.certificate_ == model.certificate_


def test_the_first_cut_of_the_first_feature_is_read_as_a_cut(tmp_path):
    """Its number is the one behind those of the multiway splits."""
    document, arrays = read_archive(FOLDER / "splits.hedgerow")
    features, model = len(SAID["columns"]), hr.load(FOLDER / "splits.hedgerow").model_
    path = tmp_path / "moved.hedgerow"
    write_archive(path, document, {**arrays, "test": np.where(arrays["test"] > features, features, arrays["test"])})
    moved = hr.load(path).model_
    assert sum(len(term.cuts) for term in model.terms) > 1
    for before, after in zip(model.terms, moved.terms, strict=True):
        assert [(cut.by, cut.code) for cut in after.cuts] == [(0, 0)] * len(before.cuts)
        assert np.array_equal(after.votes, before.votes)


@pytest.mark.parametrize(
    ("kind", "change", "words"),
    [
        (hr.ForestClassifier, {"assignment": "poisson"}, "an option that went: assignment is 'poisson'"),
        (hr.ForestClassifier, {"subspace": "sqrt"}, "another subspace than 'all'"),
        (hr.RandomTreesClassifier, {"rule": "cuts"}, "another rule than 'chunks'"),
        (hr.ForestClassifier, {"subspace": "all"}, None),
    ],
)
def test_a_file_with_an_option_that_went_is_refused_by_a_sentence(kind, change, words, tmp_path):
    schema = hr.Schema({"a": hr.Numeric(0, 1)}, classes=["no", "yes"])
    X, y = np.linspace(0, 1, 200)[:, None], ["no", "yes"] * 100
    path = tmp_path / "model"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kind(schema=schema, n_estimators=2, max_depth=2, random_state=0).fit(X, y).save(path)
    document, arrays = read_archive(path)
    write_archive(path, {**document, "parameters": {**document["parameters"], **change}}, dict(arrays))
    if words is None:
        assert hr.load(path).predict(X).shape == (200,)
        return
    with pytest.raises(FileFormatError, match=re.escape(words)):
        hr.load(path)
