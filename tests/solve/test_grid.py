"""Sweeps over tables: against the definition, room by room, and walks that are worth what the sweep says."""

from __future__ import annotations

from itertools import accumulate, pairwise, product

import numpy as np
import pytest

from pipefill_opt.solve import grid as grid_module
from pipefill_opt.solve.device import DeviceProblem, Room
from pipefill_opt.solve.grid import AXES, Grid, Table, fits_grid, grid_size
from pipefill_opt.solve.monotone import Relaxed, relax
from tests.solve.devices import device_of, fill_problem, job
from tests.solve.monotone_devices import monotone_problem


def by_definition(device: DeviceProblem, relaxed: Relaxed, room: Room, table: Table, lap: tuple[int, ...]) -> Table:
    """The best of `table` over all that one room allows: every number of operators of every slot, tried."""
    lengths = table.shape
    swept = np.empty_like(table)
    for start in product(*(range(n) for n in lengths)):
        best = None
        for done in product(*(range(12) for _ in lengths)):
            chosen = [s for s, count in enumerate(done) if count]
            ticks = device.enter + device.leave + relaxed.path[sum(1 << s for s in chosen)] if chosen else 0
            fits = True
            value = 0
            for s, count in enumerate(done):
                slot = device.slots[s]
                operators = [(start[s] + k) % slot.length for k in range(count)]
                fits = fits and not any(relaxed.never[room][s][k] for k in operators)
                ticks += sum(slot.ticks[k] for k in operators)
                if count:
                    ticks += slot.move_in[start[s]] + slot.move_out[(start[s] + count) % slot.length]
                value += (start[s] + count) // slot.length * lap[s]
            if fits and (not chosen or ticks <= room.usable):
                end = tuple((p + d) % n for p, d, n in zip(start, done, lengths, strict=True))
                best = max(int(table[end]) + value, best if best is not None else -1)
        swept[start] = best
    return swept


@pytest.mark.parametrize("seed", range(12))
def test_sweep_is_the_best_of_what_a_room_allows(seed: int) -> None:
    problem = monotone_problem(seed, slots=2, bubbles=1, operators=4)
    device = device_of(problem)
    relaxed = relax(device)
    device = relaxed.device
    lap = (70, 90)
    grid = Grid(relaxed)
    core = grid.table(
        [[worth * k // slot.length for k in range(slot.length)] for worth, slot in zip(lap, device.slots, strict=True)]
    )
    expected = core.reshape([slot.length for slot in device.slots])
    for _ in range(device.iterations):
        expected = by_definition(device, relaxed, device.rooms[0], expected, lap)
    swept = grid.sweep(core, lap, lambda: False)
    assert swept is not None
    assert swept.ravel().tolist() == expected.ravel().tolist()


def test_walk_is_worth_what_the_sweep_says() -> None:
    device = device_of(fill_problem(job("a", (3, 4, 2)), job("b", (5, 2)), lengths=(9, 14, 8, 21, 11)))
    grid = Grid(relax(device))
    lap = (9, 7)
    core = grid.table([list(accumulate(slot.ticks, initial=0))[:-1] for slot in device.slots])
    kept: dict[int, Table] = {}
    swept = grid.sweep(core, lap, lambda: False, kept)
    assert swept is not None
    for start in product(*(range(n) for n in grid.length)):
        way = grid.walk(kept, lap, start, lambda: False)
        assert way is not None
        assert all(a <= b for here, there in pairwise(way) for a, b in zip(here, there, strict=True))
        end = way[-1]
        place = tuple(p % n for p, n in zip(end, grid.length, strict=True))
        laps = [p // n for p, n in zip(end, grid.length, strict=True)][AXES - 2 :]
        assert core[place] + sum(k * worth for k, worth in zip(laps, lap, strict=True)) == swept[start]


def test_sweep_ends_when_told() -> None:
    grid = Grid(relax(device_of(fill_problem(job("a", (3,))))))
    assert grid.sweep(grid.table([[0]]), (3,), lambda: True) is None


def test_what_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    assert fits_grid(device_of(fill_problem(*(job(f"j{k}", (3, 4)) for k in range(5)))))
    assert not fits_grid(device_of(fill_problem(*(job(f"j{k}", (3, 4)) for k in range(6)))))
    assert not fits_grid(device_of(fill_problem(*(job(f"j{k}", (1,) * 200) for k in range(4)))))
    assert not fits_grid(device_of(fill_problem(*(job(f"j{k}", (1,)) for k in range(3)), lengths=(1000,))))
    device = device_of(fill_problem(job("a", (3, 4)), job("b", (5,)), lengths=(8, 9)))
    # a reaches 2 operators from each position in either room, b 1: 3 + 3 choices of a, positions of b; 4 x 2 entries
    assert grid_size(device) == (8, 2 * 6 * 1 + 2 * 8)
    monkeypatch.setattr(grid_module, "MOST_STEPS", 20)
    assert not fits_grid(device)
