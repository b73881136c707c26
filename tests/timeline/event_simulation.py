"""An independent reading of docs/design.md, sections 2 and 3: an event simulation, tick by tick where that is simplest.

Of the package it knows the data types only. It is slow and meant for small durations.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pipefill_opt.schedule.actions import Action, Kind, Pair
from pipefill_opt.schedule.schedule import Schedule
from pipefill_opt.workload.costs import MainJob, Memory, Mode

SENDS = {Kind.F: Kind.SEND_F, Kind.B: Kind.SEND_B, Kind.I: Kind.SEND_B}
RECEIVES = {Kind.F: Kind.RECV_F, Kind.B: Kind.RECV_B, Kind.I: Kind.RECV_B}
MESSAGES = {*SENDS.values(), *RECEIVES.values()}

Entry = tuple[Action, ...]
"""One action, or F and B of a pair that is one block."""


@dataclass(frozen=True)
class Wait:
    """What an entry waits for: an action of a device, and the kind of edge."""

    action: Action
    device: int
    edge: str


@dataclass(frozen=True)
class Interval:
    """An idle interval as the simulation sees it; `free` is None without a memory model."""

    start: int
    length: int
    kind: str
    phase: str
    cause: tuple[str, Action | None, int | None]
    next: Action | None
    free: int | None


class Simulation:
    """Runs a main job; afterwards `start` and `end` hold (device, action) -> ticks, `stuck` whether it did not come to its end.

    `sent` holds producer -> (when it was ready, when its link sent it), in the order of sending. With `queues`, such a thing of another
    run, each link sends in that order.
    """

    def __init__(
        self,
        main: MainJob,
        delays: Mapping[tuple[int, Action], int] | None = None,
        queues: Mapping[Action, object] | None = None,
    ) -> None:
        self.main = main
        self.schedule = main.schedule
        self.block = main.durations.overlap_length is not None
        self.delays = delays or {}
        self.queues = queues
        self.sent: dict[Action, tuple[int, int]] = {}
        self.ready: dict[Action, tuple[int, int, int]] = {}  # producer of a message -> when, and the two devices
        self.free: dict[tuple[int, int], int] = {}
        self.mode = main.communication.mode
        self.rows = [list(self._timed(device)) for device in range(self.schedule.devices)]
        self.where = {action: device for device, row in enumerate(self.rows) for entry in row for action in entry}
        self.reduces = [action for action in self.where if action.kind is Kind.REDUCE]
        self.start: dict[tuple[int, Action], int] = {}
        self.end: dict[tuple[int, Action], int] = {}
        self._run()
        self.period = max(self.end.values(), default=0)

    def _entries(self, device: int) -> Iterator[Entry]:
        for item in self.schedule.row(device):
            if isinstance(item, Pair) and not self.block:
                yield (item.forward,)
                yield (item.backward,)
            else:
                yield tuple(item) if isinstance(item, Pair) else (item,)

    def _timed(self, device: int) -> Iterator[Entry]:
        """The entries of a row that take their place in time."""
        entries = list(self._entries(device))
        lowered = (self.schedule.kind > Kind.RESHARD).any()
        if self.mode is not Mode.BLOCKING or lowered:
            yield from (e for e in entries if self.mode is Mode.BLOCKING or e[0].kind not in MESSAGES)
            return
        for entry in entries:
            yield from ((a._replace(kind=RECEIVES[a.kind]),) for a in entry if self.peer(a, -1) is not None)
            yield entry
            yield from ((a._replace(kind=SENDS[a.kind]),) for a in entry if self.peer(a, +1) is not None)

    def peer(self, action: Action, way: int) -> int | None:
        """The stage on another device that gets the output of an action (way +1) or makes its input (-1), if there is one."""
        if action.kind not in SENDS:
            return None
        pipe = next(pipe for pipe in self.schedule.pipes if action.stage in pipe)
        at = pipe.index(action.stage) + (way if action.kind is Kind.F else -way)
        if not 0 <= at < len(pipe) or self.schedule.placement[pipe[at]] == self.schedule.placement[action.stage]:
            return None
        return pipe[at]

    def length(self, device: int, entry: Entry) -> int:
        durations = self.main.durations
        if len(entry) == 2:
            assert durations.overlap_length is not None
            return durations.overlap_length
        action = entry[0]
        if action.kind in MESSAGES:
            return self.main.communication.lag
        if action in durations.actions:
            return durations.actions[action]
        if action.kind is Kind.STEP:
            return durations.step[device] if durations.step else 0
        return durations.by_stage[action.kind][action.stage] if action.kind in durations.by_stage else 0

    def waits(self, device: int, position: int) -> list[Wait]:
        """Everything that the entry at `position` of a row waits for."""
        row = self.rows[device]
        found = [Wait(action, device, "order") for action in row[position - 1]] if position else []
        for action in row[position]:
            found += [
                Wait(other, self.where.get(other, -1), "data") for other in inputs(self.schedule, self.where, action)
            ]
            if action.kind is Kind.STEP:
                found += [Wait(other, device, "data") for entry in row[position + 1 :] for other in entry]
                if self.main.global_norm:
                    found += [Wait(other, self.where[other], "data") for other in self.reduces]
        return found

    def arrival(self, wait: Wait, device: int) -> int | None:
        """When what was waited for is there, None as long as it is not known."""
        end, lag = self.end.get((wait.device, wait.action)), self.main.communication.lag
        if wait.action.kind in MESSAGES and wait.device != device:
            return self.start.get((wait.device, wait.action))
        if wait.device != device and self.mode is Mode.LINK and wait.action.kind in SENDS:
            return self.sent[wait.action][1] + lag if wait.action in self.sent else None
        return None if end is None else end + (lag if wait.device != device else 0)

    def _run(self) -> None:
        position = [0] * len(self.rows)
        times = [0]
        seen: set[int] = set()

        def wake(time: int) -> None:
            if time not in seen:
                heapq.heappush(times, time)
                seen.add(time)

        while times:
            now = heapq.heappop(times)
            progress = True
            while progress:
                progress = False
                for device, row in enumerate(self.rows):
                    if position[device] == len(row):
                        continue
                    arrivals = [self.arrival(wait, device) for wait in self.waits(device, position[device])]
                    if any(arrival is None for arrival in arrivals):
                        continue
                    entry = row[position[device]]
                    ready = max([0, *(a for a in arrivals if a is not None)]) + self.delays.get((device, entry[0]), 0)
                    if ready > now:
                        wake(ready)
                        continue
                    for action in entry:
                        self.start[device, action] = ready
                        self.end[device, action] = ready + self.length(device, entry)
                        stage = self.peer(action, +1)
                        if self.mode is Mode.LINK and stage is not None:
                            self.ready[action] = (self.end[device, action], device, self.schedule.placement[stage])
                            wake(self.end[device, action])
                    position[device] += 1
                    progress = True
                if not progress:
                    for time in self._transmit(now):
                        progress |= time == now
                        wake(time)
        self.stuck = position != [len(row) for row in self.rows]

    def _transmit(self, now: int) -> list[int]:
        """Links that are free send; times at which something comes of it. Called when nothing else happens at this time."""
        news = []
        for link in sorted({(sender, receiver) for _, sender, receiver in self.ready.values()}):
            waiting = [a for a, (_, *places) in self.ready.items() if tuple(places) == link and a not in self.sent]
            if self.queues is not None:
                mine = [a for a in self.queues if self._link(a) == link and a not in self.sent]
                waiting = [a for a in waiting if a == mine[0]]
            waiting = [a for a in waiting if self.ready[a][0] <= now]
            if waiting and self.free.get(link, 0) <= now:
                first = min(waiting, key=lambda a: (self.ready[a][0], self.peer(a, +1), *a[2:], a.kind != Kind.F))
                self.sent[first] = (self.ready[first][0], now)
                self.free[link] = now + self.main.communication.occupancy
                news += [self.free[link], now + self.main.communication.lag]
        return news

    def _link(self, action: Action) -> tuple[int, int]:
        stage = self.peer(action, +1)
        assert stage is not None
        return self.schedule.placement[action.stage], self.schedule.placement[stage]

    def usage(self, device: int) -> list[int]:
        """Bytes in use in each tick of the period."""
        memory = self.main.memory
        assert memory is not None
        changes = [0] * (self.period + 1)
        for (owner, action), start in self.start.items():
            if owner == device and action.stage >= 0:
                taken, given = memory_changes(self.schedule, memory, self.where, action)
                changes[start] += taken
                changes[self.end[owner, action]] -= given
        level, levels = memory.static[device], []
        for change in changes[: self.period]:
            level += change
            levels.append(level)
        return levels

    def busy(self, device: int) -> list[bool]:
        """Whether the device works, in each tick of the period."""
        works = [False] * self.period
        for entry in self.rows[device]:
            first = self.start[device, entry[0]]
            for tick in range(first, first + self.length(device, entry)):
                assert not works[tick]
                works[tick] = True
        return works

    def bubbles(self, device: int) -> list[Interval]:
        """Maximal runs of idle ticks in the cyclic period, in order of start."""
        works = self.busy(device)
        if not any(works):
            return [self._interval(device, 0, self.period)] if self.period else []
        found = []
        for start in range(self.period):
            if works[start] or (start > 0 and not works[start - 1]) or (start == 0 and not works[-1]):
                continue
            length = 1
            while not works[(start + length) % self.period]:
                length += 1
            found.append(self._interval(device, start, length))
        return found

    def _interval(self, device: int, start: int, length: int) -> Interval:
        stop = (start + length) % self.period
        row = self.rows[device]
        at = next(
            (i for i, e in enumerate(row) if self.start[device, e[0]] == stop and self.length(device, e) > 0), None
        )
        free = None
        memory = self.main.memory
        if memory is not None:
            usage = self.usage(device)
            most = max(usage[tick % self.period] for tick in range(start, start + length))
            free = memory.capacity[device] - memory.reserve[device] - most
        if at is None:
            return Interval(start, length, "fill-drain", "steady", ("barrier", None, None), None, free)
        boundary = start == 0 or start + length >= self.period
        real = next((i for i in range(at, len(row)) if row[i][0].kind not in MESSAGES), len(row) - 1)
        kind, phase = self._kind(device, real, boundary), self._phase(device, at, start, boundary)
        return Interval(start, length, kind, phase, self._cause(device, at), row[at][0], free)

    def _kind(self, device: int, at: int, boundary: bool) -> str:
        row = self.rows[device]
        backwards = [i for i, entry in enumerate(row) if entry[-1].kind in (Kind.B, Kind.I)]
        turn = {min(backwards)} if backwards else set()
        if backwards and not self.block:  # a pair of two actions counts as one thing
            turn |= {i for i in range(len(row) - 1) if i + 1 in turn and self._is_pair(device, row[i][0])}
        if boundary:
            return "fill-drain"
        if at in turn:
            return "fwd-bwd"
        return "sync" if row[at][0].kind in (Kind.REDUCE, Kind.STEP) else "inner"

    def _is_pair(self, device: int, forward: Action) -> bool:
        return any(isinstance(item, Pair) and item.forward == forward for item in self.schedule.row(device))

    def _phase(self, device: int, at: int, start: int, boundary: bool) -> str:
        row = self.rows[device]
        backwards = [i for i, entry in enumerate(row) if entry[-1].kind in (Kind.B, Kind.I)]
        forwards = [i for i, entry in enumerate(row) if entry[0].kind is Kind.F]
        if boundary:
            if start == 0:
                warm_up = not backwards or at <= min(backwards)
                working = [i for i, entry in enumerate(row) if self.length(device, entry) > 0]
                return "warm-up" if warm_up else ("cool-down" if working[-1] >= max(forwards, default=-1) else "steady")
            before = max(i for i, entry in enumerate(row) if self.length(device, entry) > 0)
        else:
            if backwards and at <= min(backwards):
                return "warm-up"
            before = max(i for i in range(at) if self.length(device, row[i]) > 0)
        return "cool-down" if before >= max(forwards, default=-1) else "steady"

    def _cause(self, device: int, at: int) -> tuple[str, Action | None, int | None]:
        start = self.start[device, self.rows[device][at][0]]

        def rank(wait: Wait) -> tuple[object, ...]:
            return (wait.device == device, wait.edge != "data", wait.action[1:], wait.action.kind != Kind.F)

        if start == 0:
            last = [Wait(action, owner, "barrier") for (owner, action), end in self.end.items() if end == self.period]
            best = min(last, key=rank)
        else:
            best = min((w for w in self.waits(device, at) if self.arrival(w, device) == start), key=rank)
        ready, sent = self.sent.get(best.action, (0, 0)) if best.device != device and best.edge == "data" else (0, 0)
        return "link" if sent > ready else best.edge, best.action, best.device


def inputs(schedule: Schedule, where: Mapping[Action, int], action: Action) -> list[Action]:
    """The data that an action needs, by the rules of section 2; STEP apart, which belongs to a device."""
    kind, stage, microbatch, part = action
    if stage < 0 or kind in (Kind.UNSHARD, Kind.RESHARD):
        return []
    pipe = next(pipe for pipe in schedule.pipes if stage in pipe)
    at = pipe.index(stage)

    def backward(s: int, k: int) -> Action:
        full = Action(Kind.B, s, microbatch, k)
        return full if full in where else Action(Kind.I, s, microbatch, k)

    if kind is Kind.SEND_F:
        return [action._replace(kind=Kind.F)]
    if kind is Kind.SEND_B:
        return [backward(stage, part)]
    if kind is Kind.RECV_F:
        return [Action(Kind.SEND_F, pipe[at - 1], microbatch, part)]
    if kind is Kind.RECV_B:
        return [Action(Kind.SEND_B, pipe[at + 1], microbatch, part)]
    if kind is Kind.REDUCE:
        return [a for a in where if a.stage == stage and a.kind in (Kind.B, Kind.W)]
    if kind is Kind.W:
        return [backward(stage, part)]
    if kind is Kind.R:
        return [Action(Kind.F, stage, microbatch, part)]
    if kind is Kind.F:
        message = Action(Kind.RECV_F, stage, microbatch, part)
        found = [message if message in where else Action(Kind.F, pipe[at - 1], microbatch, part)] if at > 0 else []
        return found + ([Action(Kind.F, stage, microbatch, part - 1)] if part > 0 else [])
    found = [Action(Kind.F, stage, microbatch, part)]
    found += [again for again in [Action(Kind.R, stage, microbatch, part)] if again in where]
    if at + 1 < len(pipe):
        message = Action(Kind.RECV_B, stage, microbatch, part)
        found.append(message if message in where else backward(pipe[at + 1], part))
    if part >= 0 and Action(Kind.F, stage, microbatch, part + 1) in where:
        found.append(backward(stage, part + 1))
    return found


def memory_changes(schedule: Schedule, memory: Memory, where: Mapping[Action, int], action: Action) -> tuple[int, int]:
    """Bytes taken at the start of an action and given back at its end."""
    kind, stage, microbatch, part = action
    activation, part_of_it = memory.activation[stage], memory.freed_by_input[stage]
    taken = given = 0 if kind in MESSAGES else memory.workspace[stage]
    redone = Action(Kind.R, stage, microbatch, part) in where
    if kind is Kind.F:
        taken += memory.checkpoint[stage] if redone else activation
        if not any(other.kind in (Kind.B, Kind.I) for other in where):
            given += activation
    elif kind is Kind.R:
        taken += activation
        given += memory.checkpoint[stage]
    elif kind is Kind.B:
        given += activation
    elif kind is Kind.I:
        given += part_of_it
    elif kind is Kind.W:
        given += activation - part_of_it
    return taken, given
