"""Signatures of model files: who signed one, and whether it is as it was signed."""

import hashlib
import io
import json
import shutil
import subprocess
import sys
import zipfile
from contextlib import suppress

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.audit import check_model
from hedgerow.errors import FileFormatError

serialization = pytest.importorskip("cryptography.hazmat.primitives.serialization")
ed25519 = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")
rsa = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.rsa")


def pem(key, password=None):
    lock = serialization.NoEncryption() if password is None else serialization.BestAvailableEncryption(password)
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, lock)


def public_pem(key):
    return key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


@pytest.fixture
def model():
    X = np.random.default_rng(0).uniform(0, 1, (500, 1))
    schema = hr.Schema({"a": hr.Numeric(0, 1)}, classes=["low", "high"])
    return hr.EDPRFClassifier(epsilon=1.0, schema=schema, n_estimators=2).fit(X, np.where(X[:, 0] > 0.5, "high", "low"))


@pytest.fixture
def keys(tmp_path):
    for name in ("owner", "other"):
        key = ed25519.Ed25519PrivateKey.generate()
        (tmp_path / f"{name}.pem").write_bytes(pem(key))
        (tmp_path / f"{name}.pub").write_bytes(public_pem(key))
    return tmp_path


def changed(path, change):
    """Write a model file again with some of its members changed."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def other_epsilon(members):
    members["model.json"] = members["model.json"].replace(b'"epsilon"', b'"Epsilon"', 1)


def other_signature(members):
    values = json.loads(members["signature.json"])
    members["signature.json"] = json.dumps({**values, "signature": values["signature"][::-1]}).encode()


@pytest.mark.parametrize(
    ("signed_by", "change", "states"),  # without a key, with the owner's, with another one
    [
        (None, None, ("unsigned", "unsigned", "unsigned")),
        ("owner", None, ("valid", "valid", "another key")),
        ("owner", other_epsilon, ("altered",) * 3),
        ("owner", lambda members: members.update({"more.npy": b"x"}), ("altered",) * 3),
        ("owner", lambda members: members.pop("roots.npy"), ("altered",) * 3),
        ("owner", other_signature, ("altered",) * 3),
        ("owner", lambda members: members.update({"signature.json": b"[]"}), ("altered",) * 3),
        ("owner", lambda members: members.update({"signature.json": b" " * 10**5}), ("altered",) * 3),
        ("owner", lambda members: members.pop("signature.json"), ("unsigned",) * 3),
    ],
)
def test_what_a_signature_says(model, keys, signed_by, change, states):
    path = keys / "m.hedgerow"
    model.save(path, sign=None if signed_by is None else keys / f"{signed_by}.pem")
    if change is not None:
        changed(path, change)
    found = [hr.signature_of(path, key) for key in (None, keys / "owner.pub", keys / "other.pub")]
    assert tuple(one.state for one in found) == states
    alone, owners, others = found
    assert alone.refuted == (states[0] == "altered")
    assert owners.refuted == (states[1] != "valid")
    assert others.refuted
    assert all((one.state == "another key") == ("ANOTHER" in str(one)) for one in found)


def test_a_name_of_two_lines_is_no_signed_member(model, keys):
    """It would sign as two members do."""
    model.save(keys / "m.hedgerow", sign=keys / "owner.pem")

    def joined(members):
        digest = hashlib.sha256(members.pop("test.npy")).hexdigest()
        members[f"roots.npy\n{digest} test.npy"] = members.pop("roots.npy")

    changed(keys / "m.hedgerow", joined)
    with pytest.raises(FileFormatError, match="another name than save gives"):
        hr.signature_of(keys / "m.hedgerow", keys / "owner.pub")


@pytest.mark.parametrize("name", ["roots.npy", "signature.json"])
def test_a_damaged_member_is_no_signed_one(model, keys, name):
    path = keys / "m.hedgerow"
    model.save(path, sign=keys / "owner.pem")
    with zipfile.ZipFile(path) as archive:
        place = archive.getinfo(name).header_offset + 30 + len(name)
    content = bytearray(path.read_bytes())
    content[place + 3 : place + 20] = bytes(17)
    path.write_bytes(content)
    with suppress(FileFormatError):  # and no error of zlib or zipfile
        assert hr.signature_of(path, keys / "owner.pub").state == "altered"


def test_a_signed_file_is_a_model_of_the_same_members(model, keys):
    model.save(keys / "plain.hedgerow")
    model.save(keys / "signed.hedgerow", sign=keys / "owner.pem")
    buffer = io.BytesIO()
    model.save(buffer, sign=keys / "owner.pem")
    assert buffer.getvalue() == (keys / "signed.hedgerow").read_bytes()  # Ed25519 draws nothing
    assert hr.signature_of(io.BytesIO(buffer.getvalue()), keys / "owner.pub").state == "valid"
    X = [[0.2], [0.8]]
    assert np.array_equal(hr.load(keys / "signed.hedgerow").predict_proba(X), model.predict_proba(X))
    assert check_model(keys / "signed.hedgerow") == []
    changed(keys / "signed.hedgerow", lambda members: members.update({"signature.json": b"{}"}))
    assert ["altered" in finding.words for finding in check_model(keys / "signed.hedgerow")] == [True]


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_keys_of_openssl(model, keys):
    private, public = keys / "made.pem", keys / "made.pub"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", private], check=True)
    subprocess.run(["openssl", "pkey", "-in", private, "-pubout", "-out", public], check=True)
    model.save(keys / "m.hedgerow", sign=private)
    assert hr.signature_of(keys / "m.hedgerow", public).state == "valid"


@pytest.mark.parametrize("content", [b"", b"no key", "public", "password", "rsa"])
def test_what_is_no_key_is_refused(model, keys, content):
    key = ed25519.Ed25519PrivateKey.generate()
    made = {
        "public": lambda: public_pem(key),
        "password": lambda: pem(key, b"secret"),
        "rsa": lambda: pem(rsa.generate_private_key(65537, 2048)),
    }
    (keys / "bad.pem").write_bytes(made[content]() if content in made else content)
    with pytest.raises(hr.ConfigurationError, match="no private key of Ed25519"):
        model.save(keys / "m.hedgerow", sign=keys / "bad.pem")
    assert not (keys / "m.hedgerow").exists()
    model.save(keys / "m.hedgerow")
    with pytest.raises(hr.ConfigurationError, match="no public key of Ed25519"):
        hr.signature_of(keys / "m.hedgerow", keys / "owner.pem")


def test_without_cryptography_nothing_is_checked(model, keys, monkeypatch):
    model.save(keys / "m.hedgerow", sign=keys / "owner.pem")
    for name in [name for name in sys.modules if name.split(".")[0] == "cryptography"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "cryptography", None)
    assert hr.signature_of(keys / "m.hedgerow").state == "unchecked"
    with pytest.raises(hr.MissingExtraError, match="pip install cryptography"):
        model.save(keys / "n.hedgerow", sign=keys / "owner.pem")
    with pytest.raises(hr.MissingExtraError, match="pip install cryptography"):
        hr.signature_of(keys / "m.hedgerow", keys / "owner.pub")
