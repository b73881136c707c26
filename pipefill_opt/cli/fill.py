"""Commands on the fill problem: `solve`, `certify`, `explain` (which also takes a MAIN file)."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

from pipefill_opt.cli.options import add_common, output_path, picture_path, seconds, seed, share
from pipefill_opt.errors import CertificateError, InfeasibleError, InputError, LimitError

if TYPE_CHECKING:
    from pipefill_opt.fill.plan import FillPlan
    from pipefill_opt.fill.problem import FillProblem
    from pipefill_opt.report.solution import Report
    from pipefill_opt.solve.prices import Prices
    from pipefill_opt.solve.result import Solution

BASELINES = ("greedy", "greedy-all")
BASELINE_SECONDS, INTERRUPTED_SECONDS = 10.0, 1.0
"""How long each of them may take at most: beside a search that ended by itself, and after Ctrl-C."""


def register(commands: Any) -> None:
    """Add the commands of this module to the parser."""
    solve = commands.add_parser("solve", help="find a plan for an instance, with a bound")
    solve.add_argument("instance", metavar="INSTANCE", help="INSTANCE file (YAML or JSON; `pipefill schema instance`)")
    solve.add_argument(
        "--solver",
        default="auto",
        help="auto, greedy, greedy-all, dp, cg, cpsat, milp, cpsat-direct, milp-direct (default: auto)",
    )
    solve.add_argument("--time-limit", type=seconds, metavar="S", help="seconds; the best plan so far is kept")
    solve.add_argument("--gap", type=share, metavar="G", default="0", help="stop at this relative gap (default: 0)")
    solve.add_argument("--seed", type=seed, metavar="N", default="0", help="default: 0")
    solve.add_argument(
        "--warm-start", metavar="PLAN", help="PLAN file to start from; the answer is worth at least as much"
    )
    solve.add_argument(
        "--write-model",
        type=output_path,
        metavar="FILE",
        help="also write the model that milp-direct solves, the whole problem as one (MPS)",
    )
    solve.add_argument("-o", "--output", type=output_path, metavar="PLAN", help="write the plan here (JSON)")
    solve.add_argument("--gantt", type=picture_path, metavar="FILE", help="also draw the plan, .svg or .png")
    solve.add_argument("--trace", type=output_path, metavar="FILE", help="also write the plan for Perfetto (JSON)")
    add_common(solve, ("text", "json", "csv"))
    solve.set_defaults(run=run_solve)

    certify = commands.add_parser("certify", help="recompute every rule for a plan, on code that no solver shares")
    certify.add_argument("instance", metavar="INSTANCE")
    certify.add_argument("plan", metavar="PLAN", help="PLAN file (YAML or JSON; `pipefill schema plan`)")
    certify.add_argument(
        "--trace", type=output_path, metavar="FILE", help="also write it for Perfetto (JSON), if it is valid"
    )
    add_common(certify, ("text", "json", "csv"))
    certify.set_defaults(run=run_certify)

    explain = commands.add_parser(
        "explain", help="why the devices of a main job wait; why the rest of each bubble stays empty under a plan"
    )
    explain.add_argument("file", metavar="FILE", help="MAIN file; with PLAN, INSTANCE file")
    explain.add_argument("plan", metavar="PLAN", nargs="?")
    explain.add_argument(
        "--prices",
        action="store_true",
        help="also what one more millisecond, GiB, copy or device, or a cheaper switch, is worth, each by solving again",
    )
    explain.add_argument(
        "--time-limit", type=seconds, metavar="S", default="10", help="seconds for each such solve (default: 10)"
    )
    add_common(explain, ("text", "json", "csv"))
    explain.set_defaults(run=run_explain)


def run_solve(arguments: argparse.Namespace) -> int:
    """`pipefill solve INSTANCE`."""
    from pipefill_opt.fill.plan_file import read_plan
    from pipefill_opt.fill.problem import Objective
    from pipefill_opt.fill.read import read_instance
    from pipefill_opt.report import solution as rendering

    _require_solver(arguments.solver)
    problem = read_instance(arguments.instance)
    start = read_plan(arguments.warm_start, problem) if arguments.warm_start else None
    try:
        if arguments.write_model:
            write_model(arguments.write_model, problem)
        if problem.objective is not Objective.THROUGHPUT:
            return run_solve_over_time(arguments, problem, start)
        report = search(
            problem,
            arguments.solver,
            time_limit=arguments.time_limit,
            gap=arguments.gap,
            seed_number=arguments.seed,
            start=start,
            output=arguments.output,
        )
    except InputError as error:
        raise error.located(file=arguments.instance) from None
    if arguments.gantt:
        write_picture(arguments.gantt, problem, report.plan)
    if arguments.trace:
        write_trace(arguments.trace, problem, report.plan)
    render = {"text": rendering.solution_text, "json": rendering.solution_json, "csv": rendering.solution_csv}
    sys.stdout.write(render[arguments.format](report))
    return 0


def run_solve_over_time(arguments: argparse.Namespace, problem: FillProblem, start: FillPlan | None) -> int:
    """The same for makespan, weighted completion and on-time value."""
    from pipefill_opt.report import life as rendering

    limit, gap, seed_number = arguments.time_limit, arguments.gap, arguments.seed
    found, _ = solved(problem, arguments.solver, limit, gap, seed_number, start)
    plan = _require_plan(found)
    if arguments.output:
        _write_plan(arguments.output, problem, plan)
    if arguments.gantt:
        write_picture(arguments.gantt, problem, plan)
    if arguments.trace:
        write_trace(arguments.trace, problem, plan)
    render = {"text": rendering.life_text, "json": rendering.life_json, "csv": rendering.life_csv}
    sys.stdout.write(render[arguments.format](rendering.life_report(problem, found, plan)))
    return 0


def _require_solver(name: str) -> None:
    from pipefill_opt.solve.facade import solver_names

    if name not in solver_names():
        raise InputError(f"expected one of {', '.join(solver_names())}", value=name, where="--solver")


def search(
    problem: FillProblem,
    solver: str,
    *,
    time_limit: float | None = None,
    gap: Any = 0,
    seed_number: int = 0,
    start: FillPlan | None = None,
    output: Path | None = None,
) -> Report:
    """Solve, with progress on stderr and Ctrl-C; beside it both greedy plans, re-timing and the reasons for what stays empty.

    The plan is written to `output` as soon as it is found. Raises InfeasibleError or LimitError where there is no plan.
    """
    from pipefill_opt.report.solution import report

    found, stopped = solved(problem, solver, time_limit, gap, seed_number, start)
    plan = _require_plan(found)
    if output:
        _write_plan(output, problem, plan)
    patience = INTERRUPTED_SECONDS if stopped else BASELINE_SECONDS
    return report(problem, found, baselines(problem, found, min(patience, time_limit or patience)))


def solved(
    problem: FillProblem, solver: str, time_limit: float | None, gap: Any, seed_number: int, start: FillPlan | None
) -> tuple[Solution, bool]:
    """The solution, watched, and whether the user stopped the search."""
    from fractions import Fraction

    from pipefill_opt.cli.search import Monitor, watched
    from pipefill_opt.solve.facade import solve
    from pipefill_opt.solve.result import Limits

    monitor, stop = Monitor(), Event()
    limits = Limits(time=time_limit, gap=Fraction(gap), seed=seed_number, stop=stop, on_progress=monitor.note)
    found = watched(lambda: solve(problem, solver=solver, limits=limits, start=start), monitor, stop)
    return found, stop.is_set()


def _write_plan(path: Path, problem: FillProblem, plan: FillPlan) -> None:
    from pipefill_opt.files import write_text
    from pipefill_opt.fill.plan_file import plan_text

    write_text(path, plan_text(problem, plan))


def baselines(problem: FillProblem, found: Solution, seconds: float) -> tuple[Solution, ...]:
    """PipeFill's greedy on contiguous bubbles and on all of them, each for at most `seconds`; a signal ends them sooner."""
    from pipefill_opt.cli.search import Monitor, watched
    from pipefill_opt.solve.facade import solve
    from pipefill_opt.solve.result import Limits

    monitor, stop = Monitor(), Event()
    limits = Limits(time=seconds, seed=found.seed, stop=stop, on_progress=monitor.note)

    def run() -> tuple[Solution, ...]:
        return tuple(
            found if found.solver == name else solve(problem, solver=name, limits=limits) for name in BASELINES
        )

    return watched(run, monitor, stop)


def _require_plan(found: Solution) -> FillPlan:
    from pipefill_opt.solve.result import Outcome

    if found.outcome is Outcome.INFEASIBLE:
        raise InfeasibleError(f"there is no plan ({found.reason}, {found.bound_origin})")
    if found.plan is None:
        raise LimitError(f"no plan found: {found.reason} after {found.seconds:.1f} s")
    return found.plan


def write_picture(path: Path, problem: FillProblem, plan: FillPlan) -> None:
    """The Gantt picture of a plan."""
    from pipefill_opt.files import write_bytes
    from pipefill_opt.report.gantt import draw
    from pipefill_opt.report.picture import plan_picture

    write_bytes(path, draw(plan_picture(problem, plan), path.suffix[1:].lower()))


def write_model(path: Path, problem: FillProblem) -> None:
    """The whole problem as one model, in MPS."""
    from pipefill_opt.files import write_text
    from pipefill_opt.solve.direct import model_text

    write_text(path, model_text(problem))


def write_trace(path: Path, problem: FillProblem, plan: FillPlan) -> None:
    """The Perfetto trace of a plan."""
    from pipefill_opt.files import write_text
    from pipefill_opt.traces.perfetto import plan_trace

    write_text(path, plan_trace(problem, plan))


def _read(instance: str, plan: str) -> tuple[FillProblem, FillPlan]:
    from pipefill_opt.fill.plan_file import read_plan
    from pipefill_opt.fill.read import read_instance

    problem = read_instance(instance)
    return problem, read_plan(plan, problem)


def run_certify(arguments: argparse.Namespace) -> int:
    """`pipefill certify INSTANCE PLAN`: exit code 4 if a rule is broken."""
    from pipefill_opt.fill.certify import certify
    from pipefill_opt.report import certificate as rendering

    problem, plan = _read(arguments.instance, arguments.plan)
    verdict = certify(problem, plan)
    render = {
        "text": rendering.certificate_text,
        "json": rendering.certificate_json,
        "csv": rendering.certificate_csv,
    }
    if arguments.trace and verdict.valid:
        write_trace(arguments.trace, problem, plan)
    sys.stdout.write(render[arguments.format](verdict))
    return 0 if verdict.valid else CertificateError.exit_code


def run_explain(arguments: argparse.Namespace) -> int:
    """`pipefill explain MAIN` and `pipefill explain INSTANCE PLAN`."""
    if arguments.prices and arguments.plan is None:
        raise InputError("expected an INSTANCE and a PLAN", value="--prices", where="explain")
    sys.stdout.write(_explain_main(arguments) if arguments.plan is None else _explain_plan(arguments))
    return 0


def _explain_main(arguments: argparse.Namespace) -> str:
    from pipefill_opt.report import causes as rendering
    from pipefill_opt.timeline.compute import timeline
    from pipefill_opt.workload.main_file import read_main

    found = rendering.causes(timeline(read_main(arguments.file)))
    render = {"text": rendering.causes_text, "json": rendering.causes_json, "csv": rendering.causes_csv}
    return render[arguments.format](found)


def _explain_plan(arguments: argparse.Namespace) -> str:
    from pipefill_opt.fill.certify import certify
    from pipefill_opt.fill.explain import explain
    from pipefill_opt.report import explanation as rendering
    from pipefill_opt.report.causes import causes
    from pipefill_opt.report.prices import prices_csv, prices_document, prices_text
    from pipefill_opt.timeline.compute import timeline

    problem, plan = _read(arguments.file, arguments.plan)
    verdict = certify(problem, plan)
    if not verdict.valid:
        first = verdict.violations[0]
        raise CertificateError(
            f"{arguments.plan}: {first.place}: {first.code}: {first.message} (see `pipefill certify`)"
        )
    explanation = explain(problem, plan)
    prices = _prices(problem, plan, arguments.time_limit) if arguments.prices else None
    if arguments.format == "csv":
        return rendering.explanation_csv(explanation) if prices is None else prices_csv(prices)
    main = None if problem.main is None else causes(timeline(problem.main))
    if arguments.format == "json":
        return rendering.explanation_json(explanation, main, None if prices is None else prices_document(prices))
    text = rendering.explanation_text(explanation, main)
    return text if prices is None else f"{text}\n{prices_text(problem, prices)}"


def _prices(problem: FillProblem, plan: FillPlan, time_limit: float) -> Prices:
    """Shadow prices, with progress on stderr and Ctrl-C."""
    from pipefill_opt.cli.search import Counter, watched
    from pipefill_opt.solve.prices import shadow_prices
    from pipefill_opt.solve.result import Limits

    counter, stop = Counter(), Event()
    limits = Limits(time=time_limit, stop=stop)
    return watched(lambda: shadow_prices(problem, limits, start=plan, tell=counter.note), counter, stop)
