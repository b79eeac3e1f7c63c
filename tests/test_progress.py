import io
import sys

import pytest

from hedgerow.texts import progress_bar


class Terminal(io.StringIO):
    def isatty(self):
        return True


def work(**shown):
    with progress_bar(3, "fitting", **shown) as bar:
        for piece in "abc":
            bar.update(1, f"forest {piece}")


def test_a_terminal_gets_the_number_of_pieces_and_the_last_one(monkeypatch):
    monkeypatch.setattr("sys.stderr", Terminal())
    work()
    last = sys.stderr.getvalue().rstrip().rpartition("\r")[2]
    assert "3/3" in last
    assert "forest c" in last
    assert "fitting" in last


@pytest.mark.parametrize("shown", [True, False])
def test_a_log_file_gets_one_line_or_nothing(monkeypatch, shown):
    file = io.StringIO()
    monkeypatch.setattr("sys.stderr", file)
    work(shown=shown)
    assert file.getvalue() == "fitting\n" * shown


def test_a_process_without_standard_error_counts_on(monkeypatch):
    monkeypatch.setattr("sys.stderr", None)
    work()
