"""The `measured` key of MAIN."""

from __future__ import annotations

from typing import Any

import pytest

from pipefill_opt.errors import InputError
from pipefill_opt.schedule.actions import Action, Kind
from pipefill_opt.timeline.compute import timeline
from pipefill_opt.workload.main_file import main_from_document


def document(measured: object) -> dict[str, Any]:
    return {
        "schedule": {"family": "1f1b", "devices": 2, "microbatches": 2},
        "durations": {"unit": "us", "F": 10, "B": 20},
        "measured": measured,
    }


def test_samples_by_action() -> None:
    main = main_from_document(
        document({"unit": "us", "steps": [4, 5], "actions": {"0F0": [9, 11], "1B1": ["20us", 21]}, "lags": [3]})
    )
    assert main.samples is not None
    assert main.samples.actions == {Action(Kind.F, 0, 0): (9_000, 11_000), Action(Kind.B, 1, 1): (20_000, 21_000)}
    assert main.samples.lags == (3_000,)
    assert main.samples.steps == (4, 5)


def test_no_time_is_computed_from_them() -> None:
    plain = document(None)
    del plain["measured"]
    main = main_from_document(document({"unit": "us", "actions": {"0F0": [900]}}))
    assert timeline(main).period == timeline(main_from_document(plain)).period
    assert main_from_document(plain).samples is None


@pytest.mark.parametrize(
    ("measured", "problem"),
    [
        ({"actions": {}}, "measured: missing key 'unit'"),
        ({"unit": "us"}, "measured: missing key 'actions'"),
        ({"unit": "us", "actions": {"0F0": []}}, r"measured\.actions\.0F0: \[\]: expected a list of at least one time"),
        ({"unit": "us", "actions": {"0F0": [-1]}}, r"measured\.actions\.0F0\[0\]: -1: expected a time of 0 or more"),
        ({"unit": "us", "actions": {"0F2": [1]}}, r"measured\.actions: 0F2: expected an action of this schedule"),
        ({"unit": "us", "actions": {"0X2": [1]}}, r"measured\.actions\.0X2: 0X2: expected an action such as"),
        (
            {"unit": "us", "steps": [1, 2], "actions": {"0F0": [1]}},
            r"measured\.actions\.0F0: 1: expected 2 times, one for each step",
        ),
        ({"unit": "us", "actions": {}, "notes": 1}, r"measured\.notes: 1: unknown key"),
    ],
)
def test_errors(measured: object, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        main_from_document(document(measured))
