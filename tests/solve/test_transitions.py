"""Transitions of a room: the same by the interpreter and compiled, only between states that may rest, found again as segments."""

from __future__ import annotations

from itertools import pairwise

import pytest

from pipefill_opt import kernels
from pipefill_opt.solve.device import DevicePlan, Room, Visit
from pipefill_opt.solve.transitions import Rooms, Transitions, list_states, state_count, transition_count
from tests.solve.devices import device_of, fill_problem, job, random_devices


def test_states_and_rule_5() -> None:
    device = device_of(fill_problem(job("a", (1, 1), carry=(1, 50)), job("b", (1,), keep=False), free=50))
    states = list_states(device)
    assert (states.count, state_count(device), states.radix) == (2, 2, (2, 1))
    assert states.allowed.tolist() == [False, True]  # at 0: 5 + 50; at 1: 5 + 1
    once = list_states(device_of(fill_problem(job("a", (1, 1), carry=(1, 50)), free=50, repeat=False)))
    assert once.allowed.tolist() == [False, True, True]
    assert once.digits(once.fresh) == [2]


def transitions(rooms: Rooms, room: Room) -> Transitions:
    assert rooms.find(room, lambda: False)
    return rooms.of(room)


def test_transitions_by_hand() -> None:
    rooms = Rooms(list_states(device_of(fill_problem(job("a", (3, 4)), lengths=(8,)))))
    assert not rooms.find(rooms.device.rooms[0], lambda: True)
    found = transitions(rooms, rooms.device.rooms[0])
    moves = [
        (int(source), int(found.target[k]), int(found.value[k]))
        for source, (begin, end) in zip(found.sources, pairwise(found.first), strict=True)
        for k in range(begin, end)
    ]
    assert moves == [(0, 0, 0), (0, 1, 3), (0, 0, 7), (1, 1, 0), (1, 0, 4), (1, 1, 7)]


def test_interpreted_and_compiled_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    for device, _ in random_devices(range(25)):
        states = list_states(device)
        plain, fast = Rooms(states), Rooms(states)
        with monkeypatch.context() as patch:
            patch.setattr(kernels, "INTERPRETED", -1)
            fast = Rooms(states)
        for room in device.rooms:
            a, b = transitions(plain, room), transitions(fast, room)
            assert a.target.tolist() == b.target.tolist()
            assert a.value.tolist() == b.value.tolist()
        assert sum(len(plain.of(room).target) for room in set(device.rooms)) <= transition_count(device)


def test_every_transition_has_its_segments() -> None:
    for device, _ in random_devices(range(12)):
        rooms = Rooms(list_states(device))
        lengths = [slot.length for slot in device.slots]
        for room in set(device.rooms):
            found = transitions(rooms, room)
            for source, (begin, end) in zip(found.sources.tolist(), pairwise(found.first.tolist()), strict=True):
                for k in range(begin, end):
                    runs = rooms.runs(room, source, int(found.target[k]), int(found.value[k]))
                    at = [digit % n for digit, n in zip(rooms.states.digits(source), lengths, strict=True)]
                    for run in runs:
                        assert run.first == at[run.slot]
                        at[run.slot] = (at[run.slot] + run.count) % lengths[run.slot]
                    digits = rooms.states.digits(int(found.target[k]))
                    assert at == [digit % n for digit, n in zip(digits, lengths, strict=True)]
                    if not device.repeat and runs:
                        value = DevicePlan(tuple(at), (Visit(0, 0, runs),)).value(device)
                        assert value == found.value[k]
