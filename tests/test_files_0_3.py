"""Model files of version 0.3.0 load and give the same predictions; ledgers of 0.2.0 and 0.3.0 load and accept further fits.

Those versions wrote the files, and the expected predictions, from made-up records. In every schema the classes are not in sorted
order, because 0.3.0 used the order of the schema.
"""

import json
import lzma
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.errors import BudgetExceeded, FileFormatError

FIXTURES = Path(__file__).parent / "fixtures"
FOLDER = FIXTURES / "models-0.3.0"
SAID = json.loads((FOLDER / "predictions.json").read_text("utf-8"))
RECORDS = {name: [row[place] for row in SAID["rows"]] for place, name in enumerate(SAID["columns"])}
HEADS = {
    "0.2.0": "13ec6e666e3d0f7da9589853ad3ca158bf1a96c249cd824f95840d801cc1643f",
    "0.3.0": "940077e915982563f74f4d0b595aeed7c9287430b75b954a5d793cc6b3d74d68",
}


def predictions(model):
    if isinstance(model, hr.HedgerowRegressor):
        return model.predict(RECORDS)
    places = [list(model.classes_).index(label) for label in model.schema_.classes]
    return model.predict_proba(RECORDS)[:, places]


def loaded(name):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        return hr.load(FOLDER / f"{name}.hedgerow"), [str(warning.message) for warning in found]


def test_all_files_are_there():
    assert {path.stem for path in FOLDER.glob("*.hedgerow")} == {*SAID["models"], "published"}


@pytest.mark.parametrize("name", SAID["models"])
def test_a_model_of_0_3_predicts_what_it_did(name, tmp_path):
    model, found = loaded(name)
    said = SAID["models"][name]
    assert type(model).__name__ == said["class"]
    # Processors round exponentials in their own way, in the last bits.
    expected = said.get("probabilities", said.get("predictions"))
    np.testing.assert_allclose(predictions(model), expected, rtol=1e-12)
    assert any("classes_" in text for text in found) == (list(model.schema_.classes) != sorted(model.schema_.classes))
    model.save(tmp_path / "again.hedgerow")
    again = hr.load(tmp_path / "again.hedgerow")
    assert np.array_equal(predictions(again), predictions(model))
    assert again.certificate_ == model.certificate_


def test_a_published_form_of_0_3_is_refused():
    with pytest.raises(FileFormatError, match="published form"):
        loaded("published")


@pytest.mark.parametrize("version", HEADS)
def test_a_ledger_of_an_earlier_version_goes_on(version, tmp_path):
    path = tmp_path / "ledgers.db"
    path.write_bytes(lzma.decompress((FIXTURES / f"ledgers/{version}.db.xz").read_bytes()))
    store = hr.LedgerStore(path)
    assert store.names() == ("clinic",)
    ledger = store.ledger("clinic")
    assert (ledger.head, ledger.remaining, len(ledger.entries)) == (HEADS[version], Fraction(3, 2), 2)
    store.verify("clinic", head=HEADS[version])
    X = {"age": np.linspace(18, 90, 200), "job": ["cook"] * 200, "visits": [1] * 200}
    schema = hr.Schema(
        {"age": hr.Numeric(18, 90), "job": hr.Categorical(["cook"]), "visits": hr.Integer(0, 12)}, classes=["no", "yes"]
    )
    y = ["no", "yes"] * 100
    hr.EDPRFClassifier(epsilon=1.0, schema=schema, ledger=ledger).fit(X, y)
    assert store.ledger("clinic").remaining == Fraction(1, 2)
    with pytest.raises(BudgetExceeded):
        hr.EDPRFClassifier(epsilon=1.0, schema=schema, ledger=store.ledger("clinic")).fit(X, y)
    store.verify("clinic", head=HEADS[version])
