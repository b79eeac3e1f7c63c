import gzip
import http.client
import io
import urllib.error
import urllib.request
import zipfile
from dataclasses import replace

import pytest

from hedgerow.datasets import dataset
from hedgerow.datasets.dataset import Published, digest
from hedgerow.errors import DatasetError

CONTENT = {"a.data": b"1,2\n3,4\n", "b.data": b"5,6\n"}
SOURCE = Published(
    "made up",
    folder="made_up",
    hashes={name: digest(content) for name, content in CONTENT.items()},
    page="https://example.org/made_up",
    url="https://example.org/made_up.zip",
    rows=list,
)
TEXTS = {name: content.decode() for name, content in CONTENT.items()}
WAY_OUT = "set HEDGEROW_DATA to a folder that holds made_up/a.data and made_up/b.data"


def archive(members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in members.items():
            opened.writestr(name, content)
    return file.getvalue()


def place(home, contents=CONTENT):
    folder = home / "made_up"
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return home


@pytest.fixture
def serve(monkeypatch):
    """Make every address answer with the given bytes; return the list of addresses asked for."""

    def answer_with(content):
        asked = []

        def opened(url):
            asked.append(url)
            return io.BytesIO(content)

        monkeypatch.setattr(dataset, "_open_url", opened)
        return asked

    return answer_with


def test_the_named_folder_comes_first(tmp_path, monkeypatch):
    monkeypatch.setenv("HEDGEROW_DATA", str(place(tmp_path / "other", {"a.data": b"", "b.data": b""})))
    assert SOURCE.read_files(place(tmp_path / "named")) == TEXTS


def test_a_named_folder_without_the_files_is_an_error_and_not_a_download(tmp_path, serve):
    asked = serve(archive(CONTENT))
    with pytest.raises(DatasetError, match=WAY_OUT):
        SOURCE.read_files(tmp_path)
    assert asked == []


def test_the_environment_comes_before_cache_and_network(tmp_path, monkeypatch, serve):
    asked = serve(archive(CONTENT))
    monkeypatch.setenv("HEDGEROW_DATA", str(place(tmp_path / "home")))
    assert SOURCE.read_files() == TEXTS
    assert asked == []
    assert not (tmp_path / "cache").exists()


def test_an_environment_that_lacks_this_set_is_passed_over(tmp_path, monkeypatch, serve):
    monkeypatch.setenv("HEDGEROW_DATA", str(place(tmp_path / "home", {"a.data": CONTENT["a.data"]})))
    serve(archive(CONTENT))
    assert SOURCE.read_files() == TEXTS


def test_an_environment_that_names_no_folder_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setenv("HEDGEROW_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(DatasetError, match="not a folder"):
        SOURCE.read_files()


def test_a_changed_local_file_is_an_error(tmp_path, monkeypatch, serve):
    serve(archive(CONTENT))
    home = place(tmp_path / "home", {**CONTENT, "b.data": b"5,7\n"})
    monkeypatch.setenv("HEDGEROW_DATA", str(home))
    for data_home in (None, home):
        with pytest.raises(DatasetError, match=r"b\.data is not the published b\.data: its SHA-256 is"):
            SOURCE.read_files(data_home)


def test_line_ends_make_no_difference(tmp_path):
    home = place(tmp_path, {name: content.replace(b"\n", b"\r\n") for name, content in CONTENT.items()})
    assert SOURCE.read_files(home) == TEXTS


GZIPPED = {f"{name}.gz": gzip.compress(content, mtime=0) for name, content in CONTENT.items()}


@pytest.mark.parametrize("contents", [GZIPPED, {"a.data": CONTENT["a.data"], "b.data.gz": GZIPPED["b.data.gz"]}])
def test_local_files_may_be_gzipped(tmp_path, monkeypatch, serve, contents):
    asked = serve(archive(CONTENT))
    assert SOURCE.read_files(place(tmp_path / "home", contents)) == TEXTS
    monkeypatch.setenv("HEDGEROW_DATA", str(tmp_path / "home"))
    assert SOURCE.read_files() == TEXTS
    assert asked == []


def test_a_plain_file_comes_before_its_gzipped_copy(tmp_path):
    assert SOURCE.read_files(place(tmp_path, {**CONTENT, "a.data.gz": b"damaged"})) == TEXTS


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (GZIPPED["a.data.gz"][:-9], "cannot be read"),
        (GZIPPED["a.data.gz"][:10] + b"\xff" * 20, "cannot be read"),
        (CONTENT["a.data"], "cannot be read"),
        (gzip.compress(bytes(501), mtime=0), "unpacks to more than 500 bytes"),
        (gzip.compress(b"1,3\n", mtime=0), r"a\.data\.gz is not the published a\.data"),
    ],
    ids=["cut off", "no deflate", "no gzip", "too large", "changed"],
)
def test_a_wrong_gzipped_file_is_an_error(tmp_path, content, reason):
    home = place(tmp_path, {"a.data.gz": content, "b.data": CONTENT["b.data"]})
    with pytest.raises(DatasetError, match=reason):
        replace(SOURCE, max_bytes=500).read_files(home)


def test_a_nested_archive_is_fetched(tmp_path, serve):
    serve(
        archive(
            {
                "other.zip": archive({"c.data": b""}),
                "inner.zip": archive({"inner/a.data": CONTENT["a.data"]}),
                "b.data": CONTENT["b.data"],
            }
        )
    )
    assert SOURCE.read_files() == TEXTS
    assert {path.name for path in (tmp_path / "cache" / "made_up").iterdir()} == set(CONTENT)


def test_a_fetched_set_is_cached(tmp_path, serve):
    asked = serve(archive({"folder/a.data": CONTENT["a.data"], "b.data": CONTENT["b.data"], "unneeded.txt": b"x"}))
    assert SOURCE.read_files() == TEXTS
    assert SOURCE.read_files() == TEXTS
    assert asked == [SOURCE.url]
    assert {path.name for path in (tmp_path / "cache" / "made_up").iterdir()} == set(CONTENT)


def test_a_damaged_cache_is_fetched_again(tmp_path, serve):
    place(tmp_path / "cache", {**CONTENT, "a.data": b"1,"})
    asked = serve(archive(CONTENT))
    assert SOURCE.read_files() == TEXTS
    assert asked == [SOURCE.url]
    assert (tmp_path / "cache" / "made_up" / "a.data").read_bytes() == CONTENT["a.data"]


def test_a_member_cannot_choose_where_it_is_written(tmp_path, serve):
    serve(archive({"../../a.data": CONTENT["a.data"], "/b.data": CONTENT["b.data"]}))
    assert SOURCE.read_files() == TEXTS
    written = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert written == {"cache/made_up/a.data", "cache/made_up/b.data"}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (archive({**CONTENT, "b.data": b"9\n"}), r"member b\.data, is not the published b\.data"),
        (archive({"a.data": CONTENT["a.data"]}), r"it holds no b\.data"),
        (archive(CONTENT)[:40], "did not give the published archive"),
        (b"<html>moved</html>", "did not give the published archive"),
        (archive({"inner.zip": archive(CONTENT)[:40]}), "did not give the published archive"),
        (archive({"inner.tar.gz": gzip.compress(b"1,2", mtime=0)}), "did not give the published archive"),
    ],
    ids=lambda value: None if isinstance(value, str) else "content",
)
def test_a_wrong_download_is_an_error_and_leaves_no_cache(tmp_path, serve, content, reason):
    serve(content)
    with pytest.raises(DatasetError, match=reason) as caught:
        SOURCE.read_files()
    assert WAY_OUT in str(caught.value)
    assert not (tmp_path / "cache").exists()


def test_a_download_above_the_limit_is_not_unpacked(monkeypatch, serve):
    monkeypatch.setattr(dataset, "MAX_DOWNLOAD", 100)
    serve(archive(CONTENT))
    with pytest.raises(DatasetError, match=r"made_up\.zip is larger than 100 bytes"):
        SOURCE.read_files()


@pytest.mark.parametrize("error", [urllib.error.URLError("no route"), TimeoutError(), http.client.IncompleteRead(b"")])
def test_offline_says_the_way_out(monkeypatch, error):
    def fail(url):
        raise error

    monkeypatch.setattr(dataset, "_open_url", fail)
    with pytest.raises(DatasetError, match=r"https://example\.org/made_up\.zip could not be fetched") as caught:
        SOURCE.read_files()
    assert WAY_OUT in str(caught.value)
    assert SOURCE.page in str(caught.value)


def test_a_set_without_licence_is_not_fetched(serve):
    asked = serve(archive(CONTENT))
    with pytest.raises(DatasetError, match="no licence allows"):
        replace(SOURCE, url=None).read_files()
    assert asked == []


def test_an_unwritable_cache_is_named(tmp_path, monkeypatch, serve):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HEDGEROW_CACHE", str(tmp_path / "file"))
    serve(archive(CONTENT))
    with pytest.raises(DatasetError, match="set HEDGEROW_CACHE"):
        SOURCE.read_files()


def test_one_file_under_any_name(tmp_path):
    source = replace(SOURCE, hashes={"a.data": SOURCE.hashes["a.data"]})
    (tmp_path / "copy.csv").write_bytes(CONTENT["a.data"])
    assert source.read_files(tmp_path / "copy.csv") == {"a.data": TEXTS["a.data"]}
    with pytest.raises(DatasetError, match="does not exist"):
        source.read_files(tmp_path / "nothing.csv")


OPEN_URL = dataset._open_url


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/a.zip", "file:///etc/hostname", "ftp://127.0.0.1:9/a.zip"])
def test_only_https_is_spoken(url):
    with pytest.raises(urllib.error.URLError, match="unknown url type"):
        OPEN_URL(url)


def test_a_redirect_to_plain_http_is_refused(monkeypatch):
    class Moved(urllib.request.HTTPSHandler):
        def https_open(self, request):
            headers = http.client.parse_headers(io.BytesIO(b"Location: http://127.0.0.1:9/a.zip\r\n\r\n"))
            response = urllib.request.addinfourl(io.BytesIO(), headers, request.full_url, 302)
            response.msg = "Found"
            return response

    monkeypatch.setattr(urllib.request, "HTTPSHandler", Moved)
    with pytest.raises(urllib.error.URLError, match="unknown url type: http"):
        OPEN_URL("https://example.org/made_up.zip")
