"""Model files: whole or not at all, never executed, and refused where damaged."""

import io
import os
import zipfile

import numpy as np
import pytest

from hedgerow.errors import FileFormatError
from hedgerow.export.archive import read_archive, write_archive

DOCUMENT = {"format": 1, "names": ["Zürich", "b"], "share": 0.1, "none": None}
ARRAYS = {
    "nodes": np.arange(300, dtype=np.int32),
    "matrix": np.random.default_rng(1).random((5, 8)),
    "empty": np.zeros((0, 3), dtype=np.uint8),
    "fortran": np.asfortranarray(np.arange(6, dtype=np.int64).reshape(2, 3)),
}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "model.hedgerow"
    write_archive(path, DOCUMENT, ARRAYS)
    return path


def read_all(path):
    """Read the document and unpack every array."""
    document, arrays = read_archive(path)
    return document, dict(arrays)


def assert_whole(path):
    document, arrays = read_all(path)
    assert document == DOCUMENT
    assert arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(arrays[name], array)
        assert arrays[name].dtype == array.dtype


def test_round_trip(file):
    assert_whole(file)


@pytest.mark.parametrize("as_text", [True, False])
def test_paths_may_be_text(file, as_text):
    assert_whole(str(file) if as_text else file)


def test_the_same_model_gives_the_same_file(tmp_path, file):
    write_archive(tmp_path / "again", DOCUMENT, ARRAYS)
    assert (tmp_path / "again").read_bytes() == file.read_bytes()


# whole or not at all


class Unwritable:
    """Stands for anything that goes wrong halfway."""


@pytest.mark.parametrize(
    ("document", "arrays"),
    [
        ({"x": Unwritable()}, {}),
        ({}, {"fine": np.arange(3), "objects": np.array([Unwritable()])}),
    ],
)
def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, file, document, arrays):
    before = file.read_bytes()
    with pytest.raises((TypeError, ValueError)):
        write_archive(file, document, arrays)
    assert file.read_bytes() == before
    assert os.listdir(tmp_path) == [file.name]


def test_objects_are_never_written(tmp_path):
    with pytest.raises(ValueError, match="allow_pickle"):
        write_archive(tmp_path / "x", {}, {"objects": np.array([{}], dtype=object)})


# damaged files


def archive_of(path, members, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def npy(array, **options):
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, **options)
    return buffer.getvalue()


def npy_header(text):
    header = text.encode() + b" " * (63 - (len(text) + 10) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header


def test_objects_are_never_read(tmp_path):
    """A pickle inside a file would run as code."""
    marker = tmp_path / "ran"

    class Bomb:
        def __reduce__(self):
            return os.mkdir, (str(marker),)

    content = npy(np.array([Bomb()], dtype=object), allow_pickle=True)
    with pytest.raises(FileFormatError):
        read_all(archive_of(tmp_path / "bomb", {"model.json": "{}", "x.npy": content}))
    assert not marker.exists()


@pytest.mark.parametrize(
    "members",
    [
        {},
        {"other.json": "{}"},
        {"model.json": ""},
        {"model.json": "{"},
        {"model.json": "[]"},
        {"model.json": "3"},
        {"model.json": b"\xff\xfe"},
        {"model.json": "[" * 100_000},
        {"model.json": "{}", "x.npy": b""},
        {"model.json": "{}", "x.npy": b"\x93NUMPY"},
        {"model.json": "{}", "x.npy": npy(np.arange(9))[:-3]},
        {"model.json": "{}", "x.npy": npy_header("{'descr': '<i8', 'fortran_order': False, 'shape': (-1,), }")},
        {"model.json": "{}", "x.npy": npy_header("{'descr': '<i8', 'fortran_order': False, 'shape': (10**9,), }")},
    ],
)
def test_what_is_no_model_is_refused(tmp_path, members):
    with pytest.raises(FileFormatError, match=r"not a model file of hedgerow|array x is damaged"):
        read_all(archive_of(tmp_path / "x", members))


@pytest.mark.parametrize("content", [b"", b"PK", b"no zip file at all", b"PK\x05\x06" + bytes(18), bytes(1000)])
def test_what_is_no_archive_is_refused(tmp_path, content):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(FileFormatError):
        read_archive(tmp_path / "x")


def test_every_truncated_file_is_refused(tmp_path, file):
    whole, part = file.read_bytes(), tmp_path / "part"
    for size in range(0, len(whole) - 1, 37):
        part.write_bytes(whole[:size])
        with pytest.raises(FileFormatError):
            read_all(part)


def test_a_bomb_is_refused_before_it_unpacks(tmp_path):
    """A member's declared size counts, and zipfile reads no more than that."""
    bomb = archive_of(tmp_path / "bomb", {"model.json": "{}", "x.npy": bytes(1 << 20)}, zipfile.ZIP_DEFLATED)
    content = bytearray(bomb.read_bytes())
    entry = content.rfind(b"PK\x01\x02")
    content[entry + 24 : entry + 28] = (2**32 - 2).to_bytes(4, "little")
    bomb.write_bytes(bytes(content))
    with pytest.raises(FileFormatError, match="unpacks to 4294967296 bytes, and 134217728 are allowed"):
        read_archive(bomb)


def test_a_missing_file_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_archive(tmp_path / "nowhere")


def test_a_flipped_byte_is_harmless_or_refused(tmp_path, file):
    whole, flipped = file.read_bytes(), tmp_path / "flipped"
    for place in range(0, len(whole), 3):
        for value in (0x00, 0xFF, whole[place] ^ 0x40):
            flipped.write_bytes(whole[:place] + bytes([value]) + whole[place + 1 :])
            try:
                read_all(flipped)
            except FileFormatError:
                continue


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<i8', 'fortran_order': False, 'shape': (((1,), }",
        "{'descr': '<i8', 'fortran_order': False, 'shape': (1000000000000000,), }",
        "{'descr': '<i8', 'fortran_order': False, 'shape': (99999999999999999999999,), }",
    ],
)
def test_a_lying_array_header_is_refused(tmp_path, header):
    with pytest.raises(FileFormatError):
        read_all(archive_of(tmp_path / "x", {"model.json": "{}", "x.npy": npy_header(header)}))


def test_a_model_has_the_permissions_of_any_new_file(tmp_path, file):
    (tmp_path / "plain").write_text("")
    assert file.stat().st_mode == (tmp_path / "plain").stat().st_mode
