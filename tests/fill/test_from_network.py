"""Fill jobs by a network's name."""

from __future__ import annotations

import pytest

from pipefill_opt.errors import InputError
from pipefill_opt.fill.read import instance_from_document
from pipefill_opt.solve.facade import solve
from tests.fill.samples import INSTANCE, Document

JOB: Document = {"network": "bert-base", "kind": "inference", "batches": [8, 32], "hardware": "v100-16gb", "copies": 2}
ROOMY: Document = {
    "name": "d",
    "count": 2,
    "resident_free": "8GiB",
    "bubbles": [{"start": "0ms", "length": "30ms", "free": "8GiB"}],
}


def instance(*jobs: Document) -> Document:
    return {"period": "100ms", "devices": [ROOMY], "jobs": list(jobs)}


def test_a_network_becomes_configurations_by_batch_size() -> None:
    (job,) = instance_from_document(instance(JOB)).jobs
    assert (job.name, job.copies) == ("bert-base-inference", 2)
    assert [(config.name, config.samples) for config in job.configurations] == [("bs8", 8), ("bs32", 32)]
    small, large = job.configurations
    assert small.resident == large.resident
    assert 110e6 * 2 * 0.95 < small.resident < 110e6 * 2 * 1.05, "two bytes for each of 110M weights"
    assert len(small.operators) == len(large.operators) == 14
    assert all(a.duration < b.duration < 4 * a.duration for a, b in zip(small.operators, large.operators, strict=True))
    assert all(a.flops * 4 == b.flops for a, b in zip(small.operators, large.operators, strict=True))


def test_training_adds_backwards_and_a_step_and_keeps_what_it_saved() -> None:
    jobs = [JOB | {"name": "infer", "batches": [8]}, JOB | {"name": "train", "kind": "training", "batches": [8]}]
    infer, train = (job.configurations[0] for job in instance_from_document(instance(*jobs)).jobs)
    assert train.resident == 8 * infer.resident, "16 bytes a parameter for 2"
    assert len(train.operators) == 2 * len(infer.operators) + 1
    carries, layers = [operator.carry for operator in train.operators], len(infer.operators)
    forward, backward = carries[: layers - 1], carries[layers:]
    assert forward == sorted(forward)
    assert backward == sorted(backward, reverse=True)
    assert max(carries) == max(carries[layers - 2 : layers]), "the most is kept between forward and backward"
    assert carries[-2:] == [0, 0]
    assert all(operator.memory >= operator.carry for operator in train.operators[:layers])


def test_full_recomputation_carries_less_and_takes_longer() -> None:
    jobs = [
        JOB | {"name": how, "kind": "training", "batches": [8], "recompute": how}
        for how in ("none", "selective", "full")
    ]
    none, _, full = (job.configurations[0] for job in instance_from_document(instance(*jobs)).jobs)
    assert max(operator.carry for operator in full.operators) < max(operator.carry for operator in none.operators) / 4
    assert sum(o.duration for o in full.operators) > sum(o.duration for o in none.operators) * 1.2


def test_eager_jobs_take_longer() -> None:
    jobs = [JOB | {"name": how, "batches": [8], "fusion": how} for how in ("fused", "eager")]
    fused, eager = (job.configurations[0] for job in instance_from_document(instance(*jobs)).jobs)
    assert all(a.duration <= b.duration for a, b in zip(fused.operators, eager.operators, strict=True))
    assert sum(o.duration for o in eager.operators) > 1.1 * sum(o.duration for o in fused.operators)
    assert [o.flops for o in eager.operators] == [o.flops for o in fused.operators]


def test_it_is_solved_beside_jobs_with_operators() -> None:
    problem = instance_from_document(instance(JOB, INSTANCE["jobs"][0] | {"devices": ["d"]}))
    assert solve(problem).certificate.valid


REFUSED = {
    "no such network": ({"network": "bert-bse"}, "jobs[0].network: bert-bse: expected a network that is known"),
    "no hardware": ({"hardware": "h1000"}, "jobs[0].hardware: h1000: expected hardware that is known"),
    "kind": ({"kind": "tuning"}, "jobs[0].kind"),
    "no batch": ({"batches": []}, "jobs[0].batches"),
    "batch twice": ({"batches": [8, 8]}, "jobs[0].batches"),
    "configs too": ({"configs": INSTANCE["jobs"][0]["configs"]}, "jobs[0].configs: expected either network or configs"),
    "precision it has not": ({"precision": "fp8"}, "precision: fp8: expected a type that v100-16gb has"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_in_one_line(name: str) -> None:
    change, line = REFUSED[name]
    with pytest.raises(InputError) as caught:
        instance_from_document(instance(JOB | change))
    assert line in str(caught.value)
