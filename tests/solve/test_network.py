from __future__ import annotations

import pytest

from pipefill_opt.solve import network as module
from pipefill_opt.solve.network import GONE, IN, OUT, Network, Node, TooLargeError
from tests.solve.devices import device_of, fill_problem, job, with_table


def running(network: Network, slot: int = 0, layer: int = 0) -> set[tuple[Node, Node, int, int]]:
    arcs = [network.arcs[k] for k in network.of_slot(layer, slot)]
    return {(arc.tail, arc.head, arc.operators, arc.time) for arc in arcs}


def test_arcs_of_a_kept_slot() -> None:
    """Operators of 2, 3 and 6 ticks in 10 ticks: at most two in a row from 0 and from 1, three from 2."""
    found = running(Network(device_of(fill_problem(job("a", (2, 3, 6))))))
    assert found == {
        (Node(0, OUT), Node(1, OUT), 1, 2),
        (Node(0, OUT), Node(2, OUT), 2, 5),
        (Node(1, OUT), Node(2, OUT), 1, 3),
        (Node(1, OUT), Node(0, OUT), 2, 9),
        (Node(2, OUT), Node(0, OUT), 1, 6),
        (Node(2, OUT), Node(1, OUT), 2, 8),
    }


def test_a_plan_that_runs_once_begins_fresh() -> None:
    network = Network(device_of(fill_problem(job("a", (4, 4)), repeat=False)))
    assert {arc.tail for arc in network.arcs} == {Node(2, OUT)}
    assert network.fresh(0) == 2
    assert network.resting(0, 2) == 5  # nothing carried
    assert network.resting(0, 0) == 6


def test_transfers_of_a_swapped_slot() -> None:
    """5 bytes resident, 1 or 2 carried, a tick a byte: in at p, out at p + k."""
    swapped = job("a", (3, 4), carry=(1, 2), keep=False)
    found = running(Network(device_of(fill_problem(swapped, lengths=(17,), repeat=True))))
    assert (Node(0, OUT), Node(1, OUT), 1, 7 + 3 + 6) in found
    assert (Node(1, OUT), Node(0, OUT), 1, 6 + 4 + 7) in found
    assert {operators for _, _, operators, _ in found} == {1}  # two take 7 + 7 + 7


def test_a_swapped_slot_may_stay_in_where_a_detour_is_cheaper() -> None:
    jobs = [job(name, (2,), keep=name != "a") for name in "abc"]
    table = {"a": {"a": 9, "b": 1, "c": 1}, "b": {"a": 1, "b": 9, "c": 9}, "c": {"a": 1, "b": 9, "c": 9}}
    network = Network(device_of(with_table(fill_problem(*jobs, lengths=(30,)), table)))
    last = len(network.layers) - 1
    first = {(tail.phase, head.phase) for tail, head, _, _ in running(network)}
    assert first == {(OUT, IN), (OUT, GONE)}
    assert {(tail.phase, head.phase) for tail, head, _, _ in running(network, layer=1)} >= {(IN, IN), (IN, GONE)}
    assert {head.phase for _, head, _, _ in running(network, layer=last)} == {OUT}
    assert all(arc.operators == 0 for arc in network.arcs if arc.tail.phase == GONE)


def test_no_arc_ends_where_the_slot_may_not_rest() -> None:
    """Rule 5: 5 bytes resident and 1 or 9 carried, 13 free."""
    network = Network(device_of(fill_problem(job("a", (2, 2), memory=1, carry=(9, 1)), free=13)))
    assert {arc.head for arc in network.arcs} == {Node(0, OUT)}


def test_an_operator_that_does_not_fit_the_memory_ends_the_segment() -> None:
    assert running(Network(device_of(fill_problem(job("a", (2,), memory=10), free=15)))) != set()
    assert running(Network(device_of(fill_problem(job("a", (2,), memory=10), free=14)))) == set()


def test_a_network_that_is_too_large_is_not_built(monkeypatch: pytest.MonkeyPatch) -> None:
    device = device_of(fill_problem(job("a", (2, 3, 6))))
    monkeypatch.setattr(module, "MAX_ARCS", 9)
    assert len(Network(device).arcs) == 9
    monkeypatch.setattr(module, "MAX_ARCS", 8)
    with pytest.raises(TooLargeError):
        Network(device)
