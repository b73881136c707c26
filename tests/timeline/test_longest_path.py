"""The kernel with other durations and lags, against networkx, and its graph."""

from __future__ import annotations

import networkx
import numpy as np
import pytest

from pipefill_opt import kernels
from pipefill_opt.errors import InputError, ScheduleError
from pipefill_opt.schedule.families import build_family
from pipefill_opt.schedule.precedence import Edge, precedence
from pipefill_opt.timeline.compute import timeline
from pipefill_opt.timeline.graph import to_networkx
from pipefill_opt.timeline.longest_path import latest_end, longest_path
from tests.timeline.jobs import rows_job
from tests.timeline.random_jobs import random_job


def test_the_graph_has_the_makespan_as_its_longest_path() -> None:
    seen = 0
    for seed in range(150):
        main = random_job(seed)
        try:
            result = timeline(main)
        except ScheduleError:
            continue
        graph = to_networkx(main)
        assert networkx.is_directed_acyclic_graph(graph)
        assert networkx.dag_longest_path_length(graph, default_weight=0) == result.makespan
        assert graph.number_of_nodes() == main.schedule.size + 1
        for index in range(main.schedule.size):
            node = graph.nodes[index]
            assert node["action"] == str(main.schedule.action(index))
            assert node["duration"] == result.end[index] - result.start[index]
        seen += 1
    assert seen > 100


def test_the_graph_by_hand() -> None:
    graph = to_networkx(rows_job("0F0 0B0", "1F0 1B0", lag=3))
    assert graph.nodes[0] == {"action": "0F0", "device": 0, "duration": 1}
    assert graph.edges[0, 2] == {"kind": "data", "lag": 3, "weight": 4}
    assert graph.edges[2, 3] == {"kind": "data", "lag": 0, "weight": 1}
    assert graph.edges[3, 1] == {"kind": "data", "lag": 3, "weight": 5}
    assert graph.edges[1, -1] == {"kind": "end", "lag": 0, "weight": 2}


def test_the_graph_of_a_deadlock_is_refused() -> None:
    with pytest.raises(ScheduleError, match="deadlock"):
        to_networkx(rows_job("0B0 0F0"))


@pytest.mark.parametrize("interpreted", [-1, 10**9])
def test_other_durations_and_lags(interpreted: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fill work between two neighbours is a lag on the edge of the device's order."""
    monkeypatch.setattr(kernels, "INTERPRETED", interpreted)
    waits = precedence(build_family("1f1b", 2, 2))
    duration = np.array([1, 1, 2, 2, 1, 2, 1, 2], dtype=np.int64)  # 0F0 0F1 0B0 0B1 1F0 1B0 1F1 1B1
    lag = np.zeros(len(waits.pred), dtype=np.int64)
    assert longest_path(waits, duration, lag).tolist() == [0, 1, 4, 7, 1, 2, 4, 5]
    edge = next(e for e in range(len(lag)) if waits.kind[e] == Edge.ORDER and waits.successor()[e] == 2)
    lag[edge] = 2
    assert longest_path(waits, duration, lag).tolist() == [0, 1, 4, 7, 1, 2, 4, 5]  # fits
    lag[edge] = 3
    assert longest_path(waits, duration, lag).tolist() == [0, 1, 5, 7, 1, 2, 4, 5]  # eats the slack
    lag[edge] = 5
    assert longest_path(waits, duration, lag).tolist() == [0, 1, 7, 9, 1, 2, 4, 5]
    lag[edge] = 0
    latest = latest_end(waits, duration, lag, 9)
    assert latest.tolist() == [1, 4, 7, 9, 2, 4, 5, 7]
    assert longest_path(waits, duration[::-1].copy(), lag, runs=10**6).max() > 0


def test_durations_are_checked() -> None:
    with pytest.raises(InputError, match="0 or more"):
        timeline(rows_job("0F0 0B0", F=-1))
    with pytest.raises(InputError, match="add up"):
        timeline(rows_job(" ".join(f"0F{m}" for m in range(9)), F=2**58))
    assert timeline(rows_job("0F0 0F1", F=2**58)).makespan == 2**59
