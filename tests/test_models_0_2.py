"""Model files that version 0.2.0 wrote load and predict the same to the last bit.

The files and what their models said were written by that version: HedgerowClassifier without and with a delta, with rounds on the
sides of one and of two cuts, strict rounds, three classes, constraints, weights and persons, on the same made-up records.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import hedgerow as hr

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
    assert len(list(model.staged_decision_function(records()))) == said["rounds"]


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
