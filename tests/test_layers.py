"""The parts of the library know each other in one direction, and each package's public names are sorted and real."""

import ast
import importlib
import re
from pathlib import Path

import pytest
from module_imports import PACKAGE, ROOT, circles, imported_modules, module_graph

# Low to high. A part may import any part of an earlier rank; parts of one rank do not know each other.
RANKS = (
    {"arrays", "catalogue", "errors", "texts"},
    {"files"},
    {"reading"},
    {"schema"},
    {"parameters", "export"},
    {"privacy"},
    {"mechanisms", "ledgers"},
    {"scores"},
    {"table"},
    {"engines"},
    {"curator"},
    {"estimator"},
    {"trees"},
    {"additive"},
    {"systems", "datasets"},
    {"papers"},
    {"analysis"},
    {"plots"},
    {"papers.reproduce"},
    {"cli"},
    {"__main__"},
)
# PACKAGE itself hands out public names of every part, so importing from it would go around the ranks.
PARTS = set().union(*RANKS) | {"audit"}


def allowed(part: str) -> set[str]:
    if part in (PACKAGE, "cli"):
        return PARTS | {PACKAGE}
    if part == "audit":
        return PARTS - {"cli", "papers.reproduce", "plots"}
    if part == "datasets":
        return {"datasets", "errors", "files", "reading", "schema", "texts"}
    rank = next(index for index, parts in enumerate(RANKS) if part in parts)
    own = (
        set() if part in ("papers.reproduce", "papers") else {"papers"}
    )  # the catalogue names it; nothing else of a fit knows it
    return set().union(*RANKS[:rank]) - own | {part}


def violations(imports: dict[str, set[str]]) -> list[str]:
    """Say what is wrong with a graph that maps each part to the parts it imports."""
    found = []
    for part, targets in sorted(imports.items()):
        if part not in PARTS | {PACKAGE}:
            found.append(f"{part} has no rank: place it in RANKS")
            continue
        found += [f"{part} imports {target}" for target in sorted(targets - allowed(part))]
    return found


def part_of(name: str, parts: set[str]) -> str:
    """The part that a full module name lies in; names that are no module belong to the package itself."""
    if name.startswith(f"{PACKAGE}.papers.reproduce"):
        return "papers.reproduce"  # the experiments, which draw and load data, as the systems themselves do not
    pieces = name.split(".")
    return pieces[1] if len(pieces) > 1 and pieces[1] in parts else PACKAGE


def import_graph(root: Path) -> dict[str, set[str]]:
    parts = {path.stem for path in root.glob("*.py")} | {path.parent.name for path in root.glob("*/*.py")}
    parts -= {"__init__", root.name}
    graph: dict[str, set[str]] = {}
    for path in sorted(root.rglob("*.py")):
        pieces = [PACKAGE, *path.relative_to(root).with_suffix("").parts]
        is_package = pieces[-1] == "__init__"
        module = ".".join(pieces[:-1] if is_package else pieces)
        names = imported_modules(ast.parse(path.read_text("utf-8")), module, is_package=is_package)
        # The version is a plain fact, which every part may state.
        targets = {part_of(name, parts) for name in names if name != f"{PACKAGE}.__version__"}
        graph.setdefault(part_of(module, parts), set()).update(targets)
    return graph


def picture() -> str:
    """Draw the ranks from high to low: a part imports from the lines below its own."""
    lines = [f"{'  '.join(sorted(parts)):^100}".rstrip() for parts in reversed(RANKS) if parts != {"__main__"}]
    return "\n".join(lines)


def test_the_page_draws_the_ranks():
    page = (ROOT.parents[1] / "docs/architecture.md").read_text("utf-8")
    assert f"```text\n{picture()}\n```" in page, f"draw this in docs/architecture.md:\n{picture()}"


def test_imports_go_one_way():
    assert violations(import_graph(ROOT)) == []


def test_files_import_each_other_in_no_circle():
    assert circles(module_graph(ROOT)) == []


@pytest.mark.parametrize(
    ("imports", "found"),
    [
        ({"a": "b", "b": "", "c": "ab"}, []),
        ({"a": "b", "b": "a", "c": "a"}, [["a", "b"]]),
        ({"a": "b", "b": "c", "c": "a", "d": "e", "e": "d"}, [["a", "b", "c"], ["d", "e"]]),
    ],
)
def test_a_circle_of_files_is_found(imports, found):
    assert circles(imports) == found


def test_ranks_name_no_part_twice():
    assert len(PARTS) == sum(len(parts) for parts in RANKS) + 1


@pytest.mark.parametrize(
    ("part", "target"),
    [
        ("errors", "schema"),
        ("schema", "parameters"),
        ("privacy", "mechanisms"),
        ("privacy", "ledgers"),
        ("mechanisms", "ledgers"),
        ("mechanisms", "table"),
        ("table", "curator"),
        ("trees", "additive"),
        ("curator", "additive"),
        ("systems", "papers"),
        ("analysis", "papers"),
        ("plots", "papers"),
        ("systems", "plots"),
        ("systems", "datasets"),
        ("datasets", "privacy"),
        ("datasets", "systems"),
        ("plots", "papers.reproduce"),
        ("papers.reproduce", "cli"),
        ("audit", "papers.reproduce"),
        ("papers.reproduce", "audit"),
        ("curator", PACKAGE),
    ],
)
def test_a_wrong_import_is_found(part, target):
    assert violations({part: {target}}) == [f"{part} imports {target}"]


@pytest.mark.parametrize(
    ("part", "target"),
    [
        ("parameters", "schema"),
        ("table", "scores"),
        ("curator", "errors"),
        ("papers", "trees"),
        ("papers", "systems"),
        ("papers.reproduce", "papers"),
        ("additive", "curator"),
        ("trees", "parameters"),
        ("datasets", "schema"),
        ("papers.reproduce", "plots"),
        ("papers.reproduce", "datasets"),
        ("audit", "systems"),
        ("cli", "audit"),
        (PACKAGE, "cli"),
        ("trees", "trees"),
    ],
)
def test_a_right_import_passes(part, target):
    assert violations({part: {target}}) == []


def test_an_unplaced_part_is_found():
    assert violations({"gardening": set()}) == ["gardening has no rank: place it in RANKS"]


@pytest.mark.parametrize(
    "line",
    [
        "import hedgerow.table",
        "import hedgerow.table.kernels as k",
        "from hedgerow import table",
        "from hedgerow.table import Table",
        "from ..table import Table",
        "from .. import table",
        "def f():\n    from hedgerow.table import Table",
        "if TYPE_CHECKING:\n    from hedgerow.table import Table",
        "importlib.import_module('hedgerow.table')",
    ],
)
def test_every_way_to_import_is_seen(tmp_path, line):
    root = tmp_path / PACKAGE
    for folder in ("privacy", "table"):
        (root / folder).mkdir(parents=True)
        (root / folder / "__init__.py").write_text("")
    (root / "__init__.py").write_text("")
    (root / "privacy" / "ledger.py").write_text(line)
    assert violations(import_graph(root)) == ["privacy imports table"]


def test_a_public_name_of_the_package_is_no_way_around(tmp_path):
    root = tmp_path / PACKAGE
    root.mkdir()
    (root / "__init__.py").write_text("")
    (root / "schema.py").write_text("import numpy\nfrom hedgerow import EDPRFClassifier\n")
    assert violations(import_graph(root)) == [f"schema imports {PACKAGE}"]


def packages_with_names() -> list[str]:
    found = []
    for path in sorted(ROOT.rglob("__init__.py")):
        tree = ast.parse(path.read_text("utf-8"))
        targets = [target for node in tree.body if isinstance(node, ast.Assign) for target in node.targets]
        targets += [node.target for node in tree.body if isinstance(node, ast.AnnAssign)]
        if any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
            found.append(".".join([PACKAGE, *path.relative_to(ROOT).parts[:-1]]))
    return found


def sort_key(name: str) -> tuple[int, list[int | str]]:
    """The linter's order: constants, then classes, then the rest; numbers within a name by value."""
    kind = 0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2
    return kind, [int(piece) if piece.isdigit() else piece for piece in re.split(r"(\d+)", name)]


@pytest.mark.parametrize("package", packages_with_names())
def test_public_names_are_sorted_and_real(package):
    module = importlib.import_module(package)
    assert list(module.__all__) == sorted(set(module.__all__), key=sort_key)
    assert [name for name in module.__all__ if not hasattr(module, name)] == []


def protected_names(tree: ast.AST) -> tuple[set[str], set[str]]:
    """Protected names that a module defines, and those that it reads of objects other than its own or imports."""
    defined, used = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            defined.add(node.name)
        elif isinstance(node, ast.Attribute):
            of_self = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
            of_parent = isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "super"
            if of_self and isinstance(node.ctx, ast.Store):
                defined.add(node.attr)
            elif not (of_self or of_parent):
                used.add(node.attr)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            defined.add(node.id)
        elif isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").startswith(PACKAGE)):
            used |= {alias.name for alias in node.names}

    def protected(names):
        return {name for name in names if name.startswith("_") and not name.startswith("__")}

    return protected(defined), protected(used)


def borrowed_names(root: Path) -> list[str]:
    """Say which parts read protected names that only other parts define."""
    defined: dict[str, set[str]] = {}
    used: dict[str, set[str]] = {}
    for path in sorted(root.rglob("*.py")):
        part = path.relative_to(root).with_suffix("").parts[0]
        own, others = protected_names(ast.parse(path.read_text("utf-8")))
        defined.setdefault(part, set()).update(own)
        used.setdefault(part, set()).update(others)
    found = []
    for part, names in sorted(used.items()):
        elsewhere = set().union(*(own for other, own in defined.items() if other != part))
        found += [f"{part} reads {name}" for name in sorted((names - defined[part]) & elsewhere)]
    return found


def test_no_protected_name_is_read_across_packages():
    assert borrowed_names(ROOT) == []


@pytest.mark.parametrize(
    "line",
    [
        "def f(plan):\n    return plan._schedule",
        "from hedgerow.table.table import _schedule",
        "from ..table.table import _schedule",
        "def f(plans):\n    for plan in plans:\n        plan._schedule = 1",
    ],
)
def test_a_protected_name_that_is_read_elsewhere_is_found(tmp_path, line):
    root = tmp_path / PACKAGE
    for folder in ("audit", "table"):
        (root / folder).mkdir(parents=True)
    (root / "table" / "table.py").write_text(
        "class Table:\n    def __init__(self):\n        self._schedule = 1\n_schedule = 2"
    )
    (root / "audit" / "contents.py").write_text(line)
    assert borrowed_names(root) == ["audit reads _schedule"]
