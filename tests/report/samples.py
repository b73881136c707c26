"""A small fill problem with a swapped slot, carried bytes, a wrapping bubble, and a plan whose times are worked out by hand."""

from __future__ import annotations

from pipefill_opt.fill.certify import certify
from pipefill_opt.fill.plan import FillPlan, Occurrence, Pattern, Phase, Segment, Slot
from pipefill_opt.fill.problem import FillProblem
from pipefill_opt.fill.read import instance_from_document

GB = 10**9
MS = 10**6

DOCUMENT = {
    "name": "small",
    "period": "100ms",
    "devices": [
        {
            "name": "a",
            "count": 3,
            "resident_free": "4GB",
            "bubbles": [
                {"start": "20ms", "length": "30ms", "free": "5GB", "kind": "fwd-bwd"},
                {"start": "90ms", "length": "20ms", "free": "4GB", "kind": "fill-drain"},
            ],
        }
    ],
    "switch": {"enter": "2ms", "leave": "1ms", "between": "3ms", "h2d": "1000GB/s", "d2h": "500GB/s"},
    "jobs": [
        {
            "name": "kept",
            "copies": 2,
            "configs": [
                {
                    "name": "c",
                    "samples": 2,
                    "resident": "1GB",
                    "operators": [
                        {"name": "x", "duration": "4ms", "memory": "2GB", "carry": "1GB"},
                        {"name": "y", "duration": "6ms", "memory": "1GB"},
                    ],
                }
            ],
        },
        {
            "name": "swapped",
            "keep": False,
            "copies": 2,
            "configs": [
                {
                    "name": "c",
                    "samples": 1,
                    "resident": "1GB",
                    "operators": [{"name": "z", "duration": "5ms", "memory": "1GB"}],
                }
            ],
        },
    ],
}


def problem() -> FillProblem:
    return instance_from_document(DOCUMENT)


def plan() -> FillPlan:
    """Two devices: in bubble 0 `kept` runs x, then `swapped` is moved in, runs z and is moved out; in bubble 1 `kept` runs y. One idles.

    Bubble 0 from 20 ms: enter to 22, x to 26, between to 29, in (1 ms) to 30, z to 35, out (2 ms) to 37, leave to 38. Bubble 1 from 90 ms:
    enter to 92, y to 98, leave to 99.
    """
    phase = Phase(
        slots=(Slot("kept", "c"), Slot("swapped", "c")),
        occurrences=(
            Occurrence(0, 0, (Segment(0, 0, 1), Segment(1, 0, 1))),
            Occurrence(0, 1, (Segment(0, 1, 1),)),
        ),
    )
    made = FillPlan((Pattern("a", 2, (phase,)), Pattern("a", 1, (Phase((), ()),))), 1)
    assert certify(problem(), made).valid
    return made
