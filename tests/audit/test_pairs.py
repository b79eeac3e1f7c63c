"""The pairs are neighbors, and every system can be attacked on its own ones."""

from __future__ import annotations

from collections import Counter

import pytest
from products import thinned

import hedgerow as hr
from hedgerow.audit.attack import attack, private_trials, system_trial
from hedgerow.audit.cases import CLOSER, CLOSER_FOR, COUNTEREXAMPLES, GENERAL, PUBLISHED, case, cases_of

ADJACENCIES = ("add-remove", "replace-one")
SYSTEMS = {info.name: info for info in hr.list_systems()}
VALID_AS_PUBLISHED = {"sulq-id3", "pinq-id3"}  # docs/proofs: no failure in real numbers, but for their floats


def records(data):
    columns, labels = data
    return Counter(zip(*(column.tolist() for column in columns.values()), labels, strict=True))


@pytest.mark.parametrize("found", [*GENERAL, *CLOSER, *PUBLISHED], ids=lambda found: found.name)
def test_pairs_are_neighbors(found):
    added = found.pair("add-remove")
    first, second = records(added.first), records(added.second)
    assert second - first == Counter([found.record])
    assert not first - second
    replaced = found.pair("replace-one")
    first, second = records(replaced.first), records(replaced.second)
    assert first.total() == second.total()
    assert (second - first).total() == (first - second).total() == (found.record != found.instead)
    assert str(found.instead[-1]) in replaced.words


def test_names_are_unique_and_unknown_ones_are_refused():
    names = [found.name for found in (*GENERAL, *CLOSER, *PUBLISHED)]
    assert len(set(names)) == len(names)
    with pytest.raises(hr.ConfigurationError, match="there is no pair 'nowhere'; choose one of one-leaf"):
        case("nowhere")


def test_every_published_form_has_its_counterexample():
    published = {name for name, info in SYSTEMS.items() if "published" in info.variants}
    assert set(COUNTEREXAMPLES) == published - VALID_AS_PUBLISHED
    assert all(case(pair) in PUBLISHED for pairs in COUNTEREXAMPLES.values() for pair in pairs)


def test_private_forms_are_attacked_on_all_of_them():
    trials = private_trials()
    subjects = {(trial.subject.split(",")[0], trial.pair.adjacency) for trial in trials}
    names = [*SYSTEMS, *(info.name for info in hr.list_systems(regressors=True))]
    assert subjects == {(name, adjacency) for name in names for adjacency in ADJACENCIES}
    assert {found.name for found in cases_of("edprf", "private")} >= {
        *COUNTEREXAMPLES["edprf"],
        "one-leaf",
        "three-trees",
    }
    assert any(trial.delta for trial in trials)
    closer = {(trial.subject.split(",")[0], trial.pair.name) for trial in trials if case(trial.pair.name) in CLOSER}
    assert closer == {(name, pair) for name, pairs in CLOSER_FOR.items() for pair in pairs}


@pytest.mark.parametrize("name", thinned(sorted(SYSTEMS), 3))
def test_every_system_runs_on_every_pair(name):
    for found in (*GENERAL, *CLOSER):
        trial = system_trial(name, found, "replace-one")
        model = trial.fit(*trial.pair.second)
        answer = trial.answer(model)
        assert len(answer["labels"]) == len(next(iter(found.queries.values())))
        assert set(model.to_arrays()) < set(answer)


def test_settings_of_the_caller_win():
    trial = system_trial("edprf", case("one-leaf"), "add-remove", settings={"max_depth": 1}, epsilon=0.5)
    assert "max_depth=1" in trial.subject
    assert "n_estimators=1" in trial.subject
    assert "specializations" not in trial.subject
    assert trial.epsilon == 0.5


@pytest.mark.slow
@pytest.mark.parametrize(("name", "pair"), [(name, pair) for name, pairs in COUNTEREXAMPLES.items() for pair in pairs])
def test_every_counterexample_refutes(name, pair):
    (found,) = attack([system_trial(name, case(pair), "add-remove", variant="published")])
    assert found.refuted, found
