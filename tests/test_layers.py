"""Imports point one way, and each heavy library has one home."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "pipefill_opt"
LAYERS = ["base", "schedule", "workload", "timeline", "fill", "solve", "traces", "harness", "report", "cli"]
HOMES = {
    "pulp": {"solve/milp.py"},
    "highspy": {"solve/milp.py"},
    "ortools": {"solve/cpsat.py"},
    "matplotlib": {"report/gantt.py", "report/ranking_picture.py", "report/roofline_picture.py"},
    "yaml": {"parse.py"},
    "jsonschema": {"files.py"},
    "networkx": {"timeline/graph.py"},
    "scipy": {"solve/linear.py"},
    "torch": {"workload/profile/library.py"},
}
MODULES = sorted(PACKAGE.rglob("*.py"))


def imports(path: Path) -> list[tuple[str, bool]]:
    """Imported module names; the flag is true for an import that runs when the module is loaded."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found: list[tuple[str, bool]] = []

    def visit(node: ast.AST, eager: bool) -> None:
        if isinstance(node, ast.Import):
            found.extend((alias.name, eager) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found.append((node.module or "", eager))
        lazy = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        typing = isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for child in ast.iter_child_nodes(node):
            visit(child, eager and not lazy and not typing)

    visit(tree, True)
    return found


def layer(parts: list[str]) -> int:
    return LAYERS.index(parts[0]) if parts and parts[0] in LAYERS else 0


def test_layers_exist() -> None:
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir() and (path / "__init__.py").exists()}
    assert folders == set(LAYERS) - {"base"}


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_point_downward(path: Path) -> None:
    own = path.relative_to(PACKAGE)
    if own.as_posix() == "api.py":
        return
    level = layer(list(own.parts[:-1]))
    for name, _ in imports(path):
        if name.startswith("pipefill_opt."):
            assert layer(name.split(".")[1:]) <= level, f"{own} imports {name}"


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_heavy_libraries_have_one_home_and_load_late(path: Path) -> None:
    own = path.relative_to(PACKAGE).as_posix()
    for name, eager in imports(path):
        top = name.split(".")[0]
        if top in HOMES:
            assert own in HOMES[top], f"{own} imports {name}"
            if top in ("yaml", "jsonschema", "networkx", "matplotlib", "scipy", "torch"):
                assert not eager, f"{own} imports {name} when loaded"


def test_fill_imports_no_solver() -> None:
    for path in (PACKAGE / "fill").rglob("*.py"):
        for name, _ in imports(path):
            assert not name.startswith("pipefill_opt.solve"), path
            assert name.split(".")[0] not in ("pulp", "ortools", "highspy"), path
