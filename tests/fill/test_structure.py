"""Plans that are none for their problem: names, indices, counts, iterations, phases, copies."""

from __future__ import annotations

import pytest

from pipefill_opt.fill.certify import certify
from pipefill_opt.fill.plan import FillPlan, Pattern, Phase, Segment
from tests.fill.samples import Change, codes, plan, problem, put, verdict

SEGMENT = "patterns.0.occurrences.0.segments.0"
REFERENCES = {
    "device": put("patterns.0.device", "nowhere"),
    "job": put("patterns.0.slots.0.job", "nothing"),
    "configuration": put("patterns.0.slots.0.config", "c2"),
    "operator of a slot": put("patterns.0.slots.0.first", 2),
    "negative operator": put("patterns.0.slots.0.first", -1),
    "iteration": put("patterns.0.occurrences.0.iteration", 1),
    "negative iteration": put("patterns.0.occurrences.0.iteration", -1),
    "bubble": put("patterns.0.occurrences.0.bubble", 2),
    "negative bubble": put("patterns.0.occurrences.0.bubble", -1),
    "slot": put(f"{SEGMENT}.slot", 2),
    "negative slot": put(f"{SEGMENT}.slot", -1),
    "operator of a segment": put(f"{SEGMENT}.first", 2),
    "occurrence listed twice": put("patterns.0.occurrences.2", {"iteration": 0, "bubble": 0}),
}


@pytest.mark.parametrize("name", REFERENCES)
def test_reference(name: str) -> None:
    assert codes(verdict(problem(), REFERENCES[name])) == {"reference"}


@pytest.mark.parametrize("count", [0, -1, 0.5, 1.5])
def test_split(count: float) -> None:
    assert codes(verdict(problem(), put(f"{SEGMENT}.count", count))) == {"split"}


def test_nothing_else_is_checked_beside() -> None:
    found = verdict(problem(put("devices.0.bubbles.1.length", "1ms")), put(f"{SEGMENT}.slot", 7))
    assert codes(found) == {"reference"}
    assert found.objective is None


def test_iterations_of_a_fixed_instance() -> None:
    assert verdict(problem(), put("iterations", 1)).valid
    assert codes(verdict(problem(), put("iterations", 2))) == {"iterations"}


def test_iterations_auto_are_stated_by_the_plan() -> None:
    auto = problem(put("iterations", "auto"), put("max_iterations", 3))
    for stated in (1, 2, 3):
        found = verdict(auto, put("iterations", stated))
        assert found.valid
        assert found.objective is not None
        assert found.objective * stated == 10_000_000
    assert codes(verdict(auto)) == {"iterations"}
    assert codes(verdict(auto, put("iterations", 4))) == {"iterations"}


@pytest.mark.parametrize("objective", ["throughput", "makespan"])
def test_phases(objective: str) -> None:
    """One without repetitions for the throughput; over time only the last may be without."""
    of = problem(put("objective", objective), put("jobs.0.iterations", 1), put("jobs.1.iterations", 1))

    def phases(*repetitions: int | None) -> FillPlan:
        entries = tuple(Phase((), (), number) for number in repetitions)
        return FillPlan((Pattern("d", 2, entries), Pattern("other", 1, (Phase((), ()),))))

    accepted = [[None]] if objective == "throughput" else [[None], [], [1], [5, 2], [5, None]]
    for repetitions in ([None], [], [1], [5, 2], [5, None], [None, 5], [0], [None, None]):
        broken = "phases" in codes(certify(of, phases(*repetitions)))
        assert broken == (repetitions not in accepted), repetitions


def test_multiplicity_below_one() -> None:
    of = problem()
    patterns = plan(of).patterns
    extra = FillPlan((*patterns, Pattern("d", 0, (Phase((), ()),))))
    assert codes(certify(of, extra)) == {"count"}


def named(*names: str | None) -> Change:
    slots = [{"job": "kept", "config": "c"} | ({} if name is None else {"copy": name}) for name in names]
    return lambda document: document["patterns"][1].update(slots=slots)


def test_copy_names() -> None:
    roomy = problem(put("jobs.0.copies", 5))
    assert verdict(roomy, named("x", "y")).valid
    assert verdict(roomy, named(None, None)).valid
    assert codes(verdict(roomy, named("x", "x"))) == {"copy"}


def test_a_copy_is_of_one_job_and_configuration() -> None:
    of = problem(put("objective", "makespan"), put("jobs.0.iterations", 1), put("jobs.1.iterations", 1))

    def life(second: str) -> Change:
        return put(
            "patterns.1",
            {
                "device": "d",
                "multiplicity": 1,
                "phases": [
                    {"repetitions": 1, "slots": [{"job": "kept", "config": "c", "copy": "x"}]},
                    {"repetitions": 1, "slots": [{"job": second, "config": "c", "copy": "x"}]},
                ],
            },
        )

    assert "copy" not in codes(verdict(of, life("kept")))
    assert codes(verdict(of, life("swapped"))) == {"copy"}


def test_a_copy_stays_on_its_device() -> None:
    both = [named("x"), put("patterns.0.slots.0.copy", "x")]
    roomy = problem(put("jobs.0.copies", 5))
    assert codes(verdict(roomy, *both)) == {"migrate"}


def test_whole_numbers_of_other_types_are_whole() -> None:
    """A plan built in Python may hold anything; certify does not fall over it."""
    of = problem()
    patterns = list(plan(of).patterns)
    segment = Segment(0, 0, 2.5)  # type: ignore[arg-type]
    phase = patterns[0].phases[0]
    occurrence = phase.occurrences[0].__class__(0, 0, (segment,))
    patterns[0] = Pattern("d", 1, (Phase(phase.slots, (occurrence,)),))
    assert codes(certify(of, FillPlan(tuple(patterns)))) == {"split"}
