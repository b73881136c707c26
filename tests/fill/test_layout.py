"""Pieces and memory levels of a plan worked out by hand."""

from __future__ import annotations

from pipefill_opt.fill.layout import layout
from tests.report.samples import GB, MS, plan, problem


def test_pieces_lie_where_they_were_worked_out() -> None:
    given = problem()
    placed = layout(given, given.devices[0], plan().patterns[0].phases[0])
    operators = [(p.slot, p.start // MS, p.end // MS, p.operators) for p in placed.pieces if p.slot >= 0]
    assert operators == [(0, 22, 26, 1), (1, 30, 35, 1), (0, 92, 98, 1)]
    switches = [(p.start // MS, p.end // MS) for p in placed.pieces if p.slot < 0]
    assert switches == [(20, 22), (26, 30), (35, 38), (90, 92), (98, 99)]


def test_memory_levels() -> None:
    """Resident 1 GB all the time; 3 GB while x runs, 2 carried after it; 3 with the swapped one in, 4 while z runs; 2 while y runs."""
    given = problem()
    placed = layout(given, given.devices[0], plan().patterns[0].phases[0])
    levels = [(level.time // MS, level.size // GB) for level in placed.levels]
    assert levels == [(0, 1), (22, 3), (26, 2), (29, 3), (30, 4), (35, 3), (37, 2), (92, 2), (98, 1)]


def test_an_idle_device_holds_nothing() -> None:
    given = problem()
    placed = layout(given, given.devices[0], plan().patterns[1].phases[0])
    assert placed.pieces == ()
    assert [tuple(level) for level in placed.levels] == [(0, 0)]
