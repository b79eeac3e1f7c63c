"""An owner whose process is killed: the fit has the bits of the pooled fit and one charge, or ends with an error."""

import signal

import pytest
from owner_process import MOMENTS, WithOneProcess
from owners import CLASSES, OUTCOME, Owners, made_up

import hedgerow as hr
from hedgerow import federated
from hedgerow.engines.federated import coordinator
from hedgerow.errors import ConfigurationError, EngineError
from hedgerow.mechanisms import Randomness

pytest.importorskip("cryptography")
pytestmark = pytest.mark.filterwarnings("ignore:the noisy number of records:UserWarning")

FEW = (90, 70, 80)  # records of each owner, of which fits have few queries
FITS = {
    "classifier": (hr.HedgerowClassifier, CLASSES, {}),
    "classifier with a delta": (hr.HedgerowClassifier, CLASSES, {"delta": 1e-6}),
    "regressor": (hr.HedgerowRegressor, OUTCOME, {"delta": 1e-6}),
    "eDPRF": (hr.EDPRFClassifier, CLASSES, {"n_estimators": 3}),
    "noise of owners": (hr.HedgerowClassifier, CLASSES, {"delta": 1e-6, "noise_shares": 2}),
}


class Counting(Randomness):
    """Counts draws."""

    draws = 0

    def draw(self, mechanism, *statistics):
        type(self).draws += 1
        return super().draw(mechanism, *statistics)


@pytest.fixture(autouse=True)
def quick_retries(monkeypatch):
    monkeypatch.setattr(coordinator, "PAUSE", 0.0)
    monkeypatch.setattr("hedgerow.estimator.base.Randomness", Counting)


def fit(place, name, killed):
    """Return a model's arrays, how many draws and queries it took, and the transport; ``killed`` says when an owner is killed."""
    kind, schema, given = FITS[name]
    owners = Owners(place, made_up(schema, FEW), colluding=1 if "noise_shares" in given else None)
    transport = None if killed is None else WithOneProcess(owners, **killed)
    Counting.draws = 0
    try:
        records = owners.records(transport, timeout=900)
        model = kind(schema=schema, epsilon=3.0, random_state=0, **given).fit(records)
    finally:
        if transport is not None:
            transport.close()
    arrays = {key: array.tobytes() for key, array in model.model_.to_arrays().items()}
    return arrays, Counting.draws, records.source.traffic.queries, transport


def check_killed(place, name, kills, **killed):
    given = FITS[name][2]
    arrays, draws, queries, _ = fit(place / "whole", name, None)
    found, drawn, asked, transport = fit(place / "killed", name, killed)
    assert transport.kills == kills(asked)
    assert [float(entry.epsilon) for entry in transport.ledger.entries] == [3.0]
    if (
        "noise_shares" not in given
    ):  # owners' shares are not seeded, and what is released decides on the number of queries
        assert (found, drawn, asked) == (arrays, draws, queries)


QUICK = (MOMENTS[1], MOMENTS[3])


def test_an_owner_that_is_killed_at_every_query_comes_back_to_the_same_bits(tmp_path):
    check_killed(tmp_path, "classifier", lambda queries: 2 * queries, steps=range(1, 1000), moments=QUICK)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", FITS)
def test_an_owner_that_is_killed_at_every_message_comes_back_to_the_same_bits(tmp_path, name):
    # At "propose" and "begin" nothing is appended to the log; "end" has no reply that is waited for
    check_killed(
        tmp_path, name, lambda queries: 4 * queries + 4, steps=("propose", "begin", *range(1, 1000)), moments=MOMENTS
    )


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("name", ["classifier", "noise of owners"])
def test_an_owner_that_is_killed_at_every_line_of_a_query_comes_back_to_the_same_bits(tmp_path, name, step):
    kills = []
    check_killed(tmp_path, name, lambda queries: kills.append(queries) or Any(), lines=step)


class Any:
    """As many kills as the query has lines."""

    def __eq__(self, kills):
        return kills > 40


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_an_owner_that_is_killed_at_a_line_of_the_beginning_is_charged_once(tmp_path):
    """A fit ends, or has one charge: ``begin`` is the only message that a repetition could charge again."""
    kind, schema, given = FITS["classifier"]
    owners = Owners(tmp_path, made_up(schema, FEW))
    transport, ends, model = WithOneProcess(owners, lines="begin"), [], None
    try:
        while model is None:
            before = len(transport.ledger.entries)
            try:
                model = kind(schema=schema, epsilon=3.0, random_state=0, **given).fit(
                    owners.records(transport, timeout=900)
                )
            except EngineError as error:
                ends.append(str(error))
            assert len(transport.ledger.entries) <= before + 1
    finally:
        transport.close()
    assert len(ends) > 3
    assert all("it ended while it charged its ledger" in end for end in ends)


def test_two_processes_of_one_owner_are_kept_apart(tmp_path):
    owners = Owners(tmp_path, made_up(CLASSES, FEW))
    transport = WithOneProcess(owners)
    records = hr.Records.from_batches(lambda: [owners.frames[1].drop(columns="person")], label="y")
    given = (records, "north", tmp_path / "north", owners.parties, hr.Ledger(9))
    with pytest.raises(ConfigurationError, match=r"another owner answers from .* stop that one first"):
        federated.Owner(*given)
    transport.process.kill()
    transport.process.join()
    assert transport.process.exitcode == -signal.SIGKILL
    one = federated.Owner(*given)  # the lock ended with the process
    with pytest.raises(ConfigurationError, match="another owner answers"):
        federated.Owner(*given)
    one.stop()
    federated.Owner(*given)
