"""The code of every page runs, and the commands that pages name exist, with the options that they name."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import shlex
from pathlib import Path

import click
import pytest
from before import BEFORE, DATA, NEEDS
from products import thinned

from hedgerow.cli import main
from notebooks import notebook_of
from page_blocks import Block, Output, Page, blocks_of, outputs_of

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
# What these folders hold is run whenever the site is built, which fails where a block does.
BUILT = ("api", "guide", "start", "systems", "tutorials")
CODE = [
    page for page in PAGES if page.parent.name not in BUILT and any(block.runs for block in blocks_of(page.read_text()))
]
COMMAND = re.compile(r"^(?: {4}|\$ )?(hedgerow [a-z](?:[^\n\\]|\\\n)*)", re.MULTILINE)


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", thinned(CODE, len(CODE)), ids=name_of)
def test_the_code_of_a_page_runs(page, tmp_path):
    name = name_of(page)
    missing = [package for package in NEEDS.get(name, []) if importlib.util.find_spec(package) is None]
    if missing:
        pytest.skip(f"{missing[0]} is not installed")
    if name in DATA:
        pytest.skip("runs for minutes on published data sets: `pytest -m slow tests/site`")
    assert len(outputs_of(page, tmp_path, BEFORE.get(name, ""))) == len(blocks_of(page.read_text()))


def test_folders_that_are_left_to_the_build_are_run_by_it():
    executed = re.search(r"^executed_pages = (\[.*?\])", (ROOT / "docs/conf.py").read_text(), re.MULTILINE)
    assert executed is not None
    assert {f"{folder}/*" for folder in BUILT} == set(ast.literal_eval(executed[1])) - {"index"}


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("HEDGEROW_DATA"), reason="the data sets are not here")
@pytest.mark.parametrize("name", sorted(DATA))
def test_the_code_of_a_page_runs_on_published_data(name, tmp_path):
    assert outputs_of(ROOT / name, tmp_path)


def test_a_block_that_fails_is_noticed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# A\n\n```python\nx = 1\n```\n\n```python\nx / 0\n```\n")
    with pytest.raises(RuntimeError, match="the block in line 8 failed:\nZeroDivisionError"):
        outputs_of(page, tmp_path)
    page.write_text("```python raises\nx = 1\n```\n")
    with pytest.raises(RuntimeError, match="did not fail"):
        outputs_of(page, tmp_path)
    page.write_text("```sh\nfalse\ntrue\n```\n")
    with pytest.raises(RuntimeError, match="line 2 failed"):
        outputs_of(page, tmp_path)


def test_blocks_share_names_and_the_folder_and_show_what_they_end_with(tmp_path):
    page = tmp_path / "page.md"
    made, unrun = "open('a', 'w').write('b')\nx = 2", "no"
    page.write_text(f"```python\n{made}\n```\n```sh\ncat a\n```\n```python unrun\n{unrun}\n```\n```python\nx\n```\n")
    assert [output.text for output in outputs_of(page, tmp_path)] == ["", "b", "", "2\n"]


def test_a_block_shows_what_a_notebook_shows(tmp_path):
    running = Page("page", tmp_path)
    shown = running.run(Block("python", (), "import hedgerow as hr, pandas as pd\npd.DataFrame({'a': [1]})", 1, 0))
    assert "<table" in shown.html
    assert shown.text == ""
    assert running.run(Block("python", (), "print(pd.DataFrame({'a': [1]}))", 1, 0)).html == ""
    assert running.run(Block("python", (), "hr.Numeric(0, 1)", 1, 0)).text == "Numeric(0, 1)\n"
    assert "<table" in executed_markdown(shown)


def executed_markdown(output):
    executed = pytest.importorskip("executed")  # needs sphinx
    return executed.shown(Block("python", (), "", 1, 0), output, "folder")


def test_a_figure_is_written_once(tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    pytest.importorskip("matplotlib.pyplot").close("all")  # what other tests left
    running = Page("page", tmp_path)
    drawn = running.run(Block("python", (), "import matplotlib.pyplot as plt\nplt.figure()\nx = 1", 1, 0))
    assert drawn.pictures == ("page-1.png",)
    assert (tmp_path / "page-1.png").exists()
    assert running.run(Block("python", (), "x", 1, 0)).pictures == ()


TUTORIALS = sorted((ROOT / "docs/tutorials").glob("*.md"))


@pytest.mark.parametrize("page", TUTORIALS, ids=name_of)
def test_a_notebook_has_the_code_of_its_page_and_no_link_that_leads_nowhere(page):
    text = page.read_text()
    cells = notebook_of(text)["cells"]
    code = [cell["source"].removeprefix("%%bash\n") for cell in cells if cell["cell_type"] == "code"]
    assert code == [block.code.rstrip("\n") for block in blocks_of(text) if block.runs]
    words = "\n".join(cell["source"] for cell in cells if cell["cell_type"] == "markdown")
    assert not re.search(r"\]\((?!https?:)[^)]*\.md", words)
    assert ":::" not in words
    assert len({cell["id"] for cell in cells}) == len(cells)


def test_a_block_that_is_not_run_stays_text_in_a_notebook():
    text = "# A\n\n```python unrun\nx\n```\n\n```python raises\n1 / 0\n```\n\nSee [b](b.md) and `[c](d.md)`.\n"
    words, code, end = notebook_of(text)["cells"]
    assert words["source"] == "# A\n\n```python unrun\nx\n```"
    assert code["metadata"] == {"tags": ["raises-exception"]}
    assert end["source"].startswith("See b and")


def test_a_page_runs_again_only_if_its_code_changed(tmp_path, monkeypatch):
    executed = pytest.importorskip("executed", reason="the extra docs is not installed")
    runs = []

    def run(page, pictures):
        runs.append(page.read_text())
        return [Output("1\n", (), failed=False)]

    monkeypatch.setattr(executed, "outputs_of", run)
    page = tmp_path / "page.md"
    for text, number in (
        ("a\n\n```python\n1\n```\n", 1),
        ("b\n\n```python\n1\n```\n", 1),
        ("b\n\n```python\n2\n```\n", 2),
    ):
        page.write_text(text)
        assert executed.kept_outputs(page, tmp_path / "kept") == [Output("1\n", (), failed=False)]
        assert len(runs) == number
    monkeypatch.setattr(executed, "surroundings", lambda: "another library")
    executed.kept_outputs(page, tmp_path / "kept")
    assert len(runs) == 3


def commands(text: str) -> list[list[str]]:
    found = []
    for line in COMMAND.findall(text):
        words = shlex.split(line.replace("\\\n", " "), comments=True)
        found.append(words[: words.index("|")] if "|" in words else words)
    return found


def unknown(words: list[str]) -> str | None:
    """Say which word of a command line names nothing."""
    command: click.Command = main
    context = click.Context(main, info_name="hedgerow")
    for word in words[1:]:
        if isinstance(command, click.Group) and not word.startswith("-"):
            inner = command.get_command(context, word)
            if inner is None:
                return word
            command, context = inner, click.Context(inner, parent=context, info_name=word)
    known = {
        option for parameter in command.get_params(context) for option in [*parameter.opts, *parameter.secondary_opts]
    }
    return next((word for word in words if word.startswith("--") and word.partition("=")[0] not in known), None)


@pytest.mark.parametrize("page", [page for page in PAGES if COMMAND.search(page.read_text())], ids=name_of)
def test_every_command_that_a_page_names_exists(page):
    assert {" ".join(words): unknown(words) for words in commands(page.read_text()) if unknown(words)} == {}


def test_a_command_that_does_not_exist_is_noticed():
    assert unknown(["hedgerow", "trian", "a.csv"]) == "trian"
    assert unknown(["hedgerow", "train", "a.csv", "--epsilom", "1"]) == "--epsilom"
    assert unknown(["hedgerow", "train", "a.csv", "--epsilon", "1"]) is None
