"""Lines between a Spark driver and its tasks: only the other end's messages are accepted, and no core is held for long.

Tasks are threads here; ``test_spark.py`` runs them on executors. SECURITY.md says what lines are protected from.
"""

import errno
import pickle
import socket
import threading
import time
from contextlib import suppress
from types import SimpleNamespace

import numpy as np
import pytest

from hedgerow.engines import lines
from hedgerow.engines.lines import ENCRYPTED, Line, Lines, serve
from hedgerow.engines.local import Partial, Silent
from hedgerow.engines.spark import SparkEngine
from hedgerow.errors import EngineError

KEY, OTHER_KEY = b"k" * 32, b"o" * 32


@pytest.fixture
def sockets():
    """The two ends of a connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        task = socket.create_connection(server.getsockname(), timeout=5)
        driver = server.accept()[0]
    driver.settimeout(5)
    with task, driver:
        yield driver, task


def test_messages_arrive_whole_and_in_order_both_ways(sockets):
    driver, task = Line(sockets[0], KEY, 3, driver=True), Line(sockets[1], KEY, 3, driver=False)
    large = bytes(range(256)) * 20_000
    thread = threading.Thread(target=lambda: [driver.send(message) for message in (b"", large, b"last")])
    thread.start()
    assert [task.receive() for _ in range(3)] == [b"", large, b"last"]
    thread.join()
    task.send(b"answer")
    assert driver.receive() == b"answer"


def sent(ends, messages, key=KEY, place=3):
    """The bytes of messages as a task sends them."""
    driver, task = ends
    line = Line(task, key, place, driver=False)
    for message in messages:
        line.send(message)
    return driver.recv(1 << 16)


@pytest.mark.parametrize(
    ("key", "place", "change"),
    [
        pytest.param(OTHER_KEY, 3, lambda one, two: one, id="another key"),
        pytest.param(KEY, 4, lambda one, two: one, id="another partition"),
        pytest.param(KEY, 3, lambda one, two: two, id="a message left out"),
        pytest.param(KEY, 3, lambda one, two: one[:-1] + b"x", id="a byte altered"),
        pytest.param(KEY, 3, lambda one, two: b"\0" + one, id="a byte more"),
        pytest.param(KEY, 3, lambda one, two: (1 << 41).to_bytes(8, "big") + one[8:], id="a length that nobody sends"),
        pytest.param(KEY, 3, lambda one, two: one[:-1], id="cut off"),
    ],
)
def test_what_the_other_end_did_not_send_is_refused(sockets, key, place, change):
    both = sent(sockets, [b"first", b"twice"], key, place)
    one, two = both[: len(both) // 2], both[len(both) // 2 :]
    line = Line(sockets[0], KEY, 3, driver=True)
    sockets[1].sendall(change(one, two))
    sockets[1].close()
    with pytest.raises(OSError):  # noqa: PT011 - of any kind
        line.receive()


def test_a_message_that_comes_twice_or_comes_back_is_refused(sockets):
    message = sent(sockets, [b"first"])
    line = Line(sockets[0], KEY, 3, driver=True)
    sockets[1].sendall(message * 2)
    assert line.receive() == b"first"
    with pytest.raises(ConnectionError):
        line.receive()
    own = Line(sockets[0], KEY, 3, driver=True)
    own.send(b"question")
    sockets[1].sendall(sockets[1].recv(1 << 16))
    with pytest.raises(ConnectionError):
        own.receive()


def test_an_answer_to_an_earlier_query_is_refused(sockets):
    driver, task = Line(sockets[0], KEY, 3, driver=True), Line(sockets[1], KEY, 3, driver=False)
    driver.send(b"first")
    task.send(b"answer to " + task.receive())
    driver.send(b"second")  # after an interruption, say
    with pytest.raises(ConnectionError):
        driver.receive()


class Tasks:
    """Tasks as threads, one for each partition, which answer by ``answer(place, message)``."""

    def __init__(self, monkeypatch, partitions=2, cores=2, settings=None, timeout=5.0, answer=None):
        monkeypatch.setattr(lines, "import_module", lambda _: SimpleNamespace(InheritableThread=threading.Thread))
        settings = {"spark.driver.host": "127.0.0.1"} if settings is None else settings
        self.active = [0]  # the ids of jobs: that of the tasks
        context = SimpleNamespace(
            getConf=lambda: settings,
            defaultParallelism=cores,
            setJobGroup=lambda *_, **__: None,
            cancelJobGroup=list,
            statusTracker=lambda: SimpleNamespace(getActiveJobsIds=lambda: self.active),
        )
        self.partitions, self.answer, self.started, self.threads = partitions, answer or self.echoed, [], []
        self.lines = Lines(context, partitions, timeout, self.serve)

    def echoed(self, place, message):
        return message + bytes([place])

    def serve(self, address, key):
        self.started.append(address)
        return SimpleNamespace(collect=lambda: self.run(address, key))

    def run(self, address, key):
        self.threads = [
            threading.Thread(target=serve, args=(address, key, place, lambda one, place=place: self.answer(place, one)))
            for place in range(self.partitions)
        ]
        for thread in self.threads:
            thread.start()
        for thread in self.threads:
            thread.join()

    def ask(self, message=b"q", progress=lambda share: None):
        return self.lines.ask(message, progress)


@pytest.fixture
def tasks(monkeypatch):
    made = []

    def make(**given):
        made.append(Tasks(monkeypatch, **given))
        return made[-1]

    yield make
    for one in made:
        one.lines.close()
        assert not any(thread.is_alive() for thread in one.threads)


def test_the_same_tasks_answer_query_after_query(tasks):
    here, shares = tasks(partitions=3, cores=3), []
    for number in range(5):
        assert sorted(here.ask(bytes([number]), shares.append)) == [bytes([number, place]) for place in range(3)]
    assert len(here.started) == 1
    assert shares == [1 / 3, 2 / 3, 1.0] * 5


@pytest.mark.parametrize(
    "given",
    [
        {"cores": 1},
        {"settings": {"spark.task.cpus": "2"}},
        *({"settings": {f"spark.{name}": "true"}} for name in ENCRYPTED),
        *({"settings": {f"spark.{ENCRYPTED[0]}": value}} for value in ("True", " TRUE ", "${env:ENCRYPT}")),
    ],
    ids=str,
)
def test_no_task_stays_where_cores_are_few_or_messages_are_to_be_encrypted(tasks, given):
    here = tasks(**given)
    assert here.ask() is None
    assert not here.started


def test_tasks_that_cannot_connect_are_not_tried_again(tasks, monkeypatch):
    here = tasks()
    monkeypatch.setattr(here, "run", lambda address, key: None)
    assert here.ask() is None
    assert here.ask() is None
    assert len(here.started) == 1


def test_whoever_has_no_key_gets_no_line(tasks, monkeypatch):
    here = tasks()
    monkeypatch.setattr(lines, "LOOK", 0.2)
    run, strangers = here.run, []

    def first(address, key):
        for message in (b"", bytes(4), bytes(4) + bytes(40), bytes(4) + b"\xff" * 40):
            stranger = socket.create_connection(address, timeout=5)
            stranger.sendall(message)
            strangers.append(stranger)
        serve(address, OTHER_KEY, 0, lambda message: b"wrong")
        run(address, key)

    monkeypatch.setattr(here, "run", first)
    assert sorted(here.ask()) == [b"q\0", b"q\1"]
    for stranger in strangers:
        stranger.close()


def test_a_stranger_who_sends_slowly_does_not_keep_tasks_out(tasks, monkeypatch):
    here, ended = tasks(), threading.Event()
    monkeypatch.setattr(lines, "LOOK", 0.2)
    monkeypatch.setattr(lines, "START", 2.0)
    run = here.run

    def trickle(stranger):
        with suppress(OSError):
            while not ended.wait(0.1):
                stranger.sendall(b"\0")

    def first(address, key):
        with socket.create_connection(address, timeout=5) as stranger:
            thread = threading.Thread(target=trickle, args=(stranger,))
            thread.start()
            try:
                run(address, key)
            finally:
                ended.set()
                thread.join()

    monkeypatch.setattr(here, "run", first)
    assert here.ask()


def test_a_task_that_starts_early_waits_for_the_others(tasks, monkeypatch):
    monkeypatch.setattr(lines, "IDLE", 0.2)
    here = tasks()

    connect = socket.create_connection

    def late(address, timeout):
        if threading.current_thread() is not here.threads[0]:
            time.sleep(0.6)
        return connect(address, timeout)

    monkeypatch.setattr(socket, "create_connection", late)
    assert here.ask()


def test_a_slow_partition_costs_the_others_neither_their_answers_nor_the_next_query(tasks, monkeypatch):
    monkeypatch.setattr(lines, "IDLE", 0.8)
    slow, large = [], bytes(1 << 24)  # more than the system keeps for a line

    def answer(place, message):
        if place in slow:
            time.sleep(1.5)
        return large if message == b"large" else message

    here = tasks(answer=answer)
    assert here.ask() == [b"q", b"q"]
    slow.append(next(iter(here.lines._lines)))  # the first in order
    assert here.ask(b"large") == [large, large]
    slow.clear()
    assert here.ask() == [b"q", b"q"]


def test_a_query_of_a_signal_handler_gets_no_answer_of_another_query(tasks, monkeypatch):
    monkeypatch.setattr(lines, "FAILURES", 2)  # both together count as one
    here, inner = tasks(), []

    def handler(share):
        inner.append(here.ask(b"inner"))
        here.lines.close()  # for the job that the handler's query is

    assert here.ask(b"outer", handler) is None
    assert inner == [None]
    assert sorted(here.ask()) == [b"q\0", b"q\1"]


def test_a_lost_machine_is_no_silence(tasks, monkeypatch):
    here = tasks()
    assert here.ask()

    def lost(*_):
        raise OSError(errno.ETIMEDOUT, "keep-alive")  # a TimeoutError

    line = here.lines._lines[0]
    assert line.connection.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # on Linux
        assert line.connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 75_000
    monkeypatch.setattr(line, "receive", lost)
    assert here.ask() is None
    assert here.ask()


def test_no_task_stays_while_another_job_waits(tasks):
    here = tasks()
    assert here.ask()
    here.active.append(1)
    assert here.ask() is None
    here.lines.close()  # for the job that the query is
    here.active.pop()
    assert here.ask()
    assert len(here.started) == 2


def test_after_a_task_is_lost_new_ones_answer(tasks):
    here = tasks()
    assert here.ask()
    place, line = here.lines._lines.popitem()
    line.close()
    here.lines._lines[place] = line
    assert here.ask() is None
    assert sorted(here.ask()) == [b"q\0", b"q\1"]
    assert len(here.started) == 2


def test_of_two_tasks_for_a_partition_the_last_one_answers(tasks, monkeypatch):
    here = tasks()
    run, ended = here.run, []

    def twice(address, key):
        first = threading.Thread(target=lambda: ended.append(serve(address, key, 0, lambda message: b"first")))
        first.start()
        while not here.lines._lines:
            time.sleep(0.01)
        run(address, key)
        first.join()

    monkeypatch.setattr(here, "run", twice)
    assert sorted(here.ask()) == [b"q\0", b"q\1"]
    here.lines.close()
    assert ended == [None]


def test_what_fails_before_the_tasks_start_leaves_nothing_behind(tasks, monkeypatch):
    class Broken(threading.Thread):
        def start(self):
            raise RuntimeError("no more threads")

    here = tasks()
    monkeypatch.setattr(lines, "import_module", lambda _: SimpleNamespace(InheritableThread=Broken))
    with pytest.raises(RuntimeError, match="no more threads"):
        here.ask()
    here.lines.close()


def test_lines_close_although_spark_was_stopped(tasks, monkeypatch):
    monkeypatch.setattr(lines, "LOOK", 0.1)
    here = tasks(timeout=0.1, answer=lambda place, message: time.sleep(0.6) or b"late")
    stopped = []

    def cancel(group):
        stopped.append(group)
        raise AttributeError("'NoneType' object has no attribute 'sc'")

    here.lines._context.cancelJobGroup = cancel
    with pytest.raises(EngineError, match="nothing finished"):
        here.ask()
    assert len(stopped) == 1
    for thread in here.threads:
        thread.join(5)


@pytest.mark.parametrize("given", [{"timeout": 1e12}, {"settings": {}}], ids=str)
def test_any_timeout_and_settings_will_do(tasks, given):
    assert tasks(**given).ask()


def test_after_three_losses_all_queries_are_jobs(tasks):
    here = tasks()
    for _ in range(3):
        assert here.ask()
        here.lines.fail()
    assert here.ask() is None
    assert len(here.started) == 3


def test_an_interruption_ends_the_tasks(tasks):
    here = tasks()

    def stop(share):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        here.ask(progress=stop)
    assert not here.lines._lines
    assert not any(thread.is_alive() for thread in here.threads)
    assert sorted(here.ask(b"next")) == [b"next\0", b"next\1"]  # no answer to what was asked before


def test_silence_is_an_error_after_the_stated_time(tasks):
    here = tasks(timeout=0.3, answer=lambda place, message: time.sleep(1) or b"late")
    with pytest.raises(EngineError, match=r"nothing finished for 0\.3 seconds"):
        here.ask()


def test_tasks_end_by_themselves_without_queries_and_begin_anew(tasks, monkeypatch):
    monkeypatch.setattr(lines, "IDLE", 0.2)
    here = tasks()
    assert here.ask()
    for thread in here.threads:
        thread.join(5)
        assert not thread.is_alive()
    assert sorted(here.ask()) == [b"q\0", b"q\1"]


def test_tasks_give_their_cores_back_in_turn(tasks, monkeypatch):
    monkeypatch.setattr(lines, "LIFE", 0.0)
    here = tasks()
    assert [sorted(here.ask()) for _ in range(3)] == [[b"q\0", b"q\1"]] * 3
    assert len(here.started) == 3


class Question(SimpleNamespace):
    log, end, size, query = "log", 1, 1, None

    def after(self, number):
        return self


def test_queries_of_one_engine_from_several_threads_take_turns():
    context = SimpleNamespace(getConf=dict, defaultParallelism=0, broadcast=lambda facts: facts)
    engine, events, totals = SparkEngine(context, SimpleNamespace(served=list), [0], None, Silent(), 5.0), [], []

    def ask(packed, progress):
        events.append("sent")
        time.sleep(0.1)
        events.append("answered")
        return [pickle.dumps(Partial((0,), np.ones(1, dtype=np.int64)))]

    engine._lines = SimpleNamespace(ask=ask)
    threads = [threading.Thread(target=lambda: totals.append(int(engine.ask(Question())[0]))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert events == ["sent", "answered"] * 3
    assert totals == [1] * 3
