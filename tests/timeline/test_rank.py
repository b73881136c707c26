"""Rankings against closed forms."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from pipefill_opt.errors import InputError
from pipefill_opt.timeline.rank import Entry, rank
from pipefill_opt.workload.rank_file import rank_from_document

SPEC: dict[str, Any] = {"devices": 4, "microbatches": 8, "durations": {"unit": "ms", "F": 10, "I": 10, "W": 10}}
MEMORY = {"capacity": "20GB", "static": "8GB", "activation": "2GB"}
GB, MS = 10**9, 10**6


def ranked(**change: Any) -> tuple[Entry, ...]:
    return rank(rank_from_document(SPEC | change, file="spec.yaml"))


def named(entries: tuple[Entry, ...], family: str) -> Entry:
    return next(entry for entry in entries if entry.candidate.family == family)


def test_closed_forms() -> None:
    """(m + p - 1)(F + B) for GPipe and 1F1B; (mv + p - 1)(F + B) / v for two chunks; 3mv + p - 1 thirds of them with split backward."""
    entries = ranked(families=["gpipe", "1f1b", "interleaved-1f1b", "interleaved-zero-bubble"])
    periods = [(e.candidate.family, int(e.figures.period) // MS, e.place) for e in entries if e.figures]
    assert periods == [
        ("interleaved-zero-bubble", 255, 1), ("interleaved-1f1b", 285, 2), ("gpipe", 330, 3), ("1f1b", 330, 3),
    ]  # fmt: skip
    gpipe = named(entries, "gpipe").figures
    assert gpipe is not None
    assert gpipe.ratio == Fraction(3, 11)
    assert gpipe.ratios == (Fraction(3, 22), Fraction(3, 22), 0, 0)
    assert gpipe.work == 240 * MS
    assert gpipe.peak is None


def test_what_fits_and_by_how_much_not() -> None:
    """GPipe holds 8 activations, 24 GB in all; 1F1B 4, 3, 2, 1."""
    entries = ranked(families=["gpipe", "1f1b"], memory=MEMORY)
    assert [entry.candidate.family for entry in entries] == ["1f1b", "gpipe"]
    fits, lacks = (entry.figures for entry in entries)
    assert fits is not None
    assert lacks is not None
    assert fits.peak == (16 * GB, 14 * GB, 12 * GB, 10 * GB)
    assert (fits.lacking, fits.tightest) == (-4 * GB, 0)
    assert (lacks.lacking, lacks.tightest) == (4 * GB, 0)
    assert [entry.place for entry in entries] == [1, None]


def test_equal_periods_share_a_place_and_the_lower_peak_comes_first() -> None:
    entries = ranked(families=["gpipe", "1f1b"], memory=MEMORY | {"capacity": "99GB"})
    assert [(entry.candidate.family, entry.place) for entry in entries] == [("1f1b", 1), ("gpipe", 1)]
    more = ranked(families=["gpipe", "1f1b"], recompute=[False, True])
    assert [(entry.place, entry.candidate.recompute) for entry in more] == [
        (1, False),
        (1, False),
        (3, True),
        (3, True),
    ]


def test_families_that_do_not_hold_come_last_with_their_reason() -> None:
    entries = ranked(devices=3, microbatches=1, families=["dualpipe", "gpipe"])
    assert [entry.candidate.family for entry in entries] == ["gpipe", "dualpipe"]
    assert entries[1].figures is None
    assert "dualpipe" in entries[1].refusal
    assert not entries[1].fits


def test_recomputation_trades_time_for_memory() -> None:
    given = MEMORY | {"checkpoint": "100MB"}
    plain, again = sorted(
        ranked(families=["gpipe"], recompute=[False, True], memory=given), key=lambda entry: entry.candidate.recompute
    )
    assert plain.figures is not None
    assert again.figures is not None
    assert not plain.fits
    assert again.fits
    assert again.figures.period > plain.figures.period
    assert again.figures.work - plain.figures.work == 80 * MS


def test_overhead_turns_the_choice_of_chunks() -> None:
    """More chunks make smaller bubbles, and more actions that each pay the overhead."""
    for overhead, best in (("0ms", 8), ("3ms", 1)):
        durations = SPEC["durations"] | {"overhead": overhead}
        entries = ranked(families=["looped-bfs"], chunks=[1, 8], durations=durations)
        assert entries[0].candidate.chunks == best


def test_a_balanced_split_beats_an_even_one_where_the_head_is_heavy() -> None:
    spec = {"layers": 16, "last": {"F": "20ms", "I": "20ms", "W": "20ms"}, "families": ["1f1b"]}
    entries = ranked(**spec)
    assert [entry.candidate.split for entry in entries] == ["balanced", "even"]


def test_every_family_is_timed_without_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    entries = ranked(memory=MEMORY | {"capacity": "8GB"})
    assert len(entries) > 10
    assert not any(entry.fits for entry in entries)
    assert caplog.text == ""


def test_wrong_parts_of_main_are_errors_of_the_spec() -> None:
    with pytest.raises(InputError, match=r"^spec.yaml: communication.colour: red: unknown key"):
        ranked(communication={"colour": "red"})
    with pytest.raises(InputError, match=r"^spec.yaml: overlap"):
        ranked(overlap="twice")
