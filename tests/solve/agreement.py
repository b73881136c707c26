"""Holds every solver against the brute force on seeded random problems.

The tests run a part of the seeds; all of them: `python -m tests.solve.agreement --seeds 2000` (some minutes a solver).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction

from pipefill_opt.fill.certify import certify
from pipefill_opt.fill.problem import FillProblem
from pipefill_opt.solve.facade import solve
from pipefill_opt.solve.result import Limits, Outcome, Solution
from tests.solve.brute_force import optimum
from tests.solve.random_instances import random_problem

GREEDY = ("greedy", "greedy-all")
EXACT = ("dp", "cg", "cpsat", "milp")
DIRECT = ("cpsat-direct", "milp-direct")
TOLERANCE = dict.fromkeys(("milp", "milp-direct"), Fraction(2, 10**9))
"""HiGHS computes in floating point: what it answers is off by this part of the optimum at most. The others are exact."""


def disagreements(problem: FillProblem, best: Fraction, solvers: Sequence[str]) -> list[str]:
    """What solvers get wrong on a problem whose optimum is `best`; every plan that they return is certified by `solve`."""
    found = []
    for name in solvers:
        solution = solve(problem, solver=name, limits=Limits(seed=1))
        wrong = _wrong(solution, best, name)
        if wrong:
            found.append(f"{problem.name}: {name} has {solution.objective} <= {solution.bound}, not {best}: {wrong}")
    return found


def _wrong(solution: Solution, best: Fraction, name: str) -> str:
    value, bound = solution.objective, solution.bound
    slack = TOLERANCE.get(name, Fraction(0)) * max(Fraction(1), best)
    if value is None or solution.certificate is None or not solution.certificate.valid:
        return "no certified plan"
    if value > best:
        return "more than the optimum"
    if bound is not None and bound < best:
        return "a bound below the optimum"
    if (solution.outcome is Outcome.OPTIMAL) != (value == bound):
        return f"called {solution.outcome}"
    if name in GREEDY:
        return ""
    if value < best - slack:
        return "less than the optimum"
    return "a bound above the optimum" if bound is None or bound > best + slack else ""


def checked_optimum(problem: FillProblem) -> Fraction:
    """The optimum by brute force; AssertionError if the plan of the brute force breaks a rule or is worth something else."""
    best, plan = optimum(problem)
    certificate = certify(problem, plan)
    assert certificate.valid, (problem.name, certificate.violations)
    assert certificate.objective == best, problem.name
    return best


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 1 if anything disagrees."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--seeds", type=int, default=2000, help="number of seeds")
    parser.add_argument("--solvers", default=",".join(GREEDY + EXACT + DIRECT), help="names with commas between them")
    options = parser.parse_args(arguments)
    solvers = [name for name in options.solvers.split(",") if name]
    seconds: defaultdict[str, float] = defaultdict(float)
    wrong: list[str] = []
    for seed in range(options.first, options.first + options.seeds):
        problem = random_problem(seed)
        begin = time.process_time()
        best = checked_optimum(problem)
        seconds["brute force"] += time.process_time() - begin
        for name in solvers:
            begin = time.process_time()
            wrong += disagreements(problem, best, [name])
            seconds[name] += time.process_time() - begin
        if (seed + 1 - options.first) % 100 == 0:
            sys.stderr.write(f"{seed + 1 - options.first} of {options.seeds} seeds, {len(wrong)} disagreements\n")
    sys.stdout.write("".join(f"{line}\n" for line in wrong))
    for name, total in seconds.items():
        sys.stdout.write(f"{name:12} {total:8.1f} s of CPU\n")
    sys.stdout.write(f"{options.seeds} seeds from {options.first}: {len(wrong)} disagreements\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
