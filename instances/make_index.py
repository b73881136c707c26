"""Bring instances/index.json up to date: `python instances/make_index.py [--time-limit S] [--solvers NAME,...] [FAMILY ...]`.

For every instance of the families (all by default) that is new, changed or not yet proved: search, certify, and keep the best plan
and the best bound known; what is proved only gets the figures that it still lacks. Tiny ones are searched exhaustively by the tests'
brute force, the others by each of the solvers in turn. The index is written after every instance, so that nothing found is lost.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent))

from pipefill_opt.errors import InputError  # noqa: E402
from pipefill_opt.files import write_text  # noqa: E402
from pipefill_opt.fill.certify import certify  # noqa: E402
from pipefill_opt.fill.hash import instance_hash  # noqa: E402
from pipefill_opt.fill.plan import FillPlan  # noqa: E402
from pipefill_opt.fill.plan_file import plan_document, read_plan  # noqa: E402
from pipefill_opt.fill.problem import FillProblem, Objective  # noqa: E402
from pipefill_opt.fill.read import read_instance  # noqa: E402
from pipefill_opt.fill.suite import INDEX, MINIMISED, Entry, instance_files, read_suite, suite_text, traits  # noqa: E402

GREEDY_SECONDS = 60.0
NO_PATTERNS = ("large",)
"""Families whose pattern bound takes minutes an instance: 200 job kinds, hundreds of different bubbles."""


@dataclass(frozen=True)
class Found:
    """What one search found: a plan, a bound, and who proved it."""

    plan: FillPlan
    bound: Fraction
    proved_by: str


def by_exhaustive_search(problem: FillProblem) -> Found:
    """The optimum of a tiny instance."""
    from tests.solve.brute_force import optimum

    value, plan = optimum(problem)
    return Found(plan, value, "exhaustive search (tests/solve/brute_force.py)")


def by_solving(problem: FillProblem, solver: str, time_limit: float, start: FillPlan | None) -> Found | None:
    """What a solver finds, from the best plan known; None where it does not take the problem."""
    from pipefill_opt.solve.facade import solve
    from pipefill_opt.solve.result import Limits

    try:
        found = solve(problem, solver=solver, limits=Limits(time=time_limit), start=start)
    except InputError as error:
        print(f"  {solver}: {error}", flush=True)
        return by_solving(problem, solver, time_limit, None) if start is not None else None
    if found.plan is None or found.bound is None:
        return None
    return Found(found.plan, found.bound, f"solver {found.solver}: {found.bound_origin}")


def searches(problem: FillProblem, entry: Entry | None, family: str, options: argparse.Namespace) -> Iterator[Found]:
    """Every search that may improve an entry."""
    if family == "tiny" and problem.objective is Objective.THROUGHPUT:
        yield by_exhaustive_search(problem)
        return
    start = read_plan(FOLDER / entry.plan, problem) if entry else None
    for solver in options.solvers.split(","):
        found = by_solving(problem, solver, options.time_limit, start)
        if found is not None:
            yield found


def improved(problem: FillProblem, file: str, entry: Entry | None, found: Found) -> Entry:
    """The entry with what is better of the two, its plan written."""
    verdict = certify(problem, found.plan)
    value = verdict.objective
    if not verdict.valid or value is None:
        raise AssertionError(f"{file}: a solver's plan is not valid: {verdict.violations}")
    sign = -1 if problem.objective in MINIMISED else 1
    family = file.split("/")[0]
    today = datetime.now(UTC).date().isoformat()
    if entry is None:
        entry = Entry(
            file=file,
            family=family,
            objective=problem.objective.value,
            sense="min" if sign < 0 else "max",
            instance=instance_hash(problem),
            best=value,
            bound=found.bound,
            proved_by=found.proved_by,
            date=today,
            plan=f"{family}/plans/{Path(file).stem}.json",
            greedy=None,
            pattern_bound=None,
            traits=traits(problem, problem.iterations or found.plan.iterations or 1),
        )
        write_text(FOLDER / entry.plan, compact(problem, found.plan))
    if sign * value > sign * entry.best:
        write_text(FOLDER / entry.plan, compact(problem, found.plan))
        here = traits(problem, problem.iterations or found.plan.iterations or 1)
        entry = replace(entry, best=value, date=today, traits=here)
    if sign * found.bound < sign * entry.bound:
        entry = replace(entry, bound=found.bound, proved_by=found.proved_by, date=today)
    return entry


def compact(problem: FillProblem, plan: FillPlan) -> str:
    """A PLAN file with one pattern a line; the starts, which follow from the rest, are left out."""
    document = plan_document(problem, plan)
    patterns = document.pop("patterns")
    for pattern in patterns:
        for phase in pattern.get("phases", (pattern,)):
            for occurrence in phase["occurrences"]:
                for segment in occurrence["segments"]:
                    segment.pop("start", None)
    head = json.dumps(document)[:-1]
    return head + ', "patterns": [\n' + ",\n".join(json.dumps(pattern) for pattern in patterns) + "\n]}\n"


def with_figures(problem: FillProblem, entry: Entry, *, again: bool) -> Entry:
    """The entry with greedy's value and the pattern bound, where they are not known yet or wanted again, and there are any."""
    if problem.objective is not Objective.THROUGHPUT:
        return entry
    from pipefill_opt.solve.device import compile_problem
    from pipefill_opt.solve.facade import solve
    from pipefill_opt.solve.pattern_bound import pattern_bound
    from pipefill_opt.solve.result import Limits

    if entry.greedy is None or again:
        entry = replace(entry, greedy=solve(problem, solver="greedy", limits=Limits(time=GREEDY_SECONDS)).objective)
    if (entry.pattern_bound is None or again) and entry.family not in NO_PATTERNS:
        compiled = compile_problem(problem)
        entry = replace(entry, pattern_bound=pattern_bound(compiled) * compiled.unit)
    if entry.pattern_bound is not None and entry.pattern_bound < entry.bound:
        today = datetime.now(UTC).date().isoformat()
        entry = replace(
            entry, bound=entry.pattern_bound, proved_by="solve/pattern_bound.py: per-bubble patterns", date=today
        )
    return entry


def update(file: str, old: Entry | None, options: argparse.Namespace) -> Entry | None:
    """The entry of an instance, searched again if that may improve it; None where no solver takes it."""
    problem = read_instance(FOLDER / file)
    entry = old if old and old.instance == instance_hash(problem) else None
    if entry is None or not entry.proved:
        for found in searches(problem, entry, file.split("/")[0], options):
            entry = improved(problem, file, entry, found)
            if entry.proved:
                break
    return None if entry is None else with_figures(problem, entry, again=options.figures)


def write_index(entries: Sequence[Entry]) -> None:
    """The whole index, by file."""
    write_text(FOLDER / INDEX, suite_text(tuple(sorted(entries, key=lambda entry: entry.file))))


def main() -> int:
    """Update the families named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds for each search (default: 60)")
    parser.add_argument("--solvers", default="auto", help="names, with commas between them (default: auto)")
    parser.add_argument("--figures", action="store_true", help="compute greedy's value and the pattern bound again")
    parser.add_argument("families", metavar="FAMILY", nargs="*")
    options = parser.parse_args()
    logging.basicConfig(level=logging.ERROR)
    files = instance_files(FOLDER)
    known = {entry.file: entry for entry in read_suite(FOLDER)} if (FOLDER / INDEX).exists() else {}
    known = {file: entry for file, entry in known.items() if file in files}
    for file in files:
        if options.families and file.split("/")[0] not in options.families:
            continue
        entry = update(file, known.get(file), options)
        if entry is None:
            print(f"{file}: no solver takes it", flush=True)
            continue
        if entry != known.get(file):
            known[file] = entry
            write_index(list(known.values()))
        gap = "proved" if entry.proved else f"gap {float(entry.gap):.4f}"
        print(f"{file}: {float(entry.best):.9g} of {float(entry.bound):.9g}, {gap}, {entry.proved_by}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
