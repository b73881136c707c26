"""The hook on a stage of torch's shape, and a schedule that calls it as torch's do; no torch needed."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import pytest

from pipefill_opt.errors import InputError
from pipefill_opt.harness.program import PlannedOperator, PlannedVisit, WatchedDevice
from pipefill_opt.harness.torch_hook import BubbleHook

ORDER = ("1F0", "1B0", "1F1", "1B1")


class Stage:
    """Logs what is called."""

    stage_index = 1

    def __init__(self, log: list[str]) -> None:
        self.log = log

    def get_fwd_recv_ops(self, microbatch: int) -> list[str]:
        self.log.append(f"ask F{microbatch}")
        return ["F"]

    def get_bwd_recv_ops(self, microbatch: int) -> list[str]:
        self.log.append(f"ask B{microbatch}")
        return []

    def forward_one_chunk(self, microbatch: int, *, save: bool) -> str:
        assert save
        self.log.append(f"F{microbatch}")
        return f"output {microbatch}"

    def backward_one_chunk(self, microbatch: int) -> None:
        self.log.append(f"B{microbatch}")


def operator(index: int, duration: int) -> PlannedOperator:
    return PlannedOperator("job", "bs1", 0, index, 0, duration, 0, 0)


def visit(before: int, length: int, *operators: PlannedOperator) -> PlannedVisit:
    return PlannedVisit(0, 0, before, length, 0, 0, 0, 0, operators)


class Bench:
    """A hooked stage with a clock that only fill operators move."""

    def __init__(self, *visits: PlannedVisit, takes: int = 10) -> None:
        self.log: list[str] = []
        self.now = 0
        self.takes = takes
        self.stage = Stage(self.log)
        self.schedules: Any = types.ModuleType("schedules")
        self.schedules._wait_batch_p2p = lambda work: self.log.append(f"wait {work}")
        device = WatchedDevice("device1", 1, tuple((text, 0, 0) for text in (*ORDER, "STEP")), (), visits, 0, 0)
        self.hook = BubbleHook(self.stage, self.schedules, device, self.run, clock=lambda: self.now)

    def run(self, planned: PlannedOperator) -> None:
        self.log.append(f"fill {planned.index}")
        self.now += self.takes

    def step(self) -> None:
        """As Schedule1F1B on the last stage: forwards wait for a message, backwards for none."""
        for microbatch in range(2):
            self.schedules._wait_batch_p2p(self.stage.get_fwd_recv_ops(microbatch))
            assert self.stage.forward_one_chunk(microbatch, save=True) == f"output {microbatch}"
            self.stage.get_bwd_recv_ops(microbatch)
            self.stage.backward_one_chunk(microbatch)
            self.schedules._wait_batch_p2p("send")


PLAIN = [
    "ask F0",
    "wait ['F']",
    "F0",
    "ask B0",
    "B0",
    "wait send",
    "ask F1",
    "wait ['F']",
    "F1",
    "ask B1",
    "B1",
    "wait send",
]


def test_operators_run_after_the_inputs_are_asked_for_and_before_they_are_waited_for() -> None:
    bench = Bench(
        visit(1, 100, operator(0, 10)), visit(2, 100, operator(1, 10), operator(2, 10)), visit(5, 50, operator(3, 9))
    )
    with bench.hook:
        bench.hook.begin(0)
        bench.step()
        bench.hook.end()
    expected = list(PLAIN)
    expected.insert(4, "fill 0")
    expected[8:8] = ["fill 1", "fill 2"]
    assert bench.log == [*expected, "fill 3"]
    assert [ran.text for ran in bench.hook.actions] == list(ORDER)
    assert [(ran.step, ran.text, ran.end - ran.start) for ran in bench.hook.operators] == [
        (0, f"job {index}", 10) for index in range(4)
    ]
    assert bench.hook.overruns == [(0, 0), (0, 0), (0, 0)]


def test_without_fill_and_without_the_hook_nothing_is_added() -> None:
    bench = Bench(visit(1, 100, operator(0, 10)))
    with bench.hook:
        bench.hook.begin(None)
        bench.step()
        bench.hook.end()
    bench.step()
    assert bench.log == PLAIN * 2
    assert len(bench.hook.actions) == 4
    assert "forward_one_chunk" not in vars(bench.stage)


def test_what_would_outlast_the_bubble_is_left() -> None:
    bench = Bench(visit(2, 50, *(operator(index, 10) for index in range(5))), takes=25)
    with bench.hook:
        bench.hook.begin(0)
        bench.step()
        bench.hook.end()
    assert [ran.text for ran in bench.hook.operators] == ["job 0", "job 1"]
    assert [planned.index for _, planned in bench.hook.left] == [2, 3, 4]


def test_an_overrun_is_told() -> None:
    bench = Bench(visit(2, 50, operator(0, 50)), takes=70)
    with bench.hook:
        bench.hook.begin(0)
        bench.step()
        bench.hook.end()
    assert bench.hook.overruns == [(0, 20)]


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda bench: bench.stage.backward_one_chunk(0), "1B0: expected 1F0"),
        (lambda bench: bench.hook.end(), "expected 4 actions"),
        (lambda bench: (bench.step(), bench.stage.backward_one_chunk(2)), "1B2: expected the end of the step"),
    ],
)
def test_another_order_is_refused(act: Callable[[Bench], object], message: str) -> None:
    bench = Bench()
    with bench.hook:
        bench.hook.begin(0)
        with pytest.raises(InputError, match=message):
            act(bench)


def test_not_a_stage() -> None:
    with pytest.raises(InputError, match="expected a stage of torch"):
        BubbleHook(object(), types.ModuleType("empty"), WatchedDevice("d", 0, (), (), (), 0, 0), lambda _operator: None)
