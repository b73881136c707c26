"""GLPK: reads a MathProg model and its data, solves it, and gives what it found as whole numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, Final

from pipefill_opt.files import data_folder

FORMULATIONS: Final = data_folder("models") / "formulations"
LARGEST: Final = 2e9
"""Objectives above this are refused: an error of the simplex method could then hide a whole unit."""
NEARLY: Final = 1e-11
"""GLPK cuts off nodes whose bound is better than the incumbent by less than this part of it (its default, 1e-7, hides units)."""
INTEGRAL: Final = 1e-4
"""GLPK takes a variable within 1e-5 for whole; what is off by more than this is an error."""


@dataclass(frozen=True, slots=True)
class Optimum:
    """What GLPK proved optimal: the objective, and each variable by its name in the model (`x[1,2,a,0]`), rounded."""

    objective: int
    variables: Mapping[str, int]


class UnsolvedError(Exception):
    """GLPK ended without a proved optimum: a limit, a model that it cannot read, an objective too large for its numbers."""


def solve(model: str, data: str, *, seconds: float = 20) -> Optimum | None:
    """The optimum of the model `FORMULATIONS`/`model` with these data (the text of a data section); None if nothing is feasible.

    Raises UnsolvedError, and AssertionError where what should be whole is not.
    """
    import swiglpk as glp

    glp.glp_term_out(glp.GLP_OFF)
    work, problem = glp.glp_mpl_alloc_wksp(), glp.glp_create_prob()
    try:
        _read(glp, work, FORMULATIONS / model, data)
        glp.glp_mpl_build_prob(work, problem)
        return _search(glp, problem, seconds)
    finally:
        glp.glp_mpl_free_wksp(work)
        glp.glp_delete_prob(problem)


def _read(glp: Any, work: Any, model: Path, data: str) -> None:
    with NamedTemporaryFile("w", suffix=".dat", encoding="utf-8") as file:
        file.write(data)
        file.flush()
        if glp.glp_mpl_read_model(work, str(model), 1) or glp.glp_mpl_read_data(work, file.name):
            raise UnsolvedError(f"GLPK cannot read {model.name} with its data")
        if glp.glp_mpl_generate(work, None):
            raise UnsolvedError(f"GLPK cannot generate {model.name}")


def _search(glp: Any, problem: Any, seconds: float) -> Optimum | None:
    options = glp.glp_iocp()
    glp.glp_init_iocp(options)
    options.presolve = glp.GLP_ON
    options.msg_lev = glp.GLP_MSG_OFF
    options.tol_obj = NEARLY
    options.tm_lim = int(seconds * 1000)
    code = glp.glp_intopt(problem, options)
    if code == glp.GLP_ENOPFS or (code == 0 and glp.glp_mip_status(problem) == glp.GLP_NOFEAS):
        return None
    if code or glp.glp_mip_status(problem) != glp.GLP_OPT:
        raise UnsolvedError(f"GLPK ended with code {code} at its limit of {seconds} s")
    columns = range(1, glp.glp_get_num_cols(problem) + 1)
    variables = {}
    for column in columns:
        if glp.glp_get_col_kind(problem, column) == glp.GLP_CV:
            continue
        value = glp.glp_mip_col_val(problem, column)
        assert abs(value - round(value)) < INTEGRAL, (glp.glp_get_col_name(problem, column), value)
        variables[glp.glp_get_col_name(problem, column)] = round(value)
    objective = sum(
        int(glp.glp_get_obj_coef(problem, column)) * variables.get(glp.glp_get_col_name(problem, column), 0)
        for column in columns
        if glp.glp_get_obj_coef(problem, column)
    )
    found = glp.glp_mip_obj_val(problem)
    if abs(found) > LARGEST:
        raise UnsolvedError(f"an objective of {found} is too large to be told exactly")
    assert objective + glp.glp_get_obj_coef(problem, 0) == round(found), (objective, found)
    return Optimum(round(found), variables)
