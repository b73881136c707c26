"""A runtime hook for stages of torch.distributed.pipelining: runs a device's fill plan in the bubbles of its schedule.

Use it around the steps of a schedule with one stage a rank (ScheduleGPipe, Schedule1F1B):

    hook = BubbleHook(stage, torch.distributed.pipelining.schedules, device, run)
    with hook:                                  # device: of `scenario`; run: does one operator of the plan
        for number in range(steps):
            hook.begin(turn)                    # the plan's main iteration, or None for a step without fill work
            schedule.step(...)
            optimizer.step()
            ready = dist.barrier(async_op=True)
            hook.end()                          # the bubble around the iteration boundary
            ready.wait()

A bubble begins when the schedule asks for the inputs of its next action: what the action before has made is sent by then, and the
receive is posted. Where nothing is received, it begins right before the action. An operator that would not end within the bubble's
planned length, counted from when it really began, is left for the next bubble, so that one overrun does not add to another.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from types import ModuleType
from typing import Any, Final

from pipefill_opt.errors import InputError
from pipefill_opt.harness.program import PlannedOperator, PlannedVisit, WatchedDevice

INPUTS: Final = ("get_fwd_recv_ops", "get_bwd_recv_ops")
CHUNKS: Final = {"forward_one_chunk": "F", "backward_one_chunk": "B"}
WAIT: Final = "_wait_batch_p2p"
"""The one function of torch's schedules that is not a stage's: they wait for messages by it."""


@dataclass(frozen=True, slots=True)
class Ran:
    """An action or a fill operator that ran in a step. ns of the clock."""

    step: int
    text: str
    start: int
    end: int


class BubbleHook:
    """See above. `schedules`: torch.distributed.pipelining.schedules; `run`: does an operator to its end.

    `settle` is called when a bubble begins and after each action: on a GPU, wait for the device (default: nothing, for a CPU).
    `actions` and `operators` hold what ran, `left` the operators of the plan that were left for a later bubble, by step; `overruns`
    by how many ns the fill work of a visited bubble ended after the bubble's planned end, by step.
    """

    def __init__(
        self,
        stage: Any,
        schedules: ModuleType,
        device: WatchedDevice,
        run: Callable[[PlannedOperator], None],
        *,
        settle: Callable[[], None] = lambda: None,
        clock: Callable[[], int] = time.perf_counter_ns,
    ) -> None:
        if not hasattr(schedules, WAIT) or not all(hasattr(stage, name) for name in (*INPUTS, *CHUNKS)):
            raise InputError("expected a stage of torch.distributed.pipelining of torch 2.4 or later", where="stage")
        self._stage, self._schedules, self._run, self._settle, self._clock = stage, schedules, run, settle, clock
        self._row = [text for text, _, _ in device.actions if text != "STEP"]
        self._ends_at = len(device.actions)
        self._visits = {(visit.iteration, visit.before): visit for visit in device.visits}
        self._turn: int | None = None
        self._step, self._at, self._pending = -1, 0, False
        self._before: list[tuple[Any, str, Any]] = []
        self.actions: list[Ran] = []
        self.operators: list[Ran] = []
        self.left: list[tuple[int, PlannedOperator]] = []
        self.overruns: list[tuple[int, int]] = []

    def __enter__(self) -> BubbleHook:
        for name in INPUTS:
            self._wrap(self._stage, name, self._asked)
        for name in CHUNKS:
            self._wrap(self._stage, name, self._chunk(CHUNKS[name]))
        self._wrap(self._schedules, WAIT, self._waited)
        return self

    def __exit__(self, *_error: object) -> None:
        """Put back what was there."""
        while self._before:
            owner, name, original = self._before.pop()
            if original is None:
                delattr(owner, name)
            else:
                setattr(owner, name, original)

    def begin(self, turn: int | None) -> None:
        """A step begins: that of the plan's main iteration `turn`, or one without fill work."""
        self._turn, self._at, self._pending = turn, 0, False
        self._step += 1

    def end(self) -> None:
        """The actions of a step have ended: run what the plan has for the bubble that goes on into the next step."""
        if self._at != len(self._row):
            raise InputError(f"expected {len(self._row)} actions", value=self._at, where=f"step {self._step}")
        self._bubble(self._ends_at)

    def _wrap(self, owner: Any, name: str, around: Callable[[Any], Any]) -> None:
        original = getattr(owner, name)
        own = vars(owner).get(name)
        self._before.append((owner, name, own))
        setattr(owner, name, wraps(original)(around(original)))

    def _asked(self, original: Any) -> Any:
        def asked(*arguments: Any, **named: Any) -> Any:
            self._pending = True
            return original(*arguments, **named)

        return asked

    def _waited(self, original: Any) -> Any:
        def waited(work: Any) -> Any:
            self._awaited()
            return original(work)

        return waited

    def _chunk(self, letter: str) -> Callable[[Any], Any]:
        def around(original: Any) -> Any:
            def chunk(microbatch: int, *arguments: Any, **named: Any) -> Any:
                self._awaited()
                text = f"{self._stage.stage_index}{letter}{microbatch}"
                if self._at >= len(self._row) or self._row[self._at] != text:
                    expected = self._row[self._at] if self._at < len(self._row) else "the end of the step"
                    raise InputError(f"expected {expected}", value=text, where=f"step {self._step}")
                start = self._clock()
                result = original(microbatch, *arguments, **named)
                self._settle()
                self.actions.append(Ran(self._step, text, start, self._clock()))
                self._at += 1
                return result

            return chunk

        return around

    def _awaited(self) -> None:
        """The next action's inputs are waited for."""
        if self._pending:
            self._pending = False
            self._bubble(self._at)

    def _bubble(self, before: int) -> None:
        visit = None if self._turn is None else self._visits.get((self._turn, before))
        if visit is not None:
            self._settle()
            self._fill(visit)

    def _fill(self, visit: PlannedVisit) -> None:
        begin = self._clock()
        for place, operator in enumerate(visit.operators):
            start = self._clock()
            if start - begin + operator.duration > visit.length:
                self.left += [(self._step, rest) for rest in visit.operators[place:]]
                break
            self._run(operator)
            self._settle()
            self.operators.append(Ran(self._step, f"{operator.job} {operator.index}", start, self._clock()))
        self.overruns.append((self._step, max(0, self._clock() - begin - visit.length)))
