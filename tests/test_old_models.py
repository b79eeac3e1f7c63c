"""Model files that version 0.1.0 wrote load, say what they said, and pass the check of their certificates.

The files and what their models said were written by that version on the same made-up records.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.audit import check_model
from hedgerow.errors import FileFormatError
from hedgerow.trees import ForestModel

FOLDER = Path(__file__).parent / "fixtures" / "models-0.1.0"
SAID = json.loads((FOLDER / "predictions.json").read_text("utf-8"))
PRINTED = ("dpada-published", "edprf-published", "sulq-id3-published")
GONE = "forest-grouped-poisson"
FILES = sorted(path.stem for path in FOLDER.glob("*.hedgerow") if path.stem not in (*PRINTED, GONE))


def records():
    return {name: [row[i] for row in SAID["rows"]] for i, name in enumerate(SAID["columns"])}


def votes_by_labels(model):
    return isinstance(model, ForestModel) and model.share is None


def test_every_private_form_of_that_version_is_there_but_dpada():
    """Its files lack the rounds that are paid for."""
    assert sorted({*SAID["probabilities"]} - {GONE}) == FILES
    assert sum(name.endswith("-private") for name in FILES) == 20


@pytest.mark.parametrize("name", PRINTED)
def test_a_file_of_a_published_form_is_refused(name):
    with pytest.raises(FileFormatError, match="published form, which is for reproduction"):
        hr.load(FOLDER / f"{name}.hedgerow")


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


@pytest.mark.parametrize("name", [name for name in FILES if name not in CHANGED])
def test_its_certificate_is_that_of_the_plan_that_this_version_makes(name):
    findings = check_model(FOLDER / f"{name}.hedgerow")
    assert [finding.words for finding in findings if finding.attack != "certificate"] == []
