"""Mutation testing can tell: a change that a test notices fails it, one that no test could notice survives."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

import hedgerow
from order import Order
from patches import Patch, changed_kernels, patch_of

ROOT = Path(__file__).parents[2]
SOURCE = Path(hedgerow.__file__).parent
AMOUNTS = (
    "privacy/accounting.py",
    "tests/privacy/test_accountants.py::test_one_record_replaced_costs_four_times_as_much_where_costs_are_squares",
)
COINS = "mechanisms/kernels.py", "tests/mechanisms/test_chacha.py"

TRY = """
import json, sys
sys.path.insert(0, "mutation")
import hypothesis, numba, pytest
from trial import Trials
module, path, tests, sources = json.loads(sys.stdin.read())
found = Trials(module, open(path).read(), path, tests).run(sources)
print(json.dumps([[number, outcome.state, outcome.by] for number, outcome in found]))
"""


def outcomes(module, test, *changes):
    """Try each change of a text in a module; the outcome of the unchanged module stands under -1."""
    path = SOURCE / module
    text = path.read_text()
    sources = []
    for before, after in changes:
        assert text.count(before) == 1
        sources.append(text.replace(before, after))
    dotted = ".".join(["hedgerow", *Path(module).with_suffix("").parts])
    request = json.dumps([dotted, str(path), [test], sources])
    done = subprocess.run(
        [sys.executable, "-c", TRY], input=request, capture_output=True, text=True, check=True, cwd=ROOT
    )
    return {number: (state, by) for number, state, by in json.loads(done.stdout)}


@pytest.mark.full
def test_a_change_fails_a_test_hangs_or_survives():
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
    assert states == {-1: "passed", 0: "failed", 1: "passed", 2: "failed", 3: "passed", 4: "hung"}
    assert "test_one_record_replaced" in found[2][1]


def test_a_test_that_is_named_and_not_there_is_told():
    module, test = AMOUNTS
    found = outcomes(
        module, f"{test}_of_old", ("math.sqrt(self.mu_squared) * (1 +", "math.sqrt(self.mu_squared) * (2 +")
    )
    assert found == {-1: ("broken", "pytest cannot collect the tests, or one that is named is not there")}


@pytest.mark.full
def test_a_changed_kernel_is_compiled_anew_with_its_callers_and_leaves_no_trace():
    """A kernel's compiled callers stay on disk with the true one inside them: neither may they be read nor written over."""
    line = "d = _rotated(np.uint32(d ^ a), np.uint32(8))"
    changes = (line, line.replace("(8)", "(9)")), (line, line.replace("d ^ a", "a ^ d"))
    assert outcomes(*COINS, *changes)[0][0] == "failed"
    again = outcomes(*COINS, *changes)
    assert {number: state for number, (state, _) in again.items()} == {-1: "passed", 0: "failed", 1: "passed"}


EXACT = "privacy/exact.py", "tests/privacy/test_exact_numbers.py::test_a_text_is_as_long_as_the_limit_and_no_longer"


def test_a_constant_that_has_no_value_is_noticed():
    found = outcomes(*EXACT, ("LONGEST_TEXT = 4000", "LONGEST_TEXT = 4000 / None"))
    assert {number: state for number, (state, _) in found.items()} == {-1: "passed", 0: "failed"}


@pytest.mark.full
def test_a_module_that_is_imported_only_as_its_tests_run_is_changed():
    test = "tests/ledgers/test_store.py::test_copies_are_the_same_ledger_and_pickles_are_its_address"
    found = outcomes("ledgers/store.py", test, ("    if not same:", "    if same:"))
    assert {number: state for number, (state, _) in found.items()} == {-1: "passed", 0: "failed"}


@pytest.mark.skipif(sys.platform != "linux", reason="threads of libraries are counted where the system lists them")
def test_tests_that_start_threads_as_they_are_collected_are_refused(tmp_path):
    """A fork has none of these threads, and polars waits for them."""
    tests = tmp_path / "test_threads.py"
    tests.write_text(
        "import polars\npolars.DataFrame({'a': [1]}).lazy().select('a').collect()\ndef test_nothing(): pass\n"
    )
    found = outcomes(EXACT[0], str(tests), ("LONGEST_TEXT = 4000", "LONGEST_TEXT = 4001"))
    assert found.keys() == {-1}
    assert found[-1][0] == "failed"
    assert "threads of polars" in found[-1][1]


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


def test_tests_that_noticed_changes_of_the_same_function_come_first():
    order = Order([SimpleNamespace(nodeid=name) for name in "abc"], SimpleNamespace(has_kernels=True))
    for name, seconds in (("a", 0.5), ("b", 0.5), ("c", 0.1)):
        order.learn(json.dumps([name, seconds, []]))
    f, g = (Patch({(name, 1): (lambda: None).__code__}, frozenset({name}), {}) for name in "fg")
    assert [item.nodeid for item in order.of(f)] == ["c", "a", "b"]
    for _ in range(5):
        order.learn_failure("a", f)
    order.learn_failure("b", g)
    assert [item.nodeid for item in order.of(f)] == ["a", "b", "c"]
    assert [item.nodeid for item in order.of(g)] == ["b", "a", "c"]


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


def keys_of(text):
    from mutants import mutants_of

    found = {}
    for mutant in mutants_of("m.py", text):
        found.setdefault(mutant.function, set()).add(mutant.key)
    return found


def test_outcomes_are_kept_until_the_changed_function_says_something_else():
    pytest.importorskip("cosmic_ray", reason="it comes with the extra 'mutants'")
    kept = keys_of(OF_KEYS)
    assert set(kept) == {"module", "C", "C.f", "C.g"}
    layout = (
        OF_KEYS.replace("  # a reason", "")
        .replace("Add.", "Add both.")
        .replace("x - LIMIT", "(x\n            - LIMIT)")
    )
    assert keys_of("\n\n" + layout) == kept
    for before, after, function in (
        ("x + self.low", "self.low + x", "C.f"),
        ("x - LIMIT", "x - LIMIT - 1", "C.g"),
        ("int = 1", "int = 7", "C"),
        ("LIMIT = 5", "LIMIT = 9", "module"),
    ):
        changed = keys_of(OF_KEYS.replace(before, after))
        assert not changed[function] & kept[function]
        assert all(changed[other] == kept[other] for other in kept if other != function)


def test_packed_outcomes_are_gone_on_from_and_half_a_line_is_none(tmp_path):
    pytest.importorskip("cosmic_ray", reason="it comes with the extra 'mutants'")
    from run import read_outcomes, write_outcomes

    packed, tried = tmp_path / "outcomes.xz", tmp_path / "tried.txt"
    known = {"b.py": {"2": ("failed", "t"), "1": ("hung", "t")}, "a.py": {"1": ("passed", "u")}}
    write_outcomes(known, packed, tried)
    assert read_outcomes(packed, tried) == known
    tried.write_text("a.py 1 failed v\na.py 2 passed v\nb.py 1 fail")
    gone_on = read_outcomes(packed, tried)
    assert gone_on == {"b.py": known["b.py"], "a.py": {"1": ("failed", "v"), "2": ("passed", "v")}}
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
        "a": Counter(lines=60, mutants=8, failed=4, hung=1, equivalent=1, survived=1, untried=1),
        "b": Counter(lines=40, mutants=3, failed=3),
    }
    write_page(rows, in_words(rows, 400, 500), page)
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert "old" not in text
    assert "| a | 60 | 8 | 4 | 1 | 1 | 0 | 1 | 0 | 1 |" in text
    assert "400 of 500 lines are under trial, 80 %. 100 of them, 25 %, are in modules" in text
    assert "10 have a current outcome, 91 %: 8 are killed" in text
    write_page(rows, in_words(rows, 400, 500), page)
    assert page.read_text() == text
    assert [PAGE.read_text().count(mark) for mark in MARKS] == [1, 1]


def test_an_outcome_expires_when_its_tests_change():
    pytest.importorskip("cosmic_ray", reason="it comes with the extra 'mutants'")
    from run import Module, current

    module = Module("texts.py", ("tests/test_suite.py",))
    known = {
        "texts.py": {"k": ("failed", module.tests_key[:12]), "old": ("failed", "x")},
        "gone.py": {"k": ("failed", "x")},
    }
    assert current(known, {"texts.py": module}) == {"texts.py": {"k": known["texts.py"]["k"]}}
    assert current(known, {"texts.py": replace(module, tests=("tests/mutation",))}) == {}


def test_a_sample_is_drawn_by_its_seed_and_by_weight():
    pytest.importorskip("cosmic_ray", reason="it comes with the extra 'mutants'")
    from run import EACH, Module, sampled

    among = [Module(path, ()) for path in ("texts.py", "errors.py", "arrays.py")]
    drawn = [[mutant.key for _, mutants in sampled(among, EACH, seed) for mutant in mutants] for seed in (0, 0, 1, 2)]
    assert len(drawn[0]) == EACH
    assert drawn[0] == drawn[1]
    assert drawn[2] != drawn[0] or drawn[3] != drawn[0]
    often = [replace(among[0], weight=1000.0), *among[1:]]
    assert [module.path for module, _ in sampled(often, EACH, 3)] == ["texts.py"]


def test_the_list_of_modules_follows_the_tree_and_their_tests_exist():
    listed = tomllib.loads((ROOT / "mutation" / "modules.toml").read_text())
    packages, left_out = listed.pop("packages"), listed.pop("left-out")
    parts = {file.relative_to(SOURCE).parts[0] for file in SOURCE.rglob("*.py") if "def " in file.read_text()}
    assert parts - set(left_out) == set(packages), (
        "a new package has tests in modules.toml, or is left out for a reason"
    )
    assert all(len(reason) > 15 and (SOURCE / name).exists() for name, reason in left_out.items())
    for tests in [*listed.values(), *(about["tests"] for about in packages.values())]:
        for file, _, name in (test.partition("::") for test in tests):
            text = (ROOT / file).read_text() if (ROOT / file).is_file() else ""
            assert (ROOT / file).exists(), file
            assert not name or f"def {name.partition('[')[0]}(" in text, name  # one that is not there ends every trial
    assert all((SOURCE / module).is_file() for module in listed)


def test_a_judgement_says_which_why_and_how_it_is_harmless():
    modules = tomllib.loads((ROOT / "mutation" / "modules.toml").read_text())
    seen = set()
    for entry in tomllib.loads((ROOT / "mutation" / "judged.toml").read_text()).get("judged", []):
        assert entry["module"] in modules
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
