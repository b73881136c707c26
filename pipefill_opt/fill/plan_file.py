"""Read and write PLAN files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pipefill_opt.errors import InputError
from pipefill_opt.files import check, read_document
from pipefill_opt.fill.hash import instance_hash
from pipefill_opt.fill.packing import PackedOccurrence, pack_plan
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


def plan_text(problem: FillProblem, plan: FillPlan) -> str:
    """The PLAN file of a valid plan, as JSON (which is YAML too)."""
    return json.dumps(plan_document(problem, plan), indent=1) + "\n"


def plan_document(problem: FillProblem, plan: FillPlan) -> dict[str, Any]:
    """The PLAN document of a valid plan: H, the instance's hash, and every segment's packed start filled in.

    A phase whose later repetitions move other bytes than its first (`repeat: false`) keeps the starts that it states.
    """
    packed = pack_plan(problem, plan)
    document: dict[str, Any] = {"iterations": problem.iterations or plan.iterations, "instance": instance_hash(problem)}
    document["patterns"] = []
    for index, pattern in enumerate(plan.patterns):
        phases = []
        for number, phase in enumerate(pattern.phases):
            steady = problem.repeat or phase.repetitions in (None, 1)
            phases.append(_phase_document(phase, packed[index, number] if steady else ()))
        head = {"device": pattern.device, "multiplicity": pattern.multiplicity}
        if len(phases) == 1 and "repetitions" not in phases[0]:
            document["patterns"].append(head | phases[0])
        else:
            document["patterns"].append(head | {"phases": phases})
    return document


def _phase_document(phase: Phase, packed: Sequence[PackedOccurrence]) -> dict[str, Any]:
    starts = {(entry.iteration, entry.bubble): [segment.start for segment in entry.segments] for entry in packed}
    document: dict[str, Any] = {} if phase.repetitions is None else {"repetitions": phase.repetitions}
    document["slots"] = [
        {"job": slot.job, "config": slot.configuration, "first": slot.first}
        | ({} if slot.copy is None else {"copy": slot.copy})
        for slot in phase.slots
    ]
    document["occurrences"] = []
    for occurrence in phase.occurrences:
        known = starts.get(
            (occurrence.iteration, occurrence.bubble), [segment.start for segment in occurrence.segments]
        )
        segments = [
            {"slot": segment.slot, "first": segment.first, "count": segment.count}
            | ({} if start is None else {"start": start})
            for segment, start in zip(occurrence.segments, known, strict=True)
        ]
        entry = {"iteration": occurrence.iteration, "bubble": occurrence.bubble, "segments": segments}
        document["occurrences"].append(entry)
    return document
