"""Damage to model files behind a valid zip: a seed gives the same damaged file every time."""

from __future__ import annotations

import copy
import io
import json
import random
import warnings
import zipfile
from typing import Any

import numpy as np

RAW = "RAW:"  # begins a text that stands in the document as it is, without quotes
HUGE = "9" * 5000

SCALARS = [
    *(None, True, False, 0, 1, -1, 2, 3, 17, 255, 65_536, 2**31, 2**63, 2**64, -(2**63), 10**30, 10**310),
    *(0.5, -0.0, 1e-9, 1e9, 1e18, 1e19, 1e300, 1e308, -1e308, 5e-324, 1e-200, 0.1),
    *("", "x", "1", "-1", "1/3", "1/0", "0", "1e999", "1e-1000", "1e-100", "1/1267650600228229401496703205376", "nan"),
    *("inf", "1e400", f"1/{HUGE[:3000]}", HUGE, f"1/{HUGE[:900]}7", "\ud800", "é\u0000\n", "𝄞", "a" * 100_000),
    *("private", "published", "add-remove", "replace-one", "given", "inferred", "Sequence", "Unprotected", "Pure"),
    *("1/1000000007", "123456789/1000000", "Gaussian", "OneOf", "PerRecordAssignment", "Subsampled"),
    *([], {}, [[]], [{}], [0], ["a", "b"], {"a": 1}, {"event": "Sequence", "parts": []}),
    *({"event": "Pure", "epsilon": "1/7", "mechanism": "m", "purpose": "p", "level": 2},),
    *({"event": "Gaussian", "mu_squared": "1/9", "draws": 3, "purpose": "p"},),
    *({"event": "Unprotected", "reason": "why"}, {"event": "Pure", "epsilon": "1e18", "mechanism": "", "purpose": ""}),
    *(RAW + "NaN", RAW + "Infinity", RAW + "-Infinity", RAW + "1e999", RAW + HUGE, RAW + "[" * 200 + "]" * 200),
    *(RAW + '{"a": 1, "a": 2}', RAW + "01", RAW + "'x'", RAW + "[1,]", RAW + '"\\ud800"', RAW + "1e-400"),
    *({"event": "Gaussian", "mu_squared": "1e-90", "draws": 2**62, "purpose": "p", "level": 2**62},),
    *(
        {
            "event": "Subsampled",
            "part": {"event": "Pure", "epsilon": "1", "mechanism": "", "purpose": ""},
            "inclusion": "1e-99",
        },
    ),
]
DTYPES = ("<i4", "<i8", "<u4", "<u1", "|b1", "<f8", "<f4", "<i2", ">i4", ">i8", "<c16", "<U3", "|S2", "<M8[s]")
NUMBERS = (0, 1, -1, 2, 3, 7, 1000, 2**31 - 1, -(2**31), 2**40, -(2**40), 2**62, 2**63 - 1, -(2**63))
REALS = (np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, 0.5, -0.0, 1e18)


def damaged(base: bytes, seed: int) -> bytes:
    """Return a model file with one to three things changed."""
    dice = random.Random(seed)
    document, arrays = _read(base)
    kind = dice.choices(("document", "arrays", "both", "zip"), (6, 6, 3, 1))[0]
    for _ in range(dice.choice((1, 1, 2, 3))):
        if kind in ("document", "both"):
            document = _change_document(document, dice)
        if kind in ("arrays", "both"):
            _change_arrays(arrays, dice)
    return _change_zip(base, dice) if kind == "zip" else _written(document, arrays, dice)


def _read(base: bytes) -> tuple[Any, dict[str, Any]]:
    with zipfile.ZipFile(io.BytesIO(base)) as archive:
        arrays = {name: np.load(io.BytesIO(archive.read(name))) for name in archive.namelist() if name.endswith(".npy")}
        return json.loads(archive.read("model.json")), arrays


def _written(document: Any, arrays: dict[str, Any], dice: random.Random) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(_member("model.json"), _text(document))
        for name, array in arrays.items():
            archive.writestr(_member(name), array if isinstance(array, bytes) else _npy(array))
    return out.getvalue()


def _member(name: str) -> zipfile.ZipInfo:
    """Return the header of a member, whose date is not the clock's."""
    member = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    member.compress_type = zipfile.ZIP_DEFLATED
    return member


def _text(document: Any) -> str:
    """Return JSON in which texts that begin with RAW stand as they are."""
    parts = json.dumps(document, indent=1).split(f'"{RAW}')
    return parts[0] + "".join(json.loads(f'"{raw}"') + rest for raw, rest in (_at_quote(part) for part in parts[1:]))


def _at_quote(text: str) -> tuple[str, str]:
    end = 0
    while text[end] != '"':
        end += 2 if text[end] == "\\" else 1
    return text[:end], text[end + 1 :]


def _npy(array: Any) -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array(out, np.asarray(array), allow_pickle=True)
    return out.getvalue()


# the document


def _places(value: Any, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Return every (container, key) below a value."""
    for key in list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        found.append((value, key))
        _places(value[key], found)
    return found


def _change_document(document: Any, dice: random.Random) -> Any:
    document = copy.deepcopy(document)
    places = _places(document, [])
    if not places:
        return dice.choice(SCALARS)
    top = (
        [place for place in places if place[0] is document or place[0] is document.get("parameters")]
        if isinstance(document, dict)
        else places
    )
    holder, key = dice.choice(top if dice.random() < 0.25 and top else places)
    other, at = dice.choice(places)
    act = dice.randrange(11)
    if act <= 3:
        holder[key] = copy.deepcopy(dice.choice(SCALARS))
    elif act == 4:
        del holder[key]
    elif act == 5:
        holder[key] = copy.deepcopy(other[at])
    elif act == 6 and isinstance(holder, list):
        holder[key:key] = [copy.deepcopy(holder[key])] * dice.choice((1, 2, 50, 500))
    elif act == 7 and isinstance(holder, dict):
        holder[dice.choice(("x", "", "origin", "cuts", "values", "taxonomy", "ledger", "parts", str(at)))] = (
            copy.deepcopy(other[at])
        )
    elif act == 8:
        for _ in range(dice.choice((1, 3, 30, 90))):
            holder[key] = dice.choice(([holder[key]], {"event": "Sequence", "parts": [holder[key]]}))
    elif act == 9:
        holder[key] = _number_changed(holder[key], dice)
    else:
        holder[key] = _retyped(holder[key])
    return document


def _number_changed(value: Any, dice: random.Random) -> Any:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return dice.choice((value + 1, value - 1, -value, value * 10**9, value * 2, value / 3))
    if isinstance(value, str):
        return dice.choice((value + "0", "-" + value, value[::-1], value + "e9", value + "/3", value * 3, value[:-1]))
    return value


def _retyped(value: Any) -> Any:
    if isinstance(value, list):
        return {str(i): part for i, part in enumerate(value)}
    if isinstance(value, dict):
        return list(value.values())
    return str(value) if not isinstance(value, str) else RAW + (value if value.isdigit() else "1.5")


# the arrays


def _change_arrays(arrays: dict[str, Any], dice: random.Random) -> None:
    names = [name for name, array in arrays.items() if not isinstance(array, bytes)]
    if not names:
        return
    name = dice.choice(names)
    array = arrays[name]
    act = dice.randrange(12)
    if act <= 5:
        arrays[name] = _values_changed(array, dice)
    elif act == 6:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what a cast loses
            arrays[name] = array.astype(dice.choice(DTYPES))
    elif act == 7:
        arrays[name] = _reshaped(array, dice)
    elif act == 8:
        arrays[name] = _header_changed(_npy(array), dice)
    elif act == 9:
        del arrays[name]
    elif act == 10:
        arrays[dice.choice(("x.npy", "order.npy", "counts.npy", "votes.npy", "../x.npy", ".npy"))] = arrays[
            dice.choice(names)
        ]
    else:
        arrays[name] = arrays[dice.choice(names)]


def _values_changed(array: Any, dice: random.Random) -> Any:
    array = array.copy()
    if not array.size:
        return array
    flat = array.reshape(-1)
    values = REALS + NUMBERS if array.dtype.kind == "f" else (0, 1) if array.dtype.kind == "b" else NUMBERS
    if array.dtype.kind in "iu":
        limits = np.iinfo(array.dtype)
        values = [value for value in values if limits.min <= value <= limits.max]
    act = dice.randrange(5)
    if act <= 1:
        for _ in range(dice.choice((1, 1, 2, 5))):
            flat[dice.randrange(len(flat))] = dice.choice(values)
    elif act == 2:
        flat[:] = dice.choice(values)
    elif act == 3:
        flat[:] = flat[dice.sample(range(len(flat)), len(flat))]
    else:
        place = dice.randrange(len(flat))
        flat[place] = flat[dice.randrange(len(flat))] if array.dtype.kind not in "iu" else flat[place] ^ 1
    return array


def _reshaped(array: Any, dice: random.Random) -> Any:
    act = dice.randrange(8)
    if act == 0:
        return array[:-1]
    if act == 1:
        return np.concatenate([array, array[-1:]])
    if act == 2:
        return np.concatenate([array] * 2)
    if act == 3:
        return array.reshape(-1)
    if act == 4:
        return array[None]
    if act == 5:
        return array.T
    if act == 6:
        return array[:0]
    return np.asfortranarray(np.broadcast_to(array[..., None], (*array.shape, 2)))


def _header_changed(content: bytes, dice: random.Random) -> bytes:
    end = content.index(b"\n") + 1
    header, body = bytearray(content[:end]), content[end:]
    act = dice.randrange(6)
    if act == 0:
        return bytes(header) + body[: dice.randrange(len(body) + 1)]
    if act == 1:
        return bytes(header) + body + b"more"
    if act == 2:
        return bytes(header).replace(b"False", b"True ") + body
    if act == 3:
        return (
            bytes(header).replace(
                b"'shape': (", dice.choice((b"'shape': (9" + b"9" * 12, b"'shape': (-", b"'shape': (0, "))
            )
            + body
        )
    if act == 4:
        return (
            bytes(header).replace(b"'<i4'", dice.choice((b"'|O'", b"[('a', '<i4')]", b"'(1000000000,)i4'", b"'<i4 '")))
            + body
        )
    header[dice.randrange(len(header))] = dice.randrange(256)
    return bytes(header) + body


# the zip


def _change_zip(base: bytes, dice: random.Random) -> bytes:
    content = bytearray(base)
    act = dice.randrange(7)
    if act == 0:
        return bytes(content[: dice.randrange(len(content))])
    if act == 1:
        return bytes(content) + bytes(dice.randrange(100))
    if act == 2:
        return dice.randbytes(dice.randrange(100)) + bytes(content)
    if act == 3:  # sizes, methods, offsets in the directory
        entry = content.rindex(b"PK\1\2")
        for _ in range(3):
            content[entry + dice.randrange(46)] = dice.randrange(256)
        return bytes(content)
    if act == 4:
        return _packed_by(base, dice.choice((zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2, zipfile.ZIP_STORED)))
    if act == 5:
        with zipfile.ZipFile(buffer := io.BytesIO(base), "a") as archive:
            for number in range(dice.choice((1, 60, 300))):
                archive.writestr(_member(f"more{number}.npy"), bytes(dice.choice((0, 1000, 100_000))))
        return buffer.getvalue()
    for _ in range(dice.choice((1, 3, 20))):
        content[dice.randrange(len(content))] = dice.randrange(256)
    return bytes(content)


def _packed_by(base: bytes, method: int) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(base)) as archive, zipfile.ZipFile(out, "w", method) as again:
        for name in archive.namelist():
            again.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), archive.read(name), method)
    return out.getvalue()
