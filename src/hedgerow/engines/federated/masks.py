"""Masks of owners: vectors of integers modulo 2**64 that cancel out in the sum over all owners, and in no smaller sum.

Each pair of owners has a key by X25519 of their identity keys, which they gave each other. The mask of a query is a ChaCha20
stream under a key derived from that one, the opening of the fit, the query's number and the digest of its content. So a repeated
query has the same mask, and two contents never share one (docs/proofs/federated.md).
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.errors import ConfigurationError, imported

Vector = npt.NDArray[np.uint64]

KEY_BYTES = 32
PUBLIC_CHARACTERS = 44  # of a public key in base 64
NAME = "identity.key"  # the file of an owner's key


def _cryptography(module: str) -> Any:
    return imported(f"cryptography.hazmat.primitives.{module}", "owners need the package cryptography", "federated")


def is_key(text: str) -> bool:
    """Return whether a text can be a public key, as ``Identity.public`` writes it."""
    try:
        return base64.b64encode(base64.b64decode(text)).decode() == text and len(text) == PUBLIC_CHARACTERS
    except ValueError:
        return False


class Identity:
    """The key of an owner, from which it derives a common key with each other owner.

    Parameters
    ----------
    folder : path
        The owner's folder, which only its user may enter. If it has no key, one is made there.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> len(Identity(mkdtemp()).public)  # 32 bytes in base 64
    44
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        place = Path(folder)
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = place / NAME
        if not path.exists():
            part = path.with_suffix(f".{os.getpid()}.part")
            with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(os.urandom(KEY_BYTES))
                os.fsync(file.fileno())
            try:
                os.link(part, path)  # the first of two processes wins
            except FileExistsError:
                pass
            finally:
                part.unlink()
        self._secret = path.read_bytes()
        self._private = _cryptography("asymmetric.x25519").X25519PrivateKey.from_private_bytes(self._secret)
        self.public = base64.b64encode(self._private.public_key().public_bytes_raw()).decode()

    def shared(self, other: str, opening: bytes) -> bytes:
        """Return the key that this owner and another, by its public key, have in the fit of an opening."""
        try:
            theirs = _cryptography("asymmetric.x25519").X25519PublicKey.from_public_bytes(base64.b64decode(other))
            agreed = self._private.exchange(theirs)
        except ValueError:
            raise ConfigurationError(
                "an owner's public key is not valid; pass the text that this owner gave you."
            ) from None
        return self._derived(
            agreed, opening, b"hedgerow pair " + b" ".join(sorted((self.public.encode(), other.encode())))
        )

    def own(self, opening: bytes) -> bytes:
        """Return a key of this owner alone, in the fit of an opening, for its share of the noise."""
        return self._derived(self._secret, opening, b"hedgerow noise")

    def _derived(self, secret: bytes, opening: bytes, purpose: bytes) -> bytes:
        hkdf = _cryptography("kdf.hkdf").HKDF(_cryptography("hashes").SHA256(), KEY_BYTES, opening, purpose)
        key: bytes = hkdf.derive(secret)
        return key


def key_of_query(key: bytes, number: int, digest: bytes) -> bytes:
    return hashlib.blake2b(
        number.to_bytes(8, "little") + digest, key=key, digest_size=32, person=b"hedgerow query"
    ).digest()


def stream(key: bytes, size: int) -> Vector:
    ciphers = _cryptography("ciphers")
    cipher = ciphers.Cipher(ciphers.algorithms.ChaCha20(key, bytes(16)), mode=None).encryptor()
    return np.frombuffer(cipher.update(bytes(8 * size)), dtype="<u8")


class Masks:
    """What one owner adds to its answers in one fit."""

    def __init__(self, keys: Mapping[str, bytes], name: str) -> None:
        self._keys, self._name = dict(keys), name

    def masked(self, answer: npt.NDArray[np.int64], number: int, digest: bytes) -> Vector:
        total = answer.reshape(-1).astype(np.int64).view(np.uint64).copy()
        for other, key in self._keys.items():
            mask = stream(key_of_query(key, number, digest), total.size)
            total += mask if self._name < other else np.negative(mask)
        return total
