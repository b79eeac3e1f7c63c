"""Several owners: the bits of a pooled fit, what an owner sends, and that no failure draws a second time."""

import itertools
import math
import pickle
import threading
import zlib
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from full_disks import full_disk
from owners import CLASSES, OUTCOME, Owners, made_up
from products import thinned
from scipy.stats import kstest

import hedgerow as hr
from hedgerow import federated, files
from hedgerow.cli.decision import Decision
from hedgerow.curator import Cut
from hedgerow.curator.rounds import cells_of
from hedgerow.curator.survey import Ones, fine_encoder
from hedgerow.engines.federated import coordinator, masks, messages, owner
from hedgerow.engines.federated.owner import Refusal, check_noise
from hedgerow.engines.local import Silent
from hedgerow.errors import BudgetExceeded, ConfigurationError, EngineError
from hedgerow.mechanisms import DiscreteGaussian, Randomness
from hedgerow.privacy.accounting import Concentrated, Subsampled
from hedgerow.privacy.certificate import Certificate
from hedgerow.table import CellBins, Coded, CodeGroups, MemoryTable, Pairs, Sums
from hedgerow.table import Layout as TableLayout
from hedgerow.table.partitioned import Merge

pytest.importorskip("cryptography")
pytestmark = pytest.mark.filterwarnings("ignore:the noisy number of records:UserWarning")

SEEDED = {"epsilon": 3.0, "random_state": 0}
MODELS = {
    "classifier": (hr.HedgerowClassifier, CLASSES, {"delta": 1e-6}),
    "pure classifier": (hr.HedgerowClassifier, CLASSES, {}),
    "regressor": (hr.HedgerowRegressor, OUTCOME, {"delta": 1e-6}),
    "regressor of logs": (hr.HedgerowRegressor, OUTCOME, {"loss": "poisson"}),
    "eDPRF": (hr.EDPRFClassifier, CLASSES, {"n_estimators": 5}),
    "forest": (hr.ForestClassifier, CLASSES, {"n_estimators": 5}),
    "DPAda": (hr.DPAdaClassifier, CLASSES, {"delta": 1e-5}),
    "cells": (hr.DiffGenClassifier, CLASSES, {}),
}


def fitted(kind, schema, given, *records):
    return kind(schema=schema, **SEEDED, **given).fit(*records)


def arrays_of(model):
    return {name: array.tobytes() for name, array in model.model_.to_arrays().items()}


class Recorder(federated.InProcess):
    """Keeps what goes over the wire."""

    def __init__(self, owners):
        super().__init__(owners)
        self.seen = []

    def send(self, given, timeout):
        replies = super().send(given, timeout)
        self.seen += [
            (name, messages.unpacked(given[name]), messages.unpacked(reply)) for name, reply in replies.items()
        ]
        return replies

    def asked(self):
        return [one for one in self.seen if one[1]["kind"] == "ask"]


@pytest.mark.parametrize(("name", "persons"), thinned(product(MODELS, [None, 1, 3]), 4))
def test_the_model_is_that_of_a_pooled_fit(tmp_path, name, persons):
    kind, schema, given = MODELS[name]
    if persons is not None:
        given = {**given, "records_per_person": persons}
    owners = Owners(tmp_path, made_up(schema), None if persons is None else "person", records_per_person=persons or 1)
    X, y, groups = owners.pooled()
    alone, together = fitted(kind, schema, given, X, y, groups), fitted(kind, schema, given, owners.records())
    assert arrays_of(alone) == arrays_of(together)
    assert [float(ledger.spent) for ledger in owners.ledgers.values()] == [3.0] * 3
    assert "a coordinator that follows the protocol" in str(together.certificate_)
    assert "owners do not compare ids" in together.certificate_.details()
    assert together.certificate_.premises[0] in together.certificate_.details()
    assert hr.Certificate.from_dict(together.certificate_.to_dict()) == together.certificate_


def test_a_start_travels_to_the_owners(tmp_path):
    owners = Owners(tmp_path, made_up(CLASSES))
    X, y, _ = owners.pooled()
    start = hr.HedgerowClassifier(schema=CLASSES, **SEEDED).fit(X, y)
    models = [
        hr.HedgerowClassifier(schema=CLASSES, init=start, **SEEDED).fit(*of) for of in ((X, y), (owners.records(),))
    ]
    assert arrays_of(models[0]) == arrays_of(models[1])


def test_rows_between_bounds_count_for_nobody(tmp_path):
    """With public bounds above the numbers of rows, the model is one of a pooled fit with empty rows in between."""
    frames = made_up(CLASSES)
    owners = Owners(tmp_path, frames)
    owners.parties[:] = [federated.Party(one.name, one.key, one.rows + 37) for one in owners.parties]
    owners.transport = federated.InProcess({one.name: owners.started(one.name) for one in owners.parties})
    empty = frames[0].iloc[:37].assign(y=None)
    owners.frames = [part for frame in frames for part in (frame, empty)]
    X, y, _ = owners.pooled()
    kind, schema, given = MODELS["eDPRF"]
    assert arrays_of(fitted(kind, schema, given, X, y)) == arrays_of(fitted(kind, schema, given, owners.records()))


def test_masked_vectors_are_uniform_and_hold_no_sum_of_an_owner(tmp_path):
    owners = Owners(tmp_path, made_up(CLASSES))
    recorder = Recorder(owners.transport.owners)
    fitted(*MODELS["classifier"], owners.records(recorder))
    exact = {}

    def plain(self, answer, number, digest):
        exact[self._name, number] = answer.reshape(-1).astype(np.int64)
        return exact[self._name, number].view(np.uint64)

    with pytest.MonkeyPatch.context() as patch:  # the same fit without masks shows what these hide
        patch.setattr(masks.Masks, "masked", plain)
        other = Recorder(Owners(tmp_path / "unmasked", made_up(CLASSES)).transport.owners)
        again = Owners(tmp_path / "unmasked", made_up(CLASSES))
        fitted(*MODELS["classifier"], again.records(other))
    assert len(recorder.asked()) == len(other.asked()) > 3 * 5
    words = []
    for name, request, reply in recorder.asked():
        sums = exact[name, request["number"]]
        assert not np.any(reply["vector"].view(np.int64) == sums)
        words.append(reply["vector"])
        assert set(reply) == {"digest", "vector"}
    words = np.concatenate(words)
    assert len(words) > 5_000
    for shift in (0, 11, 32):  # low, middle and high bits
        bits = (words >> np.uint64(shift)).astype(np.float64) if shift else words.astype(np.float64)
        assert kstest(bits / 2.0 ** (64 - shift), "uniform").pvalue > 1e-6
    assert kstest((words & np.uint64(0xFFFFFFFF)).astype(np.float64) / 2**32, "uniform").pvalue > 1e-6
    of_query = [reply["vector"] for _, request, reply in recorder.asked() if request["number"] == 1]
    total = np.sum([exact[name, 1] for name, request, _ in other.asked() if request["number"] == 1], axis=0)
    assert np.array_equal(sum(of_query[1:], of_query[0]).view(np.int64), total)
    assert not np.array_equal(sum(of_query[1:]).view(np.int64), total)  # two of three


def test_the_uniformity_test_sees_exact_sums():
    words = np.arange(20_000, dtype=np.uint64)
    assert kstest(words.astype(np.float64) / 2.0**64, "uniform").pvalue < 1e-6


class Failing(federated.InProcess):
    """An owner's process ends at one query: before it answered, or after, so that its reply is lost."""

    def __init__(self, owners, at, answered, comes_back=True):
        super().__init__(owners.transport.owners)
        self.group, self.at, self.answered, self.comes_back, self.failed = owners, at, answered, comes_back, 0

    def send(self, given, timeout):
        request = messages.unpacked(next(iter(given.values())))
        if request.get("number") == self.at and "north" in given and (not self.failed or not self.comes_back):
            self.failed += 1
            if self.answered and self.failed == 1:
                self.owners["north"].handle(given["north"])
            self.owners["north"] = self.group.started("north")  # a new process, which knows its folder only
            given = {name: message for name, message in given.items() if name != "north"}
        return super().send(given, timeout)


class Counting(Randomness):
    """Counts draws."""

    draws = 0

    def draw(self, mechanism, *statistics):
        type(self).draws += 1
        return super().draw(mechanism, *statistics)


@pytest.fixture
def quick_retries(monkeypatch):
    monkeypatch.setattr(coordinator, "PAUSE", 0.01)


@pytest.mark.parametrize("answered", [False, True], ids=["before it answers", "after it answered"])
def test_an_owner_that_ends_at_any_query_comes_back_to_the_same_bits(tmp_path, answered, quick_retries):
    kind, schema, given = MODELS["pure classifier"]
    X, y, _ = Owners(tmp_path / "pooled", made_up(schema)).pooled()
    expected = arrays_of(fitted(kind, schema, given, X, y))
    number = queries = 1
    while number <= queries:
        owners = Owners(tmp_path / f"{number}", made_up(schema))
        failing = Failing(owners, number, answered)
        records = owners.records(failing)
        assert arrays_of(fitted(kind, schema, given, records)) == expected
        assert failing.failed == 1
        assert [float(ledger.spent) for ledger in owners.ledgers.values()] == [3.0] * 3
        queries = max(queries, sum(1 for _ in owner._entries(_log(tmp_path / f"{number}" / "south"))) - 3)
        number += 3  # each third one: every kind of query is among them
    assert queries > 3


def _log(folder):
    (path,) = folder.glob("*.fit")
    return path.read_bytes()


@pytest.mark.parametrize("number", [1, 4])
def test_an_owner_that_stays_away_ends_the_fit_which_draws_nothing_more(tmp_path, number, quick_retries, monkeypatch):
    kind, schema, given = MODELS["pure classifier"]
    monkeypatch.setattr("hedgerow.estimator.base.Randomness", Counting)
    drawn = []
    for at, comes_back in ((number, False), (10**9, True)):
        Counting.draws = 0
        owners = Owners(tmp_path / f"{at}", made_up(schema))
        failing = Failing(owners, at, True, comes_back)
        if comes_back:
            fitted(kind, schema, given, owners.records(failing))
        else:
            with pytest.raises(EngineError, match=r"north did not answer .* stays charged"):
                fitted(kind, schema, given, owners.records(failing, timeout=0.2))
        drawn.append(Counting.draws)
        assert [float(ledger.spent) for ledger in owners.ledgers.values()] == [3.0] * 3
    assert drawn[0] < drawn[1]


def test_an_owner_that_answers_no_proposal_is_charged_nothing(tmp_path, quick_retries):
    owners = Owners(tmp_path, made_up(CLASSES))
    del owners.transport.owners["north"]
    with pytest.raises(EngineError, match=r"north did not answer .* nothing was charged\. Start the owner"):
        fitted(*MODELS["eDPRF"], owners.records(timeout=0.1))
    assert [float(ledger.spent) for ledger in owners.ledgers.values()] == [0.0] * 3


@pytest.mark.parametrize("ending", [KeyboardInterrupt, EngineError])
def test_a_fit_that_breaks_off_at_its_beginning_ends_at_owners_that_began(tmp_path, ending):
    owners = Owners(tmp_path, made_up(CLASSES))
    send = owners.transport.send

    def breaking(given, timeout):
        replies = send(given, timeout)
        if messages.unpacked(next(iter(given.values())))["kind"] == "begin":
            raise ending("broken off")
        return replies

    owners.transport.send = breaking
    with pytest.raises(ending, match="broken off"):
        fitted(*MODELS["eDPRF"], owners.records())
    assert [entry.state for ledger in owners.ledgers.values() for entry in ledger.entries] == ["finished"] * 3


def test_an_owner_sees_the_reason_of_a_refusal_and_others_do_not(tmp_path, caplog):
    owners = Owners(tmp_path, made_up(CLASSES))
    owners.ledgers["north"] = hr.Ledger(1)
    owners.transport.owners["north"] = owners.started("north")
    with pytest.raises(EngineError, match="its ledger refuses the plan; plan a smaller epsilon") as ended:
        fitted(*MODELS["eDPRF"], owners.records())
    assert "epsilon 1" in caplog.text
    assert "epsilon 1" not in str(ended.value)


def test_an_owner_whose_file_is_gone_refuses_and_does_not_name_it(tmp_path):
    owners = Owners(tmp_path, made_up(CLASSES))
    path = tmp_path / "ward seven.csv"
    owners.frames[2].drop(columns="person").to_csv(path, index=False)
    west = owners.transport.owners["west"]
    west._records = hr.Records.from_csv(path, label="y")
    path.unlink()
    with pytest.raises(EngineError, match=r"west refuses.*: its columns are not those of the schema") as ended:
        fitted(*MODELS["eDPRF"], owners.records())
    assert path.name not in str(ended.value)
    assert [float(ledger.spent) for ledger in owners.ledgers.values()] == [0.0] * 3


def recorded(place, frames=None, **given):
    """Return owners of a fit that has not ended, the fit's engine, and what "west" got and replied to queries."""
    owners, end = Owners(place, frames or made_up(CLASSES), **given), []
    recorder = Recorder(owners.transport.owners)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coordinator.FederatedEngine, "close", lambda self: end.append(self))
        fitted(*MODELS["eDPRF"], owners.records(recorder))
    return owners, end[0], [(request, reply) for name, request, reply in recorder.asked() if name == "west"]


def told(party, request):
    return messages.unpacked(party.handle(messages.packed(request)))


def test_one_number_has_one_content_and_one_vector(tmp_path):
    owners, engine, asked = recorded(tmp_path)
    for west in (owners.transport.owners["west"], owners.started("west")):  # the same process, and a new one
        for request, reply in asked:
            again = told(west, request)
            assert again["digest"] == reply["digest"]
            assert np.array_equal(again["vector"], reply["vector"])
            other = {**request, "content": asked[request["number"] % len(asked)][0]["content"]}
            assert told(west, other) == {"refused": "another query has this number"}
        ahead = {**asked[0][0], "number": len(asked) + 2}
        assert "refused" in told(west, ahead)
    changed = Owners(tmp_path, [frame.assign(age=50.0) for frame in made_up(CLASSES)])
    refused = told(changed.started("west"), asked[0][0])
    assert "its records or the message could not be read" in refused["refused"]  # records that changed answer nothing
    west = owners.transport.owners["west"] = owners.started("west")  # which has not read its log when the fit ends
    engine.close()
    for one in (west, owners.started("west")):
        assert told(one, asked[0][0]) == {"refused": "it knows no such fit, or it has ended; fit anew"}


@pytest.mark.parametrize(
    ("rows", "given", "text"),
    [
        (501, {}, "the fit has other owners"),  # of "south": other row numbers, so other coins
        (500, {"colluding": 0}, "it agreed to another mode"),
        (500, {"seeded": False}, "a random_state promises nothing"),
        (500, {"schema": hr.Schema({"age": hr.Numeric(0, 9)}, classes=["no", "yes"])}, "another schema"),
    ],
    ids=["rows", "mode", "seed", "schema"],
)
def test_an_owner_that_comes_back_on_other_terms_answers_no_query_again(tmp_path, rows, given, text):
    owners, _, asked = recorded(tmp_path)
    owners.parties[0] = replace(owners.parties[0], rows=rows)
    assert text in told(owners.started("west", **given), asked[-1][0])["refused"]


@pytest.mark.parametrize("cut", [1, 7, 8, 9, 20])
def test_a_query_that_was_written_in_part_hides_none_after_it(tmp_path, cut):
    owners, _, asked = recorded(tmp_path)
    (path,) = (tmp_path / "west").glob("*.fit")
    entries = owner._entries(path.read_bytes())
    sizes = np.cumsum([8 + len(entry) for entry in entries])
    path.write_bytes(path.read_bytes()[: sizes[-2] + cut])  # the process ended while it wrote the last query
    (last, reply), (first, _) = asked[-1], asked[0]
    assert np.array_equal(told(owners.started("west"), last)["vector"], reply["vector"])
    again = owners.started("west")
    assert told(again, {**last, "content": first["content"]}) == {"refused": "another query has this number"}
    assert owner._entries(path.read_bytes()) == entries


def test_a_query_that_cannot_be_written_is_not_answered(tmp_path, monkeypatch):
    owners, _, asked = recorded(tmp_path)
    (path,) = (tmp_path / "west").glob("*.fit")
    entries = owner._entries(path.read_bytes())
    path.write_bytes(b"".join(owner._entry(entry) for entry in entries[:-1]))
    west, last = owners.started("west"), asked[-1][0]

    def full(number):
        raise OSError("no space is left")

    with monkeypatch.context() as patch:
        patch.setattr(owner.os, "fsync", full)
        for _ in range(2):  # the second time it is no query that it knows already
            with pytest.raises(OSError, match="no space"):
                west.handle(messages.packed(last))
    for _ in range(2):  # a disk that takes a part of it
        with full_disk(path.stat().st_size + 9), pytest.raises(OSError, match="could not be written whole"):
            west.handle(messages.packed(last))
    assert owner._entries(path.read_bytes()) == entries[:-1]
    assert np.array_equal(told(west, last)["vector"], asked[-1][1]["vector"])
    assert owner._entries(path.read_bytes()) == entries


def test_an_opening_that_is_replayed_meets_other_masks(tmp_path):
    """A coordinator that deviates sends an old opening and old queries to owners whose folders lost the log of the fit."""
    owners, _, asked = recorded(tmp_path)
    opening = owner._entries(_log(tmp_path / "west"))[0]
    for path in tmp_path.glob("*/*.fit"):
        path.unlink()
    west = owners.started("west")
    nonce = told(west, {"kind": "begin", "opening": opening})["nonce"]
    request, before = asked[0]
    assert told(west, request) == {"refused": "the first query lacks this owner's nonce"}
    content = messages.unpacked(request["content"])
    changed = tuple(nonce if place == 2 else one for place, one in enumerate(content["nonces"]))
    after = told(west, {**request, "content": messages.packed({**content, "nonces": changed})})
    difference = after["vector"] - before["vector"]  # zero, if the masks were those of the first time
    assert np.mean(difference == 0) < 0.01
    assert kstest(difference.astype(np.float64) / 2.0**64, "uniform").pvalue > 1e-6


@pytest.mark.parametrize(
    ("person", "most", "refused"), [("person", 1, False), ("person", 2, True), ("person", None, True), (None, 1, True)]
)
def test_an_owner_reads_as_many_records_of_a_person_as_the_certificate_says(tmp_path, person, most, refused):
    owners = Owners(tmp_path, made_up(CLASSES), person)
    recorder = Recorder(owners.transport.owners)
    fitted(*MODELS["eDPRF"], owners.records(recorder))
    opening = next(
        messages.unpacked(request["opening"]) for _, request, _ in recorder.seen if request["kind"] == "begin"
    )
    opening |= {"fit": "0" * 32, "keep": None if most is None else (most, bytes(32))}
    reply = told(owners.transport.owners["west"], {"kind": "begin", "opening": messages.packed(opening)})
    assert ("another number of records of a person" in reply.get("refused", "")) == refused
    assert float(owners.ledgers["west"].spent) == (3 if refused else 6)


REFUSALS = {
    "ledger": (lambda owners: owners.ledgers.update(north=hr.Ledger(1)), "its ledger refuses the plan"),
    "seed": (lambda owners: owners.given.update(seeded=False), "a fit with a random_state promises nothing"),
    "mode": (lambda owners: owners.given.update(colluding=0), "it agreed to another mode"),
    "schema": (
        lambda owners: owners.given.update(schema=hr.Schema({"age": hr.Numeric(0, 99)}, classes=["no", "yes"])),
        "the fit has another schema",
    ),
    "persons": (
        lambda owners: owners.given.update(schema=CLASSES.replace(person="person")),
        "the fit has another schema",
    ),
    "columns": (
        lambda owners: owners.frames.__setitem__(1, owners.frames[1].drop(columns="kind")),
        "its columns are not those of the schema",
    ),
    "parties": (lambda owners: owners.parties.reverse(), "the fit has other owners"),
    "rows": (
        lambda owners: owners.frames.__setitem__(1, owners.frames[0].sample(900, replace=True)),
        "it has more rows than the bound",
    ),
}


@pytest.mark.parametrize("reason", REFUSALS)
def test_an_owner_that_refuses_ends_the_fit_before_anything_is_drawn(tmp_path, reason, monkeypatch):
    change, text = REFUSALS[reason]
    owners = Owners(tmp_path, made_up(CLASSES))
    records = owners.records()
    change(owners)
    owners.transport.owners["north"] = owners.started("north")
    monkeypatch.setattr("hedgerow.estimator.base.Randomness", Counting)
    Counting.draws, ledger = 0, hr.Ledger(10, delta=1e-4)
    with pytest.raises(EngineError, match=text) as ended:
        hr.HedgerowClassifier(schema=CLASSES, ledger=ledger, **SEEDED).fit(records)
    assert not any(character.isdigit() for character in str(ended.value))  # no number of rows, among others
    assert Counting.draws == 0
    assert float(owners.ledgers["north"].spent) == 0
    if reason != "rows":  # which are read once the fit begins
        assert float(ledger.spent) == float(owners.ledgers["south"].spent) == 0


def test_an_owner_that_stops_ends_the_fit(tmp_path):
    owners = Owners(tmp_path, made_up(CLASSES))
    send = owners.transport.send

    def stopping(given, timeout):
        if messages.unpacked(next(iter(given.values()))).get("number") == 3:
            owners.transport.owners["south"].stop()
        return send(given, timeout)

    owners.transport.send = stopping
    with pytest.raises(EngineError, match=r"south refuses.* stays charged: it was stopped"):
        fitted(*MODELS["classifier"], owners.records())
    assert float(owners.ledgers["north"].spent) == 3


def test_an_owner_stops_after_the_answer_in_progress(tmp_path):
    """An answer that goes on after the folder was freed could write over the log of the owner that is started there."""
    south = Owners(tmp_path, made_up(CLASSES)).transport.owners["south"]
    stopping = threading.Thread(target=south.stop)
    with south._lock:  # as an answer holds it
        stopping.start()
        stopping.join(0.2)
        with files.locked(tmp_path / "south" / owner.LOCK) as is_free:
            assert not is_free
    stopping.join()
    with files.locked(tmp_path / "south" / owner.LOCK) as is_free:
        assert is_free


@pytest.mark.parametrize("argument", ["records", "name", "parties", "ledger", "colluding"])
def test_an_owner_whose_arguments_are_wrong_keeps_its_folder_free(tmp_path, argument):
    owners = Owners(tmp_path, made_up(CLASSES))
    owners.transport.owners["south"].stop()
    records = hr.Records.from_batches(lambda: [owners.frames[0]], label="y")
    given = {"records": records, "name": "south", "parties": owners.parties, "ledger": hr.Ledger(1), "colluding": 0}
    with pytest.raises(ConfigurationError) as ended:  # whose frames a shell would keep
        federated.Owner(folder=tmp_path / "south", **{**given, argument: {"parties": (), "colluding": 9}.get(argument)})
    assert "another owner" not in str(ended.value)
    federated.Owner(folder=tmp_path / "south", **given).stop()


@pytest.mark.parametrize("name", ["A" * 32, "a" * 31, "a" * 31 + "\u00e9", "\uff41" * 32, "../" + "a" * 29, ["a"] * 32])
def test_a_fit_has_one_name_on_every_file_system(tmp_path, name):
    """Where letters of either case name one file, a fit under two names would answer two questions of one number."""
    west = Owners(tmp_path, made_up(CLASSES)).transport.owners["west"]
    refused = {"refused": "this is no identity of a fit"}
    opening = messages.packed({"fit": name})
    for request in (
        {"kind": "begin", "opening": opening},
        {"kind": "ask", "fit": name, "number": 1, "content": b""},
    ):
        assert told(west, request) == refused


def test_owners_answer_fits_only(tmp_path):
    records = Owners(tmp_path, made_up(CLASSES)).records()
    with pytest.raises(ConfigurationError, match="answer fits and nothing else"):
        hr.Curator(records, None, CLASSES, epsilon=1.0)
    X, y, _ = Owners(tmp_path / "pooled", made_up(CLASSES)).pooled()
    certificate = hr.EDPRFClassifier(schema=CLASSES, **SEEDED).fit(X, y).certificate_
    sampled = replace(certificate, event=Subsampled(certificate.event, Fraction(1, 2)))
    with pytest.raises(ConfigurationError, match="needs a secret sample of the records"):
        records.proposed(sampled, None)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda parties: parties[:1], "two owners or more"),
        (lambda parties: [parties[0], parties[0]], "two owners or more"),
        (lambda parties: [*parties[:2], federated.Party("west", parties[2].key, 0)], "bound on its rows"),
        (lambda parties: [*parties[:2], federated.Party("west", parties[2].key, 2**31)], "bound on its rows"),
        (
            lambda parties: [*parties[:2], federated.Party("west", "...", 9)],
            "'west' has the key '...', but a public key",
        ),
        (lambda parties: [*parties[:2], federated.Party("west", parties[2].key + "=", 9)], "44 characters"),
        (lambda parties: [*parties[:2], federated.Party("west", "\u00e9" * 44, 9)], "44 characters"),
    ],
)
def test_parties_are_checked(tmp_path, change, text):
    owners = Owners(tmp_path, made_up(CLASSES))
    with pytest.raises(ConfigurationError, match=text):
        federated.records(owners.transport, change(owners.parties))


def test_a_message_runs_no_code():
    for data in (
        pickle.dumps(DiscreteGaussian),
        messages.packed({"a": 1})[:-3],
        _message('{"class": "engines.records:Records", "fields": {}}'),
        _message('{"class": "table.table:Callable", "fields": {}}'),
        _message('{"array": "|O", "shape": [1]}'),
        _message("[" * 100_000 + "]" * 100_000),
    ):
        with pytest.raises(EngineError, match="not one of this version"):
            messages.unpacked(data)
    with pytest.raises(TypeError, match="no part of a query"):
        messages.packed(hr.Ledger(1))


def test_owners_of_all_versions_derive_the_same_key_of_a_query():
    """Otherwise their masks would not cancel."""
    key = masks.key_of_query(bytes(range(32)), 7, bytes(range(32, 64)))
    assert key.hex() == "666565153343f926f61d2c3c61df8bc0ee6242ff0ed554a4a6a0d8cde010f1b4"


def _message(text):
    return zlib.compress(len(text).to_bytes(8, "little") + text.encode())


def test_a_pair_agrees_and_a_third_does_not(tmp_path):
    one, two, three = (federated.Identity(tmp_path / name) for name in "abc")
    opening = bytes(32)
    assert one.shared(two.public, opening) == two.shared(one.public, opening)
    assert (
        len({one.shared(two.public, opening), one.shared(three.public, opening), one.shared(two.public, b"x" * 32)})
        == 3
    )
    assert federated.Identity(tmp_path / "a").public == one.public
    assert (tmp_path / "a" / masks.NAME).stat().st_mode & 0o77 == 0
    with pytest.raises(ConfigurationError, match="public key"):
        one.shared("nonsense", opening)


def test_a_fit_that_is_refused_leaves_no_charge_at_the_estimator(tmp_path):
    owners, ledger = Owners(tmp_path, made_up(CLASSES)), hr.Ledger(1)
    with pytest.raises(BudgetExceeded):
        hr.HedgerowClassifier(schema=CLASSES, ledger=ledger, **SEEDED).fit(owners.records())
    assert {float(one.spent) for one in owners.ledgers.values()} == {0.0}


# Noise from owners.

COVERED = Fraction(1)  # rho, more than these queries cost


class Wired(Recorder):
    """A fit by hand of owners who add noise: queries of one feature's counts, each a vector of 257 cells."""

    def __init__(self, place, colluding=1, owners=3):
        sizes = (500, 700, 400) if owners == 3 else (50,) * owners
        self.owners_of = Owners(place, made_up(CLASSES, sizes), colluding=colluding)
        super().__init__(self.owners_of.transport.owners)
        reading = Coded(fine_encoder(CLASSES))
        event = Concentrated(COVERED, "noise", "sums", shares=2)
        certificate = Certificate("fit", "private", Fraction(40), Fraction(1, 10**6), "add-remove", event, seeded=True)
        source = self.owners_of.records(self).source.proposed(certificate, reading)
        self.table = source.table(reading, None, Silent())
        codes = int(reading.n_codes[0])
        self.query = Sums(Ones(), None, TableLayout(bins=CellBins(np.zeros(1, int), np.arange(codes)[None])))
        X, y, _ = self.owners_of.pooled()
        self.exact = MemoryTable.by(reading, X, y).answer(self.query).reshape(-1)

    def noise(self, noise, queries):
        return np.concatenate(
            [self.table.noisy_sums(self.query, noise).reshape(-1) - self.exact for _ in range(queries)]
        )


def test_the_sum_of_noise_has_its_exact_law(tmp_path):
    noise = DiscreteGaussian(Fraction(1, 400), Fraction(1), 2)
    assert noise.sigma == 10
    drawn = Wired(tmp_path).noise(noise, 30)
    assert misfit(drawn, replace(noise, shares=3)) < 1  # all three owners add their share, of whom two are counted
    assert misfit(drawn, noise) > 1.3


def misfit(drawn, noise):
    """Return the distance of a sample from the law of noise, in units of what is expected once in 1e6."""
    reach = 8 * math.ceil(noise.deviation)
    edges = np.arange(-reach, reach + 1)
    expected = np.cumsum(noise.law(0, edges))
    found = np.searchsorted(np.sort(drawn), edges, side="right") / len(drawn)
    return np.abs(found - expected).max() / math.sqrt(math.log(2 / 1e-6) / 2 / len(drawn))


def without_a_share(monkeypatch, owners=3):
    share, number = DiscreteGaussian.share, itertools.count()
    monkeypatch.setattr(
        DiscreteGaussian,
        "share",
        lambda self, stream, values: values if next(number) % owners == 1 else share(self, stream, values),
    )


def same_mask(monkeypatch):
    monkeypatch.setattr(masks, "key_of_query", lambda key, number, digest: key)


def same_noise(monkeypatch):
    monkeypatch.setattr(owner, "key_of_query", lambda key, number, digest: key)


@pytest.mark.parametrize(
    ("plant", "law", "differences", "repeats"),
    [
        (None, True, True, False),
        (without_a_share, False, True, False),
        (same_mask, True, False, False),
        (same_noise, True, True, True),
    ],
    ids=["as it is", "a share left out", "a mask used twice", "noise used twice"],
)
def test_planted_faults_of_owners_are_seen(tmp_path, monkeypatch, plant, law, differences, repeats):
    if plant is not None:
        plant(monkeypatch)
    noise = DiscreteGaussian(Fraction(1, 400), Fraction(1), 2)
    wired = Wired(tmp_path)
    drawn = wired.noise(noise, 30)
    assert (misfit(drawn, replace(noise, shares=3)) < (5 if repeats else 1)) == law
    one = [reply["vector"] for name, _, reply in wired.asked() if name == "north"]
    apart = (one[0] - one[1]).astype(np.float64) / 2.0**64
    assert (kstest(apart, "uniform").pvalue > 1e-6) == differences
    assert (abs(int((one[0] - one[1]).view(np.int64)[0])) > 2**40) == differences  # a single cell is enough
    assert np.array_equal(*np.split(drawn, 30)[:2]) == repeats


@pytest.mark.parametrize("left_out", [False, True])
def test_one_share_of_ten_that_is_left_out_is_seen(tmp_path, monkeypatch, left_out):
    if left_out:
        without_a_share(monkeypatch, owners=10)
    noise = DiscreteGaussian(Fraction(1, 400), Fraction(1), 2)
    drawn = Wired(tmp_path, owners=10).noise(noise, 80)
    variance = drawn.var() / (10 * noise.sigma**2)
    assert (abs(variance - 1) < 0.05) != left_out  # 5 standard errors, and a share is 10 of them
    assert (abs(variance - 0.9) < 0.05) == left_out


def test_owners_refuse_queries_with_less_noise_than_planned(tmp_path):
    wired = Wired(tmp_path)
    good = DiscreteGaussian(Fraction(1, 400), Fraction(1), 2)
    bad = {
        "less than one record adds": replace(good, squared_sensitivity=Fraction(1, 2)),
        "no query that owners add noise to": replace(good, shares=3),
        "this is no query": replace(good, shares=0),
        "its ledger refuses the plan": DiscreteGaussian(COVERED * 2, Fraction(10**12), 1),
    }
    for text, noise in bad.items():
        with pytest.raises(EngineError, match=text):
            Wired(tmp_path / text[:4]).noise(noise, 1)
    with pytest.raises(EngineError, match="no query that owners add noise to"):  # a record is in a code of each feature
        wired.table.noisy_sums(Sums(Ones()), good)
    with pytest.raises(ConfigurationError, match="send sums with it"):
        wired.table.answer(wired.query)


def test_owners_refuse_sums_whose_layout_contradicts_itself(tmp_path):
    """A kernel would write beyond the sums of a layout with bins and a side: the side halves the cells, but bins have all."""
    wired, good = Wired(tmp_path), DiscreteGaussian(Fraction(1, 400), Fraction(1), 2)
    codes = wired.table._n_codes
    cells = cells_of([Cut.at(0, 0, int(codes[0]), ordered=True)])
    bins = CellBins(np.zeros(2, dtype=np.int64), np.zeros((2, int(codes[0])), dtype=np.int64))
    layout = TableLayout(cells, bins=bins)
    check_noise(Sums(Ones(), layout=layout), good, 2)
    zeros = np.zeros(int(codes.sum()), dtype=np.int64)
    others = {
        "side": 0,
        "pairs": Pairs((0,), zeros, zeros, np.array([0, *np.cumsum(codes)])),
        "groups": CodeGroups(np.zeros(1, dtype=np.int64), np.zeros((1, int(codes[0])), dtype=np.int64)),
    }
    for name, value in others.items():
        for one in (layout, TableLayout(whole=True)):
            with pytest.raises(Refusal, match="no query that owners add noise to"):
                check_noise(Sums(Ones(), layout=replace(one, **{name: value})), good, 2)
    with pytest.raises(EngineError, match="no query that owners add noise to"):
        wired.table.noisy_sums(Sums(Ones(), layout=replace(layout, side=0)), good)


def before_a_merge(folder):
    """Return owners that answered one query, the noise, the request to one of them, its query, and a command for the next."""
    wired, good = Wired(folder), DiscreteGaussian(Fraction(1, 400), Fraction(1), 2)
    wired.noise(good, 1)
    request = next(request for name, request, _ in wired.asked() if name == "west")
    query = messages.unpacked(request["content"])
    half = np.arange(int(wired.table._n_codes[0])) // 2
    merge = Merge((half, *(np.arange(codes) for codes in wired.table._n_codes[1:].tolist())))
    return wired, good, request, query, merge


def test_a_refused_query_changes_no_answer(tmp_path):
    """Else one number and content would have one mask and two answers: before a restart, and after it."""
    wired, good, request, query, merge = before_a_merge(tmp_path)
    replies = []
    for restarts in (False, True):
        west = wired.owners_of.transport.owners["west"] = wired.owners_of.started("west")
        for noise, commands in ((replace(good, squared_sensitivity=Fraction(1, 2)), ((1, merge),)), (good, ())):
            content = messages.packed({**query, "commands": commands, "end": 1, "noise": noise})
            replies.append(told(west, {**request, "number": 2, "content": content}))
            if restarts:
                west = wired.owners_of.started("west")
    assert "the noise is less" in replies[0]["refused"]
    assert np.array_equal(replies[1]["vector"], replies[3]["vector"])


def test_commands_come_once_and_in_order(tmp_path):
    """Else a query has one number and one mask, but another answer after a restart, which carries out all commands anew."""
    wired, _, request, query, merge = before_a_merge(tmp_path)
    west = wired.owners_of.transport.owners["west"]
    refused = {"refused": "the commands of a query are not in order"}
    first = {**query, "nonces": (), "end": 5}
    assert "vector" in told(west, {**request, "number": 2, "content": messages.packed(first)})
    for commands, end in (
        (((3, merge),), 6),  # below the end of the query before, whose cache leaves it out
        (((5, merge),), 6),
        (((7, merge), (6, merge)), 7),
        (((6, merge), (6, merge)), 6),
        (((7, merge),), 6),
        ((), 4),
        (((True, merge),), 6),
        ((("6", merge),), 6),
    ):
        content = messages.packed({**first, "commands": commands, "end": end})
        assert told(west, {**request, "number": 3, "content": content}) == refused, (commands, end)
    content = messages.packed({**first, "commands": ((6, merge),), "end": 6})
    before = told(west, {**request, "number": 3, "content": content})
    after = told(wired.owners_of.started("west"), {**request, "number": 3, "content": content})
    assert np.array_equal(before["vector"], after["vector"])


@pytest.mark.parametrize("name", ["classifier", "regressor"])
def test_a_fit_with_noise_of_owners(tmp_path, name):
    kind, schema, given = MODELS[name]
    owners = Owners(tmp_path, made_up(schema, (4000, 3000, 3000)), colluding=1)
    recorder = Recorder(owners.transport.owners)
    model = fitted(kind, schema, {**given, "noise_shares": 2}, owners.records(recorder))
    X, y, _ = owners.pooled()
    assert model.score(X, y) > 0.7
    assert all(
        request["kind"] != "ask" or "noise" in messages.unpacked(request["content"]) for _, request, _ in recorder.seen
    )
    assert "at least 2 of 3 owners" in str(model.certificate_)
    assert {type(one).__name__ for one in owner.events_of(model.certificate_.event)} == {
        "Sequence",
        "OneOf",
        "Concentrated",
    }
    assert model.certificate_.total.delta(Fraction(3)) <= Fraction(1, 10**6)
    model.save(tmp_path / "model")
    assert np.array_equal(hr.load(tmp_path / "model").predict(X), model.predict(X))
    for wrong in ({}, {"noise_shares": 3}):
        with pytest.raises(ConfigurationError, match="noise that owners do not draw"):
            fitted(kind, schema, {**given, **wrong}, owners.records())
    with pytest.raises(ConfigurationError, match="need a delta"):
        fitted(kind, schema, {**given, "delta": 0.0, "noise_shares": 2}, owners.records())


def test_the_card_names_whom_a_fit_of_several_owners_trusts(tmp_path):
    for colluding, given, words in (
        (None, {}, "a coordinator that follows the protocol: it learns the exact sums"),
        (1, {"delta": 1e-6, "noise_shares": 2}, "at least 2 of 3 owners that add their share of the noise"),
    ):
        owners = Owners(tmp_path / f"{colluding}", made_up(CLASSES), colluding=colluding, seeded=False)
        model = hr.HedgerowClassifier(epsilon=3.0, schema=CLASSES, **given).fit(owners.records())
        model.save(tmp_path / "m.hedgerow")
        decision = Decision(tmp_path / "m.hedgerow", model)
        assert not decision.refusals
        assert words in dict(decision.rows(None))["Who is trusted"]
        assert words in decision.entry("t")["trust_model"]


@pytest.mark.parametrize(("colluding", "shares"), [(0, 3), (1, 2)])
def test_an_owner_who_knows_its_own_share_is_one_of_those_who_collude(tmp_path, colluding, shares):
    """Each owner sees released values, from which it takes off its own share: m - 1 shares are left."""
    owners = Owners(tmp_path, made_up(CLASSES), colluding=colluding)
    kind, schema, given = MODELS["classifier"]
    model = fitted(kind, schema, {**given, "noise_shares": shares}, owners.records())
    assert ("each owner knows its own share of the noise" in model.certificate_.details()) == (colluding == 0)


@pytest.mark.parametrize("colluding", [-1, 2, 3])
def test_at_least_two_owners_do_not_collude(tmp_path, colluding):
    owners = Owners(tmp_path, made_up(CLASSES))
    with pytest.raises(ConfigurationError, match="may collude"):
        federated.records(owners.transport, owners.parties, colluding=colluding)
