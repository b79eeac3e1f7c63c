"""Text in a compressed file beside its hash, as `sha256sum --check` reads it."""

from __future__ import annotations

import hashlib
import lzma
from pathlib import Path

HASHES = "SHA256SUMS"


def write_packed(target: Path, text: str) -> None:
    """Write a text, compressed, and its hash beside it."""
    from hedgerow.files import atomic_file  # not before `prepare` says where hedgerow is

    content = lzma.compress(text.encode("utf-8"), preset=9)
    hashes = _hashes(target.parent) | {target.name: hashlib.sha256(content).hexdigest()}
    lines = "".join(f"{digest}  {name}\n" for name, digest in sorted(hashes.items()))
    for file, written in ((target, content), (target.parent / HASHES, lines.encode("utf-8"))):
        with atomic_file(file) as part:
            part.write_bytes(written)


def read_packed(source: Path) -> str:
    """Return the text of a packed file, or raise ValueError if it is not the one whose hash stands beside it."""
    content = source.read_bytes()
    if _hashes(source.parent).get(source.name) != hashlib.sha256(content).hexdigest():
        raise ValueError(
            f"{source} is not the file whose hash stands in {HASHES} beside it. Get both again, or move them away."
        )
    return lzma.decompress(content).decode("utf-8")


def _hashes(folder: Path) -> dict[str, str]:
    path = folder / HASHES
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {name: digest for digest, name in (line.split("  ", 1) for line in lines)}
