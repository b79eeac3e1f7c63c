"""Files appear whole or not at all, also where writers race, are killed, or the disk is full."""

import errno
import os
import re
import signal
import stat
import subprocess
import sys
import threading
import time
from fnmatch import fnmatch

import pytest

from hedgerow.files import atomic_file

SWEEPABLE = ".hedgerow-*.tmp"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    return path


def write(path, text, **options):
    with atomic_file(path, **options) as part:
        part.write_text(text)


def is_folder(descriptor):
    return stat.S_ISDIR(os.fstat(descriptor).st_mode)


def names(folder):
    return sorted(os.listdir(folder))


def test_a_file_appears_at_the_end_only(tmp_path):
    with atomic_file(tmp_path / "new") as part:
        part.write_text("whole")
        assert fnmatch(part.name, SWEEPABLE)
        assert names(tmp_path) == [part.name]
    assert (tmp_path / "new").read_text() == "whole"
    assert names(tmp_path) == ["new"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_an_interruption_leaves_the_old_file_and_nothing_else(file, error):
    def write_half():
        with atomic_file(file) as part:
            part.write_text("half of it")
            assert file.read_text() == "old"
            raise error

    with pytest.raises(error):
        write_half()
    assert file.read_text() == "old"
    assert names(file.parent) == [file.name]


@pytest.mark.parametrize("replace", [True, False])
def test_a_file_that_cannot_take_its_place_vanishes(tmp_path, replace):
    (tmp_path / "taken").mkdir()
    with pytest.raises(OSError, match="taken"):
        write(tmp_path / "taken", "whole", replace=replace)
    assert names(tmp_path) == ["taken"]


def test_what_may_not_be_replaced_stays(file):
    with pytest.raises(FileExistsError) as caught:
        write(file, "new", replace=False)
    assert (caught.value.filename, caught.value.strerror) == (str(file), "It exists already and was not replaced")
    assert file.read_text() == "old"
    assert names(file.parent) == [file.name]


def test_a_file_that_comes_in_between_is_not_replaced(tmp_path):
    def write_late():
        with atomic_file(tmp_path / "new", replace=False) as part:
            part.write_text("late")
            (tmp_path / "new").write_text("early")

    with pytest.raises(FileExistsError):
        write_late()
    assert (tmp_path / "new").read_text() == "early"
    assert names(tmp_path) == ["new"]


@pytest.fixture(params=["links", "no links"])
def links(request, monkeypatch):
    """With and without a file system that has hard links."""

    def refuse(*_):
        raise PermissionError(errno.EPERM, "Operation not permitted")

    if request.param == "no links":
        monkeypatch.setattr(os, "link", refuse)


@pytest.mark.usefixtures("links")
def test_of_many_writers_one_wins(tmp_path):
    won, lost, gate = [], [], threading.Barrier(8)

    def writer(number):
        gate.wait()
        try:
            write(tmp_path / "file", str(number) * 1000, replace=False)
            won.append(number)
        except FileExistsError:
            lost.append(number)

    threads = [threading.Thread(target=writer, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(won), len(lost)) == (1, 7)
    assert (tmp_path / "file").read_text() == str(won[0]) * 1000
    assert names(tmp_path) == ["file"]


def test_without_links_a_failed_replacement_leaves_no_empty_file(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "link", refuse)
    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(OSError, match="Input/output"):
        write(tmp_path / "file", "whole", replace=False)
    assert names(tmp_path) == []


@pytest.mark.parametrize("replace", [True, False])
def test_success_means_that_the_content_was_flushed_before_the_name_and_the_name_at_last(
    tmp_path, monkeypatch, replace
):
    seen = []

    def watched(name):
        function = getattr(os, name)

        def call(*arguments):
            seen.append("folder" if name == "fsync" and is_folder(arguments[0]) else name)
            return function(*arguments)

        return call

    for name in ("fsync", "replace", "link"):
        monkeypatch.setattr(os, name, watched(name))
    write(tmp_path / "file", "whole", replace=replace)
    assert seen == ["fsync", "replace" if replace else "link", "folder"]


@pytest.mark.parametrize("number", [errno.EINVAL, errno.EIO])
def test_a_folder_that_cannot_be_flushed(tmp_path, monkeypatch, number):
    """Some file systems have nothing to flush for a folder; a failing disk is another matter."""
    flush = os.fsync

    def fsync(descriptor):
        if is_folder(descriptor):
            raise OSError(number, os.strerror(number))
        flush(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    if number == errno.EINVAL:
        write(tmp_path / "file", "whole")
    else:
        with pytest.raises(OSError, match="Input/output"):
            write(tmp_path / "file", "whole")
    assert names(tmp_path) == ["file"]


@pytest.mark.parametrize(("mode", "after"), [(0o600, 0o600), (0o640, 0o640), (0o440, 0o640)])
def test_a_replaced_file_hands_its_permissions_on(file, mode, after):
    file.chmod(mode)
    with atomic_file(file) as part:
        part.write_text("new")
        assert part.stat().st_mode & 0o777 == after  # not readable to others while it is written either
    assert file.stat().st_mode & 0o777 == after


def test_a_new_file_has_the_permissions_of_any(tmp_path):
    (tmp_path / "plain").write_text("")
    write(tmp_path / "file", "whole")
    assert (tmp_path / "file").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_long_name_is_no_trouble(tmp_path):
    write(tmp_path / ("n" * 255), "whole")
    assert names(tmp_path) == ["n" * 255]


WRITER = """
import sys
from hedgerow.files import atomic_file
while True:
    with atomic_file(sys.argv[1], replace=sys.argv[2] == "True") as part, part.open("wb") as file:
        for _ in range(64):
            file.write(bytes(65536))
    print("written", flush=True)
"""
SIZE = 64 * 65536


@pytest.mark.parametrize("replace", [True, False])
def test_a_killed_writer_leaves_a_whole_file_or_none_and_names_to_sweep(tmp_path, replace):
    for wait in (0.0, 0.003, 0.007, 0.012, 0.02):
        path = tmp_path / f"file-{wait}"
        writer = subprocess.Popen([sys.executable, "-c", WRITER, path, str(replace)], stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while not list(tmp_path.glob("*")) and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(wait)
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        left = names(tmp_path)
        assert [name for name in left if name != path.name and not fnmatch(name, SWEEPABLE)] == []
        assert not path.exists() or path.stat().st_size == SIZE
        for name in left:
            (tmp_path / name).unlink()


def test_a_full_disk_leaves_the_old_file(file):
    limited = (
        "import resource, signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n" + WRITER
    )
    done = subprocess.run([sys.executable, "-c", limited, file, "True"], capture_output=True, text=True, check=False)
    assert re.search(r"OSError: \[Errno 27\]", done.stderr)
    assert file.read_text() == "old"
    assert names(file.parent) == [file.name]
