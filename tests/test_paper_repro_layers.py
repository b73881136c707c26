"""The scripts of paper_repro/models on parameters, activations and splits run, and fail on drift."""

from __future__ import annotations

from pathlib import Path

import pytest

from paper_repro.models import activations, parameters, split


@pytest.mark.parametrize(("script", "count"), [(parameters, 40), (activations, 34)])
def test_nothing_is_missed(script: object, count: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert script.main(["-o", str(tmp_path)]) == 0  # type: ignore[attr-defined]
    assert f"0 of {count} targets missed" in capsys.readouterr().out
    assert len(list(tmp_path.glob("*.csv"))) == 1


def test_a_wrong_count_is_a_miss() -> None:
    rows = parameters.targets()
    assert sum(row.provenance == "seen" for row in rows) >= 37
    assert not any(row.missed for row in rows)
    name = "parameters of gpt-5b, millions"
    (row,) = (row for row in rows if row.quantity == name)
    assert row.tolerance == pytest.approx(100)  # 2 % of 5,000 millions


def test_formulas_are_met_exactly() -> None:
    rows = [row for row in activations.targets() if row.quantity.startswith(("activations", "kept"))]
    assert len(rows) == 28
    assert all(row.tolerance == 0 and row.ours == row.source for row in rows)


def test_megatron_flags_and_torchtitan_s_rule() -> None:
    assert split.by_flags(40, 16) == 6
    assert split.by_flags(32, 4) == 8
    assert split.by_rule(32, 8) == [4, 5, 4, 4, 4, 4, 4, 3]
    assert sum(split.by_rule(126, 16)) == 126


def test_a_split_gains_on_both(tmp_path: Path) -> None:
    _, equal, rule = split.titan_targets("llama3-8b", 2, 2, {})
    assert equal.ours > 2
    assert rule.ours > 2
