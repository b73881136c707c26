"""Read and write PLAN files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipefill_opt.errors import InputError
from pipefill_opt.files import check, read_document
from pipefill_opt.fill.hash import instance_hash
from pipefill_opt.fill.plan import FillPlan, Occurrence, Pattern, Phase, Segment, Slot
from pipefill_opt.fill.problem import FillProblem

Document = Mapping[str, Any]


def read_plan(path: Path | str, problem: FillProblem) -> FillPlan:
    """The plan of a PLAN file (YAML or JSON). Raises InputError; names and numbers that do not exist are left to `certify`."""
    return _build(read_document(path, "plan"), problem, str(path))


def plan_from_document(document: Document, problem: FillProblem, *, file: str = "") -> FillPlan:
    """As `read_plan`, from a parsed document. A hash of another instance is refused."""
    check(document, "plan", file=file)
    return _build(document, problem, file)


def _build(document: Document, problem: FillProblem, file: str) -> FillPlan:
    stated = document.get("instance")
    if stated is not None and stated != instance_hash(problem):
        raise InputError(
            f"expected a plan for this instance, {instance_hash(problem)}", value=stated, where="instance", file=file
        )
    patterns = []
    for index, entry in enumerate(document["patterns"] or []):
        if "phases" in entry:
            for key in ("slots", "occurrences"):
                if key in entry:
                    where = f"patterns[{index}].{key}"
                    raise InputError("expected either phases, or slots and occurrences", where=where, file=file)
            phases = tuple(_phase(phase) for phase in entry["phases"])
        else:
            phases = (_phase(entry),)
        patterns.append(Pattern(entry["device"], entry["multiplicity"], phases))
    return FillPlan(tuple(patterns), document.get("iterations"), stated)


def _phase(entry: Document) -> Phase:
    return Phase(
        slots=tuple(
            Slot(slot["job"], slot["config"], slot.get("first", 0), slot.get("copy"))
            for slot in entry.get("slots") or []
        ),
        occurrences=tuple(
            Occurrence(
                occurrence["iteration"],
                occurrence["bubble"],
                tuple(_segment(segment) for segment in occurrence.get("segments") or []),
            )
            for occurrence in entry.get("occurrences") or []
        ),
        repetitions=entry.get("repetitions"),
    )


def _segment(entry: Document) -> Segment:
    """A segment; a count that is not whole stays as it is, for `certify` to report as `split`."""
    count = entry["count"]
    return Segment(entry["slot"], entry["first"], int(count) if count == int(count) else count, entry.get("start"))
