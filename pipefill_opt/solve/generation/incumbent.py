"""The best whole choice of columns with known plans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from pipefill_opt.solve.allocate import MasterSolver
from pipefill_opt.solve.generation.master import Used, filled_up, master_columns, relax, rounded_down, worth
from pipefill_opt.solve.result import Limits

Key = tuple[int, tuple[int, ...]]
FEW: Final = 2_000
"""Columns up to which whole multiplicities are searched for at once; else only what rounding the linear ones leaves."""
SECONDS: Final = 5.0
"""Most seconds (or deterministic ones, without a time limit) of one search for whole multiplicities."""


class Incumbent:
    """value: of `multiplicity`, by column, at the values `values` of their plans."""

    def __init__(self, counts: Sequence[int], copies: Sequence[int], solve_master: MasterSolver) -> None:
        self.counts = counts
        self.copies = copies
        self.solve_master = solve_master
        self.value = 0
        self.multiplicity: dict[Key, int] = {}
        self.values: dict[Key, int] = {}

    def improve(self, columns: Mapping[Key, Used], values: Mapping[Key, int], limits: Limits) -> None:
        """Choose anew among these columns; kept if it is worth more."""
        keys = sorted(columns)
        used = [columns[key] for key in keys]
        own = [values[key] for key in keys]
        relaxed = relax([float(value) for value in own], used, self.counts, self.copies) if keys else None
        if relaxed is None:
            return
        if relaxed.worth <= self.value * (1 - 1e-9):
            return
        whole, devices, left = rounded_down(relaxed, used, self.counts, self.copies)
        if limits.time is not None:
            limits = replace(limits, time=min(SECONDS, max(1.0, limits.time / 8)))
        elif limits.work is None:
            limits = replace(limits, work=SECONDS)
        rest = self.solve_master(own, master_columns(used), devices, left, limits)
        if rest.value > 0:
            self.keep(keys, own, [a + b for a, b in zip(whole, rest.multiplicity, strict=True)])
        filled_up(whole, own, used, devices, left)
        self.keep(keys, own, whole)
        if len(keys) <= FEW and relaxed.worth > self.value * (1 + 1e-9):
            whole_search = self.solve_master(own, master_columns(used), self.counts, self.copies, limits)
            self.keep(keys, own, list(whole_search.multiplicity))

    def keep(self, keys: Sequence[Key], values: Sequence[int], whole: Sequence[int]) -> None:
        """Remember a choice that is better."""
        value = worth(whole, values)
        if value > self.value:
            self.value = value
            chosen = [(key, number, own) for key, number, own in zip(keys, whole, values, strict=True) if number]
            self.multiplicity = {key: number for key, number, _ in chosen}
            self.values = {key: own for key, _, own in chosen}
