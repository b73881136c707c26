"""Classes that are alike are one group, and its plans are dealt out to them again."""

from __future__ import annotations

from dataclasses import replace

from pipefill_opt.solve.device import DevicePlan, compile_problem
from pipefill_opt.solve.generation.groups import anonymous, groups, spread
from pipefill_opt.solve.greedy import Choice
from tests.solve.devices import fill_problem, job
from tests.solve.test_allocate import shared


def test_classes_that_are_alike_are_one_group() -> None:
    problem = shared()
    first, second = problem.devices
    twin = replace(first, name="d2", count=5)
    none = replace(first, name="d3", count=0)
    jobs = tuple(replace(own, devices=("d0", "d1", "d2", "d3")) for own in problem.jobs)
    found = groups(compile_problem(replace(problem, devices=(first, second, twin, none), jobs=jobs)))
    assert [(group.classes, group.count) for group in found] == [((0, 2), 7), ((1,), 1)]


def test_other_jobs_or_memory_make_another_group() -> None:
    problem = shared()
    first = problem.devices[0]
    twin = replace(first, name="d2")
    assert len(groups(compile_problem(replace(problem, devices=(first, twin))))) == 2  # no job is allowed on d2
    jobs = tuple(replace(own, devices=("d0", "d2")) for own in problem.jobs)
    less = replace(twin, resident_free=999)
    assert len(groups(compile_problem(replace(problem, devices=(first, less), jobs=jobs)))) == 2


def test_choices_are_dealt_out_as_counts_allow() -> None:
    problem = shared(counts=(2, 3))
    compiled = compile_problem(problem)
    same = replace(problem, devices=(problem.devices[0], replace(problem.devices[0], name="d1", count=3)))
    (group,) = groups(compile_problem(same))
    plan = DevicePlan((0,), ())
    a, b = (Choice(compiled.device(0, ((j, 0),), 1), plan, 1, n) for j, n in ((0, 4), (1, 1)))
    dealt = spread(compile_problem(same), group, [a, b])
    assert [(c.device.class_index, c.device.residents, c.multiplicity) for c in dealt] == [
        (0, ((0, 0),), 2),
        (1, ((0, 0),), 2),
        (1, ((1, 0),), 1),
    ]


def test_names_do_not_matter_to_a_device() -> None:
    a, b, c = job("a", (2, 3)), job("b", (2, 3)), job("c", (3, 2))
    compiled = compile_problem(fill_problem(a, b, c, lengths=(30,)))
    x, y, z = (anonymous(compiled.device(0, ((j, 0),), 1)) for j in range(3))
    assert x == y != z
