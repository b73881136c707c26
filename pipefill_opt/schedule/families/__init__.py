"""Schedule families: one module each, a rule and not a table; `FAMILIES` names them all.

A new family is one module here and one line in `FAMILIES`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from pipefill_opt.errors import InputError
from pipefill_opt.schedule.families.chimera import CHIMERA
from pipefill_opt.schedule.families.dualpipe import DUALPIPE
from pipefill_opt.schedule.families.dualpipev import DUALPIPEV
from pipefill_opt.schedule.families.family import Family
from pipefill_opt.schedule.families.forward_only import FORWARD_ONLY
from pipefill_opt.schedule.families.gpipe import GPIPE
from pipefill_opt.schedule.families.hanayo import HANAYO
from pipefill_opt.schedule.families.interleaved import INTERLEAVED_1F1B, INTERLEAVED_ZERO_BUBBLE
from pipefill_opt.schedule.families.looped_bfs import LOOPED_BFS
from pipefill_opt.schedule.families.one_f_one_b import ONE_F_ONE_B
from pipefill_opt.schedule.families.overlapped import INTERLEAVED_OVERLAP, ONE_F_ONE_B_OVERLAP
from pipefill_opt.schedule.families.v_blocks import V_HALF, V_MIN
from pipefill_opt.schedule.families.zb_greedy import ZB_GREEDY
from pipefill_opt.schedule.families.zb_h import ZB_H1, ZB_H2
from pipefill_opt.schedule.families.zbv import ZBV
from pipefill_opt.schedule.schedule import Schedule

__all__ = ["FAMILIES", "Family", "build_family"]

FAMILIES: Final[Mapping[str, Family]] = MappingProxyType(
    {
        family.name: family
        for family in (
            GPIPE,
            ONE_F_ONE_B,
            ONE_F_ONE_B_OVERLAP,
            LOOPED_BFS,
            INTERLEAVED_1F1B,
            INTERLEAVED_OVERLAP,
            ZB_H1,
            ZB_H2,
            ZB_GREEDY,
            ZBV,
            V_HALF,
            V_MIN,
            INTERLEAVED_ZERO_BUBBLE,
            HANAYO,
            CHIMERA,
            DUALPIPE,
            DUALPIPEV,
            FORWARD_ONLY,
        )
    }
)
"""Every family by its name in files."""


def build_family(name: str, devices: int, microbatches: int, **options: Any) -> Schedule:
    """The schedule of a family by name; options as in `Family.build`.

    Raises InputError for an unknown name or option and ScheduleError, code `size`, where the rule does not hold.
    """
    if name not in FAMILIES:
        raise InputError(f"expected one of {', '.join(FAMILIES)}", value=name, where="family")
    return FAMILIES[name].build(devices, microbatches, **options)
