"""Model files that version 0.1.0 wrote load, say what they said, and pass the check of their certificates.

The files and what their models said were written by that version, one for each form of each system on the same made-up records.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from hedgerow.published.forest import PublishedForest

import hedgerow as hr
from hedgerow.audit import check_model
from hedgerow.trees import ForestModel

FOLDER = Path(__file__).parent / "fixtures" / "models-0.1.0"
SAID = json.loads((FOLDER / "predictions.json").read_text("utf-8"))
FILES = sorted(path.stem for path in FOLDER.glob("*.hedgerow"))


def records():
    return {name: [row[i] for row in SAID["rows"]] for i, name in enumerate(SAID["columns"])}


def votes_by_labels(model):
    return isinstance(model, PublishedForest) or (isinstance(model, ForestModel) and model.share is None)


def test_every_form_of_every_system_of_that_version_is_there():
    assert sorted(SAID["probabilities"]) == FILES
    assert len({name.rsplit("-", 1)[0] for name in FILES if name.endswith(("-private", "-published"))}) == 21
    assert sum(name.endswith("-published") for name in FILES) == 18


@pytest.mark.parametrize("name", FILES)
def test_a_model_says_what_it_said(name):
    model, said = hr.load(FOLDER / f"{name}.hedgerow"), np.array(SAID["probabilities"][name])
    assert model.predict(records()).tolist() == model.classes_[said.argmax(axis=1)].tolist()
    if votes_by_labels(model.model_):  # all classes together have one vote more since
        trees = len(model.model_.to_arrays()["roots"])
        said = (said * trees + 1 / said.shape[1]) / (trees + 1)
    np.testing.assert_allclose(model.predict_proba(records()), said, rtol=1e-12)


# Their plans have split rounds, or a survey, or no sizes of nodes now, so that old files claim what another plan spent; the
# certificate is the file's.
CHANGED = {
    **dict.fromkeys(("hedgerow-delta", "hedgerow-private", "hedgerow-replace-one"), "feature of a round"),
    **{name: "tests" for name in FILES if name.startswith("forest-")},
    **{f"{name}-private": "number of records" for name in ("deng-diffprf", "diffprf", "diffprf-linear", "diffprfs")},
}


@pytest.mark.parametrize(("name", "words"), CHANGED.items())
def test_the_certificate_of_another_plan_stays_that_of_the_file(name, words):
    model = hr.load(FOLDER / f"{name}.hedgerow")
    assert words in model.certificate_.details()
    assert any("leaves out what the plan does" in finding.words for finding in check_model(FOLDER / f"{name}.hedgerow"))


@pytest.mark.parametrize("name", [name for name in FILES if "published" not in name and name not in CHANGED])
def test_its_certificate_is_that_of_the_plan_that_this_version_makes(name):
    findings = check_model(FOLDER / f"{name}.hedgerow")
    assert [finding.words for finding in findings if finding.attack != "certificate"] == []
