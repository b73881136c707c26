"""The whole problem for one H as one integer program: no lazy columns, no master. A second opinion on that scheme.

A block is a class, residents, and a number of devices, a power of two: its variable `use` says that so many devices of that class have
those residents and all follow the block's own plan, a `DeviceProgram`. Powers of two make up every multiplicity, and equal devices may
as well follow one plan, so nothing is lost. Rows hold the devices of each class to its count and the copies of each job to theirs.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pipefill_opt.fill.problem import FillProblem
from pipefill_opt.solve.device import Compiled, DevicePlan, DeviceProblem, Residents
from pipefill_opt.solve.device_program import DeviceProgram
from pipefill_opt.solve.greedy import Choice
from pipefill_opt.solve.network import Network, TooLargeError
from pipefill_opt.solve.program import Program, Row

MAX_VARIABLES: Final = 300_000
"""Largest program that is built."""


@dataclass(frozen=True, slots=True)
class Block:
    """`devices` devices with the plan of `model`; use: the index of its variable, its plan's variables follow."""

    device: DeviceProblem
    model: DeviceProgram
    part: Program
    devices: int
    use: int

    def own(self, point: Sequence[int]) -> Sequence[int]:
        """The part of a point that is the plan."""
        return point[self.use + 1 : self.use + 1 + len(self.part.value)]


class DirectProgram:
    """The blocks of a problem, their program, and what its points mean. Raises TooLargeError."""

    def __init__(self, compiled: Compiled, iterations: int) -> None:
        self.compiled = compiled
        self.blocks: list[Block] = []
        self.size = 0
        for class_index, device_class in enumerate(compiled.problem.devices):
            kinds = _kinds(compiled.problem, device_class.name)
            level: list[Residents] = [()]
            while level:
                larger = [(*few, kind) for few in level for kind in kinds if not few or kind >= few[-1]]
                level = [residents for residents in larger if self._add(class_index, residents, iterations)]

    def _add(self, class_index: int, residents: Residents, iterations: int) -> bool:
        """The blocks of these residents. False: none, for some slot can do nothing beside the others; fewer residents serve as well."""
        device = self.compiled.device(class_index, residents, iterations)
        if not _all_have_room(self.compiled.problem, device):
            return False
        network = Network(device)
        if {arc.slot for arc in network.arcs if arc.operators} != set(network.slots):
            return False
        model = DeviceProgram(network)
        part = model.program()
        problem = self.compiled.problem
        copies = Counter(job for job, _ in device.residents)
        count = problem.devices[device.class_index].count
        most = min([count, *(problem.jobs[job].copies // used for job, used in copies.items())])
        for power in range(most.bit_length()):
            self.blocks.append(Block(device, model, part, 2**power, self.size))
            self.size += 1 + len(part.value)
            if self.size > MAX_VARIABLES:
                raise TooLargeError
        return True

    def program(self) -> Program:
        """Its points are the plans of the whole problem; the value of a point is that of the plan over the H iterations."""
        value: list[int] = []
        upper: list[int] = []
        rows = list(self._limits())
        for block in self.blocks:
            value += [0, *(block.devices * v for v in block.part.value)]
            upper += [1, *block.part.upper]
            rows += [_where_used(row, block.use) for row in block.part.rows]
        return Program(tuple(value), tuple(upper), tuple(rows))

    def _limits(self) -> Iterator[Row]:
        """Counts of classes and copies of jobs."""
        problem = self.compiled.problem
        counts: dict[int, list[tuple[int, int]]] = defaultdict(list)
        copies: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for block in self.blocks:
            counts[block.device.class_index].append((block.use, block.devices))
            for job, used in Counter(job for job, _ in block.device.residents).items():
                copies[job].append((block.use, used * block.devices))
        limits = [(terms, problem.devices[c].count) for c, terms in counts.items()]
        limits += [(terms, problem.jobs[j].copies) for j, terms in copies.items()]
        for terms, most in limits:
            yield Row(tuple(use for use, _ in terms), tuple(number for _, number in terms), None, most)

    def choices(self, point: Sequence[int]) -> list[Choice]:
        """The devices and plans that a point stands for."""
        found = []
        for block in self.blocks:
            if point[block.use]:
                plan = block.model.plan(block.own(point))
                found.append(Choice(block.device, plan, plan.value(block.device), block.devices))
        return found

    def point(self, choices: Sequence[Choice]) -> tuple[int, ...] | None:
        """The point of such devices, those with equal residents all with the best of their plans.

        None if a plan takes an arc that is not there, or residents are not listed.
        """
        number: Counter[tuple[int, Residents]] = Counter()
        best: dict[tuple[int, Residents], tuple[int, DevicePlan]] = {}
        for choice in choices:
            key = (choice.device.class_index, choice.device.residents)
            number[key] += choice.multiplicity
            if key not in best or choice.value > best[key][0]:
                best[key] = (choice.value, choice.plan)
        point = [0] * self.size
        for block in self.blocks:
            key = (block.device.class_index, block.device.residents)
            if number[key] & block.devices:
                own = block.model.point(best[key][1])
                if own is None:
                    return None
                point[block.use : block.use + 1 + len(own)] = [1, *own]
                number[key] -= block.devices
        return tuple(point) if not any(number.values()) else None

    def names(self) -> list[str]:
        """By variable: `use_3`, and `x_3_17` for the variables of block 3."""
        names: list[str] = []
        for k, block in enumerate(self.blocks):
            names += [f"use_{k}", *(f"x_{k}_{j}" for j in range(len(block.part.value)))]
        return names


def _where_used(row: Row, use: int) -> Row:
    """A row of a block's plan in the whole program, its right side times `use`. Where that is 0 no slot is anywhere, and the row holds."""
    variables = tuple(use + 1 + j for j in row.variables)
    if row.most == 0:
        return replace(row, variables=variables)
    return Row((*variables, use), (*row.coefficients, -row.most), None if row.least is None else 0, 0)


def _kinds(problem: FillProblem, device_class: str) -> Residents:
    """Each (job, configuration) that may be on a class."""
    return tuple(
        (j, k)
        for j, job in enumerate(problem.jobs)
        for k in range(len(job.configurations))
        if device_class in job.devices
    )


def _all_have_room(problem: FillProblem, device: DeviceProblem) -> bool:
    """True if there are the copies, the bytes between bubbles, and ticks for the least that each slot does if it does anything."""
    copies = Counter(job for job, _ in device.residents)
    if any(used > problem.jobs[job].copies for job, used in copies.items()):
        return False
    least = sum(sum(slot.ticks) if device.repeat else slot.ticks[0] for slot in device.slots)
    ticks = device.iterations * sum(max(0, room.usable) for room in device.rooms)
    return least <= ticks and device.kept_resident <= device.resident_free
