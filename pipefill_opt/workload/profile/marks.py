"""Where an iteration is cut: marks as hooks report them, and the operators that end at them."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from pipefill_opt.errors import InputError


class Event(Enum):
    """What has just happened: a unit ran forward, the whole forward (and loss) ended, a unit's output got its gradient, ..."""

    FORWARD = "forward"
    OUTPUT = "output"
    GRADIENT = "gradient"
    BACKWARD = "backward"
    STEP = "step"


class Mark(NamedTuple):
    """An event of a unit; "" where it is of the whole module."""

    event: Event
    unit: str = ""


def operators_of(marks: Sequence[Mark]) -> dict[int, str]:
    """Name by index of each mark that ends an operator.

    What a module does before a unit belongs to that unit, what it does after the last one (the loss too) to the last one. The backward
    of a unit goes from the gradient of its output to that of the unit's before it.
    """
    names: dict[int, str] = {}
    forward, backward, over = "forward", "", False
    for index, (event, unit) in enumerate(marks):
        if event is Event.FORWARD:
            if marks[index + 1].event is not Event.OUTPUT:
                names[index] = f"{unit} again" if over else unit
            forward = unit
        elif event is Event.OUTPUT:
            names[index], backward, over = forward, "", True
        elif event is Event.GRADIENT:
            if backward:
                names[index] = f"{backward} backward"
            backward = unit
        elif event is Event.BACKWARD:
            names[index] = f"{backward or forward} backward"
        else:
            names[index] = "optimizer"
    return numbered(names)


def numbered(names: dict[int, str]) -> dict[int, str]:
    """The second operator of a name, as of a unit that is called twice, gets ` (2)`, and so on."""
    seen: dict[str, int] = {}
    found = {}
    for index, name in names.items():
        seen[name] = seen.get(name, 0) + 1
        found[index] = name if seen[name] == 1 else f"{name} ({seen[name]})"
    return found


class Course:
    """Follows an iteration along the marks of the first one; says at which mark an operator ends."""

    def __init__(self, marks: Sequence[Mark]) -> None:
        self._marks = tuple(marks)
        self._names = operators_of(marks)
        self._at = 0

    @property
    def names(self) -> tuple[str, ...]:
        """Operators in order."""
        return tuple(self._names.values())

    def restart(self) -> None:
        """An iteration begins."""
        self._at = 0

    def ends_operator(self, mark: Mark) -> bool:
        """Take the next mark. Raises InputError where the first iteration had another one."""
        expected = self._marks[self._at] if self._at < len(self._marks) else None
        if mark != expected:
            shown = f"{mark.event.value} {mark.unit}".strip()
            raise InputError("expected the same calls of units in every iteration", value=shown, where="module")
        self._at += 1
        return self._at - 1 in self._names
