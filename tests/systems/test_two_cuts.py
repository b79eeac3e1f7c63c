"""Rounds that cut two deep: where they are, what they learn, and that everything that reads a model reads them too."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from products import thinned

import hedgerow as hr
from hedgerow.archive import read_archive, write_archive
from hedgerow.boosting.curves import curve_of, pair_of, pairs, pieces_of
from hedgerow.boosting.steps import largest_cuts
from hedgerow.errors import FileFormatError
from hedgerow.systems import hedgerow

SCHEMA = hr.Schema(
    {
        "a": hr.Numeric(0, 1),
        "b": hr.Numeric(0, 1),
        "c": hr.Categorical(["x", "y", "z"]),
        "d": hr.Categorical(["u", "v"]),
        "e": hr.Numeric(0, 1),
    },
    classes=["no", "yes"],
)
THREE = SCHEMA.replace(classes=[0, 1, 2])
SETTINGS = {"delta": 1e-6, "random_state": 0}


def records(classes=2, count=12_000, seed=0):
    """What one feature says depends on the values of two others."""
    generator = np.random.default_rng(seed)
    columns = {name: generator.uniform(0, 1, count) for name in "abe"}
    columns |= {"c": generator.choice(list("xyz"), count), "d": generator.choice(list("uv"), count)}
    sign = np.where((columns["c"] == "x") == (columns["d"] == "u"), 1, -1)
    log_odds = 12 * (columns["a"] - 0.5) * sign + 2 * (columns["c"] == "x") - columns["b"]
    log_odds = log_odds[:, None] * np.array([1, -1, 0])[:classes] + generator.gumbel(size=(count, classes))
    best = log_odds.argmax(axis=1)
    return columns, best if classes == 3 else np.where(best == 0, "yes", "no")


@cache
def fitted(classes=2, epsilon=10.0):
    model = hr.HedgerowClassifier(epsilon, schema=SCHEMA if classes == 2 else THREE, **SETTINGS)
    return model.fit(*records(classes))


def deep(model):
    return [step for step in model.model_.steps() if len(step.cuts) == 2]


def test_they_are_made_from_their_precision_on_and_not_before():
    assert deep(fitted())
    assert deep(fitted(3))
    assert not deep(fitted(epsilon=1.0))
    steps = list(fitted().model_.steps())
    assert not any(len(step.cuts) > 1 for step in steps[: hedgerow.RECIPE.splits.deep_after])
    for number, step in enumerate(steps):
        assert len({*(cut.by for cut in step.cuts), step.feature}) == len(step.cuts) + 1
        if len(step.cuts) == 2:  # the first is one that an earlier round released
            before = [cut for other in steps[:number] if len(other.cuts) == 1 for cut in other.cuts]
            assert any(cut.by == step.cuts[0].by and np.array_equal(cut.side, step.cuts[0].side) for cut in before)


def test_they_learn_what_three_features_say_together(monkeypatch):
    columns, y = records(seed=1)
    found = fitted().score(columns, y)
    recipe = hedgerow.RECIPE
    monkeypatch.setattr(hedgerow, "RECIPE", replace(recipe, splits=replace(recipe.splits, deep_from=np.inf)))
    assert found > hr.HedgerowClassifier(10.0, schema=SCHEMA, **SETTINGS).fit(*records()).score(columns, y) + 0.02


def test_a_plan_with_constraints_makes_none():
    model = hr.HedgerowClassifier(10.0, schema=SCHEMA, monotonic_cst={"e": 1}, **SETTINGS).fit(*records())
    assert any(step.cuts for step in model.model_.steps())
    assert not deep(model)
    assert model.certificate_.event == fitted().certificate_.event
    assert not model.model_.monotone.holds([deep(fitted())[0]])


def test_where_records_are_many_a_round_has_a_fourth_of_them(monkeypatch):
    asked, splits_of = [], hedgerow.AdditivePlan._splits

    def splits(*arguments):
        asked.append(splits_of(*arguments))
        return asked[-1]

    recipe = hedgerow.RECIPE
    monkeypatch.setattr(hedgerow.AdditivePlan, "_splits", splits)
    for many, cut, twice in ((1e9, {4}, {2, 3, 4}), (100.0, {2}, {1})):
        monkeypatch.setattr(hedgerow, "RECIPE", replace(recipe, splits=replace(recipe.splits, many_records=many)))
        hr.HedgerowClassifier(10.0, schema=SCHEMA, **SETTINGS).fit(*records())
        made = [each for each in asked if each is not None and any(each.earlier)]
        assert {sum(cut is None for cut in each.earlier) for each in made} == cut
        assert {sum(cut is not None for cut in each.earlier) for each in made} <= twice
        assert made
        asked.clear()


def test_too_many_sums_leave_the_splits_of_one_cut(monkeypatch):
    one = [step for step in fitted().model_.steps() if step.cuts]
    assert one
    codes = int(fitted().model_.encoder.n_codes.sum())
    monkeypatch.setattr(
        "hedgerow.boosting.additive.MOST_SPLIT_SUMS", 40 * codes * 2
    )  # groups of four features, and few more
    model = hr.HedgerowClassifier(10.0, schema=SCHEMA, **SETTINGS).fit(*records())
    assert {len(step.cuts) for step in model.model_.steps()} == {0, 1}


def test_the_largest_cuts_are_those_whose_steps_vote_most():
    model = fitted().model_
    steps = list(model.steps())
    voted = {}
    for step in steps:
        if len(step.cuts) == 1:
            key = (step.cuts[0].by, *step.cuts[0].side.tolist())
            voted[key] = voted.get(key, 0) + np.abs(step.votes).sum()
    order = sorted(voted, key=lambda key: -voted[key])
    assert len(order) > 2
    for most in (0, 1, 2, 99):
        assert [(cut.by, *cut.side.tolist()) for cut in largest_cuts(steps, most)] == order[:most]


def side_of(codes, names, labels, said):
    """Whether each record is on the side that a condition names, by the labels of its codes."""
    if said.startswith("not ("):
        return ~side_of(codes, names, labels, said[5:-1])
    name, sign, value = said.split(" ", 2)
    own = codes[:, names.index(name)]
    if sign == "is":
        return own < len(labels[name]) - 1
    if sign == "=":
        return np.array(labels[name])[own] == value
    starts = [float(label.split(",")[0].lstrip("[(<")) if label[0] in "[(" else np.nan for label in labels[name]]
    edge = float(value)
    known = np.array([start < edge - 1e-6 for start in starts])
    return known[own]


@pytest.mark.parametrize("classes", [2, 3])
def test_curves_of_all_kinds_add_up_to_the_decision(classes):
    model, (columns, _) = fitted(classes), records(classes, count=500, seed=2)
    names, codes = list(model.schema_.names), model.model_.encoder.transform(columns)
    labels = {name: model.feature_curve(name)[0] for name in names}
    total = sum(model.feature_curve(name)[1][codes[:, place]] for place, name in enumerate(names))
    assert any(curve.within for curve in model.interactions_)
    for curve in model.interactions_:
        first = side_of(codes, names, labels, curve.condition)
        said = curve.curves[np.where(first, 0, 1), codes[:, names.index(curve.feature)]]
        inside = (
            np.ones(len(codes), dtype=bool) if curve.within is None else side_of(codes, names, labels, curve.within)
        )
        total = total + said * inside.reshape(-1, *[1] * (said.ndim - 1))
    assert np.allclose(total, model.decision_function(columns))


@pytest.mark.parametrize("classes", thinned([3, 2], 2))
def test_explanations_add_up_and_importances_are_shares(classes):
    model, (columns, _) = fitted(classes), records(classes, count=300, seed=3)
    found = model.explain(columns)
    assert np.allclose(found.baseline + found.contributions.sum(axis=1), model.decision_function(columns))
    assert sum(curve.share for curve in model.interactions_) <= 1
    assert model.feature_importances_.sum() == pytest.approx(1)
    assert (
        model.feature_importances_[[0, 2, 3]].sum() > 0.8
    )  # what the three say together counts for whichever comes last


def test_files_bring_back_the_same_model_and_refuse_other_trees(tmp_path):
    model, (columns, _) = fitted(), records(count=400, seed=4)
    model.save(tmp_path / "model")
    loaded = hr.load(tmp_path / "model")
    assert np.array_equal(loaded.predict_proba(columns), model.predict_proba(columns))
    assert [(one.condition, one.within) for one in loaded.interactions_] == [
        (one.condition, one.within) for one in model.interactions_
    ]
    assert loaded.model_.measured is not None
    forest = model.model_.forest
    tests = [(root, forest.first_child[root]) for root in forest.roots if forest.test[forest.first_child[root]] >= 5]
    root, child = (int(number) for number in tests[0])
    leaf = int(forest.first_child[child])
    document, members = read_archive(tmp_path / "model")
    other = next(test for test in range(5, 60) if test != forest.test[child])
    for node, test in ((child, other), (leaf, int(forest.test[root])), (leaf, int(forest.test[leaf] + 1) % 5)):
        changed = forest.test.copy()
        changed[node] = test
        write_archive(tmp_path / "damaged", document, {**dict(members), "test": changed})
        with pytest.raises(FileFormatError):
            hr.load(tmp_path / "damaged")


def test_what_models_are_exported_as_says_the_same():
    model, (columns, _) = fitted(), records(count=400, seed=5)
    form = model.model_.scoring()
    codes = model.model_.encoder.transform(columns)
    votes, _ = model.model_.whole_votes()
    total = np.zeros((len(codes), 2), dtype=np.int32)
    for step in model.model_.steps():
        step(codes, total)
    assert np.array_equal(form.merged().sums(codes), form.sums(codes))
    assert np.array_equal(form.sums(codes), total)
    assert form.depth() == 3
    assert len(votes) == len(form.votes)


@pytest.mark.parametrize("classes", [2, 3])
def test_curves_and_pairs_are_means_over_what_else_a_round_reads(classes):
    """By plain sums over the cells of a round, its cuts and cells weighed by their shares."""
    model = fitted(classes).model_
    piece = next(piece for piece in pieces_of(model) if len(piece.cuts) == 2)
    of_first, of_second, of_cells = piece.shares
    assert [share.sum() for share in piece.shares] == pytest.approx([1, 1, 1])
    values = piece.values.reshape(2, 2, len(of_cells), -1)
    curve = np.einsum("i,j,ijck->ck", of_first, of_second, values)[piece.into]
    assert np.allclose(piece.onto(piece.feature) @ piece.values, curve)
    first = np.einsum("j,c,ijck->ik", of_second, of_cells, values)
    assert np.allclose(piece.onto(piece.cuts[0].by) @ piece.values, first[piece.cuts[0].side])
    second = np.einsum("i,c,ijck->jk", of_first, of_cells, values)
    assert np.allclose(piece.onto(piece.cuts[1].by) @ piece.values, second[piece.cuts[1].side])
    even = np.full(len(piece.into), 1 / len(piece.into))
    means = piece.means(piece.feature, even).reshape(4, len(of_cells), -1)
    assert all(np.allclose(means[0], side) for side in means)
    assert np.allclose(means[0] @ piece.into, np.arange(len(of_cells)))

    both = {tuple(sorted(pair)) for pair in ((piece.features[0], piece.features[1]), piece.features[1:])}
    assert both <= set(pairs(model))
    for one, other in ((0, 1), (1, 2), (0, 2)):
        features = sorted((piece.features[one], piece.features[other]))
        together = np.zeros_like(pair_of(model, *features).values)
        for each in pieces_of(model):
            if set(features) <= set(each.features):
                codes = np.zeros((together.shape[0] * together.shape[1], 5), dtype=np.int64)
                codes[:, features] = list(product(range(together.shape[0]), range(together.shape[1])))
                # Averaged over what is left, less what each of the two says by itself, and more the mean.
                said = averaged(each, codes, features)
                said = said - averaged(each, codes, features[:1]) - averaged(each, codes, features[1:])
                together += (said + averaged(each, codes, [])).reshape(together.shape)
        assert np.allclose(pair_of(model, *features).values, together)


def averaged(piece, codes, known):
    """What a round says of records of which only some codes are known, averaged over the others by their shares."""
    total = np.zeros((len(codes), piece.values.shape[1]))
    grids = [range(len(share)) for share in piece.shares]
    for cell in product(*grids):
        weight = np.ones(len(codes))
        for feature, share, place, at in zip(piece.features, piece.shares, piece.places, cell, strict=True):
            weight = weight * ((place[codes[:, feature]] == at) if feature in known else share[at])
        number = np.ravel_multi_index(cell, [len(share) for share in piece.shares])
        total += weight[:, None] * piece.values[number]
    return total


def test_bands_are_known_and_each_side_follows_its_own_gradients():
    model = fitted().model_
    assert all(curve_of(model, feature).deviation is not None for feature in range(5))
    piece = next(piece for piece in pieces_of(model) if len(piece.cuts) == 2)
    assert piece.response is not None
    assert piece.response.gain.shape == (1, len(piece.values), len(piece.values))
    quarter = len(piece.values) // 4  # each side follows its own gradients alone
    assert not piece.response.gain[0, :quarter, quarter:].any()
    assert not piece.response.gain[0, quarter:, :quarter].any()


def test_the_same_bits_from_partitions():
    columns, y = records()
    table = {**columns, "label": y}

    batches = pa.table(table).to_batches(max_chunksize=5000)
    model = hr.HedgerowClassifier(10.0, schema=SCHEMA, **SETTINGS).fit(
        hr.Records.from_batches(lambda: iter(batches), label="label")
    )
    assert deep(model)
    for name, array in model.model_.to_arrays().items():
        assert np.array_equal(array, fitted().model_.to_arrays()[name])
