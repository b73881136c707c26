"""Whether a device's plan is a valid plan of its problem, by `certify`."""

from __future__ import annotations

from dataclasses import replace

from pipefill_opt.fill.certify import certify
from pipefill_opt.fill.plan import FillPlan, Pattern, Phase
from pipefill_opt.solve.device import Compiled, DevicePlan, DeviceProblem


def broken_rules(compiled: Compiled, device: DeviceProblem, plan: DevicePlan) -> list[str]:
    """Codes of the rules that the plan breaks, all other devices left empty; its value must be the certificate's."""
    problem = replace(compiled.problem, iterations=device.iterations)
    patterns = [compiled.pattern(device, plan, 1)]
    for index, own in enumerate(problem.devices):
        idle = own.count - (index == device.class_index)
        if idle:
            patterns.append(Pattern(own.name, idle, (Phase((), ()),)))
    certificate = certify(problem, FillPlan(tuple(patterns), iterations=device.iterations))
    if certificate.valid:
        assert certificate.objective == plan.value(device) * device.unit / device.iterations
    return sorted({violation.code for violation in certificate.violations})
