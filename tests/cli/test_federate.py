"""``hedgerow federate``: owners in processes of their own, one of which is killed, and Flower with TLS between them."""

import datetime
import ipaddress
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import click
import numpy as np
import pandas as pd
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "engines"))
from owners import CLASSES, OUTCOME, Owners, made_up

import hedgerow as hr
from hedgerow.cli import owners as commands
from hedgerow.cli.relay import Resident, Sockets, ask
from hedgerow.engines.federated import Identity, masks

pytest.importorskip("cryptography")

SIZES = (900, 700, 800)
NAMES = ("south", "north", "west")
FITS = {
    "classifier": ("HedgerowClassifier", CLASSES, {"delta": 1e-6}, None),
    "regressor": ("HedgerowRegressor", OUTCOME, {"delta": 1e-6}, None),
    "persons": ("EDPRFClassifier", CLASSES, {"n_estimators": 3}, "person"),
}
FEW = (90, 70, 80)  # records of each owner, of which fits have few queries
FITS_BY_FLOWER = {
    "classifier": ("HedgerowClassifier", CLASSES, {}, None),
    "regressor": ("HedgerowRegressor", OUTCOME, {}, None),
    "eDPRF": ("EDPRFClassifier", CLASSES, {"n_estimators": 3}, None),
    "persons": ("EDPRFClassifier", CLASSES, {"n_estimators": 3}, "person"),
    "noise of owners": ("HedgerowClassifier", CLASSES, {"delta": 1e-6, "noise_shares": 2}, None),
}


class Federation:
    """Three owners in folders, each of which has a ledger, and a process once it is started."""

    def __init__(self, place, system, schema, given, group, sizes=SIZES):
        self.place, self.group, self.processes = place, group, {}
        self.by_owners = "noise_shares" in given
        self.frames = made_up(schema, sizes)
        entry = {"target": "y"} | ({"person": group} if group else {})
        schema = hr.Schema(schema.features, classes=schema.classes or None, outcome=schema.outcome, **entry)
        schema.save(place / "schema.toml")
        lines = []
        for name, frame in zip(NAMES, self.frames, strict=True):
            frame.drop(columns=[] if group else ["person"]).to_csv(place / f"{name}.csv", index=False)
            rows = f"rows = {len(frame)}"
            lines += ["[[owner]]", f'name = "{name}"', f'key = "{Identity(place / name).public}"', rows]
            hr.LedgerStore(place / name / "ledger.db").create("survey", epsilon=9, delta=1e-4, person=group)
        lines += [
            "[fit]",
            f'system = "{system}"',
            'schema = "schema.toml"',
            'model = "model.hedgerow"',
            "epsilon = 3.0",
        ]
        lines += [f"{key} = {json.dumps(value)}" for key, value in given.items()]
        lines += [f'group = "{group}"'] * bool(group) + ["random_state = 0", "timeout = 900"]
        lines += ["colluding = 1"] * self.by_owners
        (place / "federation.toml").write_text("\n".join(lines))
        X, y = (frame := pd.concat(self.frames)).drop(columns=["y", "person"]), frame["y"]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # few records
            estimator = getattr(hr, system)(schema=schema, epsilon=3.0, random_state=0, **given)
            self.pooled = estimator.fit(X, y, frame["person"] if group else None)

    def start(self, name):
        arguments = [f"{name}.csv", "--name", name, "--folder", name, "--federation", "federation.toml", "--schema"]
        arguments += ["schema.toml", "--ledger", f"{name}/ledger.db", "--dataset", "survey", "--seeded"]
        if self.by_owners:
            arguments += ["--colluding", "1"]
        if self.group:
            arguments += ["--group", self.group]
        command = [sys.executable, "-m", "hedgerow", "federate", "owner", *arguments]
        self.processes[name] = subprocess.Popen(command, cwd=self.place, stderr=subprocess.PIPE, text=True)
        assert "answers at" in self.processes[name].stderr.readline()

    def check(self):
        model = hr.load(self.place / "model.hedgerow")
        found, wanted = model.model_.to_arrays(), self.pooled.model_.to_arrays()
        if self.by_owners:  # whose noise no seed gives
            assert "at least 2 of 3 owners" in str(model.certificate_)
            assert found.keys() == wanted.keys()
        else:
            assert {name: array.tobytes() for name, array in found.items()} == {
                name: array.tobytes() for name, array in wanted.items()
            }
        for name in NAMES:
            ledger = hr.LedgerStore(self.place / name / "ledger.db").ledger("survey")
            assert [float(entry.epsilon) for entry in ledger.entries] == [3.0]

    def stop(self):
        for process in self.processes.values():
            process.terminate()
            process.communicate(timeout=60)


@pytest.fixture
def federation(request, tmp_path):
    made = Federation(tmp_path, *(FITS_BY_FLOWER | FITS)[request.param])
    try:
        for name in NAMES:
            made.start(name)
        yield made
    finally:
        made.stop()


# Without persons: the classifier below, whose owner is killed, and every system in tests/engines/test_federated.py.
@pytest.mark.full
@pytest.mark.parametrize("federation", ["regressor", "persons"], indirect=True)
def test_owners_in_three_processes_fit_the_pooled_model(federation):
    command = [sys.executable, "-m", "hedgerow", "federate", "fit", "federation.toml", "--owners", "."]
    done = subprocess.run(command, cwd=federation.place, capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stderr
    assert "a coordinator that follows the protocol" in done.stdout
    assert " queries, " in done.stdout
    federation.check()


COORDINATOR = """
import sys
from pathlib import Path

from hedgerow.cli import owners as commands
from hedgerow.cli.relay import Sockets
from hedgerow.engines.federated.messages import unpacked

class Keeping(Sockets):
    kept = []

    def send(self, messages, timeout):
        replies = super().send(messages, timeout)
        self.kept.append((replies, {name: unpacked(reply) for name, reply in replies.items()}))
        return replies

commands.fit_over(Keeping({name: Path(name) / commands.SOCKET for name in sys.argv[1:]}), Path("federation.toml"))
vectors = [reply["vector"] for _, replies in Keeping.kept for reply in replies.values() if "vector" in reply]
print("kept", len(vectors), vectors[0][:8].tobytes().hex(), flush=True)
sys.stdin.readline()
"""


def memory_of(pid):
    """Return what a process holds in memory that it may write, piece by piece."""
    pieces = []
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in maps:
            where, access, *_ = line.split()
            first, last = (int(place, 16) for place in where.split("-"))
            if access.startswith("rw") and "[v" not in line:
                memory.seek(first)
                pieces.append(memory.read(last - first))
    return pieces


def sums_of_owners(frames, **given):
    """Return the exact sums of each owner and query, by a fit without masks."""
    exact = {}

    def plain(self, answer, number, digest):
        exact[self._name, number] = answer.reshape(-1).astype(np.int64)
        return exact[self._name, number].view(np.uint64)

    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder:
        patch.setattr(masks.Masks, "masked", plain)
        owners = Owners(Path(folder), frames)
        hr.EDPRFClassifier(schema=CLASSES, epsilon=3.0, random_state=0, **given).fit(owners.records())
    return exact


@pytest.mark.full
@pytest.mark.skipif(sys.platform != "linux", reason="reads the memory of another process")
@pytest.mark.parametrize("federation", ["eDPRF"], indirect=True)
def test_the_memory_of_the_coordinator_holds_no_cell_and_no_sum_of_an_owner(federation):
    command = [sys.executable, "-c", COORDINATOR, *NAMES]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=federation.place, **pipes) as coordinator:
        try:
            kept, vectors, word = next(line for line in coordinator.stdout if line.startswith("kept")).split()
            pieces = memory_of(coordinator.pid)
        finally:
            coordinator.kill()
    exact = sums_of_owners(federation.frames, n_estimators=3)
    assert kept
    assert int(vectors) == len(exact) > 9  # the queries are those of the fit without masks
    sums = [vector.tobytes() for vector in exact.values() if np.count_nonzero(vector) > 8]
    assert len(sums) > 6
    ages = np.concatenate([frame["age"].to_numpy()[:5] for frame in federation.frames])
    cells = [cell for age in ages for cell in (age.tobytes(), repr(float(age)).encode())]
    assert any(bytes.fromhex(word) in piece for piece in pieces)  # what it keeps is found
    assert not any(secret in piece for piece in pieces for secret in (*sums, *cells))


@pytest.mark.full
@pytest.mark.parametrize("federation", ["classifier"], indirect=True)
def test_an_owner_that_is_killed_comes_back_to_the_same_bits(federation, monkeypatch):
    sockets = Sockets({name: federation.place / name / commands.SOCKET for name in NAMES})
    sent = threading.Event()

    class Killing:
        calls = 0

        def send(self, messages, timeout):
            self.calls += 1
            if self.calls == 7:  # some queries after the fit began
                federation.processes["north"].send_signal(signal.SIGKILL)
                federation.processes["north"].communicate()
                sent.set()
                threading.Thread(target=federation.start, args=("north",)).start()
            return sockets.send(messages, timeout)

    commands.fit_over(Killing(), federation.place / "federation.toml")
    assert sent.is_set()
    federation.check()


class Flower:
    """A SuperLink with TLS on loopback, a SuperNode for each owner of the federation ``current``, and the coordinator's app."""

    def __init__(self, place):
        self.place, self.started = place, []
        home, (link, *ports) = place / "flower", free_ports(1 + len(NAMES))
        self.environment = {**os.environ, "FLWR_HOME": str(home), "FLWR_TELEMETRY_ENABLED": "0"}
        programs = [str(place / "bin"), str(Path(sys.executable).parent), self.environment["PATH"]]
        self.environment["PATH"] = os.pathsep.join(programs)
        certificates(place)
        home.mkdir()
        os.mkfifo(place / "pipe")
        (place / "bin").mkdir()
        client = place / "bin" / "flwr-clientapp"
        client.write_text(f'#!/bin/sh\necho "$*" > {place}/pipe\n')
        client.chmod(0o755)
        (home / "config.toml").write_text(
            f'[superlink]\ndefault = "local"\n[superlink.local]\naddress = "127.0.0.1:{link}"\n'
            f'root-certificates = "{place}/ca.pem"\n'
        )
        self.run("hedgerow", "federate", "app", "app")
        tls = ["--ssl-certfile", "server.pem", "--ssl-keyfile", "server.key", "--ssl-ca-certfile", "ca.pem"]
        self.start("flower-superlink", *tls, *address(link), "--disable-runtime-dependency-installation")
        self.start(sys.executable, str(Path(__file__).with_name("warm_clients.py")), str(place / "pipe"))
        wait_for(lambda: "Uvicorn running on https" in self.log(0) and "ready" in self.log(1), 240)
        for name, port in zip(NAMES, ports, strict=True):
            node = f'name="{name}" socket="{place}/current/{name}/{commands.SOCKET}"'
            known = ["--root-certificates", "ca.pem", "--superlink", f"127.0.0.1:{link}"]
            self.start("flower-supernode", *known, *address(port), "--node-config", node)

    def start(self, *command):
        with open(self.place / f"log {len(self.started)}", "wb") as log:
            self.started.append(subprocess.Popen(command, cwd=self.place, env=self.environment, stdout=log, stderr=log))

    def run(self, *command):
        done = subprocess.run(
            command, cwd=self.place, env=self.environment, capture_output=True, text=True, timeout=500
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def log(self, number):
        return (self.place / f"log {number}").read_text()

    def close(self):
        for process in reversed(self.started):
            process.terminate()
        for process in self.started:
            process.wait(60)


def address(port):
    return ["--host", "127.0.0.1", "--port", str(port)]


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def wait_for(ready, seconds):
    deadline = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < deadline
        time.sleep(0.5)


@pytest.fixture(scope="module")
def flower(tmp_path_factory):
    pytest.importorskip("flwr")
    made = Flower(tmp_path_factory.mktemp("flower"))
    try:
        yield made
    finally:
        made.close()


@pytest.mark.slow  # Flower starts a process for each message
@pytest.mark.timeout(2400)
@pytest.mark.parametrize("name", FITS_BY_FLOWER)
def test_flower_carries_a_fit_of_three_owners_over_tls(flower, name, tmp_path):
    made = Federation(tmp_path, *FITS_BY_FLOWER[name], sizes=FEW)
    current = flower.place / "current"
    current.unlink(missing_ok=True)
    current.symlink_to(tmp_path)
    try:
        for owner in NAMES:
            made.start(owner)
        flower.run("flwr", "run", "app", "local", "--run-config", f'federation="{tmp_path}/federation.toml"')
        wait_for((tmp_path / "model.hedgerow").exists, 2300)
        made.check()
    finally:
        made.stop()


def certificates(place):
    """Write the certificate of an authority, and one of loopback that it signed."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    def name(text):
        return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])

    def signed(subject, key, extensions):
        now = datetime.datetime.now(datetime.UTC)
        made = x509.CertificateBuilder(name("authority"), name(subject), key.public_key(), x509.random_serial_number())
        made = made.not_valid_before(now - datetime.timedelta(days=1)).not_valid_after(now + datetime.timedelta(days=1))
        made = made.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        own = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.public_key())
        made = made.add_extension(own, critical=False)
        for extension in extensions:
            made = made.add_extension(extension, critical=False)
        return made.sign(authority, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    authority, server = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    usage = x509.KeyUsage(True, False, False, False, False, True, True, False, False)
    (place / "ca.pem").write_bytes(signed("authority", authority, [x509.BasicConstraints(True, None), usage]))
    address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    (place / "server.pem").write_bytes(signed("loopback", server, [x509.BasicConstraints(False, None), address]))
    (place / "server.key").write_bytes(
        server.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )


def test_a_file_that_names_no_owners_is_refused(tmp_path):
    (tmp_path / "federation.toml").write_text("[[owner]]\nname = 'north'\n")
    with pytest.raises(hr.ConfigurationError, match="does not name the owners"):
        commands.read_federation(tmp_path / "federation.toml")


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"system": "HedgerowClasifier"}, "name an estimator, such as HedgerowClassifier"),
        ({"system": "Schema"}, "name an estimator"),
        ({"epsilonn": 1.0}, r"correct the parameters of EDPRFClassifier in .* argument .epsilonn."),
        ({"timeout": -1}, "positive number of seconds"),
    ],
)
def test_a_fit_that_is_described_wrongly_is_refused_before_owners_know_of_it(tmp_path, given, text):
    made = Federation(tmp_path, *FITS_BY_FLOWER["eDPRF"], sizes=FEW)
    path = tmp_path / "federation.toml"
    lines = [line for line in path.read_text().splitlines() if line.split(" = ")[0] not in given]
    path.write_text("\n".join([*lines, *(f"{name} = {json.dumps(value)}" for name, value in given.items())]))
    with pytest.raises(hr.ConfigurationError, match=text):
        commands.fit_over(None, path)
    assert not made.processes


class Silent:
    """Answers for no owner of the given names, and then for all."""

    def __init__(self, *silent):
        self.silent = list(silent)

    def send(self, messages, timeout):
        silent = self.silent.pop(0) if self.silent else ()
        return {name: b"" for name in messages if name not in silent}


def test_an_owner_that_is_stopped_does_not_show_the_password_of_its_ledger(tmp_path, monkeypatch, capsys):
    frames, given = made_up(CLASSES, (30, 30)), "postgresql+psycopg://owner:hunter2@host/budgets"
    CLASSES.replace(target="y").save(tmp_path / "schema.toml")
    frames[0].drop(columns="person").to_csv(tmp_path / "south.csv", index=False)
    lines = [f"[[owner]]\nname = {name!r}\nkey = {Identity(tmp_path / name).public!r}\nrows = 30" for name in NAMES[:2]]
    (tmp_path / "federation.toml").write_text("\n".join(lines))
    store = hr.LedgerStore(tmp_path / "ledger.db")
    store.create("survey", epsilon=9)
    monkeypatch.setattr(commands, "store_of", lambda address: store if address == given else None)
    monkeypatch.setattr(Resident, "serve", lambda self: signal.raise_signal(signal.SIGINT))
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        paths = (
            tmp_path / "south.csv",
            "south",
            tmp_path / "south",
            tmp_path / "federation.toml",
            tmp_path / "schema.toml",
        )
        commands.owner.callback(*paths, None, None, None, False, given, "survey")
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    said = capsys.readouterr().err
    assert f"hedgerow budget show --ledger {tmp_path / 'ledger.db'} --dataset survey" in said
    assert "hunter2" not in said


def test_a_fit_prints_for_whom_it_waits_and_what_it_sent(capsys):
    printed = commands.PrintedProgress(Silent(["north"], ["north"], [], ["south"]))
    for timeout in (300.0, 299.0, 298.0, commands.PAUSE):  # the last waits for nobody
        printed.send({"north": b"", "south": b""}, timeout)
    printed.sent(1, 2000, 3000)
    printed.sent(2, 4000, 6000)  # soon after the line before
    assert capsys.readouterr().out.splitlines() == [
        "waiting for north, for up to 300 seconds",
        "query 1: 2,000 bytes to owners and 3,000 from them so far",
    ]


def test_flower_shows_an_error_as_a_sentence():
    try:
        raise hr.EngineError("north refuses.") from None
    except hr.EngineError as error:
        record = logging.LogRecord(
            "flwr", logging.ERROR, "f", 1, "%s raised", ("ServerApp",), (hr.EngineError, error, None)
        )
    assert commands.without_frames(record)
    assert logging.Formatter().format(record) == "north refuses."


def test_a_message_that_cannot_be_answered_leaves_the_owner_at_work(tmp_path, caplog):
    errors = [OSError(28, "No space left on device")]

    class Full:
        def handle(self, message):
            if errors:
                raise errors.pop()
            return b"answer"

    resident = Resident(Full(), tmp_path / "s")
    serving = threading.Thread(target=resident.serve)
    serving.start()
    try:
        with pytest.raises(hr.EngineError, match="does not answer"):
            ask(tmp_path / "s", b"query")
        assert ask(tmp_path / "s", b"query") == b"answer"
    finally:
        resident.close()
        serving.join()
    assert "a message was not answered, and may come again: No space left on device." in caplog.text


def test_an_app_has_the_files_that_flower_reads(tmp_path):
    commands.app.callback(tmp_path / "app")
    assert {path.name for path in (tmp_path / "app").iterdir()} == {"pyproject.toml", "coordinator.py", "owner.py"}
    commands.app.callback(tmp_path / "app")  # the same files may be written again
    (tmp_path / "app" / "owner.py").write_text("another program")
    with pytest.raises(click.UsageError, match=r"has another owner\.py already"):
        commands.app.callback(tmp_path / "app")
    assert (tmp_path / "app" / "owner.py").read_text() == "another program"
