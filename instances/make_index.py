"""Bring instances/index.json up to date: `python instances/make_index.py [--time-limit S] [FAMILY ...]`.

For every instance of the families (all by default) that is new, changed or not yet proved: search, certify, and keep the best plan
and the best bound known. Tiny ones are searched exhaustively by the tests' brute force, the others by `solve`.
"""

from __future__ import annotations

import argparse
import logging
import sys
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent))

from pipefill_opt.files import write_text  # noqa: E402
from pipefill_opt.fill.certify import certify  # noqa: E402
from pipefill_opt.fill.hash import instance_hash  # noqa: E402
from pipefill_opt.fill.plan import FillPlan  # noqa: E402
from pipefill_opt.fill.plan_file import plan_text  # noqa: E402
from pipefill_opt.fill.problem import FillProblem  # noqa: E402
from pipefill_opt.fill.read import read_instance  # noqa: E402
from pipefill_opt.fill.suite import INDEX, Entry, instance_files, read_suite, suite_text  # noqa: E402

Found = tuple[FillPlan, Fraction, str]


def by_exhaustive_search(problem: FillProblem, _: float) -> Found:
    """Plan, bound and who proved it."""
    from tests.solve.brute_force import optimum

    value, plan = optimum(problem)
    return plan, value, "exhaustive search (tests/solve/brute_force.py)"


def by_solving(problem: FillProblem, time_limit: float) -> Found:
    """Plan, bound and who proved it."""
    from pipefill_opt.solve.facade import solve
    from pipefill_opt.solve.result import Limits

    found = solve(problem, limits=Limits(time=time_limit))
    assert found.plan is not None
    assert found.bound is not None
    return found.plan, found.bound, f"solver {found.solver}: {found.bound_origin}"


def update(file: str, old: Entry | None, time_limit: float) -> Entry:
    """The entry of an instance, searched again if that may improve it; its plan is written."""
    problem = read_instance(FOLDER / file)
    known = old if old and old.instance == instance_hash(problem) else None
    if known and known.proved:
        return known
    family, name = file.split("/")
    search = by_exhaustive_search if family == "tiny" else by_solving
    plan, bound, proved_by = search(problem, time_limit)
    verdict = certify(problem, plan)
    assert verdict.objective is not None, verdict.violations
    plan_file = f"{family}/plans/{Path(name).stem}.json"
    if known and known.best >= verdict.objective and known.bound <= bound:
        return known
    if not known or verdict.objective > known.best:
        write_text(FOLDER / plan_file, plan_text(problem, plan))
    if known and known.bound <= bound:
        bound, proved_by = known.bound, known.proved_by
    return Entry(
        file=file,
        family=family,
        objective=problem.objective.value,
        sense="max",
        instance=instance_hash(problem),
        best=max(verdict.objective, known.best) if known else verdict.objective,
        bound=bound,
        proved_by=proved_by,
        date=datetime.now(UTC).date().isoformat(),
        plan=plan_file,
    )


def main() -> int:
    """Update the families named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds for each instance (default: 60)")
    parser.add_argument("families", metavar="FAMILY", nargs="*")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.ERROR)
    old = {entry.file: entry for entry in read_suite(FOLDER)} if (FOLDER / INDEX).exists() else {}
    entries = []
    for file in instance_files(FOLDER):
        if not arguments.families or file.split("/")[0] in arguments.families:
            entry = update(file, old.get(file), arguments.time_limit)
            print(f"{file}: {entry.best} of at most {entry.bound}, {entry.proved_by}", flush=True)
            entries.append(entry)
        elif file in old:
            entries.append(old[file])
    write_text(FOLDER / INDEX, suite_text(tuple(entries)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
