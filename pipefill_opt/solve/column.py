"""Columns of the whole problem: one device of a class with given residents. The integer master chooses how many of each."""

from __future__ import annotations

from dataclasses import dataclass

from pipefill_opt.solve.device import Residents
from pipefill_opt.solve.result import Reason


@dataclass(frozen=True, slots=True)
class Column:
    """`residents` on one device of class `class_index`.

    extra: what else such a device uses up, as (index after those of the jobs, number), for masters with more limits than copies.
    """

    class_index: int
    residents: Residents
    extra: tuple[tuple[int, int], ...] = ()

    @property
    def usage(self) -> tuple[tuple[int, int], ...]:
        """(job index, copies that one such device uses), each job once, then what else it uses up."""
        jobs = [job for job, _ in self.residents]
        return (*((job, jobs.count(job)) for job in sorted(set(jobs))), *self.extra)


@dataclass(frozen=True, slots=True)
class MasterResult:
    """The integer master: maximise sum of value x multiplicity; per class at most its count; per job at most its copies.

    multiplicity: one per column, a feasible choice (all 0 at worst). value <= optimum <= bound.
    """

    multiplicity: tuple[int, ...]
    value: int
    bound: int
    reason: Reason = Reason.PROVED
