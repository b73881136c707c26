"""The model file, read back by HiGHS."""

from __future__ import annotations

from pathlib import Path

import highspy
import pytest

from pipefill_opt.errors import InputError
from pipefill_opt.solve.device import compile_problem
from pipefill_opt.solve.direct import model_text
from pipefill_opt.solve.mps import mps_text
from pipefill_opt.solve.program import Program, Row
from tests.solve.brute_force import optimum
from tests.solve.random_instances import random_problem
from tests.solve.test_allocate import shared
from tests.solve.test_facade import auto_length


def read_back(text: str, folder: Path) -> highspy.Highs:
    """HiGHS with the model, solved."""
    path = folder / "model.mps"
    path.write_text(text, encoding="utf-8")
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    assert highs.readModel(str(path)) == highspy.HighsStatus.kOk
    highs.setOptionValue("mip_rel_gap", 0.0)
    highs.run()
    return highs


def test_every_part_of_a_program(tmp_path: Path) -> None:
    """b = c leaves (0, 1, 1), (2, 0, 0) and (3, 0, 0); d is in no row and worth nothing."""
    rows = (Row((0, 1, 2), (2, 5, 1), None, 6), Row((1, 2), (1, -1), 0, 0))
    text = mps_text(Program((3, 4, 6, 0), (9, 1, 1, 2), rows), ["a", "b", "c", "d"], ["what\nit is"])
    assert text.splitlines()[0] == "* what it is"
    highs = read_back(text, tmp_path)
    assert (highs.getNumCol(), highs.getNumRow()) == (4, 2)
    assert highs.getObjectiveValue() == pytest.approx(10)
    assert [round(x) for x in highs.getSolution().col_value][:3] == [0, 1, 1]


def test_bounds_and_equations_hold(tmp_path: Path) -> None:
    text = mps_text(Program((1, 1), (3, 5), (Row((0, 1), (1, 2), 7, 7),)), ["a", "b"])
    assert read_back(text, tmp_path).getObjectiveValue() == pytest.approx(5)


def test_the_model_of_a_problem_has_its_optimum(tmp_path: Path) -> None:
    seeds = [seed for seed in range(40) if random_problem(seed).iterations][:6]
    for problem in [shared(), *(random_problem(seed) for seed in seeds)]:
        assert problem.iterations is not None
        highs = read_back(model_text(problem), tmp_path)
        best, _ = optimum(problem)
        unit = compile_problem(problem).unit
        assert highs.getObjectiveValue() == pytest.approx(float(best * problem.iterations / unit), rel=1e-6), (
            problem.name
        )


def test_the_file_says_what_it_is() -> None:
    lines = model_text(shared()).splitlines()
    assert lines[0].startswith("* Fill problem sha256:")
    assert lines[1] == "* The objective per main iteration is the value of this model x 1."
    assert "* Block 0: 1 x d0: a (c)" in lines
    assert "* Block 1: 2 x d0: a (c)" in lines


def test_an_open_number_of_iterations_has_no_model() -> None:
    with pytest.raises(InputError, match="iterations: auto: expected a number"):
        model_text(auto_length())
