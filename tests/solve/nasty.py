"""Instances that are hard on numbers or have nothing to solve, each with its optimum by hand (in a comment or a formula)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Final

from pipefill_opt.fill.problem import (
    Configuration,
    DeviceClass,
    FillBubble,
    FillProblem,
    Guard,
    Job,
    Objective,
    Operator,
    Switch,
    ValueRule,
)

SECOND: Final = 10**9
HOUR: Final = 3600 * SECOND
TIB: Final = 2**40
Case = tuple[FillProblem, Fraction]
"""A problem and its optimum."""


def problem(
    jobs: list[Job],
    bubbles: list[tuple[int, int]],
    *,
    count: int = 1,
    resident_free: int = 0,
    repeat: bool = True,
    iterations: int | None = 1,
    switch: Switch | None = None,
) -> FillProblem:
    """One class; bubbles as (length, free bytes)."""
    starts = [sum(length for length, _ in bubbles[:k]) + k for k in range(len(bubbles))]
    own = tuple(FillBubble(start, *bubble, "fill-drain") for start, bubble in zip(starts, bubbles, strict=True))
    return FillProblem(
        name="nasty",
        period=sum(length for length, _ in bubbles) + len(bubbles) + 1,
        iterations=iterations,
        max_iterations=64,
        repeat=repeat,
        devices=(DeviceClass("d", count, Fraction(1), resident_free, own),),
        guard=Guard(Fraction(1), 0),
        switch=switch or Switch(0, 0, 0, Fraction(10**9), Fraction(10**9)),
        jobs=tuple(jobs),
        objective=Objective.THROUGHPUT,
        migrate=False,
    )


def job(
    name: str,
    durations: list[int],
    *,
    copies: int = 1,
    weight: Fraction | int = 1,
    memory: int = 0,
    carry: int = 0,
    resident: int = 0,
    keep: bool = True,
    values: list[Fraction] | None = None,
) -> Job:
    """One configuration; operators worth their ticks, or `values`."""
    chain = tuple(
        Operator(f"o{k}", ticks, memory, carry, Fraction(0), None if values is None else values[k])
        for k, ticks in enumerate(durations)
    )
    only = Configuration("c", Fraction(1), resident, chain)
    return Job(name, copies, Fraction(weight), None, 0, None, ("d",), keep, ValueRule.TIME, (only,))


# Nothing can run


def no_jobs() -> Case:
    return problem([], [(10, 10)]), Fraction(0)


def no_bubbles() -> Case:
    return problem([job("a", [1])], []), Fraction(0)


def no_copies() -> Case:
    return problem([job("a", [1], copies=0)], [(10, 10)]), Fraction(0)


def no_devices() -> Case:
    return problem([job("a", [1])], [(10, 10)], count=0), Fraction(0)


def one_byte_too_large() -> Case:
    """Rule 4: resident + memory is one byte more than is free, in TiB."""
    own = job("a", [1], memory=TIB, resident=3 * TIB + 1)
    return problem([own], [(10, 4 * TIB)], resident_free=4 * TIB), Fraction(0)


def one_byte_too_large_to_keep() -> Case:
    """Rule 5."""
    return problem([job("a", [1], resident=TIB)], [(10, 4 * TIB)], resident_free=TIB - 1), Fraction(0)


def carried_bytes_too_large_to_keep() -> Case:
    """Rule 5 with carried bytes: every stop of the chain carries a byte too much."""
    return problem([job("a", [1], resident=TIB - 1, carry=2)], [(10, 4 * TIB)], resident_free=TIB), Fraction(0)


def one_tick_too_long() -> Case:
    switch = Switch(HOUR, HOUR, 0, None, None)
    return problem([job("a", [HOUR])], [(3 * HOUR - 1, 0)], switch=switch), Fraction(0)


def all_guarded_away() -> Case:
    found = problem([job("a", [1])], [(HOUR, 0)])
    return replace(found, guard=Guard(Fraction(1), 2 * HOUR)), Fraction(0)


def moves_longer_than_bubbles() -> Case:
    """A swapped TiB takes 1099.5 s each way."""
    own = job("a", [1], resident=TIB, keep=False)
    return problem([own], [(1000 * SECOND, 4 * TIB)]), Fraction(0)


def chain_without_end() -> Case:
    """With `repeat: true` a chain whose last operator fits nowhere is never at its beginning again."""
    return problem([job("a", [1, 1, 100])], [(10, 0)]), Fraction(0)


# Large and small numbers


def nanoseconds_and_hours() -> Case:
    """Three hours of an operator, 1 ns of another one: 4 h and 1 ns hold one lap, 4 h without 1 ns none."""
    return problem([job("a", [3 * HOUR, 1])], [(3 * HOUR, 0), (1, 0), (3 * HOUR - 1, 0)]), Fraction(3 * HOUR + 1)


def one_tick_missing_in_hours() -> Case:
    """A lap would need one tick more; the other job is short and worth little."""
    long, short = job("long", [3 * HOUR, 1]), job("short", [2 * HOUR - 1])
    found = problem([long, short], [(3 * HOUR, 0)])
    return found, Fraction(2 * HOUR - 1)


def a_tick_decides_between_jobs() -> Case:
    """Worth 10^13 and 10^13 + 1: binary floats of 24 or 32 bits see no difference."""
    a, b = job("a", [10**13]), job("b", [10**13 + 1])
    return problem([a, b], [(10**13 + 1, 0)]), Fraction(10**13 + 1)


def tebibytes_to_the_byte() -> Case:
    """Two kept slots with 1 TiB each fit 2 TiB and their operators' one byte; the third does not."""
    jobs = [job(name, [5], resident=TIB, memory=1) for name in "abc"]
    return problem(jobs, [(15, 2 * TIB + 1)], resident_free=2 * TIB), Fraction(15)


def a_million_devices() -> Case:
    """999,999 copies of the better job; the last device takes the other one."""
    jobs = [job("good", [7], copies=999_999), job("poor", [6], copies=10**6)]
    found = problem(jobs, [(7, 1)], count=10**6, resident_free=1)
    return found, Fraction(7 * 999_999 + 6)


def a_million_devices_and_half_the_copies() -> Case:
    """A device earns 10 with a, 12 with b, at most 14 with both; copies for 600,000 and 300,000 of them: apart is better."""
    jobs = [job("a", [5, 5], copies=600_000), job("b", [4], copies=300_000)]
    found = problem(jobs, [(5, 1), (9, 1)], count=10**6, resident_free=1)
    # a alone: 10; b alone: 4 + 8 = 12 (4 in the first bubble, two laps in the second); together at most 5 + 5 + 4 = 14
    return found, Fraction(600_000 * 10 + 300_000 * 12)


def thirds() -> Case:
    """Weights without an end in decimals: 3 ticks x 1/3 against 2 ticks x 1/2 + 1e-9."""
    a, b = job("a", [3], weight=Fraction(1, 3)), job("b", [2], weight=Fraction(1, 2) + Fraction(1, 10**9))
    return problem([a, b], [(3, 0)]), 1 + Fraction(2, 10**9)


def tiny_weights() -> Case:
    """1e-9 of a tick more: 10 laps of either."""
    a, b = job("a", [10], weight=1), job("b", [10], weight=1 + Fraction(1, 10**9))
    return problem([a, b], [(109, 0)]), 100 + Fraction(100, 10**9)


def wide_weights() -> Case:
    """A billion and a billionth in one sum."""
    a, b = job("a", [7], weight=10**9), job("b", [3], weight=Fraction(1, 10**9))
    return problem([a, b], [(10, 0)]), 7 * 10**9 + Fraction(3, 10**9)


def values_beyond_64_bits() -> Case:
    """Each value fits 64 bits, the sum of three does not."""
    large = Fraction(2**62)
    a = job("a", [5, 5], values=[large, large + 1])
    b = job("b", [5], values=[large])
    return problem([a, b], [(15, 0)], iterations=1), 3 * large + 1


def values_far_beyond_64_bits() -> Case:
    """One value alone is more than 64 bits hold, and a unit decides."""
    huge = Fraction(10**30)
    a, b = job("a", [5], values=[huge]), job("b", [5], values=[huge + 1])
    return problem([a, b], [(5, 0)]), huge + 1


def values_and_a_million_devices() -> Case:
    """10^6 x 10^15: 70 bits."""
    a = job("a", [3], copies=10**6, values=[Fraction(10**15)])
    b = job("b", [2], copies=10**6, values=[Fraction(10**15) - 1])
    return problem([a, b], [(5, 0)], count=10**6), 10**6 * (2 * Fraction(10**15) - 1)


def long_horizon() -> Case:
    """A lap of 64 operators of 1 tick, a bubble of 63: no H below 64 gives 63 an iteration, H = 64 gives 63 laps."""
    return problem([job("a", [1] * 64)], [(63, 0)], iterations=None), Fraction(63)


def horizon_64() -> Case:
    """The same with H = 64 given."""
    return problem([job("a", [1] * 64)], [(63, 0)], iterations=64), Fraction(63)


def worthless_work() -> Case:
    """Values of 0: nothing is worth a visit."""
    return problem([job("a", [1], values=[Fraction(0)]), job("b", [1], weight=0)], [(10, 0)]), Fraction(0)


def swapped_tebibytes() -> Case:
    """In and out take 1,099,511,627,776 / 10^9 s each, rounded up: 1,099,511,627,776 ticks at 1 GB/s; the operator fits to the tick."""
    own = job("a", [1], resident=TIB, keep=False)
    return problem([own], [(2 * TIB + 1, TIB), (2 * TIB, TIB)]), Fraction(1)


def odd_bandwidth() -> Case:
    """3 bytes a second: 1 byte takes 333,333,333.3 ticks, rounded up to 333,333,334."""
    switch = Switch(0, 0, 0, Fraction(3), Fraction(3))
    own = job("a", [1], resident=1, keep=False)
    return problem([own], [(2 * 333_333_334 + 1, 1), (2 * 333_333_334, 1)], switch=switch), Fraction(1)


CASES: Final[dict[str, Callable[[], Case]]] = {
    case.__name__: case
    for case in (
        no_jobs,
        no_bubbles,
        no_copies,
        no_devices,
        one_byte_too_large,
        one_byte_too_large_to_keep,
        carried_bytes_too_large_to_keep,
        one_tick_too_long,
        all_guarded_away,
        moves_longer_than_bubbles,
        chain_without_end,
        nanoseconds_and_hours,
        one_tick_missing_in_hours,
        a_tick_decides_between_jobs,
        tebibytes_to_the_byte,
        a_million_devices,
        a_million_devices_and_half_the_copies,
        thirds,
        tiny_weights,
        wide_weights,
        values_beyond_64_bits,
        values_far_beyond_64_bits,
        values_and_a_million_devices,
        long_horizon,
        horizon_64,
        worthless_work,
        swapped_tebibytes,
        odd_bandwidth,
    )
}
