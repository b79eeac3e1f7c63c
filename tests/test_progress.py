import io

import pytest

from hedgerow.texts import Progress


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock():
    return Clock()


def test_the_time_left_is_the_median_of_the_group_or_the_mean_of_the_groups_seen(clock):
    progress = Progress("aaaabbbc", file=io.StringIO(), clock=clock)
    assert progress.line().endswith("time left unknown")
    for group, seconds in (("a", 90), ("a", 2), ("a", 4), ("b", 12)):
        clock.now += seconds
        progress.step(group, "")
    # one a at 4, two b at 12, and c at the mean of 4 and 12
    assert progress.line().endswith(" 50 % 0 min 36 s left")


def test_what_an_earlier_run_did_counts_as_done_and_not_as_fast(clock):
    progress = Progress("aa", 8, file=io.StringIO(), clock=clock)
    assert progress.line() == "[################....] 8/10 80 % time left unknown"
    clock.now += 90
    progress.step("a", "")
    assert progress.line("forest adult") == "[##################..] 9/10 90 % 1 min 30 s left forest adult"


def test_nothing_left_is_done():
    assert Progress([], 5, file=io.StringIO()).line() == "[####################] 5/5 100 % done"
    assert Progress([], file=io.StringIO()).line() == "[####################] 0/0 100 % done"


def test_a_hundred_percent_is_said_of_the_whole_only():
    assert " 99 % " in Progress("a", 999, file=io.StringIO()).line()


def test_a_log_file_gets_a_line_now_and_then_and_the_last(clock):
    file = io.StringIO()
    with Progress("a" * 100, file=file, clock=clock) as progress:
        for _ in range(100):
            clock.now += 1
            progress.step("a", "")
    counts = [line.split()[1] for line in file.getvalue().splitlines()]
    assert counts == ["0/100", "30/100", "60/100", "90/100", "100/100"]
    assert "\r" not in file.getvalue()


def test_a_terminal_gets_one_line_that_covers_the_longer_one_before(clock, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    file = Terminal()
    with Progress("ab", file=file, clock=clock) as progress:
        clock.now += 1
        progress.step("a", "a label that does not fit beside the bar in sixty columns")
        clock.now += 1
        progress.step("b", "")
    first, *shown = file.getvalue().removesuffix("\n").split("\r")
    assert first == ""
    assert "\n" not in "".join(shown)
    assert [len(line) for line in shown] == [len("[" + "." * 20 + "] 0/2 0 % time left unknown"), 59, 59]
    assert shown[-1].rstrip() == "[####################] 2/2 100 % done"


@pytest.mark.parametrize(
    ("seconds", "text"), [(59.4, "0 min 59 s"), (59.6, "1 min 00 s"), (3599.6, "1 h 00 min"), (7380, "2 h 03 min")]
)
def test_times_left(clock, seconds, text):
    progress = Progress("aa", file=io.StringIO(), clock=clock)
    clock.now += seconds
    progress.step("a", "")
    assert progress.line().endswith(f" {text} left")


def test_a_process_without_standard_error_counts_on(monkeypatch):
    monkeypatch.setattr("sys.stderr", None)
    with Progress("ab") as progress:
        progress.step("a", "first")
        assert "1/2" in progress.line()
