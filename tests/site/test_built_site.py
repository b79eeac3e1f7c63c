"""The site in build/docs: every link and anchor leads somewhere, and a browser shows every kind of page as it should be."""

from __future__ import annotations

import http.server
import os
import shutil
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

pytestmark = pytest.mark.site

ROOT = Path(__file__).parents[2]
SITE = Path(os.environ.get("HEDGEROW_SITE", ROOT / "build" / "docs"))
PICTURES = ROOT / "build" / "screenshots"
SHOWN = {  # what each page must hold, and show
    "index.html": "img",
    "start/own-file.html": "img",
    "start/certificate.html": "math",
    "tutorials/curator.html": "div.output pre",
    "guide/gallery.html": "img",
    "systems/edprf.html": "math",
    "api/generated/hedgerow.HedgerowClassifier.html": "dl.py.class",
    "reproductions/edprf.html": "img",
    "proofs/hedgerow.html": "code",
    "scaling.html": "table",
}


@pytest.fixture(scope="module", autouse=True)
def _built() -> None:
    if not (SITE / "index.html").exists():
        pytest.fail("The site is not built: make docs")


@cache
def soup(page: Path):
    from bs4 import BeautifulSoup

    return BeautifulSoup(page.read_text(), "html.parser")


@cache
def anchors(page: Path) -> frozenset[str]:
    return frozenset(found["id"] for found in soup(page).find_all(id=True))


def broken(page: Path) -> list[str]:
    found = []
    for tag, attribute in (("a", "href"), ("img", "src"), ("link", "href"), ("script", "src")):
        for link in soup(page).find_all(tag, **{attribute: True}):
            target = link[attribute]
            if target.startswith(("http://", "https://", "//", "mailto:", "data:")):
                if tag != "a":
                    found.append(f"{target} is fetched")
                continue
            file, anchor = urldefrag(target)
            at = (page.parent / unquote(file.partition("?")[0])).resolve() if file else page
            at = at / "index.html" if at.is_dir() else at
            if not at.exists() or (
                tag == "a" and anchor and at.suffix == ".html" and unquote(anchor) not in anchors(at)
            ):
                found.append(target)
    return found


def test_every_link_and_anchor_leads_somewhere():
    pages = sorted(page for page in SITE.rglob("*.html") if "_static" not in page.parts)
    assert len(pages) > 150
    assert {str(page.relative_to(SITE)): broken(page) for page in pages if broken(page)} == {}


def test_a_broken_link_is_noticed(tmp_path):
    page = tmp_path / "a.html"
    page.write_text(
        '<a href="b.html">b</a><a href="#c">c</a><img src="https://example.org/d.png"><p id="e"></p><a href="#e">e</a>'
    )
    assert broken(page) == ["b.html", "#c", "https://example.org/d.png is fetched"]


def test_every_formula_became_one_that_browsers_show():
    pages = [page for page in SITE.rglob("*.html") if soup(page).select("math")]
    assert len(pages) >= 5
    for page in pages:
        assert not [formula.get_text() for formula in soup(page).select("math") if "\\" in formula.get_text()], page


class Quiet(http.server.SimpleHTTPRequestHandler):
    def __init__(self, *given, **more):
        super().__init__(*given, directory=str(SITE), **more)

    def log_message(self, *said) -> None:
        pass


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="pip install -e '.[browser]'")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.fail("Chromium is not installed: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def view(browser, address, request):
    """A page of a width and a color scheme, what went wrong on it, and a picture of how it looked at the end."""
    width, scheme = request.param
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page, wrong = context.new_page(), []
    page.on("console", lambda said: wrong.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda asked: wrong.append(asked.url) if not asked.url.startswith((address, "data:")) else None)
    page.on("response", lambda got: wrong.append(f"{got.status} {got.url}") if got.status >= 400 else None)
    yield page, wrong, address
    PICTURES.mkdir(parents=True, exist_ok=True)
    name = request.node.callspec.id.replace("/", "-")
    page.screenshot(path=PICTURES / f"{request.node.originalname}-{name}.png")
    context.close()


VIEWS = pytest.mark.parametrize(
    "view",
    [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")],
    ids=lambda view: "-".join(map(str, view)),
    indirect=True,
)


def is_as_it_should_be(page, wrong) -> None:
    assert wrong == []
    wide, window = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    assert wide <= window, f"{wide} pixels in a window of {window}"


@VIEWS
@pytest.mark.parametrize("name", SHOWN)
def test_a_page(view, name):
    page, wrong, address = view
    page.goto(address + name, wait_until="networkidle")
    found = page.locator(f"article {SHOWN[name]}")
    assert found.count()
    assert all(found.nth(i).bounding_box()["height"] > 3 for i in range(min(found.count(), 3)))
    assert page.evaluate("[...document.images].every(image => image.loading === 'lazy' || image.naturalWidth > 0)")
    dark = page.evaluate(
        "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).every(part => part < 60)"
    )
    assert dark == page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    is_as_it_should_be(page, wrong)


@VIEWS
def test_the_search_finds_pages(view):
    page, wrong, address = view
    page.goto(address + "search.html", wait_until="networkidle")
    page.locator("input[type=search]:visible").first.fill("permute-and-flip")
    page.locator("input[type=search]:visible").first.press("Enter")
    page.locator("#search-results ul.search li").nth(3).wait_for()  # results come one after another
    is_as_it_should_be(page, wrong)
    page.locator("#search-results ul.search li a").first.click()
    page.wait_for_load_state("networkidle")
    assert page.locator("article h1").count() == 1
    is_as_it_should_be(page, wrong)


@VIEWS
def test_a_reader_gets_from_the_first_page_to_their_own_file(view):
    page, wrong, address = view
    page.goto(address, wait_until="networkidle")
    page.locator("article .sd-card").first.click()
    page.locator("article a", has_text="Your own CSV file").click()
    page.wait_for_load_state("networkidle")
    assert page.locator("article h1").inner_text().startswith("Your own CSV file")
    is_as_it_should_be(page, wrong)
