"""torchtitan's settings, from TOML or a command line, as a MAIN document by model name."""

from __future__ import annotations

from typing import Any, Final

from pipefill_opt.errors import InputError
from pipefill_opt.workload.flags.megatron import replicas
from pipefill_opt.workload.flags.words import Flags
from pipefill_opt.workload.model.catalog import read_network
from pipefill_opt.workload.model.durations import KEPT

SCHEDULES: Final = {
    "gpipe": "gpipe",
    "1f1b": "1f1b",
    "interleaved1f1b": "interleaved-1f1b",
    "loopedbfs": "looped-bfs",
    "interleavedzerobubble": "interleaved-zero-bubble",
    "zbvzerobubble": "zbv",
    "dualpipev": "dualpipev",
}
"""Families by torchtitan's names of schedules, in lower case."""
CHUNKS: Final = 2
"""Stages of a device that torchtitan gives its multi-stage schedules by default."""
V_SHAPED: Final = ("zbv", "dualpipev")
"""Families with two stages a device, whatever is stated."""
UNKNOWN: Final = (
    "parallelism.module-fqns-per-model-part",
    "parallelism.pipeline-parallel-split-points",
    "parallelism.pipeline-parallel-layers-per-stage",
)
"""Settings that cut the model elsewhere."""


def is_torchtitan(flags: Flags) -> bool:
    """Whether these are torchtitan's: settings in sections."""
    return any(name.split(".")[0] in ("parallelism", "training", "experimental") for name in flags.values)


def torchtitan_document(flags: Flags, hardware: str, gpus: int | None) -> dict[str, Any]:
    """MAIN. gpus: of the job; else those of torchrun's flags, or the product of all degrees. Raises InputError."""
    tp = flags.number("parallelism.tensor-parallel-degree", "training.tensor-parallel-degree") or 1
    pp = flags.number("parallelism.pipeline-parallel-degree", "experimental.pipeline-parallel-degree") or 1
    cp = flags.number("parallelism.context-parallel-degree", "experimental.context-parallel-degree") or 1
    sharded, dp = _data(flags, gpus, tp * pp * cp)
    local = flags.needed("training.local-batch-size", "training.batch-size")
    microbatch = flags.number("parallelism.pipeline-parallel-microbatch-size") or 1 if pp > 1 else local
    if local % microbatch:
        where = "--parallelism.pipeline-parallel-microbatch-size"
        raise InputError(f"expected a divisor of the local batch, {local}", value=microbatch, where=where)
    family, chunks = _family(flags, pp)
    parallel = {
        "tp": tp,
        "pp": pp,
        "dp": dp,
        "cp": cp,
        "ep": flags.number("parallelism.expert-parallel-degree") or 1,
        "vp": chunks,
    }
    document: dict[str, Any] = {
        "model": _model(flags),
        "hardware": hardware,
        "parallel": {key: value for key, value in parallel.items() if value > 1},
        "global_batch": _global(flags, local * dp),
        "microbatch": microbatch,
        "sequence": flags.needed("training.seq-len"),
        "precision": "bf16",
        "recompute": flags.text("activation-checkpoint.mode") or "none",
        "attention": "flash",
    }
    flags.text("activation-checkpoint.selective-ac-option")
    if tp > 1:
        document["sequence_parallel"] = True
    if sharded > 1:
        document["zero"] = 2 if pp > 1 else 3
    if pp == 1:
        return document
    split = _split(flags, document["model"], pp * (2 if family in V_SHAPED else chunks))
    return document | {"schedule": {"family": family}, "split": split}


def _split(flags: Flags, model: str, stages: int) -> list[int]:
    """Layers of each stage: embedding and head count as layers, by default as one each; the first stages have one more."""
    for name in UNKNOWN:
        if flags.text(name) is not None:
            raise InputError(
                "expected no such setting: `split` of MAIN says how many layers each stage has", where=f"--{name}"
            )
    first = flags.number("parallelism.pipeline-parallel-first-stage-less-layers", least=0)
    last = flags.number("parallelism.pipeline-parallel-last-stage-less-layers", least=0)
    front, back = 1 if first is None else first, 1 if last is None else last
    layers = sum(layer.kind not in KEPT for layer in read_network(model).layers)
    each, more = divmod(layers + front + back, stages)
    counts = [each + (stage < more) for stage in range(stages)]
    counts[0] -= front
    counts[-1] -= back
    if min(counts) < 0:
        raise InputError(f"expected fewer stages than {stages}", value=layers, where="layers")
    return counts


def _data(flags: Flags, gpus: int | None, replica: int) -> tuple[int, int]:
    """Ranks that shard the weights, and all data-parallel ranks; -1 takes what the other degrees leave."""
    shard = flags.number("parallelism.data-parallel-shard-degree", "training.data-parallel-shard-degree", least=-1)
    shard = -1 if shard is None else shard
    copies = flags.number("parallelism.data-parallel-replicate-degree", "training.data-parallel-replicate-degree") or 1
    dp = replicas(flags, gpus, replica) if gpus or "nproc-per-node" in flags.values else abs(shard) * copies
    if shard == -1:
        shard = max(1, dp // copies)
    if shard * copies != dp:
        expected = f"expected degrees of data parallelism whose product is {dp}, the devices by the other degrees"
        raise InputError(expected, value=f"{copies} x {shard}", where="--parallelism.data-parallel-shard-degree")
    return shard, dp


def _family(flags: Flags, pp: int) -> tuple[str, int]:
    """The family, and chunks of a device where it leaves them open."""
    name = flags.text("parallelism.pipeline-parallel-schedule", "experimental.pipeline-parallel-schedule") or "1F1B"
    if name.lower() not in SCHEDULES:
        known = "GPipe, 1F1B, Interleaved1F1B, LoopedBFS, InterleavedZeroBubble, ZBVZeroBubble, DualPipeV"
        raise InputError(f"expected one of {known}", value=name, where="--parallelism.pipeline-parallel-schedule")
    family = SCHEDULES[name.lower()]
    return family, CHUNKS if pp > 1 and family in ("interleaved-1f1b", "looped-bfs", "interleaved-zero-bubble") else 1


def _model(flags: Flags) -> str:
    """The network's name: llama3 and 8B are llama3-8b."""
    name, flavor = flags.text("model.name"), flags.text("model.flavor")
    if name is None or flavor is None:
        raise InputError(f"missing --model.{'name' if name is None else 'flavor'}")
    return f"{name}-{flavor}".lower().replace("_", "-")


def _global(flags: Flags, default: int) -> int:
    """Samples of an iteration; -1 is one local batch of each rank."""
    given = flags.number("training.global-batch-size", least=-1)
    return default if given in (None, -1) else given
