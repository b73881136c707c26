"""Devices for the tests of device solvers: from random problems, and one by hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from pipefill_opt.fill.problem import (
    Configuration,
    DeviceClass,
    FillBubble,
    FillProblem,
    Guard,
    Job,
    Objective,
    Operator,
    Switch,
    ValueRule,
)
from pipefill_opt.solve.device import DevicePlan, DeviceProblem, Run, Visit, compile_problem
from tests.solve import brute_force
from tests.solve.random_instances import random_problem


def random_devices(seeds: range) -> Iterator[tuple[DeviceProblem, brute_force.Device]]:
    """Every device with slots of the problems of these seeds: as the package compiles it, and as the brute force does."""
    for seed in seeds:
        problem = random_problem(seed)
        compiled = compile_problem(problem)
        iterations = problem.iterations or problem.max_iterations
        for index, device in enumerate(problem.devices):
            for own in brute_force.devices_of(problem, device):
                if own.residents:
                    yield compiled.device(index, own.residents, iterations), own


def best_plan(device: DeviceProblem, own: brute_force.Device) -> DevicePlan | None:
    """The plan of the brute force, or None where the residents fit nowhere."""
    best = own.best(device.iterations)
    if best is None:
        return None
    at = [max(start, 0) for start in best.starts]
    visits = []
    for number, visit in enumerate(best.visits):
        runs = []
        for slot, count in visit:
            runs.append(Run(slot, at[slot], count))
            at[slot] = own.after(slot, at[slot], count)
        if runs:
            visits.append(Visit(*divmod(number, len(device.rooms)), tuple(runs)))
    return DevicePlan(tuple(max(start, 0) for start in best.starts), tuple(visits))


def job(
    name: str,
    ticks: tuple[int, ...],
    *,
    memory: int = 10,
    carry: tuple[int, ...] = (1,),
    resident: int = 5,
    keep: bool = True,
) -> Job:
    """A job of one configuration; operators are worth their ticks. carry: of the operators, one after the other, over and over."""
    operators = tuple(
        Operator(f"o{k}", t, memory, carry[k % len(carry)], Fraction(0), None) for k, t in enumerate(ticks)
    )
    configuration = Configuration("c", Fraction(1), resident, operators)
    return Job(name, 1, Fraction(1), None, 0, None, ("d",), keep, ValueRule.TIME, (configuration,))


def fill_problem(*jobs: Job, lengths: tuple[int, ...] = (10,), free: int = 1000, repeat: bool = True) -> FillProblem:
    """One device, bubbles of these lengths; changes of slot take one tick, a transfer one tick a byte, the rest no time."""
    bubbles = tuple(FillBubble(1000 * k, length, free, "inner") for k, length in enumerate(lengths))
    return FillProblem(
        name="by hand",
        period=1000 * len(lengths),
        iterations=1,
        max_iterations=1,
        repeat=repeat,
        devices=(DeviceClass("d", 1, Fraction(1), free, bubbles),),
        guard=Guard(Fraction(1), 0),
        switch=Switch(0, 0, 1, Fraction(10**9), Fraction(10**9)),
        jobs=jobs,
        objective=Objective.THROUGHPUT,
        migrate=False,
    )


def device_of(problem: FillProblem) -> DeviceProblem:
    """The device of `fill_problem` with one copy of each job."""
    return compile_problem(problem).device(0, tuple((j, 0) for j in range(len(problem.jobs))), problem.iterations or 1)


def with_table(problem: FillProblem, table: dict[str, dict[str, int]]) -> FillProblem:
    """The same problem, with `between` as a table."""
    return replace(problem, switch=replace(problem.switch, between=table))
