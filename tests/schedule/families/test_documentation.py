"""`docs/families.md` says what the families say of themselves."""

from __future__ import annotations

from pipefill_opt.schedule.families import FAMILIES
from tests.cases import ROOT


def test_every_family_is_documented() -> None:
    lines = (ROOT / "docs" / "families.md").read_text(encoding="utf-8").splitlines()
    for name, family in FAMILIES.items():
        options = ", ".join(f"`{option}`" for option in family.options)
        row = f"| `{name}` | {family.summary} | {family.closed_form} | {family.in_flight} | {options} |"
        assert row in lines
        assert f"- `{name}`: {family.source}." in lines
        for option, entry in family.options.items():
            assert f"| `{name}` | `{option}` | {entry.meaning} |" in lines
