"""Traces as profilers would write them, of pipelines whose true times are known: every style of labels, host and CUDA.

Each rank has a main thread (1) and, with CUDA, autograd's (2). Times are ns; each rank's clock may be off.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipefill_opt.schedule.actions import Action, Kind, parse_action
from pipefill_opt.timeline.compute import timeline
from pipefill_opt.workload.main_file import main_from_document

BASE = 1_790_857_026_000_000_000
US = 1000
GAP = 100 * US
"""Between two actions of a device at least: room for the host's calls."""
COMPUTE_STREAM, NCCL_STREAM = 7, 20

Truth = list[list[list[tuple[str, int, int]]]]
"""truth[step][device] = rows of action, start, end."""


@dataclass(frozen=True)
class Pipeline:
    """A schedule with true times of every step. length: of a step, the same for all."""

    truth: Truth
    stages: int
    length: int
    lag: int


def pipeline(schedule: Mapping[str, Any], *, steps: int = 2, lag: int = 700 * US, seed: int = 1) -> Pipeline:
    """Durations of a few ms, another one for each action and step, all whole ns."""
    order = main_from_document({"schedule": schedule, "durations": {"unit": "ms", "F": 1, "B": 1}}).schedule
    rows = [[str(entry) for entry in order.row(device)] for device in range(order.devices)]
    rng = random.Random(seed)
    truth: Truth = []
    length = 0
    for step in range(steps):
        ticks = {text: rng.randrange(2_000 * US, 6_000 * US) for row in rows for text in row}
        document = {
            "schedule": {"actions": rows},
            "durations": {"unit": "ns", "actions": {text: each + GAP for text, each in ticks.items()}},
            "communication": {"unit": "ns", "lag": lag},
        }
        times = timeline(main_from_document(document))
        begin = step * 1_000_000 * US
        length = max(length, int(times.period))
        starts = iter(times.start.tolist())
        truth.append(
            [[(text, start, start + ticks[text]) for text in row for start in [begin + next(starts)]] for row in rows]
        )
    return Pipeline(truth, order.stages, length, lag)


@dataclass
class Writer:
    """Collects the events of one rank."""

    skew: int = 0
    events: list[dict[str, Any]] = field(default_factory=list)
    links: int = 0
    correlation: int = 0
    device: dict[str, Any] | None = None

    def slice(
        self, category: str, name: str, start: int, end: int, *, tid: int = 1, pid: int = 100, **arguments: object
    ) -> None:
        """An event with a duration."""
        times = {"ts": _us(start + self.skew), "dur": _us(end - start)}
        self.events.append(
            {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, **times, "args": arguments}
        )

    def link(self, forward: int, backward: int) -> None:
        """A link of autograd from a forward operator to a backward node."""
        self.links += 1
        for phase, time in (("s", forward), ("f", backward)):
            self.events.append({
                "ph": phase, "id": self.links, "pid": 100, "tid": 1, "ts": _us(time + self.skew), "cat": "fwdbwd", "name": "fwdbwd",
            })  # fmt: skip

    def memory(self, time: int, reserved: int, *, kind: int = 1) -> None:
        """What the allocator holds of device 0 at a time."""
        arguments = {"Device Type": kind, "Device Id": 0, "Total Allocated": reserved // 2, "Total Reserved": reserved}
        instant = {"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 100, "tid": 1}
        self.events.append({**instant, "ts": _us(time + self.skew), "args": arguments})

    def kernel(
        self, name: str, launch: int, start: int, end: int, *, stream: int = COMPUTE_STREAM, tid: int = 1
    ) -> None:
        """A kernel and the call that launched it."""
        self.correlation += 1
        self.slice("cuda_runtime", "cudaLaunchKernel", launch, launch + 3 * US, tid=tid, correlation=self.correlation)
        self.slice("kernel", name, start, end, pid=0, tid=stream, device=0, stream=stream, correlation=self.correlation)

    def text(self, rank: int, world: int, *, base: bool = True) -> str:
        """The file. Without a base, times are absolute."""
        head: dict[str, Any] = {
            "schemaVersion": 1,
            "distributedInfo": {"backend": "gloo", "rank": rank, "world_size": world},
        }
        if self.device is not None:
            head["deviceProperties"] = [{"id": 1, "totalGlobalMem": 7}, self.device]
        if self.device is not None:
            head["deviceProperties"] = [{"id": 1, "totalGlobalMem": 7}, self.device]
        if base:
            head["baseTimeNanoseconds"] = BASE
        text = json.dumps({**head, "traceEvents": self.events, "traceName": "made up"})
        return text.replace('"<<', "").replace('>>"', "")


def _us(ticks: int) -> str:
    """Microseconds with three digits, as Kineto writes them: a bare number after `Writer.text`."""
    whole, part = divmod(abs(ticks), 1000)
    return f"<<{'-' if ticks < 0 else ''}{whole}.{part:03}>>"


def host_trace(made: Pipeline, device: int, style: str, *, skew: int = 0) -> Writer:
    """A rank that computes on the host. style: `runtime` (PP:), `gpipe`, `own` (my/), `none`."""
    out = Writer(skew)
    for number, step in enumerate(made.truth):
        row = step[device]
        out.slice("user_annotation", f"step {number}", step[0][0][1] - 500 * US, step[0][0][1] + made.length + 500 * US)
        ready = row[0][1] if not _receives(row[0][0], made) else step[0][0][1]
        marks: dict[str, tuple[int, int]] = {}
        for text, start, end in row:
            _host_action(out, made, style, text, ready, start, end)
            marks[text] = (start, (start + end) // 2)
            ready = end + 60 * US
        for text, (first, second) in marks.items():
            if "F" in text and text.replace("F", "B") in marks:
                third, fourth = marks[text.replace("F", "B")]
                out.link(first, fourth)
                out.link(second, third)
    out.events.sort(key=lambda event: str(event["name"]))  # a trace is in no order of time
    return out


def _host_action(out: Writer, made: Pipeline, style: str, text: str, ready: int, start: int, end: int) -> None:
    received, sent = _receives(text, made), _sends(text, made)
    label = (ready, end + 40 * US) if style in ("runtime", "gpipe") else (start, end)
    post = ready + 5 * US
    if not received:
        label = (start, label[1])
    if received and style == "runtime":
        out.slice("user_annotation", f"PP:{_message(text, 'RECV')}", ready, ready + 20 * US)
        label = (ready + 25 * US, label[1])
    if received:
        out.slice("cpu_op", "c10d::recv_", post, post + 2 * US)
        out.slice("user_annotation", "gloo:recv", post + US, start)
    kind = text.lstrip("0123456789")[0]
    for first, last in ((start, (start + end) // 2), ((start + end) // 2, end)):
        if kind == "F":
            out.slice("cpu_op", "aten::linear", first, last)
        else:
            out.slice("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", first, last)
    if sent:
        post = end + 10 * US
        if style == "runtime":
            post = label[1] + 5 * US
            out.slice("user_annotation", f"PP:{_message(text, 'SEND')}", post, post + 15 * US)
        out.slice("cpu_op", "c10d::send", post, post + 5 * US)
        out.slice("user_annotation", "gloo:send", post + 5 * US, post + 300 * US)
    name = _label(style, text)
    if name:
        out.slice("user_annotation", name, *label)


def cuda_trace(made: Pipeline, device: int, style: str, *, skew: int = 0) -> Writer:
    """A rank whose host runs ahead of its device, 1 ms and more: labels are where the calls are, far from the kernels."""
    out = Writer(skew)
    for number, step in enumerate(made.truth):
        row = step[device]
        host = step[0][0][1] - 3000 * US
        out.slice("user_annotation", f"ProfilerStep#{number}", host - 10 * US, host + 2900 * US)
        ready = step[0][0][1]
        calls: dict[str, tuple[int, int]] = {}
        for text, start, end in row:
            middle, thread = (start + end) // 2, 2 if "B" in text else 1
            if _receives(text, made):
                out.kernel("ncclDevKernel_SendRecv(ncclDevComm*)", host + 5 * US, ready, start, stream=NCCL_STREAM)
            calls[text] = (host + 9 * US, host + 19 * US)
            if style == "none":
                _host_calls(out, made, text, host, calls[text], thread)
            else:
                out.slice("user_annotation", _label(style, text), host, host + 50 * US)
            out.kernel("ampere_sgemm_128x64", host + 10 * US, start, middle, tid=thread)
            out.kernel("vectorized_elementwise_kernel", host + 20 * US, middle + 2 * US, end, tid=thread)
            out.slice("gpu_user_annotation", _label(style, text), start, end, pid=0, tid=COMPUTE_STREAM)
            if _sends(text, made):
                out.kernel(
                    "ncclDevKernel_SendRecv(ncclDevComm*)", host + 40 * US, end + US, end + made.lag, stream=NCCL_STREAM
                )
            host, ready = host + 60 * US, end
        for text, (first, second) in calls.items():
            if style == "none" and "F" in text:
                out.link(first, calls[text.replace("F", "B")][1])
                out.link(second, calls[text.replace("F", "B")][0])
    return out


def _host_calls(out: Writer, made: Pipeline, text: str, host: int, calls: tuple[int, int], thread: int) -> None:
    """Operators on the host that call kernels, and the messages around them."""
    if _receives(text, made):
        out.slice("cpu_op", "c10d::recv_", host + 2 * US, host + 4 * US)
    for call in calls:
        name = "aten::linear" if "F" in text else "autograd::engine::evaluate_function: AddmmBackward0"
        out.slice("cpu_op", name, call, call + 8 * US, tid=thread)
    if _sends(text, made):
        out.slice("cpu_op", "c10d::send", host + 39 * US, host + 45 * US)


def _label(style: str, text: str) -> str:
    action = _parts(text)
    if style == "gpipe":
        return f"{'Forward' if action.kind is Kind.F else 'Backward'} {action.microbatch}"
    return {"runtime": f"PP:{text}", "own": f"my/run:{text}", "none": ""}[style]


def _parts(text: str) -> Action:
    action = parse_action(text)
    assert isinstance(action, Action)
    return action


def _receives(text: str, made: Pipeline) -> bool:
    action = _parts(text)
    if made.stages == 1:
        return False
    return action.stage > 0 if action.kind is Kind.F else action.stage < made.stages - 1


def _sends(text: str, made: Pipeline) -> bool:
    action = _parts(text)
    if made.stages == 1:
        return False
    return action.stage < made.stages - 1 if action.kind is Kind.F else action.stage > 0


def _message(text: str, verb: str) -> str:
    action = _parts(text)
    return f"{action.stage}{verb}_{action.kind.name}{action.microbatch}"


def write_traces(
    folder: Path, made: Pipeline, style: str, *, cuda: bool = False, skews: Sequence[int] = (), base: bool = True
) -> list[Path]:
    """One file a rank."""
    paths = []
    devices = len(made.truth[0])
    for device in range(devices):
        skew = skews[device] if skews else 0
        writer = (cuda_trace if cuda else host_trace)(made, device, style, skew=skew)
        path = folder / f"trace.rank{device}.json"
        path.write_text(writer.text(device, devices, base=base), encoding="utf-8")
        paths.append(path)
    return paths
