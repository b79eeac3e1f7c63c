"""What a file may ask of the machine: bombs are refused before they unpack, and the largest models that are made still load."""

from __future__ import annotations

import io
import json
import struct
import tracemalloc
import zipfile
import zlib
from fractions import Fraction
from functools import reduce

import numpy as np
import pytest
from helpers import n_leaves

import hedgerow as hr
from hedgerow.audit import check_model
from hedgerow.cli.queries import read_report
from hedgerow.errors import ConfigurationError, FileFormatError, SchemaError
from hedgerow.export.archive import read_archive, read_document, write_archive
from hedgerow.files import DEEPEST_EVENT, LARGEST_CARD, LARGEST_MODEL, MOST_EVENTS, MOST_MEMBERS, OVERHEAD, Allowance
from hedgerow.privacy.accounting import Gaussian, PerRecordAssignment, Pure, Sequence, event_from_dict, event_to_dict
from hedgerow.privacy.certificate import Certificate
from hedgerow.privacy.exact import decimal_text, exact, exact_delta
from hedgerow.schema import toml
from hedgerow.scores import multiway
from hedgerow.trees import Forest
from hedgerow.trees.forest import smoothed_votes

# What is fitted here has few records, and a fit that counts them may say so.
pytestmark = pytest.mark.filterwarnings("ignore:the noisy number of records:UserWarning")

rng = np.random.default_rng(0)
X = {"a": rng.uniform(0, 1, 80), "b": rng.choice(["u", "v", "w"], 80)}
Y = np.where(X["a"] > 0.5, "yes", "no")
SCHEMA = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Categorical(["u", "v", "w"])}, classes=["no", "yes"])


@pytest.fixture(scope="module")
def labels(tmp_path_factory):
    """Return the document and arrays of a small forest."""
    path = tmp_path_factory.mktemp("limits") / "model"
    hr.EDPRFClassifier(schema=SCHEMA, n_estimators=2, max_depth=1).fit(X, Y).save(path)
    document, arrays = read_archive(path)
    return document, dict(arrays)


def written(path, model, *, features=None, classes=None, event=None, parameters=(), **arrays):
    """Write a model's file with parts replaced."""
    document, own = json.loads(json.dumps(model[0])), {**model[1], **arrays}
    document["schema"]["features"] = features or document["schema"]["features"]
    document["schema"]["classes"] = classes or document["schema"]["classes"]
    document["certificate"]["event"] = event or document["certificate"]["event"]
    document["parameters"].update(parameters)
    write_archive(path, document, own)
    return path


def peak(act):
    """Return the most bytes that Python and numpy held at once beyond what they began with."""
    tracemalloc.start()
    try:
        act()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def refused(path, words, **given):
    with pytest.raises(FileFormatError, match=words) as caught:
        hr.load(path, **given)
    assert len(str(caught.value)) < 1000


# before anything is unpacked


def test_a_file_may_unpack_to_a_multiple_of_its_size_or_what_the_caller_allows():
    assert Allowance.of_file(1000).bytes == 1 << 27
    assert Allowance.of_file(1 << 30).bytes == 1 << 36
    assert Allowance.of_file(1 << 30, 5).bytes == 5


def test_what_unpacks_to_too_much_is_refused_until_the_caller_allows_it(tmp_path, labels):
    path = written(tmp_path / "model", labels, x=np.zeros(1 << 24))
    refused(path, "unpacks to 134.* 134217728 are allowed; if you trust the file, pass more as max_bytes")
    assert hr.load(path, max_bytes=1 << 28).predict(X).shape == (80,)


def test_arrays_that_nobody_asks_for_are_not_unpacked(tmp_path, labels):
    path = written(tmp_path / "model", labels, x=np.zeros(15 << 20))
    hr.load(written(tmp_path / "small", labels)).predict(X)
    assert peak(lambda: hr.load(path).predict(X)) < 20 << 20


def test_a_size_that_lies_gets_no_more_than_it_says(tmp_path, labels):
    path = written(tmp_path / "model", labels)
    with zipfile.ZipFile(path) as archive:
        content, others = archive.read("model.json"), {n: archive.read(n) for n in archive.namelist()[1:]}
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    packed = packer.compress(content) + packer.compress(bytes(200 << 20)) + packer.flush()
    path.write_bytes(lying(content, packed, others))
    hr.load(written(tmp_path / "small", labels))
    assert peak(lambda: hr.load(path)) < 20 << 20


def lying(content, packed, others):
    """Return an archive whose directory says that a member has the size of ``content``, but packed holds more."""
    with zipfile.ZipFile(buffer := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, other in others.items():
            archive.writestr(name, other)
    with zipfile.ZipFile(buffer) as archive:
        start = archive.start_dir
    rest, name = buffer.getvalue(), b"model.json"
    sizes = zlib.crc32(content), len(packed), len(content)
    local = struct.pack("<4s5H3L2H", b"PK\3\4", 20, 0, 8, 0, 33, *sizes, len(name), 0) + name + packed
    entry = struct.pack("<4s6H3L5H2L", b"PK\1\2", 20, 20, 0, 8, 0, 33, *sizes, len(name), 0, 0, 0, 0, 0, start) + name
    directory = rest[start:-22] + entry
    end = struct.pack(
        "<4s4H2LH", b"PK\5\6", 0, 0, len(others) + 1, len(others) + 1, len(directory), start + len(local), 0
    )
    return rest[:start] + local + directory + end


def test_too_many_members_are_refused_before_the_directory_is_read(tmp_path):
    with zipfile.ZipFile(tmp_path / "x", "w") as archive:
        for number in range(MOST_MEMBERS + 1):
            archive.writestr(str(number), "")
    with pytest.raises(FileFormatError, match="more than 64 members"):
        read_archive(tmp_path / "x")


@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_other_ways_to_pack_are_refused(tmp_path, method):
    with zipfile.ZipFile(tmp_path / "x", "w", method) as archive:
        archive.writestr("model.json", "{}")
    with pytest.raises(FileFormatError, match="packed in another way"):
        read_archive(tmp_path / "x")


def test_what_is_no_file_is_refused_and_never_read():
    with pytest.raises(FileFormatError, match="no regular file"):
        hr.load("/dev/zero")


LARGE = {
    "schema": (4 * toml.LARGEST, hr.Schema.load, "no schema needs"),
    "model": (LARGEST_MODEL, hr.load, "max_bytes"),
    "model, as audited": (LARGEST_MODEL, check_model, "max_bytes"),
    "model, max_bytes": (OVERHEAD + 1000, lambda path: hr.load(path, max_bytes=1000), "max_bytes"),
    "report card": (LARGEST_CARD, lambda path: read_report(path, path), "no report card needs"),
}


@pytest.mark.parametrize("start", [b"", b"{"])
@pytest.mark.parametrize("kind", LARGE)
def test_a_file_that_is_too_large_is_refused_unread(kind, start, tmp_path):
    most, load, remedy = LARGE[kind]
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.write(start)
        file.truncate(most + 1)

    def load_sparse():
        with pytest.raises(FileFormatError, match=f"more bytes than the {most} that are allowed.*{remedy}"):
            load(path)

    assert peak(load_sparse) < 2**20


# the document


@pytest.mark.parametrize(
    "text",
    [
        '{"a": NaN}',
        '{"a": -Infinity}',
        '{"a": 1e999}',
        '{"a": 1, "a": 1}',
        '{"b": {"a": 1, "a": 2}}',
        '{"a": "\\ud800"}',
        '{"\\udfff": 1}',
        b'{"a": "\xed\xa0\x80"}',
        '{"a": "1}'.encode("utf-16"),
        f'{{"a": {"9" * 4001}}}',
        '{"a": [1,2,3,4,5,6,7,8,9,10]}',
        '{"a": [[],[],[],[],[]]}',
        '{"a": "',
        '"a"',
        "[]",
        "",
    ],
)
def test_a_document_that_no_model_has_is_refused(text):
    with pytest.raises(FileFormatError):
        read_document(text if isinstance(text, bytes) else text.encode(), most_values=10)


def test_a_document_that_is_too_deep_is_refused_before_it_is_parsed():
    nested = '{"a": ' + "[" * 79 + "]" * 79 + "}"
    assert read_document(nested.encode(), most_values=1000)
    for deep in (nested.replace("[]", "[[]]"), "[" * 900, '{"a":' * 900):
        with pytest.raises(FileFormatError, match="brackets deep"):
            read_document(deep.encode(), most_values=1000)


def test_brackets_commas_and_digits_inside_texts_do_not_count():
    odd = {"a": "[" * 100 + "," * 100 + "9" * 5000 + '\\"[{', 'b"\\': ["é𝄞\u2028", 1.5, -2, True, None]}
    for ascii_only in (True, False):
        assert read_document(json.dumps(odd, ensure_ascii=ascii_only).encode(), most_values=10) == odd


def test_a_schema_that_no_file_holds_is_not_saved(tmp_path):
    schema = SCHEMA.replace({"b": hr.Categorical(["u", "\ud800"])})
    model = hr.EDPRFClassifier(schema=schema, n_estimators=1, max_depth=1).fit(X, Y)
    with pytest.raises(SchemaError, match="UTF-8"):
        model.save(tmp_path / "model")


# the schema, and what is made of it


def numeric(count, **more):
    return [{"name": f"f{number}", "low": 0, "high": 1, **more} for number in range(count)]


def test_schemas_that_would_fill_the_memory_are_refused(tmp_path, labels):
    path = tmp_path / "model"
    refused(written(path, labels, features=numeric(5000), parameters={"max_bins": 1024}), "codes of all features")
    wide = [{"name": "w", "values": list(range(20_000))}]
    refused(written(path, labels, features=[*numeric(2000), *wide]), "cells in the table of its features by codes")
    refused(written(path, labels, classes=["x" * 100_000, *range(100)]), "letters in the table of its classes")


def test_many_branches_by_test_and_code_are_refused(tmp_path):
    path = tmp_path / "model"
    schema = SCHEMA.replace({"b": hr.Categorical(list(range(30_000)))})
    parts = {"candidates": "binary", "leaf": "label", "voting": "hard", "bins": "equal-width"}
    hr.ForestClassifier(schema=schema, max_depth=0, **parts).fit(X, Y).save(path)
    document, _ = read_archive(path)
    inner, nodes = 2**14 - 1, 2**15 - 1
    test = np.where(np.arange(nodes) < inner, 9 + np.arange(nodes), -1).astype(np.int32)
    arrays = {
        "roots": np.zeros(1, dtype=np.int32),
        "test": test,
        "first_child": np.where(test < 0, 0, 2 * np.arange(nodes) + 1).astype(np.int32),
        "label": np.where(test < 0, 0, -1).astype(np.int32),
    }
    write_archive(path, document, arrays)
    refused(path, "branches by test and code")


# numbers and events

PURE = {"event": "Pure", "epsilon": "1/7", "mechanism": "m", "purpose": "p", "level": 1}


@pytest.mark.parametrize(
    "event",
    [
        PURE | {"epsilon": "1e19"},
        PURE | {"epsilon": "1e-101"},
        PURE | {"epsilon": f"1/{2**8193 - 1}"},
        PURE | {"level": 2**63},
        PURE | {"purpose": "p" * 1001},
        PURE | {"mechanism": "p" * 1001},
        {"event": "Gaussian", "mu_squared": "1", "draws": 10**400, "purpose": "p"},
        {"event": "Parallel", "parts": [], "label": "p" * 1001},
        {"event": "Sequence", "parts": [PURE, PURE | {"level": 2}] * (MOST_EVENTS // 2)},
        {"event": "Sequence", "parts": [PURE | {"epsilon": f"1/{10**9 + odd}"} for odd in range(1, 900, 2)]},
    ],
    ids=range(10),
)
def test_events_that_cannot_be_added_up_in_no_time_are_refused(event):
    with pytest.raises(FileFormatError, match="events is damaged"):
        event_from_dict(event)


def test_equal_neighbors_are_one_object_and_count_once():
    rounds = Sequence((Sequence((Pure(Fraction(1, 7), "m", "p"), Gaussian(Fraction(1, 9), 1, "p"))),) * 100_000)
    back = event_from_dict(event_to_dict(rounds))
    assert len(back.parts) == 100_000
    assert len({id(part) for part in back.parts}) == 1
    assert back.parts[0] == rounds.parts[0]


def test_sums_and_products_at_the_limits_are_still_printed():
    parts = [Pure(Fraction(10**18), "m", "p"), Gaussian(Fraction(10**18), 2**62, "p")]
    parts += [Gaussian(Fraction(1, 10**100), 2**62, "p"), Pure(Fraction(1, 10**100), "m", "p")]
    for event in (*parts, Sequence(tuple(parts) * 50)):
        many = reduce(lambda part, _: PerRecordAssignment(part, 2**62), range(DEEPEST_EVENT), event)
        for nested in (event, many):
            for epsilon in (Fraction(1, 10**9), Fraction(10**9)):
                made = Certificate("S", "private", epsilon, Fraction(1, 10**6), "replace-one", nested)
                assert str(made)
                assert made.holds in (True, False)


def test_a_certificate_claims_what_a_fit_may_claim(labels):
    for damage in (
        {"epsilon": "0"},
        {"epsilon": "1e10"},
        {"delta": "1"},
        {"delta": "-1"},
        {"system": 3},
        {"variant": None},
    ):
        with pytest.raises(FileFormatError, match="certificate is damaged"):
            Certificate.from_dict(labels[0]["certificate"] | damage)


def test_budgets_have_as_many_digits_as_files_hold():
    assert exact_delta("1e-1000") == Fraction(1, 10**1000)
    for number in (1 + Fraction(1, 10**1100), f"1.{'1' * 1100}", 1 + Fraction(1, 10**5000)):
        with pytest.raises(ConfigurationError, match="from 1e-9 to 1e9"):
            exact(number)
        with pytest.raises(ConfigurationError, match="epsilon is"):
            hr.EDPRFClassifier(epsilon=number, schema=SCHEMA).fit(X, Y)


def test_a_number_of_many_digits_is_printed():
    assert decimal_text(1 + Fraction(1, 10**5000)) == "1..."
    assert decimal_text(Fraction(1, 10**5000)) == "1e-5000"
    assert decimal_text(Fraction(10**5000 - 1, 10**5000)) == "0.999999..."


def test_a_long_budget_survives_a_file(tmp_path):
    epsilon = 1 + Fraction(1, 7**1200)
    model = hr.ForestClassifier(epsilon=epsilon, schema=SCHEMA, n_estimators=2).fit(X, Y)
    model.save(tmp_path / "model")
    assert hr.load(tmp_path / "model").certificate_ == model.certificate_


# trees end, and everything answers


def test_counts_that_add_up_beyond_their_range_still_give_shares():
    leaves, zeros = np.full(3, -1, dtype=np.int32), np.zeros(3, dtype=np.int32)
    counts = np.array([[2**62, 0], [0, 2**62], [3, 0]])
    forest = Forest(np.arange(3, dtype=np.int32), leaves, zeros, zeros, multiway([2]), counts)
    votes, link = smoothed_votes(forest, 4.0)
    np.testing.assert_allclose(votes / link.total * 3, [[1, 0], [0, 1], [5 / 7, 2 / 7]], atol=1e-12)


def test_counts_of_any_size_give_probabilities(tmp_path):
    hr.ForestClassifier(schema=SCHEMA, max_depth=1).fit(X, Y).save(tmp_path / "x")
    document, members = read_archive(tmp_path / "x")
    arrays = dict(members)
    arrays["counts"] = np.where(arrays["counts"] != 0, 2**62, 0)
    write_archive(tmp_path / "x", document, arrays)
    shares = hr.load(tmp_path / "x").predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert np.all(shares >= 0)


def test_the_trees_of_hedgerow_are_steps_of_one_to_three_features(tmp_path):
    hr.HedgerowClassifier(schema=SCHEMA, n_estimators=1, max_bins=3).fit(X, Y).save(tmp_path / "x")
    document, members = read_archive(tmp_path / "x")
    arrays = dict(members)
    leaf = {"roots": [0], "test": [-1], "first_child": [0], "label": [0]}
    arrays |= {name: np.array(value, dtype=np.int32) for name, value in leaf.items()}
    write_archive(tmp_path / "x", document, {**arrays, "votes": np.zeros((1, 2), dtype=np.int64)})
    refused(tmp_path / "x", "array votes is damaged")


# the largest models that are made


def check_comes_back(model, records, path):
    model.save(path)
    loaded = hr.load(path)
    np.testing.assert_array_equal(loaded.predict_proba(records), model.predict_proba(records))
    assert loaded.certificate_ == model.certificate_
    assert len(loaded.certificate_.details()) > 100
    assert loaded.feature_importances_.shape == (len(model.schema_.names),)


def test_a_thousand_classes_come_back(tmp_path):
    schema = SCHEMA.replace(classes=[f"class {number}" for number in range(1000)])
    model = hr.ForestClassifier(schema=schema, n_estimators=3).fit(X, np.full(80, "class 7"))
    check_comes_back(model, X, tmp_path / "model")


@pytest.mark.filterwarnings("ignore::hedgerow.errors.UnreadColumnWarning")
def test_many_values_come_back(tmp_path):
    schema = SCHEMA.replace({"b": hr.Categorical([f"value number {number}" for number in range(65_000)])})
    for model in (
        hr.ForestClassifier(schema=schema, n_estimators=2),
        hr.HedgerowClassifier(schema=schema, n_estimators=3),
    ):
        check_comes_back(model.fit(X, Y), X, tmp_path / "model")


@pytest.mark.full
def test_many_rounds_come_back(tmp_path):
    model = hr.HedgerowClassifier(schema=SCHEMA, n_estimators=2000, max_bins=4).fit(X, Y)
    check_comes_back(model, X, tmp_path / "model")
    assert check_model(tmp_path / "model") == []


def test_many_features_come_back(tmp_path):
    names = [f"feature {number}" for number in range(4_000)]
    schema = hr.Schema({name: hr.Numeric(0, 1) for name in names}, classes=["no", "yes"])
    records = np.random.default_rng(0).uniform(0, 1, (8, len(names)))
    model = hr.EDPRFClassifier(schema=schema, n_estimators=2, max_depth=1).fit(records, ["no", "yes"] * 4)
    check_comes_back(model, records, tmp_path / "model")


def test_a_forest_of_many_leaves_comes_back(tmp_path):
    """As large as a forest of 35 trees on Adult with 272 000 leaves."""
    schema = hr.Schema({name: hr.Numeric(0, 1) for name in "abcdef"}, classes=["no", "yes"])
    records = np.random.default_rng(0).uniform(0, 1, (500, 6))
    labels = np.where(records[:, 0] > 0.5, "yes", "no")
    model = hr.EDPRFClassifier(schema=schema, n_estimators=35, max_depth=5, max_bins=5).fit(records, labels)
    assert isinstance(model.model_.forest, Forest)
    assert n_leaves(model.model_.forest) > 200_000
    check_comes_back(model, records, tmp_path / "model")
