"""Megatron-LM's flags as a MAIN document by model: sizes of the network, parallelism, batches, recomputation."""

from __future__ import annotations

import re
from math import gcd
from typing import Any, Final

from pipefill_opt.errors import InputError
from pipefill_opt.workload.flags.words import Flags
from pipefill_opt.workload.model.network_file import network_from_document

UNKNOWN: Final = (
    "multi-latent-attention",
    "mtp-num-layers",
    "pipeline-model-parallel-layout",
    "pipeline-model-parallel-split-rank",
    "use-torch-fsdp2",
    "use-megatron-fsdp",
    "use-custom-fsdp",
)
"""Flags that make a job another one, and that MAIN has no word for, or a model by name does: `deepseek-v3`."""
FUSED: Final = ("flash", "fused", "auto")
"""Attention backends that never write scores; `auto` is the default where Transformer Engine runs."""
EVERY_LAYER: Final = re.compile(r"1|[(\['\"]*1[\])]*\*[0-9]+[)'\"]*")
"""Values of --moe-layer-freq by which every layer has experts."""


def is_megatron(flags: Flags) -> bool:
    """Whether these are Megatron-LM's: they name a model by its sizes."""
    return "hidden-size" in flags.values or "num-layers" in flags.values


def megatron_document(flags: Flags, hardware: str, gpus: int | None) -> dict[str, Any]:
    """MAIN. gpus: of the job; else nodes times processes of a node where torchrun's flags say so, else one replica. Raises InputError."""
    _refuse(flags)
    tp = flags.number("tensor-model-parallel-size") or 1
    pp = flags.number("pipeline-model-parallel-size") or 1
    cp = flags.number("context-parallel-size") or 1
    dp = replicas(flags, gpus, tp * pp * cp)
    microbatch = flags.needed("micro-batch-size")
    layers = flags.needed("num-layers")
    chunks = _chunks(flags, layers, pp)
    parallel = {
        "tp": tp,
        "pp": pp,
        "dp": dp,
        "cp": cp,
        "ep": flags.number("expert-model-parallel-size") or 1,
        "vp": chunks,
    }
    stated = flags.number("expert-tensor-parallel-size")
    each = gcd(tp, tp * cp * dp // parallel["ep"])
    if stated is not None and parallel["ep"] > 1 and stated != each:
        expected = f"expected {each}, as many as divide an expert in MAIN"
        raise InputError(expected, value=stated, where="--expert-tensor-parallel-size")
    document: dict[str, Any] = {
        "model": _network(flags, layers),
        "hardware": hardware,
        "parallel": {key: value for key, value in parallel.items() if value > 1},
        "global_batch": flags.number("global-batch-size") or microbatch * dp,
        "microbatch": microbatch,
        "sequence": flags.needed("seq-length", "encoder-seq-length"),
        "precision": _precision(flags),
        "recompute": _recompute(flags),
        "attention": _attention(flags),
    }
    if optimizer := _optimizer(flags):
        document["optimizer"] = optimizer
    if flags.is_set("sequence-parallel") and tp > 1:
        document["sequence_parallel"] = True
    if flags.is_set("no-async-tensor-model-parallel-allreduce"):
        document["async_tensor"] = False
    if flags.is_set("use-distributed-optimizer"):
        document["zero"] = 1
    count = document["global_batch"] // (microbatch * dp)
    if chunks > 1 and count % pp:
        raise InputError(
            f"expected a multiple of {pp} micro-batches with virtual stages", value=count, where="--global-batch-size"
        )
    split = _split(flags, layers, pp, chunks)
    return document | ({"split": split} if split else {})


def replicas(flags: Flags, gpus: int | None, replica: int) -> int:
    """Data-parallel replicas of so many devices each."""
    nodes, processes = flags.number("nnodes"), flags.number("nproc-per-node")
    stated = None if processes is None else (nodes or 1) * processes
    if gpus is not None and stated is not None and gpus != stated:
        raise InputError(f"expected {stated}, nodes x processes of a node", value=gpus, where="--gpus")
    total = gpus or stated or replica
    if total % replica:
        expected = f"expected a multiple of tensor x pipeline x context parallelism, {replica}"
        raise InputError(expected, value=total, where="devices")
    return total // replica


def _chunks(flags: Flags, layers: int, pp: int) -> int:
    """Chunks of a device, from the layers of each or their number."""
    each = flags.number("num-layers-per-virtual-pipeline-stage")
    count = flags.number("num-virtual-stages-per-pipeline-rank")
    if each is not None and count is not None and each * count * pp != layers:
        where = "--num-virtual-stages-per-pipeline-rank"
        raise InputError(
            f"expected {layers // pp // each or 1}, or no number of layers a stage", value=count, where=where
        )
    if each is not None:
        if layers % (each * pp):
            expected = f"expected a divisor of the {layers} layers by {pp} devices"
            raise InputError(expected, value=each, where="--num-layers-per-virtual-pipeline-stage")
        count = layers // (each * pp)
    if count is not None and count > 1 and pp == 1:
        raise InputError("expected pipeline-model-parallel-size above 1 with virtual stages", value=pp)
    return count or 1


def _split(flags: Flags, layers: int, pp: int, chunks: int) -> list[int] | None:
    """Layers of each stage, where the first and the last device have others; else all the same, as Megatron-LM wants them."""
    first = flags.number("decoder-first-pipeline-num-layers", least=0)
    last = flags.number("decoder-last-pipeline-num-layers", least=0)
    front, back = (flags.is_set(f"account-for-{end}-in-pipeline-split") for end in ("embedding", "loss"))
    if front or back:
        if first is not None or last is not None:
            raise InputError(
                "expected embedding and loss counted as layers, or layers of the first and the last device"
            )
        return _counted(layers, pp * chunks, front, back)
    if first is None and last is None:
        if layers % (pp * chunks):
            raise InputError(f"expected a multiple of {pp * chunks} stages", value=layers, where="--num-layers")
        return None
    if chunks > 1:
        raise InputError("expected no virtual stages with layers of the first or the last device", value=chunks)
    rest, inner = layers - (first or 0) - (last or 0), pp - (first is not None) - (last is not None)
    if inner < 1 or rest < inner or rest % inner:
        raise InputError(f"expected {rest} layers to be a multiple of {inner} devices between", value=layers)
    middle = [rest // inner] * inner
    return [*([] if first is None else [first]), *middle, *([] if last is None else [last])]


def _counted(layers: int, stages: int, front: bool, back: bool) -> list[int]:
    """Layers of each stage, where the embedding, the loss, or both count as one."""
    if (layers + front + back) % stages:
        expected = f"expected a multiple of {stages} stages, embedding and loss counted as --account-for-... say"
        raise InputError(expected, value=layers + front + back, where="--num-layers")
    counts = [(layers + front + back) // stages] * stages
    counts[0] -= front
    counts[-1] -= back
    return counts


def _refuse(flags: Flags) -> None:
    """Flags that would be another job, were they ignored."""
    for name in UNKNOWN:
        if flags.text(name) not in (None, "false"):
            raise InputError("expected no such flag: it has no place in MAIN", where=f"--{name}")
    frequency = flags.text("moe-layer-freq")
    if frequency is not None and not EVERY_LAYER.fullmatch(frequency):
        raise InputError("expected experts in every layer, 1", value=frequency, where="--moe-layer-freq")


def _attention(flags: Flags) -> str:
    """Whether scores are written."""
    backend, flash = flags.text("attention-backend"), flags.is_set("use-flash-attn")
    if backend not in (None, *FUSED, "unfused", "local"):
        raise InputError("expected auto, flash, fused, unfused or local", value=backend, where="--attention-backend")
    if backend is None:
        return "flash" if flash or flags.text("transformer-impl") == "transformer_engine" else "stored"
    return "flash" if backend in FUSED else "stored"


def _optimizer(flags: Flags) -> str | None:
    """Adam with the 32-bit gradients and weights that Megatron-LM keeps beside 16-bit ones; MAIN's own for 32-bit weights."""
    name = flags.text("optimizer")
    if name not in (None, "adam"):
        raise InputError("expected adam", value=name, where="--optimizer")
    if flags.is_set("bf16"):
        return "adam-fp32-gradients"
    return "adam-fp16" if flags.is_set("fp16") else None


def _precision(flags: Flags) -> str:
    fp16, bf16 = flags.is_set("fp16"), flags.is_set("bf16")
    if fp16 and bf16:
        raise InputError("expected one of fp16 and bf16", where="--fp16")
    if flags.text("fp8-format", "fp8"):
        return "fp8"
    return "fp16" if fp16 else "bf16" if bf16 else "fp32"


def _recompute(flags: Flags) -> str:
    granularity = flags.text("recompute-granularity")
    if granularity not in (None, "full", "selective"):
        raise InputError("expected full or selective", value=granularity, where="--recompute-granularity")
    short = flags.is_set("recompute-activations")
    if short and granularity == "full":
        raise InputError(
            "expected no --recompute-activations, which is selective",
            value=granularity,
            where="--recompute-granularity",
        )
    layers = flags.number("recompute-num-layers")
    if layers is not None and (flags.text("recompute-method") == "block" or layers > 1):
        expected = "expected every layer computed again from its own input: uniform, 1"
        raise InputError(expected, value=layers, where="--recompute-num-layers")
    if granularity is None and flags.text("recompute-method"):  # before 2022 the method alone asked for it
        return "full"
    flags.text("recompute-method")
    return granularity or ("selective" if short else "none")


def _network(flags: Flags, layers: int) -> dict[str, Any]:
    """A decoder of these sizes."""
    hidden, heads = flags.needed("hidden-size"), flags.needed("num-attention-heads")
    vocabulary = flags.number("padded-vocab-size", "vocab-size") or 51200
    positions = flags.text("position-embedding-type") in (None, "learned_absolute")
    length = flags.number("max-position-embeddings") or flags.needed("seq-length", "encoder-seq-length")
    tied = not flags.is_set("untie-embeddings-and-output-weights")
    common = {
        "hidden": hidden,
        "norm": "rms" if flags.text("normalization") == "RMSNorm" else "layer",
        "dropout": flags.text("hidden-dropout") not in ("0", "0.0"),
    }
    block = {"heads": heads, "bias": not flags.is_set("disable-bias-linear"), **_mlp(flags), **common}
    grouped = flags.number("num-query-groups")
    if flags.is_set("group-query-attention") or grouped:
        block["kv_heads"] = grouped or 1
    if width := flags.number("kv-channels"):
        block["head_width"] = width
    entries = [
        {
            "name": "embedding",
            "template": "embedding",
            "vocabulary": vocabulary,
            "positions": length if positions else 0,
        }
        | {key: common[key] for key in ("hidden", "dropout")},
        {"name": "block", "template": "decoder", "count": layers, **block},
        {"name": "head", "template": "head", "vocabulary": vocabulary, "tied": tied}
        | {key: common[key] for key in ("hidden", "norm")},
    ]
    network: dict[str, Any] = {
        "name": f"decoder of {layers} layers, width {hidden}",
        "kind": "decoder",
        "sequence": flags.needed("seq-length", "encoder-seq-length"),
        "published": {"parameters": 1, "provenance": "derived"},
        "sources": ["Megatron-LM's flags"],
        "layers": entries,
    }
    network["published"]["parameters"] = network_from_document(network).parameters
    return network


def _mlp(flags: Flags) -> dict[str, Any]:
    entry: dict[str, Any] = {}
    if flags.is_set("swiglu"):
        entry |= {"gated": True, "activation": "silu"}
    if width := flags.number("ffn-hidden-size"):
        entry["ffn"] = width
    if experts := flags.number("num-experts"):
        entry |= {"experts": experts, "active": flags.number("moe-router-topk") or 2}
        if width := flags.number("moe-ffn-hidden-size"):
            entry["ffn"] = width
        if width := flags.number("moe-shared-expert-intermediate-size"):
            entry["shared_ffn"] = width
    return entry
