"""Memory of a main job from its layers: embedding and head on the first and last stage, chunks, recomputation, sharding."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pipefill_opt.schedule.families import build_family
from pipefill_opt.schedule.schedule import Schedule
from pipefill_opt.workload.costs import Memory
from pipefill_opt.workload.main_file import main_from_document
from pipefill_opt.workload.model.activations import layer_kept
from pipefill_opt.workload.model.catalog import read_hardware, read_network
from pipefill_opt.workload.model.memory import Layers, main_memory
from pipefill_opt.workload.model.network import Layer
from pipefill_opt.workload.model.parallel import Parallel, Recompute, Training
from pipefill_opt.workload.model.parameters import STATES

NETWORK = read_network("gpt3-1b")  # embedding, 24 blocks, head
EMBEDDING, BLOCK, HEAD = NETWORK.layers[0], NETWORK.layers[1], NETWORK.layers[-1]
HARDWARE = read_hardware("a100-80gb")
PLAIN = Training(Parallel(pp=4), 1, 2048, flash=False)
S, H, A, V = 2048, 2048, 16, 50257


def evenly(stages: int) -> list[Layers]:
    body = NETWORK.layers[1:-1]
    each = len(body) // stages
    parts: list[tuple[Layer, ...]] = [body[each * stage : each * (stage + 1)] for stage in range(stages)]
    parts[0] = (EMBEDDING, *parts[0])
    parts[-1] = (*parts[-1], HEAD)
    return parts


def memory(training: Training = PLAIN, schedule: Schedule | None = None, **more: int) -> Memory:
    schedule = schedule or build_family("1f1b", 4, 8)
    return main_memory(evenly(schedule.stages), schedule, training, HARDWARE, **more)


def test_embedding_and_head_stand_on_the_first_and_the_last_stage() -> None:
    found = memory()
    block = 12 * H * H + 13 * H
    assert found.static == tuple(16 * (6 * block + more) for more in (V * H + S * H, 0, 0, V * H + 2 * H))
    kept = 34 * S * H + 5 * A * S * S
    assert found.activation == tuple(6 * kept + more for more in (S * H, 0, 0, 4 * S * H + 4 * S * V))
    assert found.capacity == (80 * 2**30,) * 4


def test_the_context_of_a_process_is_reserved() -> None:
    assert memory().reserve == (500 * 2**20,) * 4
    assert memory(reserve=5).reserve == (500 * 2**20 + 5,) * 4


def test_a_device_with_both_ends_holds_tied_weights_once() -> None:
    schedule = build_family("zbv", 4, 8)
    assert schedule.placement[0] == schedule.placement[-1] == 0
    found = memory(schedule=schedule)
    assert sum(found.static) == 16 * NETWORK.parameters
    assert found.static[0] - found.static[1] == 16 * ((V + S) * H + 2 * H)


def test_interleaved_chunks_share_the_device() -> None:
    schedule = build_family("interleaved-1f1b", 4, 8, chunks=2)
    found = memory(schedule=schedule)
    assert found.static == memory().static
    assert len(found.activation) == 8
    assert found.activation[1] == 3 * (34 * S * H + 5 * A * S * S)


def test_layers_that_recompute_keep_their_inputs_and_need_one_layer_more() -> None:
    found = memory(replace(PLAIN, recompute=Recompute.FULL))
    assert found.activation[1] == 6 * 2 * S * H
    # the first block starts from the embedding's output, whose dropout mask stays
    assert found.activation[0] == 6 * 2 * S * H + S * H
    plain = memory()
    assert found.workspace[1] - plain.workspace[1] == 34 * S * H + 5 * A * S * S
    assert found.freed_by_input == (S * H, 0, 0, 2 * S * H + 2 * S * V)


def test_a_schedule_that_recomputes_keeps_what_its_stages_start_from() -> None:
    schedule = build_family("1f1b", 4, 8, recompute=True)
    found = memory(replace(PLAIN, recompute=Recompute.FULL), schedule)
    assert found.checkpoint == (0, 2 * S * H, 2 * S * H, 2 * S * H)
    assert found.activation == memory().activation
    assert found.workspace == memory().workspace


def test_selective_recomputation_keeps_34_and_needs_the_scores_again() -> None:
    found = memory(replace(PLAIN, recompute=Recompute.SELECTIVE))
    assert found.activation[1] == 6 * 34 * S * H
    assert found.workspace[1] - memory().workspace[1] == 5 * A * S * S


def test_what_the_input_gradients_free() -> None:
    found = memory()
    assert found.freed_by_input[1] == 6 * (2 * S * H + 5 * A * S * S)
    assert all(part <= whole for part, whole in zip(found.freed_by_input, found.activation, strict=True))


def test_the_workspace_is_the_largest_operator_s_gradients() -> None:
    """Of a block, the activation's, 2 x 2 bytes of 4 h s numbers; of the head, the loss's, 4 + 2 bytes of v s."""
    found = memory()
    assert found.workspace[1] == 4 * S * 4 * H
    assert found.workspace[3] == 6 * S * V


def test_sharded_weights_are_gathered_layer_by_layer() -> None:
    sharded = memory(replace(PLAIN, parallel=Parallel(pp=4, dp=8, zero=3)))
    block = 12 * H * H + 13 * H
    assert sharded.workspace[1] - memory().workspace[1] == 2 * 2 * block
    assert abs(sharded.static[1] * 8 - memory().static[1]) < 16 * 8 * 8


def test_both_pipes_of_a_bidirectional_schedule_hold_layers() -> None:
    schedule = build_family("dualpipe", 4, 8)
    stages = evenly(4) * 2
    ordered = [stages[index] for index in range(schedule.stages)]
    found = main_memory(ordered, schedule, PLAIN, HARDWARE, states=STATES["none"])
    total = 2 * 2 * (NETWORK.parameters + V * H)
    ends = sum(found.static)
    assert total - 2 * 2 * 2 * V * H <= ends <= total


@pytest.mark.parametrize("sp", [False, True])
def test_tensor_parallelism_moves_memory_as_the_formula_says(sp: bool) -> None:
    found = memory(replace(PLAIN, parallel=Parallel(tp=4, pp=4, sequence_parallel=sp)))
    constant = 34 * S * H if sp else (10 * 4 + 24) * S * H
    assert found.activation[1] * 4 == 6 * (constant + 5 * A * S * S)
    assert (
        found.activation[1]
        == 6 * layer_kept(BLOCK, replace(PLAIN, parallel=Parallel(tp=4, sequence_parallel=sp))).total
    )


@pytest.mark.parametrize(
    ("optimizer", "each"), [(None, 16), ("adam-fp32-gradients", 18), ("adam-fp16", 20), ("none", 2)]
)
def test_a_file_names_the_optimizer(optimizer: str | None, each: int) -> None:
    document = {"model": "gpt3-1b", "hardware": "a100-80gb", "parallel": {"pp": 2}, "global_batch": 4, "microbatch": 1}
    main = main_from_document(document | ({"optimizer": optimizer} if optimizer else {}))
    assert main.memory is not None
    assert sum(main.memory.static) == each * (NETWORK.parameters + V * H)


def test_inference_has_weights_only() -> None:
    document = {
        "model": "gpt3-1b",
        "hardware": "a100-80gb",
        "global_batch": 4,
        "microbatch": 1,
        "schedule": {"family": "forward-only"},
    }
    main = main_from_document(document)
    assert main.memory is not None
    assert main.memory.static == (2 * NETWORK.parameters,)
    assert main.memory.activation == (0,)
    assert main.memory.workspace == (6 * S * V,)
