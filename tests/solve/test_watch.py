"""Limits as the solvers see them."""

from __future__ import annotations

from fractions import Fraction

from pipefill_opt.solve.result import Limits, Progress, Reason
from pipefill_opt.solve.watch import Watch


def test_each_limit_has_its_reason() -> None:
    assert Watch(Limits()).ended() is None
    assert Watch(Limits(time=0)).ended() is Reason.TIME_LIMIT
    watch = Watch(Limits(work=10))
    watch.spend(9)
    assert watch.ended() is None
    watch.spend(1)
    assert watch.ended() is Reason.WORK_LIMIT
    limits = Limits(time=0, work=0)
    limits.stop.set()
    assert Watch(limits).ended() is Reason.INTERRUPTED


def test_what_is_left() -> None:
    limits = Limits(time=100, work=10, gap=Fraction(1, 2), seed=3)
    watch = Watch(limits)
    watch.spend(4)
    left = watch.left(gap=Fraction(1, 4))
    assert left.time is not None
    assert 0 < left.time <= 100
    assert (left.work, left.gap, left.seed, left.stop) == (6, Fraction(1, 4), 3, limits.stop)
    assert Watch(Limits()).left().time is None


def test_progress_reaches_the_listener() -> None:
    news: list[Progress] = []
    Watch(Limits(on_progress=news.append)).report(Fraction(1), Fraction(2), "note")
    assert [(p.value, p.bound, p.note) for p in news] == [(1, 2, "note")]
