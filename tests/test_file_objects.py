"""Models and schemas in binary file objects: the bytes of files, the same limits, and a sentence for other objects."""

from __future__ import annotations

import io
import os
import tempfile
import threading

import numpy as np
import pytest

import hedgerow as hr
from hedgerow import files
from hedgerow.errors import ConfigurationError, FileFormatError
from hedgerow.schema import toml

SCHEMA = hr.Schema({"a": hr.Numeric(0, 1), "b\u00e4": hr.Categorical(["x", "y"])}, classes=["n", "y"])


class Saved:
    """What is saved and loaded, in one form."""

    def __init__(self, value, load):
        self.value, self.load, self.save = value, load, value.save


def model():
    rng = np.random.default_rng(0)
    frame = {"a": rng.uniform(0, 1, 200), "b\u00e4": rng.choice(["x", "y"], 200)}
    return hr.EDPRFClassifier(epsilon=1.0, schema=SCHEMA, n_estimators=2).fit(frame, rng.choice(["n", "y"], 200))


@pytest.fixture(scope="module", params=["model", "schema"])
def saved(request):
    return Saved(model(), hr.load) if request.param == "model" else Saved(SCHEMA, hr.Schema.load)


@pytest.fixture
def content(saved, tmp_path):
    saved.save(tmp_path / "whole")
    return (tmp_path / "whole").read_bytes()


class Stream(io.RawIOBase):
    """A stream that cannot seek, and that takes and gives a few bytes at once."""

    def __init__(self, content=b""):
        self.content, self.taken = io.BytesIO(content), b""

    def readable(self):
        return True

    def writable(self):
        return True

    def readinto(self, buffer):
        return self.content.readinto(memoryview(buffer)[:7])

    def write(self, part):
        self.taken += bytes(part[:7])
        return min(7, len(part))


class Takes:
    """An object of a package for object stores, which says nothing of what it took."""

    def __init__(self):
        self.taken = b""

    def write(self, part):
        self.taken += part


def test_every_binary_file_object_gets_the_bytes_of_a_file(saved, content, tmp_path):
    buffer, stream, takes = io.BytesIO(), Stream(), Takes()
    for file in (buffer, stream, takes):
        saved.save(file)
    assert {buffer.getvalue(), stream.taken, takes.taken} == {content}
    assert not buffer.closed
    for buffering in (-1, 0):
        with open(tmp_path / "given", "wb", buffering=buffering) as file:
            saved.save(file)
        assert (tmp_path / "given").read_bytes() == content
    with tempfile.TemporaryFile() as file:
        saved.save(file)
        file.seek(0)
        assert again(saved.load(file)) == content


def again(value):
    buffer = io.BytesIO()
    value.save(buffer)
    return buffer.getvalue()


def test_every_binary_file_object_is_read_to_its_end(saved, content, tmp_path):
    (tmp_path / "given").write_bytes(content)
    with open(tmp_path / "given", "rb") as file, open(tmp_path / "given", "rb", buffering=0) as raw:
        for given in (io.BytesIO(content), Stream(content), file, raw):
            assert again(saved.load(given)) == content
        assert not file.closed
    behind = io.BytesIO(b"before" + content)
    behind.seek(6)
    assert again(saved.load(behind)) == content


def test_a_pipe_is_read(saved, content):
    reading, writing = os.pipe()

    def give():
        with open(writing, "wb") as file:
            saved.save(file)

    thread = threading.Thread(target=give)
    thread.start()
    with open(reading, "rb") as file:
        assert again(saved.load(file)) == content
    thread.join()


OTHERS = {
    "text": (io.StringIO, "a path or a binary file object"),
    "text of a file": (lambda: tempfile.NamedTemporaryFile("w+"), "a path or a binary file object"),  # noqa: SIM115 (the test closes it)
    "bytes": (lambda: b"content", "a path or a binary file object"),
    "None": (lambda: None, "a path or a binary file object"),
    "a number": (lambda: 3, "a path or a binary file object"),
    "an object": (object, "a path or a binary file object"),
}


@pytest.mark.parametrize("other", OTHERS)
def test_what_is_no_binary_file_object_is_refused(saved, other):
    make, words = OTHERS[other]
    for use in (saved.save, saved.load):
        given = make()
        with pytest.raises(ConfigurationError, match=words):
            use(given)
        if hasattr(given, "close"):
            given.close()


def test_an_object_that_reads_text_is_refused(saved):
    class Reader:
        def read(self, size):
            return "text"

    with pytest.raises(ConfigurationError, match="mode 'rb'"):
        saved.load(Reader())


def test_a_file_object_at_its_end_is_refused(saved):
    buffer = io.BytesIO()
    saved.save(buffer)
    with pytest.raises(FileFormatError, match="seek"):
        saved.load(buffer)


def test_a_damaged_file_object_is_named(saved):
    with pytest.raises(hr.HedgerowError, match="file object"):
        saved.load(io.BytesIO(b"\xff\xfe no file"))


class Endless:
    """A stream without an end."""

    read_bytes = 0

    def read(self, size):
        self.read_bytes += size
        return b"x" * size


def test_an_endless_stream_is_read_no_further_than_a_limit(saved, monkeypatch):
    monkeypatch.setattr(files, "BASE_BYTES", 3 << 20)
    monkeypatch.setattr(toml, "LARGEST", 3 << 18)
    endless = Endless()
    with pytest.raises(FileFormatError, match="more bytes than the"):
        saved.load(endless)
    assert endless.read_bytes <= 5 << 20


def test_max_bytes_limits_a_file_object_as_it_does_a_file(tmp_path):
    fitted, buffer = model(), io.BytesIO()
    fitted.save(tmp_path / "model")
    fitted.save(buffer)
    for given in (tmp_path / "model", io.BytesIO(buffer.getvalue())):
        with pytest.raises(FileFormatError, match="1000 are allowed"):
            hr.load(given, max_bytes=1000)
    endless = Endless()
    with pytest.raises(FileFormatError, match="more bytes than the"):
        hr.load(endless, max_bytes=1000)
    assert endless.read_bytes <= 2 << 20
