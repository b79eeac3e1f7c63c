"""How large the library is and how it hangs together: run `python tests/size.py` before and after a change of structure.

Lines are those of code: no blank ones, no comments, no docstrings. A circle is files that import each other. Calls are those of
Python functions of this package in the second fit of a system, with 2 000 made-up records, and files those that they are in.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
import warnings
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
from module_imports import PACKAGE, ROOT, circles, module_graph, modules

SKIPPED = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
RECORDS = 2_000


def docstring_lines(tree: ast.AST) -> set[int]:
    found: set[int] = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            first = body[0]
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                found.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return found


def code_lines(text: str) -> int:
    """Return the number of lines that hold code."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in SKIPPED:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - docstring_lines(ast.parse(text)))


def package_of(module: str) -> str:
    pieces = module.split(".")
    return pieces[1] if len(pieces) > 1 and (ROOT / pieces[1]).is_dir() else "(single files)"


def structure() -> None:
    files = modules(ROOT)
    texts = {module: path.read_text("utf-8") for module, path in files.items()}
    sizes = {module: code_lines(text) for module, text in texts.items()}
    by_package, number = Counter(), Counter()
    for module, size in sizes.items():
        by_package[package_of(module)] += size
        number[package_of(module)] += 1
    for package, size in by_package.most_common():
        print(f"{package:16} {size:6} lines {number[package]:4} modules")
    print(f"{'all':16} {sum(sizes.values()):6} lines {len(sizes):4} modules")

    graph = module_graph(ROOT)
    importers: dict[str, set[str]] = defaultdict(set)
    for module, targets in graph.items():
        for target in targets:
            importers[target].add(module)
    single = [one for one in files if len(importers[one]) == 1 and files[one].stem != "__init__"]
    print(f"modules with one importer: {len(single)}, {sum(sizes[one] for one in single)} lines")
    arrows = {(package_of(a), package_of(b)) for a, targets in graph.items() for b in targets}
    print(f"arrows between packages: {sum(a != b for a, b in arrows)}")
    found = circles(graph)
    print(f"circles of files: {len(found)}")
    for circle in found:
        print(f"  {' '.join(name.removeprefix(PACKAGE + '.') for name in circle)}")

    names: dict[str, list[str]] = defaultdict(list)
    functions = one_line = 0
    for module, text in texts.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef):
                names[node.name].append(module.removeprefix(PACKAGE + "."))
            elif isinstance(node, ast.FunctionDef):
                functions += 1
                body = [part for part in node.body if part.lineno not in docstring_lines(node)]
                one_line += len(body) == 1 and body[0].lineno == body[0].end_lineno
    print(f"functions: {functions}, of which {one_line} have one line")
    again = {name: where for name, where in names.items() if len(where) > 1}
    print(f"recurring class names: {len(again)}")
    for name, where in sorted(again.items(), key=lambda pair: (-len(pair[1]), pair[0])):
        print(f"  {name}: {', '.join(where)}")


def calls(fit: object) -> tuple[Counter[str], Counter[str]]:
    """Return how often functions of each package, and of each file, are called in a fit."""
    packages: Counter[str] = Counter()
    places: Counter[str] = Counter()

    def count(frame, event, _):
        if event == "call":
            name = frame.f_code.co_filename
            if name.startswith(str(ROOT)):
                place = Path(name).relative_to(ROOT)
                packages[place.parts[0]] += 1
                places[str(place)] += 1

    sys.setprofile(count)
    try:
        fit()
    finally:
        sys.setprofile(None)
    return packages, places


def fits() -> None:
    import hedgerow as hr

    generator = np.random.default_rng(0)
    X = generator.uniform(0, 1, (RECORDS, 6))
    y = np.where(X[:, 0] + X[:, 1] > generator.uniform(0, 2, RECORDS), "high", "low")
    schema = hr.Schema({f"x{i}": hr.Numeric(0, 1) for i in range(6)}, classes=["low", "high"])
    outcome = hr.Schema({f"x{i}": hr.Numeric(0, 1) for i in range(6)}, outcome=hr.Numeric(0, 2))
    for model, target in (
        (hr.EDPRFClassifier(epsilon=1, schema=schema, random_state=0), y),
        (hr.DPAdaClassifier(epsilon=1, delta=1e-5, schema=schema, random_state=0), y),
        (hr.HedgerowClassifier(epsilon=1, delta=1e-6, schema=schema, random_state=0), y),
        (hr.HedgerowRegressor(epsilon=1, delta=1e-6, schema=outcome, random_state=0), X[:, 0] + X[:, 1]),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, target)  # compiles
            packages, places = calls(lambda model=model, target=target: model.fit(X, target))
        most = ", ".join(f"{name} {number}" for name, number in packages.most_common(4))
        print(f"{type(model).__name__}: {sum(packages.values())} calls in {len(places)} files; {most}")
        print("   ", ", ".join(f"{name} {number}" for name, number in places.most_common(5)))


if __name__ == "__main__":
    structure()
    fits()
