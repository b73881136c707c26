"""The whole problem as one integer program, solved as it is or written down as a model file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import floor

from pipefill_opt.errors import InputError
from pipefill_opt.fill.hash import instance_hash
from pipefill_opt.fill.problem import FillProblem
from pipefill_opt.solve.allocate import Allocation
from pipefill_opt.solve.columns import rate_bound
from pipefill_opt.solve.device import Compiled, compile_problem
from pipefill_opt.solve.direct_program import MAX_VARIABLES, DirectProgram
from pipefill_opt.solve.greedy import Choice
from pipefill_opt.solve.mps import mps_text
from pipefill_opt.solve.network import TooLargeError
from pipefill_opt.solve.program import Maximize
from pipefill_opt.solve.result import Progress, Reason
from pipefill_opt.solve.watch import Watch


def solve_directly(
    compiled: Compiled,
    iterations: int,
    maximize: Maximize,
    watch: Watch,
    *,
    start: Sequence[Choice] = (),
    beat: int = 0,
    tell: Callable[[int, int, str], None] | None = None,
) -> Allocation:
    """What `allocate` answers, from one program.

    A problem that is too large for it is not searched: reason WORK_LIMIT, `start`, the bound of capacity.
    """
    known = sum(choice.value * choice.multiplicity for choice in start)
    capacity = floor(rate_bound(compiled) * iterations)
    if capacity <= max(beat, known):
        return Allocation(tuple(start), known, max(known, capacity), "capacity", Reason.PROVED)
    try:
        whole = DirectProgram(compiled, iterations)
    except TooLargeError:
        return Allocation(tuple(start), known, capacity, "capacity", Reason.WORK_LIMIT)
    if not whole.blocks:
        return Allocation((), 0, 0, "no residents can work anywhere", Reason.PROVED)
    limits = watch.left(gap=watch.limits.gap)
    if tell is not None:
        limits = replace(limits, on_progress=_Told(tell, known, capacity))
    answer = maximize(whole.program(), limits, whole.point(start))
    choices = whole.choices(answer.point) if answer.point is not None else []
    value = sum(choice.value * choice.multiplicity for choice in choices)
    if value < known:
        choices, value = list(start), known
    bound, origin = min((capacity, "capacity"), (answer.bound, f"whole model: {answer.origin}"))
    reason = Reason.PROVED if bound <= max(value, beat) else answer.reason
    return Allocation(tuple(choices), value, max(value, bound), origin, reason)


class _Told:
    """Passes on what a search of the program tells."""

    def __init__(self, tell: Callable[[int, int, str], None], known: int, capacity: int) -> None:
        self.tell = tell
        self.known = known
        self.capacity = capacity

    def __call__(self, progress: Progress) -> None:
        value = max(self.known, floor(progress.value or 0))
        bound = self.capacity if progress.bound is None else min(self.capacity, floor(progress.bound))
        self.tell(value, max(value, bound), "whole model")


def model_text(problem: FillProblem) -> str:
    """The whole problem as an MPS file, with what its blocks are in comments.

    Raises InputError where H is left open (`iterations: auto`: a model is one of a single H) and for a problem that is too large.
    """
    if problem.iterations is None:
        raise InputError("expected a number, a model is one of a fixed H", value="auto", where="iterations")
    compiled = compile_problem(problem)
    try:
        whole = DirectProgram(compiled, problem.iterations)
    except TooLargeError:
        raise InputError(f"expected a problem whose model has at most {MAX_VARIABLES} variables") from None
    return mps_text(whole.program(), whole.names(), _comments(whole, problem.iterations))


def _comments(whole: DirectProgram, iterations: int) -> list[str]:
    compiled = whole.compiled
    problem = compiled.problem
    lines = [
        f"Fill problem {instance_hash(problem)}",
        f"The objective per main iteration is the value of this model x {compiled.unit / iterations}.",
        "Block b: if use_b is 1, so many devices have such residents and follow the plan that the arcs x_b_... make up.",
    ]
    for k, block in enumerate(whole.blocks):
        residents = ", ".join(
            f"{problem.jobs[job].name} ({problem.jobs[job].configurations[c].name})"
            for job, c in block.device.residents
        )
        lines.append(f"Block {k}: {block.devices} x {problem.devices[block.device.class_index].name}: {residents}")
    return lines
