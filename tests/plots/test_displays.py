import io
import math
import subprocess
import sys
from dataclasses import dataclass

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from PIL import Image

import hedgerow as hr
from hedgerow.errors import ConfigurationError
from hedgerow.plots import Page
from hedgerow.plots.axes import new_figure, png_bytes
from hedgerow.plots.utility import AuditDisplay, Line, PrivacyUtilityDisplay

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _closed_figures():
    yield
    plt.close("all")


@dataclass(frozen=True)
class Found:
    subject: str
    loss: float
    epsilon: float = 1.0
    delta: float = 0.0
    adjacency: str = "add-remove"
    attack: str = "exact"
    confidence: float = 1.0


ONE = Line("one", (0.1, 1.0), (0.6, 0.85), (0.0, 0.07))
TWO = Line("two", (0.1,), (0.5,), (0.0,))


def test_the_utility_picture_has_a_log_axis_a_band_and_the_papers_numbers():
    reported = [Line("the paper's one", (1.0,), (0.7,), (), "one")]
    display = PrivacyUtilityDisplay([ONE, TWO], reported=reported).plot()
    assert display.ax_.get_xscale() == "log"
    assert list(display.artists_) == ["one", "two", "the paper's one"]
    assert len(display.ax_.collections) == 2
    assert display.artists_["one"].get_color() == display.artists_["the paper's one"].get_color()
    assert display.artists_["one"].get_color() != display.artists_["two"].get_color()
    assert [tick.get_text() for tick in display.ax_.get_xticklabels()] == ["0.1", "1"]


def test_colors_follow_an_order_that_is_given():
    alone = PrivacyUtilityDisplay([TWO], order=["one", "two"], log=False).plot()
    both = PrivacyUtilityDisplay([ONE, TWO], log=False).plot()
    assert alone.artists_["two"].get_color() == both.artists_["two"].get_color()
    assert alone.artists_["two"].get_marker() == both.artists_["two"].get_marker()


def drawn(findings):
    """Return what stands on the left and on the right of each row."""
    ax = AuditDisplay.from_findings(findings).plot().ax_
    return [tick.get_text() for tick in ax.get_yticklabels()], [text.get_text() for text in ax.texts]


def test_the_worst_finding_of_each_claim_counts():
    found = [Found("a", 0.5), Found("b", 0.2), Found("a", 3.0, attack="canaries", confidence=0.95), Found("a", 1.0)]
    assert drawn(found) == (["a; add-remove", "b; add-remove"], ["3 (at 95 %)", "0.2 (exact)"])


def test_claims_that_differ_have_rows_of_their_own():
    others = {"epsilon": 2.0}, {"delta": 1e-6}, {"adjacency": "replace-one"}
    claims, bounds = drawn([Found("a", 0.5), *(Found("a", 0.6, **other) for other in others)])
    assert claims == ["a; add-remove", "a; add-remove", "a; add-remove, delta 1e-06", "a; replace-one"]
    assert bounds == ["0.5 (exact)"] + ["0.6 (exact)"] * 3


def test_an_infinite_loss_is_red_and_leaves_the_picture():
    display = AuditDisplay.from_findings([Found("$a", math.inf), Found("b", 0.5)]).plot()
    red, mark, _, blue, _ = display.ax_.lines
    assert red.get_xdata()[1] == display.ax_.get_xlim()[1]
    assert mark.get_marker() == ">"
    assert red.get_color() != blue.get_color()
    assert "infinite (exact)" in [text.get_text() for text in display.ax_.texts]
    assert [tick.get_text() for tick in display.ax_.get_yticklabels()] == [r"\$a; add-remove", "b; add-remove"]


def test_a_page_is_one_file_that_needs_no_other(tmp_path):
    figure = new_figure(1, 1)
    page = Page("a <b>").text("one & one\n\ntwo").table(["x<y"], [["<script>"]]).figure(figure, 'a "caption"')
    path = page.heading("more").items(["<i>"]).write(tmp_path / "page.html")
    text = path.read_text("utf-8")
    assert text.count('src="data:image/png;base64,') == 1
    assert [word for word in ("<script", "http", "<i>", "<b>", "url(", "@import") if word in text] == []
    assert [word for word in ("a &lt;b&gt;", "<p>two</p>", "&lt;script&gt;", "one &amp; one") if word not in text] == []
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]


def test_lines_keep_their_breaks_and_spaces():
    text = Page("p").lines("Privacy certificate\n  holds      yes & no").html()
    assert "<pre>Privacy certificate\n  holds      yes &amp; no</pre>" in text


def test_a_page_takes_figures_displays_and_bytes():
    figure = new_figure(1, 1)
    display = PrivacyUtilityDisplay([ONE, TWO], log=False).plot(figure.subplots())
    figure.set_size_inches(4, 3)
    pages = [Page("p").figure(picture, "c").html() for picture in (figure, display, png_bytes(figure))]
    assert pages[0] == pages[1] == pages[2]


def test_without_matplotlib_one_sentence_names_the_extra(monkeypatch):
    display = PrivacyUtilityDisplay([ONE, TWO])
    for name in ("matplotlib.pyplot", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, name, None)
    for draw in (display.plot, lambda: new_figure(1, 1)):
        with pytest.raises(ConfigurationError, match="pip install matplotlib"):
            draw()


@pytest.mark.full
def test_importing_plots_does_not_import_matplotlib():
    code = "import sys, hedgerow.plots; print('matplotlib' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "False\n"


def test_a_picture_of_few_colors_is_small_and_keeps_its_size():
    figure = new_figure(4, 3)
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1])
    axes.fill_between([0, 1], [0, 0.5], [0.5, 1.5], alpha=0.3)
    whole, small = png_bytes(figure), png_bytes(figure, colors=16)
    assert png_bytes(figure, colors=16) == small
    assert len(small) < len(whole) / 2
    first, second = (Image.open(io.BytesIO(png)) for png in (whole, small))
    assert first.size == second.size
    assert len(second.convert("RGB").getcolors()) <= 16
    far = np.abs(np.asarray(first.convert("RGB"), dtype=int) - np.asarray(second.convert("RGB"), dtype=int))
    assert far.mean() < 2


def test_rows_of_an_explanation_add_up_for_each_class():
    generator = np.random.default_rng(0)
    for classes in (["a", "b"], ["a", "b", "c"]):
        schema = hr.Schema({"x": hr.Numeric(0, 1), "z": hr.Numeric(0, 1)}, classes=classes)
        X = generator.uniform(0, 1, (3000, 2))
        y = np.array(classes)[(X[:, 0] * len(classes)).astype(int)]
        found = hr.HedgerowClassifier(epsilon=3.0, delta=1e-6, schema=schema).fit(X, y).explain(X[:2])
        *parts, total = found.table(1)
        assert [row[0] for row in parts] == ["baseline", "x", "z"]
        assert len(found.columns) == len(total) == (3 if len(classes) == 2 else 5)
        assert np.allclose(np.array([row[2:] for row in parts]).sum(axis=0), total[2:])
        assert found.columns[-1] == f"log-odds of {classes[-1]}"
        assert "baseline" in found._repr_html_()
