"""The Python API for what-if studies: what one reads, computes, solves and checks. Nothing heavy is loaded before it is used."""

from __future__ import annotations

from pipefill_opt.errors import PipefillError
from pipefill_opt.fill.certificate import Certificate
from pipefill_opt.fill.certify import certify
from pipefill_opt.fill.explain import explain
from pipefill_opt.fill.plan import FillPlan
from pipefill_opt.fill.plan_file import plan_document, read_plan
from pipefill_opt.fill.problem import FillProblem
from pipefill_opt.fill.read import read_instance
from pipefill_opt.fill.retime import retime
from pipefill_opt.schedule.families import build_family
from pipefill_opt.schedule.schedule import Schedule
from pipefill_opt.solve.facade import solve
from pipefill_opt.solve.result import Limits, Solution
from pipefill_opt.timeline.compute import timeline
from pipefill_opt.timeline.timeline import Timeline
from pipefill_opt.traces.importing import measured_intervals, measured_trace
from pipefill_opt.traces.main_document import main_document
from pipefill_opt.workload.costs import MainJob
from pipefill_opt.workload.main_file import main_from_document, read_main

__all__ = [
    "Certificate",
    "FillPlan",
    "FillProblem",
    "Limits",
    "MainJob",
    "PipefillError",
    "Schedule",
    "Solution",
    "Timeline",
    "build_family",
    "certify",
    "explain",
    "main_document",
    "main_from_document",
    "measured_intervals",
    "measured_trace",
    "plan_document",
    "read_instance",
    "read_main",
    "read_plan",
    "retime",
    "solve",
    "timeline",
]
