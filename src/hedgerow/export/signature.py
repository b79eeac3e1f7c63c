"""Signatures of model files by Ed25519: who signed a file, and whether it changed since.

A signature is one more member of the file. It signs the line ``HEAD`` and, for each other member by its name, the line
"SHA-256 NAME". The package cryptography is imported when a file is signed or checked.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from hedgerow.errors import ConfigurationError, imported
from hedgerow.export.archive import Signer, read_archive
from hedgerow.files import Place, place_name, read_place
from hedgerow.texts import short_repr

HEAD = "hedgerow model 1"
LARGEST_KEY = 1 << 14  # bytes
MADE_BY = "Make one by openssl genpkey -algorithm ed25519 -out key.pem, and its public half by openssl pkey -in key.pem -pubout."

State = Literal["valid", "unsigned", "altered", "another key", "unchecked"]
WORDS: dict[State, str] = {
    "valid": "signed by the key {}, and unchanged since",
    "unsigned": "not signed",
    "altered": "NOT as it was signed by the key {}: the file was altered",
    "another key": "signed by ANOTHER key, {}, than the one that was passed",
    "unchecked": "signed by the key {}; not checked, since the package cryptography is not installed",
}


@dataclass(frozen=True)
class Signature:
    """What the signature of a model file says.

    Parameters
    ----------
    state : {"valid", "unsigned", "altered", "another key", "unchecked"}
        Whether the file is as it was signed.
    key : str or None
        The fingerprint of the public key in the file: "SHA256:" and 64 hexadecimal digits.
    expected : bool
        Whether a public key was passed. Without one, "valid" says only that the file is unchanged since the holder of ``key``
        signed it: whoever altered it could have signed it again by a key of their own.

    Examples
    --------
    >>> Signature("valid", key="SHA256:" + 64 * "0").refuted
    False
    """

    state: State
    key: str | None = None
    expected: bool = False

    @property
    def refuted(self) -> bool:
        """Whether the file is not what the holder of the expected key signed, or was altered."""
        return self.state in ("altered", "another key") or (self.expected and self.state != "valid")

    __repr__ = short_repr

    def __str__(self) -> str:
        text = WORDS[self.state].format(self.key)
        if self.state == "valid":
            text += ", the key that was passed" if self.expected else " (compare the key, or pass the one you trust)"
        return text


def signer(key: Place) -> Signer:
    private = _loaded(key, "private")

    def sign(hashes: Mapping[str, str]) -> bytes:
        values = {"key": private.public_key().public_bytes_raw(), "signature": private.sign(_message(hashes))}
        return json.dumps({name: base64.b64encode(value).decode() for name, value in values.items()}).encode()

    return sign


def signature_of(path: Place, key: Place | None = None, *, max_bytes: int | None = None) -> Signature:
    """Check the signature of a model file, without loading the model.

    Parameters
    ----------
    path : path or binary file object
        The file that ``save`` wrote.
    key : path or binary file object, optional
        The public key of whoever should have signed it, a PEM file.
    max_bytes : int or None
        As for ``hedgerow.load``.

    Returns
    -------
    Signature

    Raises
    ------
    FileFormatError
        If the file is no model file.
    ConfigurationError
        If the key is no public key of Ed25519.
    MissingExtraError
        If a key is passed and the package cryptography is not installed.

    Examples
    --------
    >>> import io
    >>> import hedgerow as hr
    >>> schema = hr.Schema({"age": hr.Numeric(0, 120)}, classes=["ill", "well"])
    >>> file = io.BytesIO()
    >>> hr.EDPRFClassifier(schema=schema).fit([[50], [60]], ["ill", "well"]).save(file)
    >>> print(hr.signature_of(io.BytesIO(file.getvalue())).state)
    unsigned
    """
    expected = None if key is None else _loaded(key, "public").public_bytes_raw()
    _, members = read_archive(path, max_bytes)
    content, is_expected = members.signature(), key is not None
    if content is None:
        return Signature("unsigned", expected=is_expected)
    try:
        values = json.loads(content)
        public, signed = (base64.b64decode(values[name], validate=True) for name in ("key", "signature"))
    except (KeyError, TypeError, ValueError, RecursionError):
        return Signature("altered", "of no form", is_expected)
    name = f"SHA256:{hashlib.sha256(public).hexdigest()}"
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    except ImportError:
        return Signature("unchecked", name, is_expected)
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signed, _message(members.hashes()))
    except (InvalidSignature, ValueError):
        return Signature("altered", name, is_expected)
    return Signature("valid" if expected in (None, public) else "another key", name, is_expected)


def _message(hashes: Mapping[str, str]) -> bytes:
    return "\n".join([HEAD, *(f"{digest} {name}" for name, digest in sorted(hashes.items()))]).encode()


def _loaded(place: Place, half: Literal["private", "public"]) -> Any:
    imported("cryptography", "a signature needs the package cryptography", "sign")
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ed25519

    content = read_place(place, LARGEST_KEY, "no key needs as many")
    kind = ed25519.Ed25519PrivateKey if half == "private" else ed25519.Ed25519PublicKey
    try:
        load = serialization.load_pem_public_key
        key = serialization.load_pem_private_key(content, None) if half == "private" else load(content)
    except (TypeError, ValueError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, kind):
        raise ConfigurationError(
            f"{place_name(place)} is no {half} key of Ed25519 in a PEM file without a password. {MADE_BY}"
        )
    return key
