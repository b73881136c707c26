"""Layers on stages: equal to exhaustive search, in a second at full size, and what memory allows."""

from __future__ import annotations

import random
import time
from itertools import combinations, pairwise

import pytest

from pipefill_opt.errors import InfeasibleError, InputError
from pipefill_opt.workload.model.split_bound import lower_bound
from pipefill_opt.workload.model.split_problem import LayerMemory, Objective, SplitProblem
from pipefill_opt.workload.model.split_search import search
from pipefill_opt.workload.model.split_stages import split_layers

SEEDS = 400


def loop(devices: int, chunks: int) -> tuple[int, ...]:
    """Interleaved: stage k on device k modulo devices."""
    return tuple(stage % devices for stage in range(devices * chunks))


def wave(devices: int, chunks: int) -> tuple[int, ...]:
    """V, and back again."""
    return tuple(
        stage % devices if stage // devices % 2 == 0 else devices - 1 - stage % devices
        for stage in range(devices * chunks)
    )


def exhaustive(problem: SplitProblem, objective: Objective) -> int | None:
    best = None
    for cuts in combinations(range(1, problem.layers), problem.stages - 1):
        counts = [end - begin for begin, end in pairwise((0, *cuts, problem.layers))]
        if problem.fits(counts):
            times = problem.stage_times(counts) if objective is Objective.STAGE else problem.device_times(counts)
            best = max(times) if best is None else min(best, max(times))
    return best


def drawn(seed: int) -> SplitProblem:
    """Few layers on few stages; zeros, equal ones, and memory that differs by stage among them."""
    r = random.Random(seed)
    devices, chunks = r.randint(1, 3), r.randint(1, 3)
    stages = devices * chunks
    layers = r.randint(stages, min(stages + 5, 11))
    times = [r.randint(0, 9) for _ in range(layers)]
    if r.random() < 0.3:
        times[1:-1] = [4] * (layers - 2)
    memory = None
    if r.random() < 0.5:
        memory = LayerMemory(
            fixed=tuple(r.randint(0, 5) for _ in range(layers)),
            live=tuple(r.randint(0, 3) for _ in range(layers)),
            in_flight=tuple(r.randint(1, 3) for _ in range(stages)),
            room=tuple(r.randint(4, 30) for _ in range(stages)),
        )
    return SplitProblem(tuple(times[:layers]), r.choice([loop, wave])(devices, chunks), memory)


@pytest.mark.parametrize("objective", Objective)
def test_it_equals_exhaustive_search(objective: Objective) -> None:
    infeasible = 0
    for seed in range(SEEDS):
        problem = drawn(seed)
        best = exhaustive(problem, objective)
        if best is None:
            infeasible += 1
            with pytest.raises(InfeasibleError, match="no split fits: stage"):
                split_layers(problem, objective)
            continue
        split = split_layers(problem, objective)
        assert problem.fits(split.counts), seed
        assert sum(split.counts) == problem.layers
        times = split.stage_times if objective is Objective.STAGE else split.device_times
        assert max(times) == split.value == split.bound == best, seed
    assert 20 < infeasible < SEEDS // 2


@pytest.mark.parametrize(
    ("times", "placement"),
    [
        ((0, 10, 5, 50, 50, 8, 10, 7), loop(3, 2)),
        ((7, 1, 8, 2, 8, 6, 0, 4), loop(3, 2)),
        ((936, 155, 995, 742, 39, 634, 258, 530, 458), loop(3, 2)),
        ((5, 0, 1, 1, 1, 0, 0, 1, 5, 0, 0, 1), (1, 2, 0, 1, 0)),
    ],
)
def test_what_finished_devices_take_counts(times: tuple[int, ...], placement: tuple[int, ...]) -> None:
    """The same rest is searched again where the devices behind it are faster than they were before."""
    problem = SplitProblem(times, placement)
    split = split_layers(problem)
    assert split.value == split.bound == exhaustive(problem, Objective.DEVICE)


def test_the_bound_is_one() -> None:
    for seed in range(SEEDS):
        problem = drawn(seed)
        best = exhaustive(SplitProblem(problem.times, problem.placement), Objective.DEVICE)
        assert best is not None
        assert lower_bound(problem) <= best, seed


def test_a_search_that_ends_early_says_so() -> None:
    r = random.Random(5)
    problem = SplitProblem(tuple(r.randint(10**6, 2 * 10**6) for _ in range(60)), loop(6, 4))
    split = search(problem, split_layers(problem, Objective.STAGE).counts)
    assert not split.proved
    assert split.bound < split.value == max(split.device_times)
    assert split.value <= max(problem.device_times(split_layers(problem, Objective.STAGE).counts))


REAL = (300_000, *[1_000_000] * 126, 1_700_000)
MIXED = (300_000, *[900_000] * 3, *[1_000_000] * 123, 1_700_000)


@pytest.mark.parametrize("times", [REAL, MIXED], ids=["equal blocks", "two kinds of blocks"])
@pytest.mark.parametrize("objective", Objective)
@pytest.mark.parametrize(
    "placement",
    [loop(16, 4), loop(16, 1), loop(4, 4), wave(16, 2), wave(16, 4)],
    ids=["16x4", "16", "4x4", "V", "wave"],
)
def test_128_layers_take_less_than_a_second(
    times: tuple[int, ...], objective: Objective, placement: tuple[int, ...]
) -> None:
    problem = SplitProblem(times, placement)
    assert problem.layers == 128
    begin = time.process_time()
    split = split_layers(problem, objective)
    assert time.process_time() - begin < 1
    assert split.proved


def test_a_v_of_uneven_layers_is_proved_too() -> None:
    r = random.Random(1)
    problem = SplitProblem(tuple(r.randint(800_000, 1_500_000) for _ in range(128)), wave(16, 2))
    begin = time.process_time()
    split = split_layers(problem)
    assert time.process_time() - begin < 2
    assert split.proved
    assert split.value < max(problem.device_times(split_layers(problem, Objective.STAGE).counts))


def test_a_heavy_loss_stage_gets_fewer_layers() -> None:
    """30 blocks on 4 devices, the head as heavy as four (docs/howto/uneven-layers.md)."""
    problem = SplitProblem((2, *[3] * 30, 12), loop(4, 1))
    split = split_layers(problem)
    assert split.value == 27
    assert max(problem.device_times((8, 8, 8, 8))) == 33


def test_equally_long_stages_are_made_equal_where_that_is_free() -> None:
    split = split_layers(SplitProblem((5, 5, 1, 1, 1, 1), loop(3, 1)), Objective.STAGE)
    assert split.value == 5
    assert split.counts == (1, 1, 4)


def test_the_last_layers_that_do_not_fit_are_told() -> None:
    memory = LayerMemory((4, 4, 4), (1, 1, 1), (2, 1), (7, 100))
    with pytest.raises(InfeasibleError, match="stage 0 has room for 7 B, layer 0 takes 8 B there") as error:
        split_layers(SplitProblem((1, 1, 1), (0, 1), LayerMemory((4, 4, 4), (1, 1, 1), (4, 1), (7, 100))))
    assert "1 B too much" in str(error.value)
    assert split_layers(SplitProblem((1, 1, 1), (0, 1), memory)).counts == (1, 2)
    with pytest.raises(
        InfeasibleError, match="stage 1 has room for 9 B, layers from 1 on take 10 B there, 1 B too much"
    ):
        split_layers(SplitProblem((1, 1, 1), (0, 1), LayerMemory((4, 4, 4), (1, 1, 1), (2, 1), (7, 9))))


def test_fewer_layers_than_stages_are_refused() -> None:
    with pytest.raises(InputError, match="layers: 2: expected at least 3 layers"):
        SplitProblem((1, 1), loop(3, 1))
    with pytest.raises(InputError, match="add up to less than"):
        SplitProblem((2**59, 2**59), loop(2, 1))
