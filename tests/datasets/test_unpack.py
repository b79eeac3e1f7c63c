import gzip
import io
import tarfile
import zipfile

import pytest

from hedgerow.datasets.dataset import unpack

FILES = {"a.data": b"1,2\n3,4\n", "b.data": b"5,6\n"}
LIMIT = 100_000


def zipped(members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def tarred(members, links=()):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        for name, target in links:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, target
            archive.addfile(info)
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return file.getvalue()


SHAPES = {
    "plain": FILES,
    "zip": {"folder/inner.zip": zipped({f"inner/{name}": content for name, content in FILES.items()})},
    "tar.gz": {"inner.tar.gz": gzip.compress(tarred({f"./{name}": content for name, content in FILES.items()}))},
    "both": {"a.data": FILES["a.data"], "inner.zip": zipped({"b.data": FILES["b.data"]})},
    "among others": {"other.zip": zipped({"c.data": b""}), "c.gz": b"no gzip", "inner.zip": zipped(FILES)},
}


@pytest.mark.parametrize("members", SHAPES.values(), ids=SHAPES)
def test_files_are_found_wherever_the_archive_holds_them(members):
    assert unpack(zipped(members), FILES, LIMIT) == FILES


def test_names_are_compared_whole():
    with pytest.raises(LookupError, match=r"it holds no a\.data"):
        unpack(
            zipped({"__MACOSX/._a.data": b"", "xa.data": b"", "a.data.txt": b"", "a.data/b": b""}), ["a.data"], LIMIT
        )


def test_every_file_that_is_not_there_is_named():
    with pytest.raises(LookupError, match=r"it holds no a\.data and no b\.data"):
        unpack(zipped({"c.data": b""}), FILES, LIMIT)


@pytest.mark.parametrize(
    "inner", [zipped({"inner.zip": zipped(FILES)}), zipped({"inner.tar.gz": gzip.compress(tarred(FILES))})]
)
def test_an_archive_three_deep_is_not_opened(inner):
    with pytest.raises(LookupError):
        unpack(zipped({"middle.zip": inner}), FILES, LIMIT)


def test_a_link_is_no_file():
    inner = gzip.compress(tarred({}, links=[("a.data", "/etc/hostname")]))
    with pytest.raises(LookupError):
        unpack(zipped({"inner.tar.gz": inner}), ["a.data"], LIMIT)


ZEROS = bytes(LIMIT + 1)


@pytest.mark.parametrize(
    "members",
    [
        {"a.data": ZEROS},
        {"inner.zip": zipped({"a.data": ZEROS})},
        {"inner.tar.gz": gzip.compress(tarred({"unneeded": ZEROS, "a.data": b""}))},
        {f"{number}.zip": zipped({"unneeded": b""}) + bytes(LIMIT // 4) for number in range(5)},
    ],
    ids=["file", "zip in zip", "tar in zip", "many archives"],
)
def test_what_is_unpacked_is_limited_in_all(members):
    with pytest.raises(ValueError, match=f"unpacks to more than {LIMIT} bytes"):
        unpack(zipped(members), ["a.data"], LIMIT)


def test_what_is_not_needed_is_not_unpacked():
    assert unpack(zipped({"c.data": ZEROS, **FILES}), FILES, LIMIT) == FILES
    assert unpack(zipped({**FILES, "later.zip": ZEROS}), FILES, LIMIT) == FILES


def test_the_limit_itself_is_allowed():
    content = {"a.data": bytes(LIMIT)}
    assert unpack(zipped(content), content, LIMIT) == content
    with pytest.raises(ValueError, match="more than"):
        unpack(zipped(content), content, LIMIT - 1)
