"""The code blocks of a Markdown page, and what they print and draw: for the site, which shows it, and for the tests.

A block is fenced by three backquotes at the start of a line and begins with its language: ``python`` or ``sh``. The
blocks of a page run from top to bottom in one process and one empty folder, so that files that one writes are there
for the next. Two words behind the language change that: ``raises`` (the block must fail, and what it says is shown)
and ``unrun``.

    python docs/extensions/page_blocks.py docs/tutorials/first-model.md pictures/
"""

from __future__ import annotations

import ast
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

FENCE = re.compile(r"^```(?P<language>python|sh)(?P<words>[^\n`]*)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """Code of a page, and where in its text it ends."""

    language: str
    words: tuple[str, ...]
    code: str
    line: int
    end: int

    @property
    def runs(self) -> bool:
        """Whether it is run at all."""
        return "unrun" not in self.words

    @property
    def raises(self) -> bool:
        """Whether it must fail."""
        return "raises" in self.words


@dataclass(frozen=True)
class Output:
    """What a block printed, the HTML of what it ends with, the pictures that it drew, and whether it failed."""

    text: str
    pictures: tuple[str, ...]
    failed: bool
    html: str = ""


def blocks_of(text: str) -> list[Block]:
    """Return the Python and shell blocks of a page."""
    return [
        Block(
            found["language"],
            tuple(found["words"].split()),
            found["code"],
            text.count("\n", 0, found.start()) + 2,
            found.end(),
        )
        for found in FENCE.finditer(text)
    ]


def outputs_of(page: Path, pictures: Path, before: str = "") -> list[Output]:
    """Run the blocks of a page in a process of its own; ``before`` is Python that runs first and is not shown.

    Raises
    ------
    RuntimeError
        If a block fails that should not, or the other way round.
    """
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run(
            [sys.executable, str(Path(__file__).resolve()), str(page.resolve()), str(pictures.resolve())],
            input=before,
            capture_output=True,
            text=True,
            cwd=folder,
            env=environment(),
        )
    if run.returncode:
        raise RuntimeError(f"{page}: {run.stderr.strip()}")
    return [Output(**{**output, "pictures": tuple(output["pictures"])}) for output in json.loads(run.stdout)]


def environment() -> dict[str, str]:
    """Return an environment in which ``hedgerow`` is this Python's, and nothing is colored or wide."""
    beside = str(Path(sys.executable).parent)
    return os.environ | {
        "PATH": os.pathsep.join([beside, os.environ.get("PATH", "")]),
        "MPLBACKEND": "agg",
        "NO_COLOR": "1",
        "COLUMNS": "100",
    }


class Page:
    """One page while it runs: its names, and the pictures that were drawn so far."""

    def __init__(self, name: str, pictures: Path) -> None:
        self.name, self.pictures, self.drawn = name, pictures, 0
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.html = ""

    def run(self, block: Block) -> Output:
        """Run a block."""
        if not block.runs:
            return Output("", (), failed=False)
        printed = io.StringIO()
        self.html = ""
        failed = self._python(block, printed) if block.language == "python" else self._shell(block, printed)
        if failed != block.raises:
            what = "failed" if failed else "did not fail"
            raise SystemExit(f"the block in line {block.line} {what}:\n{printed.getvalue()}")
        return Output(printed.getvalue().replace(os.getcwd() + "/", ""), self._figures(), failed, self.html)

    def _python(self, block: Block, printed: io.StringIO) -> bool:
        tree = ast.parse(block.code, self.name)
        ast.increment_lineno(tree, block.line - 1)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        with redirect_stdout(printed), redirect_stderr(printed):
            try:
                exec(compile(tree, self.name, "exec"), self.names)
                if last is not None:
                    self._show(eval(compile(ast.Expression(last.value), self.name, "eval"), self.names))
            except BaseException as error:  # a refused budget is no Exception
                print(f"{type(error).__name__}: {error}")
                return True
        return False

    def _show(self, value: Any) -> None:
        """Show what a block ends with, as a notebook does: its HTML if it has any; displays are seen as their pictures."""
        if value is None or hasattr(value, "figure_"):
            return
        if hasattr(value, "_repr_html_"):
            self.html = value._repr_html_()
        else:
            print(repr(value))

    def _shell(self, block: Block, printed: io.StringIO) -> bool:
        run = subprocess.run(
            ["bash", "-euc", block.code],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        printed.write(run.stdout)
        return run.returncode != 0

    def _figures(self) -> tuple[str, ...]:
        """Write the open figures, and close them."""
        if "matplotlib.pyplot" not in sys.modules:
            return ()
        from matplotlib import pyplot

        written = []
        for number in pyplot.get_fignums():
            self.drawn += 1
            written.append(f"{self.name.replace('/', '-')}-{self.drawn}.png")
            pyplot.figure(number).savefig(self.pictures / written[-1], dpi=110, bbox_inches="tight")
            pyplot.close(number)
        return tuple(written)


def main(page: str, pictures: str) -> None:
    """Run a page's blocks and write what they said as JSON."""
    Path(pictures).mkdir(parents=True, exist_ok=True)
    running = Page(Path(page).stem, Path(pictures))
    before = sys.stdin.read()
    if before:
        running.run(Block("python", (), before, 1, 0))
    outputs = [running.run(block) for block in blocks_of(Path(page).read_text())]
    json.dump([asdict(output) for output in outputs], sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
