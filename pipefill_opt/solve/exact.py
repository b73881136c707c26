"""The exact device solver without a modelling library: the dynamic program."""

from __future__ import annotations

from pipefill_opt.solve.device import DevicePlan, DeviceProblem, DeviceResult
from pipefill_opt.solve.dp import solve_dp
from pipefill_opt.solve.result import Limits


def solve_exact(device: DeviceProblem, limits: Limits, *, hint: DevicePlan | None = None) -> DeviceResult:
    """The optimum of a device."""
    return solve_dp(device, limits, hint=hint)
