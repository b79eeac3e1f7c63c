"""Mutation testing can tell: a change that a test notices fails it, one that no test could notice survives."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import hedgerow
from order import Order, Words
from patches import changed_kernels, patch_of
from reach import Seen, SeenSoFar
from trial import Change

ROOT = Path(__file__).parents[2]
SOURCE = Path(hedgerow.__file__).parent
AMOUNTS = (
    "privacy/accounting.py",
    "tests/privacy/test_accountants.py::test_one_record_replaced_costs_four_times_as_much_where_costs_are_squares",
)
COINS = "mechanisms/kernels.py", "tests/mechanisms/test_chacha.py::test_block_of_rfc_8439"

TRY = """
import json, sys
sys.path.insert(0, "mutation")
import hypothesis, numba, pytest
from pathlib import Path
from trial import Change, Trials, prepare
prepare()
module, path, tests, sources, reach = json.loads(sys.stdin.read())
changes = [Change(module, path, open(path).read(), source, (), tests=tests) for source in sources]
print(json.dumps([[number, outcome.state, outcome.by] for number, outcome in Trials(Path(reach)).run(changes)]))
"""


@pytest.fixture
def outcomes(tmp_path):
    """Try each change of a text in a module; the answer is the state and the test of each, by its number."""

    def tried(module, test, *changes):
        text = (SOURCE / module).read_text()
        assert all(text.count(before) == 1 for before, _ in changes)
        sources = [text.replace(before, after) for before, after in changes]
        request = json.dumps([module, str(SOURCE / module), [test], sources, str(tmp_path / "reach.jsonl")])
        done = subprocess.run([sys.executable, "-c", TRY], input=request, capture_output=True, text=True, cwd=ROOT)
        if done.returncode:
            raise ValueError(done.stderr)
        return {number: (state, by) for number, state, by in json.loads(done.stdout)}

    return tried


@pytest.mark.full
def test_a_change_fails_a_test_hangs_or_survives(outcomes):
    field, line = "            rho=squares * self.rho,", "squares, each = (count**2, 1) if group else (count, count)"
    found = outcomes(
        *AMOUNTS,
        (field, field.replace("squares", "count")),
        (field, field.replace("squares", "squares * 1")),
        (line, line.replace("count**2", "count")),
        (line, line.replace("count**2", "count**2 * 1")),
        ("        covered = not", "        while True: pass\n        covered = not"),
    )
    states = {number: state for number, (state, _) in found.items()}
    assert states == {0: "failed", 1: "passed", 2: "failed", 3: "passed", 4: "hung"}
    assert "test_one_record_replaced" in found[2][1]


@pytest.fixture
def made_up():
    """A test file that pytest finds from the root, and its name there."""
    (ROOT / "build").mkdir(exist_ok=True)
    with TemporaryDirectory(dir=ROOT / "build") as folder:
        file = Path(folder) / "test_made_up.py"
        yield file, file.relative_to(ROOT).as_posix()


@pytest.mark.full
def test_a_test_that_fails_without_the_change_holds_nothing(outcomes, made_up):
    file, name = made_up
    file.write_text(
        "from hedgerow.texts import listed\n"
        "def test_wrong():\n    assert listed(['a', 'b']) == 'c'\n"
        "def test_right():\n    assert listed(['a', 'b']).count('b') == 1\n"
    )
    change = "map(repr, names[:10])", "map(repr, names[:1])"
    for test, state in (("wrong", "passed"), ("right", "failed")):
        assert outcomes("texts.py", f"{name}::test_{test}", change)[0][0] == state


@pytest.mark.full
def test_a_changed_kernel_is_compiled_anew_with_its_callers_and_leaves_no_trace(outcomes):
    """A kernel's compiled callers stay on disk with the true one inside them: neither may they be read nor written over."""
    line = "d = _rotated(np.uint32(d ^ a), np.uint32(8))"
    changes = (line, line.replace("(8)", "(9)")), (line, line.replace("d ^ a", "a ^ d"))
    assert outcomes(*COINS, *changes)[0][0] == "failed"
    again = outcomes(*COINS, *changes)
    assert {number: state for number, (state, _) in again.items()} == {0: "failed", 1: "passed"}


@pytest.mark.full
def test_a_kernel_that_is_compiled_as_tests_are_collected_is_changed_before(outcomes, made_up):
    file, name = made_up
    file.write_text(
        "import numpy as np\n"
        "from hedgerow.mechanisms.kernels import _rotated\n"
        "TURNED = _rotated(np.uint32(1), np.uint32(8))\n"
        "def test_turned():\n    assert TURNED == 1 << 8\n"
    )
    changes = ("32 - left", "32 + 0 - left"), ("word << left)", "word << left << left)"), ("state[15] =", "state[14] =")
    found = outcomes(COINS[0], f"{name}::test_turned", *changes)
    assert {number: state for number, (state, _) in found.items()} == {0: "passed", 1: "failed", 2: "passed"}


EXACT = "privacy/exact.py", "tests/privacy/test_exact_numbers.py::test_a_text_is_as_long_as_the_limit_and_no_longer"


def test_a_change_whose_tests_are_not_found_is_not_said_to_survive(outcomes):
    with pytest.raises(ValueError, match="no test of the name"):
        outcomes(EXACT[0], f"{EXACT[1]}_of_a_line", ("LONGEST_TEXT = 4000", "LONGEST_TEXT = 4001"))


def test_a_constant_that_has_no_value_is_noticed(outcomes):
    found = outcomes(*EXACT, ("LONGEST_TEXT = 4000", "LONGEST_TEXT = 4000 / None"))
    assert {number: state for number, (state, _) in found.items()} == {0: "failed"}


@pytest.mark.full
def test_a_module_that_is_imported_only_as_its_tests_run_is_changed(outcomes):
    test = "tests/ledgers/test_store.py::test_copies_are_the_same_ledger_and_pickles_are_its_address"
    found = outcomes("ledgers/store.py", test, ("    if not same:", "    if same:"))
    assert {number: state for number, (state, _) in found.items()} == {0: "failed"}


@pytest.mark.skipif(sys.platform != "linux", reason="threads of libraries are counted where the system lists them")
def test_tests_that_start_threads_as_they_are_collected_are_refused(outcomes, made_up):
    """A fork has none of these threads, and polars waits for them."""
    file, name = made_up
    file.write_text(
        "import polars\npolars.DataFrame({'a': [1]}).lazy().select('a').collect()\ndef test_nothing(): pass\n"
    )
    with pytest.raises(ValueError, match="threads of polars"):
        outcomes(EXACT[0], f"{name}::test_nothing", ("LONGEST_TEXT = 4000", "LONGEST_TEXT = 4001"))


QUICKLY = """
import sys
sys.path.insert(0, "mutation")
from patches import compile_quickly
from hedgerow.mechanisms import kernels
compile_quickly()
print([int(kernels.next_word(kernels.open_stream(bytes(32), 0)))])
"""


@pytest.mark.full
def test_kernels_that_are_compiled_for_a_trial_mean_the_same_and_are_not_kept(tmp_path):
    found = subprocess.run(
        [sys.executable, "-c", QUICKLY],
        env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    assert json.loads(found.stdout) == [0x903DF1A0ADE0B876]  # RFC 8439, appendix A.1
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


STARVED = """
import os, signal, sys, time
sys.path.insert(0, "mutation")
from trial import _in_a_process

def wait(work):
    signal.setitimer(signal.ITIMER_REAL, 1)
    while True:
        work()

os.sched_setaffinity(0, list(os.sched_getaffinity(0))[:1])
print(_in_a_process(lambda: wait(lambda: time.sleep(0.1)), 60).state)
others = [os.fork() for _ in range(5)]
if 0 in others:
    signal.alarm(20)
    while True:
        pass
print(_in_a_process(lambda: wait(int), 60).state)
for other in others:
    os.kill(other, signal.SIGKILL)
"""


@pytest.mark.full
@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="no other system says how long a process waited")
def test_a_trial_that_waits_for_the_processor_alone_does_not_count_as_hanging():
    done = subprocess.run([sys.executable, "-c", STARVED], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.split() == ["hung", "broken"]


def test_what_a_kernels_change_reaches():
    before = "A = 1\ndef f(): return 1\ndef g(): return f()\ndef h(): return g()\ndef i(): return A\n"
    assert changed_kernels(before, before.replace("return 1", "return 2")) == {"f", "g", "h"}
    assert changed_kernels(before, before.replace("return A", "return -A")) == {"i"}
    assert changed_kernels(before, before.replace("A = 1", "A = 2")) == {"f", "g", "h", "i"}
    assert changed_kernels(before, before) == set()


def test_bodies_of_functions_and_constants_are_patched():
    for text in ("def f(a=2): return a", "x = 2", "class C:\n    x = 2", "def f(): return 1\nf = [2]"):
        found = patch_of(text, text.replace("2", "3"), "m.py")
        assert found is None
    moved = patch_of("def f(): return 1\ndef g(): return 3\n", "def f():\n    return 2\ndef g(): return 3\n", "m.py")
    assert list(moved.codes) == [("f", 1)]
    for text in ("def f(a): return 2", "class C:\n    @property\n    def f(self): return 2"):
        assert len(patch_of(text, text.replace("2", "3"), "m.py").codes) == 1
    assert dict(patch_of("LARGEST = 2\n", "LARGEST = 3\n", "m.py").constants) == {"LARGEST": "LARGEST = 3"}


@pytest.mark.parametrize(
    "reader",
    ["def f(a=A): return a", "def f(*, a=A): return a", "B = A", "class C:\n    x: int = A", "@A\ndef f(): pass"],
)
def test_a_constant_that_is_read_at_import_is_not_patched(reader):
    assert patch_of(f"A = 2\n{reader}\n", f"A = 3\n{reader}\n", "m.py") is None
    only_later = "A = 2\ndef f(a: A) -> A:\n    b: A\n    return A\n"
    assert patch_of(only_later, only_later.replace("2", "3"), "m.py").constants


def test_tests_that_noticed_changes_of_the_same_function_come_first_and_those_that_call_nothing_of_it_not_at_all():
    seen = {
        name: Seen(seconds, frozenset({"m.py:f", "m.py:g"})) for name, seconds in (("a", 0.5), ("b", 0.5), ("c", 0.1))
    }
    order = Order([*"abcd", "e.py::e", "f.py::f[1]", "f.py::f[2]"], {**seen, "d": Seen(0.1, frozenset({"m.py:h"}))})
    assert order.of(["m.py:f"], ["f.py", "e.py"]) == ["c", "f.py::f[1]", "a", "f.py::f[2]", "b", "e.py::e"]
    order.learn({**order.seen, "f.py::f[1]": Seen(0.1, frozenset()), "e.py::e": Seen(9.0, frozenset({"m.py:f"}))})
    assert order.of(["m.py:f"], []) == ["c", "a", "b", "e.py::e"]
    for _ in range(5):
        order.learn_failure("a", ["m.py:f"])
    order.learn_failure("b", ["m.py:g"])
    assert order.of(["m.py:f"], [])[:3] == ["a", "b", "c"]
    assert order.of(["m.py:g"], [])[:3] == ["b", "a", "c"]
    assert order.of(["m.py:h"], []) == ["d"]
    assert order.of(["m.py/"], []) == []


def test_a_package_is_changed_itself_and_no_copy_of_it():
    names = {path: Change(path, path, "", "", ()).dotted for path in ("cli/__init__.py", "cli/audit.py", "texts.py")}
    assert list(names.values()) == ["hedgerow.cli", "hedgerow.cli.audit", "hedgerow.texts"]


def test_named_tests_are_all_cases_of_a_test_and_all_tests_of_a_file():
    order = Order(["a.py::test", "a.py::test[1]", "a.py::test_it", "b.py::C::test", "b.py::other", "c.py::test"], {})
    for names, chosen in (
        (("a.py::test",), order.names[:2]),
        (("a.py::test[1]",), order.names[1:2]),
        (("b.py", "a.py::test_it"), order.names[2:5]),
    ):
        assert Change("m.py", "m.py", "", "", (), tests=names).chosen(order) == chosen


def test_a_copy_is_for_tests_that_are_named(monkeypatch, capsys):
    pytest.importorskip("cosmic_ray", reason="it comes with the extra 'mutants'")
    import run

    monkeypatch.setattr(sys, "argv", ["run.py", "--copy"])
    with pytest.raises(SystemExit):
        run.main()
    assert "--copy needs --tests" in capsys.readouterr().err


def test_calls_are_seen_in_fixtures_and_caches_are_forgotten(tmp_path):
    (tmp_path / "test_it.py").write_text(
        "import pytest\nfrom hedgerow.texts import listed\n"
        "@pytest.fixture(scope='module')\ndef names():\n    return listed(['a', 'b'])\n"
        "def test_first(names): pass\ndef test_second(names): pass\ndef test_none(): pass\n"
        "def test_wrong(names): assert not names\n"
    )
    target = tmp_path / "reach.jsonl"
    environment = os.environ | {
        "REACH": str(target),
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT / "mutation")]),
    }
    run = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "reach",
        "-p",
        "no:xdist",
        "-p",
        "no:cacheprovider",
        str(tmp_path),
    ]
    subprocess.run(run, env=environment, capture_output=True, cwd=tmp_path)
    seen = SeenSoFar().update_from(target)
    calls = {name.partition("::")[2]: "texts.py:listed" in one.functions for name, one in seen.items()}
    assert calls == {"test_first": True, "test_second": True, "test_none": False}


def test_the_nearest_files_name_what_is_rare():
    words = Words(ROOT / "tests")
    for module, file in (
        ("privacy/claim.py", "privacy/test_claim.py"),
        ("analysis/card.py", "analysis/test_card_figures.py"),
    ):
        assert f"tests/{file}" in words.nearest(module, (SOURCE / module).read_text())[:5]


def test_what_is_changed_and_what_is_not():
    pytest.importorskip("cosmic_ray", reason="it comes with the extra 'mutants'")
    from mutants import mutants_of

    text = '''
__all__ = ["f" + "g"]

@lru_cache(maxsize=64)
def f(x: int | None, *, low=0) -> list[int] | None:
    """One + one."""
    if x < low and not low:
        raise ValueError(f"{x + 1} is too small")
    total = max(x, 2)
    total += 1
    g(total, low=low)
    return total if x in (5, low) else -low
'''
    changes = {mutant.change.removeprefix("f: ") for mutant in mutants_of("m.py", text)}
    condition, last = "if x < low and not low:", "return total if x in (5, low) else -low"
    assert changes == {
        *(f"def f(x: int | None, *, low=0) -> list[int] | None: -> def f(x: int | None, *, low= {n}) -> list[int] | None:"
          for n in (1, -1)),
        *(f"{condition} -> {new}" for new in (
            "if x <= low and not low:", "if x >= low and not low:", "if x < low or not low:", "if x < low and  low:",
            "if not x < low and not low:")),
        'raise ValueError(f"{x + 1} is too small") -> pass',
        *(f"total = max(x, 2) -> {new}" for new in ("total = max(x, 3)", "total = max(x, 1)", "total = min(x, 2)")),
        *(f"total += 1 -> {new}" for new in ("total -= 1", "total += 2", "total += 0", "pass")),
        *(f"g(total, low=low) -> {new}" for new in ("g(total, **{})", "pass")),
        *(f"{last} -> {new}" for new in (
            "return total if x in ( 6, low) else -low", "return total if x in ( 4, low) else -low",
            "return total if x not in (5, low) else -low", "return total if x in (5, low) else low")),
    }  # fmt: skip


OF_KEYS = """
LIMIT = 5

class C:
    low: int = 1

    def f(self, x):
        \"\"\"Add.\"\"\"
        return x + self.low  # a reason

    def g(self, x):
        return x - LIMIT
"""


def test_outcomes_are_kept_until_the_changed_function_says_something_else():
    pytest.importorskip("cosmic_ray", reason="it comes with the extra 'mutants'")
    from mutants import Source

    kept = Source("m.py", OF_KEYS).syntax
    assert set(kept) == {"module", "C", "C.f", "C.g"}
    layout = (
        OF_KEYS.replace("  # a reason", "")
        .replace("Add.", "Add both.")
        .replace("x - LIMIT", "(x\n            - LIMIT)")
    )
    assert Source("m.py", "\n\n" + layout).syntax == kept
    for before, after, function in (
        ("x + self.low", "self.low + x", "C.f"),
        ("x - LIMIT", "x - LIMIT - 1", "C.g"),
        ("int = 1", "int = 7", "C"),
        ("LIMIT = 5", "LIMIT = 9", "module"),
    ):
        changed = Source("m.py", OF_KEYS.replace(before, after)).syntax
        assert {name for name in kept if changed[name] != kept[name]} == {function}


def test_packed_outcomes_are_gone_on_from_and_half_a_line_is_none(tmp_path):
    pytest.importorskip("cosmic_ray", reason="it comes with the extra 'mutants'")
    from run import Known, read_outcomes, write_outcomes

    packed, tried = tmp_path / "outcomes.xz", tmp_path / "tried.txt"
    known = {("b.py", "f: a -> b"): Known("failed", "1", "t.py::t", "2"), ("a.py", "g: a -> b"): Known("passed", "3")}
    write_outcomes(known, packed, tried)
    assert read_outcomes(packed, tried) == known
    tried.write_text("a.py\tg: a -> b\thung\t4\tt.py::t\t5\nb.py\tf: a")
    gone_on = read_outcomes(packed, tried)
    assert gone_on == {**known, ("a.py", "g: a -> b"): Known("hung", "4", "t.py::t", "5")}
    write_outcomes(gone_on, packed, tried)
    assert (read_outcomes(packed, tried), tried.exists()) == (gone_on, False)
    packed.write_bytes(packed.read_bytes() + b" ")
    with pytest.raises(ValueError, match="is not the file whose hash stands in"):
        read_outcomes(packed, tried)


def test_the_page_says_what_is_known_and_how_much_of_it_is_current(tmp_path):
    pytest.importorskip("cosmic_ray", reason="it comes with the extra 'mutants'")
    from run import MARKS, PAGE, in_words, write_page

    page = tmp_path / "page.md"
    page.write_text("before\n" + "\nold\n".join(MARKS) + "\nafter\n")
    rows = {
        "a": Counter(lines=60, covered=60, tried=7, killed=5, equivalent=1, survived=1, expired=2),
        "b": Counter(lines=40, tried=3, killed=3),
    }
    for _ in range(2):
        write_page(rows, in_words(rows, 200), page)
        text = page.read_text()
        assert text.startswith("before\n")
        assert text.endswith("\nafter\n")
        assert "old" not in text
        assert "| a | 60 | 60 | 7 | 5 | 1 | 0 | 1 | 2 |" in text
        assert "100 of 200 lines are under trial, 50 %. 60 of them, 60 %, are in modules" in text
        assert "10 mutants have one, 83 % of those that were tried: 8 are killed" in text
    assert [PAGE.read_text().count(mark) for mark in MARKS] == [1, 1]


def test_an_outcome_expires_when_its_function_or_the_test_that_noticed_it_changes():
    pytest.importorskip("cosmic_ray", reason="it comes with the extra 'mutants'")
    from run import Known, Module, current, figures, left, test_syntax

    every, test = {"texts.py": Module("texts.py")}, "tests/mutation/test_planted.py::test_no_two_bugs_are_one"
    syntax, noticed = every["texts.py"].source.syntax["listed"], test_syntax(test)
    kept = {
        ("texts.py", "listed: a -> b"): Known("failed", syntax, test, noticed),
        ("texts.py", "listed: a -> c"): Known("passed", syntax),
        ("texts.py", "listed: a -> d"): Known("passed", syntax),
    }
    expired = {
        ("texts.py", "listed: a -> e"): Known("failed", "x", test, noticed),
        ("texts.py", "listed: a -> f"): Known("failed", syntax, test, "x"),
        ("texts.py", "listed: a -> g"): Known("broken", syntax),
        ("gone.py", "listed: a -> b"): Known("passed", "x"),
    }
    now = current({**kept, **expired}, every)
    assert now == kept
    judged = {("texts.py", "listed: a -> c"): "equivalent", ("texts.py", "listed: a -> b"): "harmless"}
    row = figures({**kept, **expired}, now, every, judged)["texts.py"]
    assert [row[column] for column in ("tried", "killed", "equivalent", "survived", "expired")] == [3, 1, 1, 1, 3]
    assert [line.split()[0] for line in left(now, judged)] == ["survived", "stale"]


def test_a_sample_is_drawn_by_its_seed_and_by_weight():
    pytest.importorskip("cosmic_ray", reason="it comes with the extra 'mutants'")
    from run import Module, sampled

    among = [Module(path) for path in ("texts.py", "errors.py", "arrays.py")]
    drawn = [{mutant.change for mutant in sampled(among, 12, seed)} for seed in (0, 0, 1)]
    assert len(drawn[0]) in range(10, 15)
    assert drawn[0] == drawn[1] != drawn[2]
    often = [Module("texts.py", 1000.0), *among[1:]]
    assert {mutant.module for mutant in sampled(often, 10, 3)} >= {"texts.py"}
    assert len([mutant for mutant in sampled(often, 10, 3) if mutant.module == "texts.py"]) > 8
    only = [mutant.change for mutant in sampled(among, 12, 0, ["texts.py"])]
    assert set(only) == {mutant.change for mutant in sampled(among, 12, 0) if mutant.module == "texts.py"}


def test_the_list_of_modules_follows_the_tree():
    listed = tomllib.loads((ROOT / "mutation" / "modules.toml").read_text())
    weights, left_out = listed["weights"], listed["left-out"]
    parts = {file.relative_to(SOURCE).parts[0] for file in SOURCE.rglob("*.py") if "def " in file.read_text()}
    assert parts - set(left_out) == set(weights), "a new package has a weight, or is left out for a reason"
    assert all(len(reason) > 15 and (SOURCE / name).exists() for name, reason in left_out.items())


def test_a_judgement_says_which_why_and_how_it_is_harmless():
    seen = set()
    for entry in tomllib.loads((ROOT / "mutation" / "judged.toml").read_text()).get("judged", []):
        assert (SOURCE / entry["module"]).is_file()
        assert entry["verdict"] in ("equivalent", "harmless")
        assert len(entry["reason"]) > 20
        for change in entry["changes"]:
            assert (entry["module"], change) not in seen
            assert " -> " in change
            seen.add((entry["module"], change))


@pytest.mark.parametrize(
    ("clause", "changed"),
    [
        ("except KeyError:", ["except StopAsyncIteration:"]),
        ("except sql.Error as error:", ["except StopAsyncIteration as error:"]),
        (
            "except (sql.Error, KeyError):",
            ["except (StopAsyncIteration, KeyError):", "except (sql.Error, StopAsyncIteration):"],
        ),
        ("except (KeyError):", ["except (StopAsyncIteration):"]),
        ("except:", []),
    ],
)
def test_an_exception_is_caught_no_more_and_those_beside_it_are(clause, changed):
    pytest.importorskip("cosmic_ray", reason="it comes with the extra 'mutants'")
    from mutants import mutants_of

    text = f"try:\n    a = b\n{clause}\n    a = c\n"
    assert [mutant.after for mutant in mutants_of("m.py", text)] == changed
