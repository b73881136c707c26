"""Where an iteration is cut, by marks written by hand."""

from __future__ import annotations

import pytest

from pipefill_opt.errors import InputError
from pipefill_opt.workload.profile.marks import Course, Event, Mark, operators_of

A, B = Mark(Event.FORWARD, "a"), Mark(Event.FORWARD, "b")
GRADIENT_A, GRADIENT_B = Mark(Event.GRADIENT, "a"), Mark(Event.GRADIENT, "b")
OUTPUT, BACKWARD, STEP = Mark(Event.OUTPUT), Mark(Event.BACKWARD), Mark(Event.STEP)


def test_forward_only_gives_what_follows_the_last_unit_to_it() -> None:
    assert operators_of([A, B, OUTPUT]) == {0: "a", 2: "b"}


def test_a_backward_goes_from_gradient_to_gradient() -> None:
    marks = [A, B, OUTPUT, GRADIENT_B, GRADIENT_A, BACKWARD, STEP]
    assert operators_of(marks) == {0: "a", 2: "b", 4: "b backward", 5: "a backward", 6: "optimizer"}


def test_no_unit_at_all() -> None:
    assert operators_of([OUTPUT, BACKWARD, STEP]) == {0: "forward", 1: "forward backward", 2: "optimizer"}


def test_a_unit_that_is_called_twice() -> None:
    assert list(operators_of([A, B, A, OUTPUT]).values()) == ["a", "b", "a (2)"]


def test_recomputed_units() -> None:
    marks = [A, B, OUTPUT, GRADIENT_B, B, GRADIENT_A, A, BACKWARD, STEP]
    assert list(operators_of(marks).values()) == [
        "a", "b", "b again", "b backward", "a again", "a backward", "optimizer",
    ]  # fmt: skip


def test_an_iteration_must_go_the_same_way() -> None:
    course = Course([A, B, OUTPUT])
    for _ in range(2):
        course.restart()
        assert [course.ends_operator(mark) for mark in (A, B, OUTPUT)] == [True, False, True]
    with pytest.raises(InputError, match="same calls"):
        course.ends_operator(A)
    course.restart()
    with pytest.raises(InputError, match=r"forward b: expected the same calls"):
        course.ends_operator(B)
