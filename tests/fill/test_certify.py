"""Rules over all devices, and that `certify` shares nothing with solvers."""

from __future__ import annotations

import ast
import importlib
import sys
from fractions import Fraction
from pathlib import Path
from types import FunctionType

import pytest

import pipefill_opt.fill
from pipefill_opt.fill.certify import certify
from tests.fill.samples import codes, plan, problem, put, verdict

OWN = {"certify", "structure", "rules", "lives", "objective"}
DATA = {"problem", "plan", "certificate"}
FOLDER = Path(pipefill_opt.fill.__file__).parent


def test_count_of_a_class() -> None:
    assert codes(verdict(problem(), put("patterns.1.multiplicity", 2))) == {"count"}
    assert codes(verdict(problem(), put("patterns", []))) == {"count"}
    assert len(verdict(problem(), put("patterns", [])).violations) == 2


def test_allowed_devices() -> None:
    assert codes(verdict(problem(), put("patterns.2.slots", [{"job": "swapped", "config": "c"}]))) == {"copies"}
    two = problem(put("jobs.1.copies", 2))
    assert verdict(two, put("patterns.2.slots", [{"job": "swapped", "config": "c"}])).valid
    assert codes(verdict(two, put("patterns.2.slots", [{"job": "kept", "config": "c"}]))) == {"device"}


def test_copies_are_slots_times_multiplicity() -> None:
    one_more = put("patterns.1.slots", [{"job": "kept", "config": "c"}])
    assert verdict(problem(), one_more).valid
    assert codes(verdict(problem(put("jobs.0.copies", 1)), one_more)) == {"copies"}
    of = problem(put("devices.0.count", 3))
    twice = put("patterns.1.multiplicity", 2)
    assert verdict(of, twice).valid
    assert codes(verdict(of, one_more, twice)) == {"copies"}


def imports(name: str) -> set[str]:
    tree = ast.parse((FOLDER / f"{name}.py").read_text(encoding="utf-8"))
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return found


@pytest.mark.parametrize("name", sorted(OWN))
def test_certify_imports_the_data_model_only(name: str) -> None:
    allowed = {f"pipefill_opt.fill.{module}" for module in OWN | DATA} | {"pipefill_opt.errors"}
    for module in imports(name):
        assert module in allowed or module.split(".")[0] in sys.stdlib_module_names, f"{name} imports {module}"


def test_nobody_else_uses_what_certify_stands_on() -> None:
    private = {f"pipefill_opt.fill.{module}" for module in OWN - {"certify"}}
    for path in FOLDER.parent.rglob("*.py"):
        if path.parent == FOLDER and path.stem in OWN:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        used = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert not used & private, f"{path} uses {used & private}"


def test_breaking_every_helper_leaves_the_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    """All functions of the package outside the certifier and the data model are made to fail; the verdicts stay."""
    good = problem()
    bad = problem(put("devices.0.bubbles.0.length", "7ms"))
    plans = plan(good), plan(bad)
    before = certify(good, plans[0]), certify(bad, plans[1])
    names = ["pipefill_opt.units", "pipefill_opt.files"]
    names += [f"pipefill_opt.fill.{path.stem}" for path in FOLDER.glob("*.py") if path.stem not in OWN | DATA]
    names += [f"pipefill_opt.solve.{path.stem}" for path in (FOLDER.parent / "solve").glob("*.py")]
    names = [name for name in names if not name.split(".")[-1].startswith(("__init__", "cpsat", "milp"))]
    modules = {name: importlib.import_module(name) for name in names}  # all of them before any is broken
    broken = 0

    def fail(*_: object, **__: object) -> None:
        raise AssertionError("a helper of the solvers was called")

    for name, module in modules.items():
        for key, value in vars(module).items():
            if isinstance(value, FunctionType) and value.__module__ == name:
                monkeypatch.setattr(module, key, fail)
                broken += 1
    assert broken > 30
    assert (certify(good, plans[0]), certify(bad, plans[1])) == before
    assert before[0].objective == Fraction(10_000_000)
    assert codes(before[1]) == {"fit"}
