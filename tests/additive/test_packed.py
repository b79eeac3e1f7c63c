"""Predictions in one blocked pass say what terms added one after another say, to the last bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hand_built import DEPTHS, by_hand, model_of, records, schema_of

import hedgerow as hr
from hedgerow.additive import model as module
from hedgerow.additive.model import AdditiveModel, Packed, joined
from hedgerow.additive.round import Term
from hedgerow.additive.squared import Link, Squared
from hedgerow.curator import Cut
from hedgerow.parameters import VOTE_STEPS
from hedgerow.schema import Encoder
from hedgerow.schema import encoder as encoders


def term_by_term(model, codes):
    margins = np.tile(model.start, (len(codes), 1))
    for term in model.terms:
        term(codes, margins)
    return margins


@pytest.fixture(params=[(1_024, 8_192, 100_000), (0, 97, 0)], ids=["one block", "blocks on threads"])
def _blocks(request, monkeypatch):
    for name, value in zip(("FEW_ROWS", "BLOCK_ROWS", "SMALL_CELLS"), request.param, strict=True):
        monkeypatch.setattr(encoders, name, value)


def odd_records(count=500):
    """Records with values at, beside and beyond edges, infinities, missing cells and values that the schema does not have."""
    columns = records(count)
    columns["a"][:9] = [np.inf, -np.inf, np.nan, 0.2, np.nextafter(0.2, 0), 1.0, -0.0, 1e300, -1e300]
    columns["b"][:4] = [0.3, 0.7, np.nextafter(0.7, 1), np.nan]
    return columns


def tables(columns):
    """The same records in every kind of table, columns in any order."""
    frame = pd.DataFrame(columns)
    yield columns
    yield frame
    yield frame[["f", "a", "d", "c", "b", "e"]]
    yield frame.astype({"c": "category", "d": "category"})
    yield frame.astype(object)
    yield pl.from_pandas(frame)
    yield pa.Table.from_pandas(frame)
    yield {**columns, "a": [repr(value) for value in columns["a"].tolist()]}  # numbers written as text


@pytest.mark.usefixtures("_blocks")
@pytest.mark.parametrize("classes", [1, 2, 3, 7, 8, 19])
def test_every_table_has_the_answers_of_terms_added_up(classes, monkeypatch):
    model, columns = model_of(classes=classes, seed=3), odd_records()
    expected = by_hand(model, model.encoder.transform(columns))
    said = model.answer(expected)
    for widest in (0, 1 << 17):
        monkeypatch.setattr(module, "WIDEST_TABLE", widest)
        for table in tables(columns):
            assert model.probabilities(table).tobytes() == said.tobytes()
            assert np.array_equal(model.decision(table).reshape(500, -1), expected / VOTE_STEPS)


@pytest.mark.parametrize("widest", [0, 1 << 17])
def test_probabilities_of_many_records_are_looked_up(widest, monkeypatch):
    monkeypatch.setattr(module, "WIDEST_TABLE", widest)
    model, columns = model_of(seed=4), odd_records(30_000)
    asked = []

    def said(margins):
        asked.append(len(margins))
        return model.answer(margins)

    expected = said(term_by_term(model, model.encoder.transform(columns)))
    found = model.answers(columns, said)
    assert found.tobytes() == expected.tobytes() == model.probabilities(columns).tobytes()
    low, high = model.packed.ends[:, 0]
    assert asked[1:] == [high - low + 1] if widest else sum(asked) == 60_000


def test_a_table_is_made_where_it_holds_fewer_margins_than_there_are_records():
    packed = model_of(seed=4).packed
    width = int(np.ptp(packed.ends))

    def answer(margins):
        return margins * 2

    assert packed.table(answer, width) is answer
    assert packed.table(answer, width + 1) is not answer
    every = np.arange(packed.ends[0, 0], packed.ends[1, 0] + 1)[:, None]
    assert np.array_equal(packed.table(answer, width + 1)(every), 2 * every)
    assert model_of(classes=3).packed.table(answer, 1 << 40) is answer


def numbers(count=700, features=4):
    generator = np.random.default_rng(5)
    X = generator.choice(
        [np.nan, np.inf, -np.inf, -0.0, 0.25, 0.5, -9.0, 2.0, *generator.random(40)], (count, features)
    )
    return X, Encoder(hr.Schema({f"f{i}": hr.Numeric(0, 1) for i in range(features)}, [0, 1], missing=["-9"]), 32)


@pytest.mark.usefixtures("_blocks")
def test_matrices_of_every_layout_and_type_have_the_same_answers():
    X, encoder = numbers()
    generator, n_codes = np.random.default_rng(6), int(encoder.n_codes[0])
    cut = Cut.at(0, 7, n_codes, ordered=True)
    terms = (
        Term((), 1, generator.integers(-99, 99, (1, n_codes, 1))),
        Term((cut,), 2, generator.integers(-99, 99, (2, n_codes, 1))),
    )
    model = AdditiveModel(encoder, model_of().loss, np.array([5]), terms)
    assert model.packed.reads == [0, 1, 2]  # the last is not read
    expected = term_by_term(model, encoder.transform(X))
    for given in (
        X,
        np.asfortranarray(X),
        np.repeat(X, 2, axis=1)[:, ::2],
        X.tolist(),
        X.astype(object),
        pd.DataFrame(X),
    ):
        given = given.set_axis(encoder.schema.names, axis=1) if isinstance(given, pd.DataFrame) else given
        assert np.array_equal(model.decision(given) * VOTE_STEPS, expected[:, 0])
    narrow = X.astype(np.float32)
    assert np.array_equal(model.decision(narrow) * VOTE_STEPS, term_by_term(model, encoder.transform(narrow))[:, 0])


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("largest", [400, 1 << 30, 1 << 40])
def test_cuts_of_any_sides_and_votes_of_any_length_are_packed(largest, classes):
    """Files may hold votes that pass 32 bits, and cuts whose sides change more than once."""
    generator, encoder = np.random.default_rng(7), Encoder(schema_of(classes), 8)
    terms = []
    for depth in (0, 0, 1, 2, 3, 4, 5, 5):
        *by, feature = generator.permutation(6)[: depth + 1].tolist()
        cuts = tuple(Cut(j, generator.integers(0, 2, encoder.n_codes[j])) for j in by)
        shape = (1 << depth, int(encoder.n_codes[feature]), 1 if classes == 2 else classes)
        terms.append(Term(cuts, feature, generator.integers(-largest, largest, shape)))
    cuts = Cut(0, np.ones(encoder.n_codes[0])), Cut(1, np.zeros(encoder.n_codes[1]))  # which tell nothing apart
    terms.append(Term(cuts, 2, generator.integers(-9, 9, (4, int(encoder.n_codes[2]), terms[0].columns))))
    start = generator.integers(-largest, largest, terms[0].columns)
    model = AdditiveModel(encoder, model_of(classes=classes).loss, start, tuple(terms))
    codes = encoder.transform(odd_records())
    expected = by_hand(model, codes)
    for given in (codes, np.asfortranarray(codes)):
        assert np.array_equal(model.packed.margins(given), expected)
    assert model.packed.margins(codes).dtype == (np.int32 if largest == 400 else np.int64)
    assert (model.packed.ends[0] <= expected.min(axis=0)).all()
    assert (model.packed.ends[1] >= expected.max(axis=0)).all()


def test_sums_on_the_way_stay_within_32_bits_or_take_64():
    """The last vote cancels what the others passed 32 bits with."""
    encoder, most = Encoder(schema_of(), 8), (1 << 31) - 1
    for total, kind in ((most, np.int32), (most + 1, np.int64)):
        start, votes = total - 20, [15, 5]
        terms = tuple(Term((), j, np.full((1, int(encoder.n_codes[j]), 1), vote)) for j, vote in enumerate(votes))
        packed = Packed(np.array([-start]), terms, encoder.dtype)
        found = packed.margins(encoder.transform(records(3)))
        assert found.dtype == kind
        assert found.tolist() == [[20 - start]] * 3


def test_codes_above_a_byte_are_packed():
    schema = hr.Schema({"a": hr.Categorical(range(400)), "b": hr.Numeric(0, 1)}, [0, 1])
    encoder, generator = Encoder(schema, 8), np.random.default_rng(8)
    terms = (
        Term((), 0, generator.integers(-99, 99, (1, int(encoder.n_codes[0]), 1))),
        Term((Cut.at(0, 300, int(encoder.n_codes[0]), ordered=False),), 1, generator.integers(-99, 99, (2, 9, 1))),
    )
    model = AdditiveModel(encoder, model_of().loss, np.array([5]), terms)
    table = {"a": generator.integers(-5, 405, 600), "b": generator.random(600)}
    assert encoder.dtype == np.uint16
    assert np.array_equal(model.decision(table) * VOTE_STEPS, by_hand(model, encoder.transform(table))[:, 0])


@pytest.mark.usefixtures("_blocks")
def test_outcomes_are_those_of_terms_added_up():
    schema = hr.Schema(schema_of().features, outcome=hr.Numeric(0, 10))
    made, grid = model_of(), schema.outcome_grid
    encoder = Encoder(schema, 8)
    terms = tuple(replace(term, votes=term.votes * (grid.steps // 2_000), sums=None) for term in made.terms)
    model = AdditiveModel(encoder, Squared(1, 1.0, 1.0, 1000, Link(grid)), np.array([grid.steps // 2]), terms)
    for table in tables(columns := odd_records()):
        margins = np.clip(term_by_term(model, encoder.transform(columns))[:, 0], 0, grid.steps)
        assert model.predictions(table).tobytes() == grid.values(margins).tobytes()
    assert 0 < np.count_nonzero(margins == 0) < 500  # some are clipped


class NotRead:
    def __getattribute__(self, name):
        raise AssertionError(name)


def test_columns_that_no_term_reads_are_not_read():
    model = model_of((0,), by_cell=())
    (name,) = [model.encoder.schema.names[term.feature[0]] for term in model.terms]
    columns = records(50)
    found = model.decision(columns)
    for other in set(columns) - {name}:
        columns[other] = [NotRead()] * 50
    assert np.array_equal(found, model.decision(columns))


def test_a_model_without_terms_says_its_start():
    model = model_of((), by_cell=())
    assert model.packed.reads == []
    assert np.array_equal(model.decision(records(20)), np.full(20, model.start[0] / VOTE_STEPS))
    assert len(joined(model_of(DEPTHS * 2).terms)) == len(model_of(DEPTHS * 2).packed.terms)
