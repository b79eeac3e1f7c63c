"""``hedgerow federate``: owners in processes of their own, one of which is killed, and Flower with TLS between them."""

import datetime
import ipaddress
import json
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import pandas as pd
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "engines"))
from owners import CLASSES, OUTCOME, made_up

import hedgerow as hr
from hedgerow.cli import owners as commands
from hedgerow.cli.relay import Sockets
from hedgerow.engines.federated import Identity

pytest.importorskip("cryptography")

SIZES = (900, 700, 800)
NAMES = ("south", "north", "west")
FITS = {
    "classifier": ("HedgerowClassifier", CLASSES, {"delta": 1e-6}, None),
    "regressor": ("HedgerowRegressor", OUTCOME, {"delta": 1e-6}, None),
    "eDPRF": ("EDPRFClassifier", CLASSES, {"n_estimators": 3}, None),
    "persons": ("EDPRFClassifier", CLASSES, {"n_estimators": 3}, "person"),
}


class Federation:
    """Three owners in folders, each of which has a ledger, and a process once it is started."""

    def __init__(self, place, system, schema, given, group, sizes=SIZES):
        self.place, self.group, self.processes = place, group, {}
        self.frames = made_up(schema, sizes)
        entry = {"target": "y"} | ({"person": group} if group else {})
        schema = hr.Schema(schema.features, classes=schema.classes or None, outcome=schema.outcome, **entry)
        schema.save(place / "schema.toml")
        lines = []
        for name, frame in zip(NAMES, self.frames, strict=False):
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
        lines += [f'group = "{group}"'] * bool(group) + ["random_state = 0", "timeout = 250"]
        (place / "federation.toml").write_text("\n".join(lines))
        X, y = (frame := pd.concat(self.frames)).drop(columns=["y", "person"]), frame["y"]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # few records
            estimator = getattr(hr, system)(schema=schema, epsilon=3.0, random_state=0, **given)
            self.pooled = estimator.fit(X, y, frame["person"] if group else None)

    def start(self, name):
        arguments = [f"{name}.csv", "--name", name, "--folder", name, "--federation", "federation.toml", "--schema"]
        arguments += ["schema.toml", "--ledger", f"{name}/ledger.db", "--dataset", "survey", "--seeded"]
        if self.group:
            arguments += ["--group", self.group]
        command = [sys.executable, "-m", "hedgerow", "federate", "owner", *arguments]
        self.processes[name] = subprocess.Popen(command, cwd=self.place, stderr=subprocess.PIPE, text=True)
        assert "answers at" in self.processes[name].stderr.readline()

    def check(self):
        found = hr.load(self.place / "model.hedgerow").model_.to_arrays()
        wanted = self.pooled.model_.to_arrays()
        assert {name: array.tobytes() for name, array in found.items()} == {
            name: array.tobytes() for name, array in wanted.items()
        }
        for name in NAMES[: len(self.frames)]:
            ledger = hr.LedgerStore(self.place / name / "ledger.db").ledger("survey")
            assert [float(entry.epsilon) for entry in ledger.entries] == [3.0]

    def stop(self):
        for process in self.processes.values():
            process.terminate()
            process.communicate(timeout=60)


@pytest.fixture
def federation(request, tmp_path):
    made = Federation(tmp_path, *FITS[request.param])
    try:
        for name in NAMES:
            made.start(name)
        yield made
    finally:
        made.stop()


@pytest.mark.full
@pytest.mark.parametrize("federation", FITS, indirect=True)
def test_owners_in_three_processes_fit_the_pooled_model(federation):
    command = [sys.executable, "-m", "hedgerow", "federate", "fit", "federation.toml", "--owners", "."]
    done = subprocess.run(command, cwd=federation.place, capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stderr
    assert "a coordinator that follows the protocol" in done.stdout
    assert " queries, " in done.stdout
    federation.check()


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


@pytest.mark.slow  # Flower starts a process for each message; on a busy machine these take too long for its tokens
@pytest.mark.timeout(900)
def test_flower_carries_a_fit_over_tls(tmp_path):
    pytest.importorskip("flwr")
    made = Federation(tmp_path, *FITS["eDPRF"], sizes=SIZES[:2])
    certificates(tmp_path)
    environment = {**os.environ, "FLWR_HOME": str(tmp_path / "flower"), "FLWR_TELEMETRY_ENABLED": "0"}
    bin_of = Path(sys.executable).parent
    environment["PATH"] = f"{bin_of}{os.pathsep}{environment['PATH']}"
    started = []

    def start(*command):
        with open(tmp_path / f"log {len(started)}", "wb") as log:
            started.append(subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=log, stderr=log))

    (tmp_path / "flower").mkdir()
    address = "127.0.0.1:39091"
    (tmp_path / "flower" / "config.toml").write_text(
        f'[superlink]\ndefault = "local"\n[superlink.local]\naddress = "{address}"\nroot-certificates = "{tmp_path}/ca.pem"\n'
    )
    subprocess.run(
        ["hedgerow", "federate", "app", "app"], cwd=tmp_path, env=environment, check=True, capture_output=True
    )
    try:
        tls = ["--ssl-certfile", "server.pem", "--ssl-keyfile", "server.key", "--ssl-ca-certfile", "ca.pem"]
        port = ["--host", "127.0.0.1", "--port", "39091"]
        start("flower-superlink", *tls, *port, "--disable-runtime-dependency-installation")
        time.sleep(10)
        for number, name in enumerate(NAMES[:2]):
            made.start(name)
            node = f'name="{name}" socket="{tmp_path}/{name}/{commands.SOCKET}"'
            port = ["--host", "127.0.0.1", "--port", str(39101 + number)]
            start(
                "flower-supernode",
                "--root-certificates",
                "ca.pem",
                "--superlink",
                address,
                *port,
                "--node-config",
                node,
            )
        run = ["flwr", "run", "app", "local", "--run-config", f'federation="{tmp_path}/federation.toml"']
        subprocess.run(run, cwd=tmp_path, env=environment, check=True, capture_output=True, timeout=120)
        deadline = time.monotonic() + 700
        while not (tmp_path / "model.hedgerow").exists():
            assert time.monotonic() < deadline, (tmp_path / "log 0").read_text()[-2000:]
            time.sleep(1)
        made.check()
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            process.wait(60)
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


def test_an_app_has_the_files_that_flower_reads(tmp_path):
    commands.app.callback(tmp_path / "app")
    assert {path.name for path in (tmp_path / "app").iterdir()} == {"pyproject.toml", "coordinator.py", "owner.py"}
