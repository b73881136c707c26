"""From a schedule to times: against networkx on the same DAG in the same run, and large against small.

Times are CPU times, so that other work on the machine counts little. Small: p = 64, m = 1024, 1F1B (131,072 actions). Large:
p = 128, m = 4096, v = 2, interleaved 1F1B (2,097,152 actions).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import networkx

from benchmarks.line import Line, seconds
from pipefill_opt.parse import parse_yaml
from pipefill_opt.schedule.precedence import precedence, topological_order
from pipefill_opt.schedule.schedule import Int64
from pipefill_opt.timeline.longest_path import longest_path
from pipefill_opt.timeline.times import settle
from pipefill_opt.workload.costs import MainJob
from pipefill_opt.workload.main_file import main_from_document
from pipefill_opt.workload.weights import action_durations, edge_lags

COSTS = """
durations: {unit: us, F: 1000, B: 2000}
communication: {lag: 7us}
memory: {capacity: 80GiB, reserve: 1GiB, static: 20GiB, activation: 10MiB}
"""
SMALL = "schedule: {family: 1f1b, devices: 64, microbatches: 1024}" + COSTS
LARGE = "schedule: {family: interleaved-1f1b, devices: 128, microbatches: 4096, chunks: 2}" + COSTS
FLOW = "schedule: {family: zbv, devices: 64, microbatches: 341}" + COSTS.replace("B:", "I: 1100, W:") + "boundary: flow"
LINK = SMALL.replace("{lag: 7us}", "{mode: link, latency: 7us, bandwidth: 10GB/s, bytes: 20MB}")
GIB = 2**30


def lines() -> Iterator[Line]:
    """Speed and memory of timelines."""
    small, large = (main_from_document(parse_yaml(text)) for text in (SMALL, LARGE))
    starts(small)  # warm-up: compiles
    by_networkx, latest = networkx_longest_path(small)
    waits, duration = precedence(small.schedule), action_durations(small)
    lag = edge_lags(small, waits, duration)

    def replay() -> Int64:
        order = topological_order(small.schedule, waits.first, waits.pred)
        return longest_path(replace(waits, order=order), duration, lag)

    by_replay, start = seconds(replay, repeats=9)
    if latest != start.max():
        raise AssertionError(f"networkx finds {latest}, we {start.max()}")
    note = f"{small.schedule.size} actions: {by_networkx:.2f} s / {by_replay * 1e3:.1f} ms"
    yield Line("networkx longest path / ours, from built DAGs", by_networkx / by_replay, 100, at_least=True, note=note)
    by_us, _ = seconds(lambda: starts(small), repeats=9)
    note = f"{by_us * 1e3:.1f} ms"
    yield Line(
        "networkx longest path / ours, our DAG's building included", by_networkx / by_us, 50, at_least=True, note=note
    )

    for name, line in (("flow", FLOW), ("link", LINK)):
        main = main_from_document(parse_yaml(line))
        settle(main)  # warm-up
        ours, _ = seconds(lambda main=main: settle(main), repeats=3)  # type: ignore[misc]
        note = f"{main.schedule.size} actions: {ours * 1e3:.0f} ms"
        yield Line(f"our times with {name} / networkx longest path", ours / by_networkx, 1, note=note)

    by_us_large, _ = seconds(lambda: starts(large))
    growth = large.schedule.size / small.schedule.size
    note = f"{large.schedule.size} actions: {by_us_large * 1e3:.0f} ms"
    yield Line("ours, DAG included, an action, large / small", by_us_large / by_us / growth, 2, note=note)

    command = min(bubbles_command(SMALL)[0] for _ in range(3))
    note = f"{command:.2f} s, from YAML to JSON, start-up included"
    yield Line("pipefill bubbles / networkx longest path", command / by_networkx, 4, note=note)
    command_large, peak = bubbles_command(LARGE)
    note = f"{command_large:.1f} s"
    yield Line("pipefill bubbles, an action, large / small", command_large / command / growth, 2, note=note)
    yield Line("pipefill bubbles, memory, large", peak / GIB, 4, unit="GiB")


def starts(main: MainJob) -> Int64:
    """From the arrays of a schedule and its costs to all start times, precedence included."""
    waits = precedence(main.schedule)
    duration = action_durations(main)
    return longest_path(waits, duration, edge_lags(main, waits, duration))


def networkx_longest_path(main: MainJob) -> tuple[float, int]:
    """Seconds that networkx takes on the same DAG, its building apart, and the latest start that it finds."""
    waits = precedence(main.schedule)
    duration = action_durations(main)
    weight = duration[waits.pred] + edge_lags(main, waits, duration)
    graph = networkx.DiGraph()
    graph.add_nodes_from(range(main.schedule.size))
    graph.add_weighted_edges_from(zip(waits.pred.tolist(), waits.successor().tolist(), weight.tolist(), strict=True))
    best, path = seconds(lambda: networkx.dag_longest_path(graph))
    return best, networkx.path_weight(graph, path, "weight")


def bubbles_command(text: str) -> tuple[float, int]:
    """CPU seconds and peak bytes of `pipefill bubbles --format json` in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        main = Path(folder) / "main.yaml"
        main.write_text(text, encoding="utf-8")
        with (Path(folder) / "bubbles.json").open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "pipefill_opt.cli", "bubbles", str(main), "--format", "json"], stdout=output
            )
            _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise RuntimeError(f"pipefill bubbles ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024
