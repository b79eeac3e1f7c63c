"""Strict rounds: where they are, and that they do not come back to an exhausted feature again and again."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.archive import read_archive, write_archive
from hedgerow.boosting.additive import AdditivePlan
from hedgerow.boosting.additive_round import OneRound
from hedgerow.boosting.gradients import cap_of
from hedgerow.boosting.smoothing import denoised
from hedgerow.boosting.steps import splits_of
from hedgerow.boosting.visits import Visits
from hedgerow.curator import Split
from hedgerow.errors import FileFormatError
from hedgerow.mechanisms import Budget
from hedgerow.privacy.claim import Claim
from hedgerow.schema import Encoder
from hedgerow.systems import hedgerow


def schema_of(classes):
    return hr.Schema({name: hr.Numeric(0, 1) for name in "abcdef"}, classes=classes)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("classes", [1, 2, 5])
def test_rounds_are_strict_from_their_precision_for_each_class_on(delta, classes):
    claim = Claim(Fraction(1), Fraction(delta))
    plan = AdditivePlan(hedgerow.RECIPE, schema_of(list(range(classes))), claim, rounds=None, bins=None)
    for rounds in (12, 42):
        parts = classes * (rounds**0.5 if delta else rounds)
        least = hedgerow.RECIPE.strict_from * parts / plan._precision(1.0)
        assert plan._strict(least * 1.001, rounds)
        assert not plan._strict(least * 0.999, rounds)
        assert not plan._strict(None, rounds)


def records(count=20_000):
    """A smooth curve of one feature, and nothing else."""
    generator = np.random.default_rng(0)
    columns = {name: generator.uniform(0, 1, count) for name in "abcdef"}
    return columns, np.where(generator.random(count) < 1 / (1 + np.exp(3 - 6 * columns["a"])), "yes", "no")


def most_often(monkeypatch, seed=0, **changes):
    """Fit, and return the share of the rounds in which the most frequent candidate was chosen, and the penalties."""
    rounds, run, penalties = [], OneRound.run, []
    penalty = OneRound.penalty

    def ran(self, *arguments):
        step, curvature = run(self, *arguments)
        rounds.append((step.feature, *(cut.key for cut in step.cuts)))
        return step, curvature

    def lost(self, *arguments):
        penalties.append(penalty(self, *arguments))
        return penalties[-1]

    with monkeypatch.context() as patch:
        patch.setattr(OneRound, "run", ran)
        patch.setattr(OneRound, "penalty", lost)
        patch.setattr(hedgerow, "RECIPE", replace(hedgerow.RECIPE, **changes))
        hr.HedgerowClassifier(10.0, delta=1e-6, schema=schema_of(["no", "yes"]), random_state=seed).fit(*records())
    return Counter(rounds).most_common(1)[0][1] / len(rounds), penalties


@pytest.mark.full
def test_strict_rounds_do_not_come_back_to_what_is_exhausted(monkeypatch):
    share, penalties = most_often(monkeypatch, strict_from=np.inf)
    assert share > 0.8
    assert all(np.ptp(lost) == 0 for lost in penalties)  # of features alike
    shares = []
    for seed in range(3):
        strict, penalties = most_often(monkeypatch, seed, strict_from=0.0)
        shares.append(strict)
    assert np.mean(shares) < share - 0.05
    assert np.ptp(penalties[0]) == 0  # nothing was left yet
    assert any(np.ptp(lost) > 0 for lost in penalties)
    noise = [lost.min() for lost in penalties]
    assert all(
        lost.max() <= 2 * least for lost, least in zip(penalties, noise, strict=True)
    )  # never above all of chance


@pytest.mark.parametrize("strict", [True, False])
def test_splits_lose_less_where_the_last_one_said_more_than_chance(strict):
    encoder = Encoder(schema_of(["no", "yes"]), 12)
    splits, curvature = splits_of(encoder, [0, 1]), np.array([1000.0])
    one = hedgerow.RECIPE.round(Budget(Fraction(1), concentrated=True), 2, 30, strict=strict)
    recipe, nothing = one.recipe.splits, np.zeros(len(splits))
    before, at, above = (
        one.penalty_of_splits(splits, curvature, nothing, last) for last in (0, recipe.clear, 1.01 * recipe.clear)
    )
    assert np.array_equal(before, at)
    many = recipe.many * np.log(len(splits) / 6) / float(one.selection.rate.fraction)
    np.testing.assert_allclose(above - many, (before - many) * recipe.clear_penalty / recipe.penalty, rtol=1e-4)
    assert above.max() < before.min()


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_strict_model_says_the_shares_of_classes_and_comes_back_from_its_file(delta, monkeypatch, tmp_path):
    columns, labels = records()
    rare = np.where(np.random.default_rng(1).random(len(labels)) < 0.8, "no", labels)
    models = {}
    for strict_from in (0.0, np.inf):
        monkeypatch.setattr(hedgerow, "RECIPE", replace(hedgerow.RECIPE, strict_from=strict_from))
        model = hr.HedgerowClassifier(10.0, delta=delta, schema=schema_of(["no", "yes"]), random_state=0)
        models[strict_from] = model.fit(columns, rare)
        said = model.predict_proba(columns)
        # Calibrated by the other cap, shares would be off by up to a quarter.
        assert said[:, 1].mean() == pytest.approx((rare == "yes").mean(), rel=0.06)
        model.save(tmp_path / "model.hr")
        back = hr.load(tmp_path / "model.hr")
        assert np.array_equal(back.predict_proba(columns), said)
        assert back.model_.cap == model.model_.cap == cap_of(2, strict=strict_from == 0)
        assert back.model_.strict == (strict_from == 0)
    strict, usual = (models[strict_from].model_.to_arrays() for strict_from in (0.0, np.inf))
    assert set(strict) - set(usual) == {"cap"}


def test_a_file_whose_cap_is_another_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(hedgerow, "RECIPE", replace(hedgerow.RECIPE, strict_from=0.0))
    model = hr.HedgerowClassifier(10.0, schema=schema_of(["no", "yes"]), random_state=0).fit(*records(2000))
    model.save(tmp_path / "model")
    assert hr.load(tmp_path / "model").model_.cap == cap_of(2, strict=True)
    document, members = read_archive(tmp_path / "model")
    for cap in ([cap_of(2)], [1], [], [[cap_of(2, strict=True)] * 2], [np.nan]):
        write_archive(tmp_path / "damaged", document, {**dict(members), "cap": np.array(cap)})
        with pytest.raises(FileFormatError, match="cap of gradients"):
            hr.load(tmp_path / "damaged")


def test_files_of_strict_models_are_of_a_format_that_earlier_versions_refuse(monkeypatch, tmp_path):
    """They would pass over the cap and say other probabilities."""
    found = {}
    for strict_from in (0.0, np.inf):
        monkeypatch.setattr(hedgerow, "RECIPE", replace(hedgerow.RECIPE, strict_from=strict_from))
        model = hr.HedgerowClassifier(10.0, schema=schema_of(["no", "yes"]), random_state=0).fit(*records(2000))
        model.save(tmp_path / "model")
        document, members = read_archive(tmp_path / "model")
        found[strict_from] = document["format"]
        text = tmp_path / "model.json"
        text.write_text(model.to_json())
        assert json.loads(text.read_text())["format"] == document["format"]
        assert np.array_equal(hr.load(text).predict_proba(records(50)[0]), model.predict_proba(records(50)[0]))
        for damaged in ({**document, "format": 3 - document["format"]}, {**document, "format": 3}):
            write_archive(tmp_path / "damaged", damaged, dict(members))
            with pytest.raises(FileFormatError, match="format"):
                hr.load(tmp_path / "damaged")
    assert found == {0.0: 2, np.inf: 1}
    without = {name: array for name, array in dict(members).items() if name != "cap"}
    write_archive(tmp_path / "damaged", {**document, "format": 2}, without)
    with pytest.raises(FileFormatError, match="format"):
        hr.load(tmp_path / "damaged")


def test_splits_lose_what_their_last_step_left_and_by_what_the_last_split_said(monkeypatch):
    """In every round of a fit, beside what the rounds before it measured, worked out here again."""
    penalty, leave, run = OneRound.penalty_of_splits, Visits.leave, OneRound.run
    left, over_chance, splits_chosen, some_left = {}, [], [], []

    def lost(self, splits, curvature, given, last):
        every = [splits[number] for number in range(len(splits))]
        np.testing.assert_allclose(given, [left.get(split.key, 0) for split in every])
        assert last == (over_chance[-1] if over_chance else 0)
        some_left.append((given > 0).any())
        return penalty(self, splits, curvature, given, last)

    def leaves(self, candidate, gradient, curvature, steps):
        leave(self, candidate, gradient, curvature, steps)
        if isinstance(candidate, Split):
            level = denoised(curvature, self._curvature_noise)
            before, after = (
                np.abs(sums).sum() * max(1 - sums.size * self._noise**2 / (sums**2).sum(), 0) ** 0.5
                for sums in (gradient, gradient - level * steps)
            )
            left[candidate.key] = after
            over_chance.append(before / (np.sqrt(2 / np.pi) * np.sqrt(level).sum()))

    def ran(self, *arguments):
        step, curvature = run(self, *arguments)
        splits_chosen.append(len(step.cuts) > 0)
        assert len(over_chance) == sum(splits_chosen)  # every split that is measured counts
        return step, curvature

    monkeypatch.setattr(OneRound, "penalty_of_splits", lost)
    monkeypatch.setattr(Visits, "leave", leaves)
    monkeypatch.setattr(OneRound, "run", ran)
    monkeypatch.setattr(hedgerow, "RECIPE", replace(hedgerow.RECIPE, strict_from=0.0))
    columns, labels = records()
    labels = np.where((columns["b"] > 0.5) ^ (columns["c"] > 0.3), labels, "no")
    hr.HedgerowClassifier(10.0, delta=1e-6, schema=schema_of(["no", "yes"]), random_state=0).fit(columns, labels)
    assert len(over_chance) > 3
    assert max(over_chance) > 2
    assert any(some_left)


def test_splits_of_one_cut_lose_more_of_chance_in_strict_rounds():
    encoder = Encoder(schema_of(["no", "yes"]), 12)
    splits, curvature = splits_of(encoder, [0, 1]), np.array([10.0**9])
    found = []
    for strict in (True, False):
        one = hedgerow.RECIPE.round(Budget(Fraction(1), concentrated=True), 2, 30, strict=strict)
        noise, chance = one.by_itself(splits.n_cells, curvature)
        lost = one.penalty_of_splits(splits, curvature, np.zeros(len(splits)), 0.0)
        found.append(np.mean((lost / one.recipe.splits.penalty - noise) / chance))
    assert found == pytest.approx([0.75, 0.5], rel=1e-3)


@pytest.mark.parametrize("part", ["noise", "selection"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_what_is_calibrated_for_the_usual_cap_is_refused_in_strict_rounds(delta, part, monkeypatch):
    round_of = AdditivePlan._round

    def mixed(self, *arguments, strict=False):
        usual = round_of(self, *arguments)
        return replace(round_of(self, *arguments, strict=True), **{part: getattr(usual, part)}) if strict else usual

    monkeypatch.setattr(hedgerow, "RECIPE", replace(hedgerow.RECIPE, strict_from=0.0))
    monkeypatch.setattr(AdditivePlan, "_round", mixed)
    model = hr.HedgerowClassifier(10.0, delta=delta, schema=schema_of(["no", "yes"]), random_state=0)
    with pytest.raises(hr.ConfigurationError, match="calibrated for"):
        model.fit(*records(500))
