"""Which tests a trial runs, and in which order: by the functions that they call, and by the names in their files."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

from reach import Seen

__all__ = ["Order", "Words"]

PATIENCE = 3.0  # seconds of the processor that any test may take
KERNEL_PATIENCE = 20.0  # the same where kernels are compiled on the way
UNKNOWN = 60.0  # of a test that was never run
SLOWER = 5  # and how many times as long as without a change
NEAR = 10  # how many notices of other functions one of the same function counts for
NOT_THESE = (
    "site",
    "reproduce",
    "benchmarks",
    "datasets",
    "mutation",
)  # folders of tests


class Words:
    """How near the test files are to a module: by the names of the module that they use, rare ones first."""

    def __init__(self, tests: Path) -> None:
        self.root = tests.parent
        files = [file for file in sorted(tests.rglob("test_*.py")) if not set(NOT_THESE) & set(file.parts)]
        self.files = {
            file.relative_to(self.root).as_posix(): set(re.findall(r"\w+", file.read_text())) for file in files
        }
        self.numbers = Counter(chain.from_iterable(self.files.values()))

    def nearest(self, path: str, source: str) -> list[str]:
        """Return the test files that name something of a module, the nearest first; its package's count double."""
        names, package, stem = _defined(ast.parse(source)), f"tests/{path.partition('/')[0]}/", Path(path).stem
        near = {
            file: sum(1 / self.numbers[name] for name in names & words)
            * (1 + file.startswith(package))
            * (1 + (stem in file))
            for file, words in self.files.items()
        }
        return sorted((file for file in near if near[file]), key=near.__getitem__, reverse=True)


def _defined(tree: ast.AST) -> set[str]:
    kinds = ast.FunctionDef | ast.ClassDef
    names = {node.name for node in ast.walk(tree) if isinstance(node, kinds)}
    return names | {
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


class Order:
    """What is known of the tests: how long each takes, which functions it calls, how many changes it has noticed."""

    def __init__(self, names: Sequence[str], seen: Mapping[str, Seen]) -> None:
        self.names = list(names)
        self._failures: Counter[str] = Counter()
        self._failures_of: Counter[tuple[str, str]] = Counter()
        self.learn(seen)

    def learn(self, seen: Mapping[str, Seen]) -> None:
        """Take in what tests called."""
        self.seen = seen
        self.__dict__.pop("_of_all_cases", None)

    def learn_failure(self, name: str, functions: Iterable[str]) -> None:
        """Count a test that noticed a change."""
        self._failures[name] += 1
        self._failures_of.update((function, name) for function in functions)

    @cached_property
    def _of_all_cases(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for name, seen in self.seen.items():
            found.setdefault(name.partition("[")[0], set()).update(seen.functions)
        return found

    def of(self, functions: Iterable[str], files: Sequence[str]) -> list[str]:
        """Return the tests of a change of these functions.

        Those that noticed changes of the same functions come first. Then tests that call them, in the order of ``_worth``,
        alternate with tests of these files that were never run. A name that ends in a slash is a package.
        Tests without a case that calls the functions are left out.
        """
        functions = list(functions)
        place = {file: number for number, file in enumerate(files)}
        near = {name: sum(self._failures_of[one, name] for one in functions) for name in self.names}
        calls, unknown = [], []
        for name in self.names:
            seen, cases = self.seen.get(name), self._of_all_cases.get(name.partition("[")[0])
            if near[name] or (seen is not None and _meets(seen.functions, functions)):
                calls.append(name)
            elif seen is None and (cases is None or _meets(cases, functions)):
                unknown.append(name)
        calls.sort(key=lambda name: (near[name] > 0, self._worth(name, near[name])), reverse=True)
        unknown.sort(key=lambda name: place.get(name.partition("::")[0], len(place)))
        first = sum(near[name] > 0 for name in calls)
        pairs = zip_longest(calls[first:], unknown)
        return [*calls[:first], *(name for pair in pairs for name in pair if name is not None)]

    def _worth(self, name: str, near: int) -> float:
        seen = self.seen.get(name, Seen(1.0, frozenset()))
        return (NEAR * near + self._failures[name] + 0.1) / ((seen.seconds + 0.02) * (30 + len(seen.functions)) ** 0.5)

    def limit(self, name: str, patience: float = PATIENCE) -> float:
        """Return how much processor time a test may take before it counts as hanging."""
        return patience + (SLOWER * self.seen[name].seconds if name in self.seen else UNKNOWN)


def _meets(called: Any, functions: Sequence[str]) -> bool:
    return any(one in called if one[-1] != "/" else any(each.startswith(one) for each in called) for one in functions)
