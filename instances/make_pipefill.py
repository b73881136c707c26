"""Write instances/pipefill: PipeFill's 40B main job on 1K to 16K GPUs, GPipe and 1F1B: `python instances/make_pipefill.py [FOLDER]`.

Arfeen et al., arXiv 2410.07192: TP 8, PP 16, fill jobs EfficientNet, BERT-base and -large, Swin-large, XLM-RoBERTa-XL, training only
below 700M parameters, else batch inference. What the files state that was not read in the paper is marked: `derived`, `unverified`
(as people recall it), or `illustrative`. Nothing here is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass

from compose import Fields, config, instance_text, main, operator, train

SCALES = {64: "1k", 32: "2k", 16: "4k", 8: "8k", 4: "16k"}
"""Micro-batches: GPUs."""
FAMILIES = ("gpipe", "1f1b")
SWAPPED = (8, 4)
"""Micro-batches of the instances in which BERT-large inference lives in host memory."""
RATE = 45
"""TFLOP/s that a V100 reaches on large batches, illustrative; two thirds of it on small ones."""


@dataclass(frozen=True)
class Net:
    """A fill job's net.

    params: millions (its paper). gflops: of a sample's forward (its paper, or 2 x parameters x tokens + attention). blocks: equal parts
    that its layers are cut into. saved: MB that a sample leaves for its backward in all layers, by the formula of Korthikanti et al.,
    arXiv 2205.05198, for the transformers.
    """

    name: str
    params: int
    gflops: int
    blocks: int
    saved: int
    batch: int


NETS = (
    Net("efficientnet", 66, 37, 7, 560, 4),  # B7: Tan and Le, arXiv 1905.11946; saved is illustrative
    Net("bert-base", 110, 97, 4, 350, 4),  # Devlin et al., arXiv 1810.04805; 512 tokens
    Net("bert-large", 340, 335, 8, 930, 2),
    Net("swin-large", 197, 69, 8, 640, 4),  # Liu et al., arXiv 2103.14030; 224 px; saved is illustrative
    Net("xlm-r-xl", 3500, 3000, 12, 0, 4),  # Goyal et al., arXiv 2105.00572; 512 tokens
)


def ticks(net: Net, samples: int, *, large: bool) -> int:
    """us of one block's forward."""
    rate = RATE if large else 2 * RATE // 3
    return max(1, round(net.gflops * samples * 1000 / (rate * net.blocks)))


def infer(net: Net, copies: int, *, keep: bool = True) -> Fields:
    """Batch inference, with a small and a large batch; half precision, or 8 bits and streamed weights where that does not fit."""
    inside = max(20, net.saved // net.blocks // 2)
    configs = []
    for samples in (net.batch, 4 * net.batch):
        block = operator(
            "block", ticks(net, samples, large=samples > net.batch), inside * samples, 2 * samples, net.blocks
        )
        configs.append(config(f"bs{samples}", samples, 2 * net.params, [block]))
    if net.params > 700:
        inside = 40
        small = operator("block", ticks(net, 4, large=False), inside * 4, 8, net.blocks)
        # a block's weights, 7000 MB / 12, come over a link of 12 GB/s while the one before computes: 49 ms at the least
        streamed = operator(
            "block", max(49_000, ticks(net, 16, large=True)), inside * 16 + 7000 // net.blocks, 32, net.blocks
        )
        configs = [config("int8-bs4", 4, net.params, [small]), config("streamed-bs16", 16, 1300, [streamed])]
    fields: Fields = {"name": f"{net.name}-infer", "copies": copies}
    return fields | ({} if keep else {"keep": False}) | {"configs": configs}


def training(net: Net, copies: int) -> Fields:
    """Training in mixed precision, 16 bytes a parameter: plain, with recomputation, and with 12 of the 16 in host memory."""
    forward = [ticks(net, net.batch, large=False)] * net.blocks
    saved = [net.saved * net.batch // net.blocks] * net.blocks
    state, update = 16 * net.params, 16 * net.params * 1000 // 600_000 + 1  # at 600 GB/s of device memory
    away = 8 * net.params * 1000 // 12_000  # gradients out and weights in, 2 bytes each twice, over 12 GB/s
    return {
        "name": f"{net.name}-train",
        "copies": copies,
        "configs": [
            config("plain", net.batch, state, train(forward, saved, 100, update=update * 1000)),
            config("recompute", net.batch, state, train(forward, saved, 100, recompute=True, update=update * 1000)),
            config(
                "offload", net.batch, 4 * net.params, train(forward, saved, 100, recompute=True, update=away * 1000)
            ),
        ],
    }


def main_text(family: str, microbatches: int) -> str:
    """The main job."""
    return f"""\
# PipeFill's 40B main job (Arfeen et al., arXiv 2410.07192): TP 8, PP 16, {SCALES[microbatches].upper()} GPUs, m = {microbatches}, {family}.
# PP, m: derived from days of training, 82 : 34 : 26 on 1K, 4K, 8K GPUs. STEP: three slots of other overhead, the one fitted parameter.
# F + B = 180 ms: derived from 82 days for 10^12 tokens at 1024 x 2048 tokens an iteration, which is illustrative, as is B = 2F.
schedule: {{family: {family}, devices: 16, microbatches: {microbatches}, step: true}}
durations: {{unit: ms, F: 60, B: 120, STEP: 540}}
# V100; about 4.5 GB free in bubbles: unverified. Taken as constant.
memory: {{capacity: 16GB, static: 11.5GB, activation: 0}}
"""


def instance(family: str, microbatches: int) -> str:
    """Nine fill jobs, each with copies for an eighth of the GPUs."""
    gpus = 16 * 64 * 64 // microbatches
    copies = gpus // 8
    jobs = [training(net, copies) for net in NETS if net.params < 700]
    jobs += [infer(net, copies, keep=net.name != "bert-large" or microbatches not in SWAPPED) for net in NETS]
    return instance_text(
        [
            f"PipeFill's fill jobs on {gpus} GPUs, main job main-{family}-{SCALES[microbatches]}.yaml. Nets: their papers; what a V100",
            "makes of them is illustrative (make_pipefill.py has the figures). Guard: the fill fraction of 0.68, unverified. Switch",
            "costs: illustrative.",
        ],
        {
            "main": {"file": f"main-{family}-{SCALES[microbatches]}.yaml", "count": gpus // 16},
            "guard": {"fraction": 0.68},
            "switch": {"enter": "2ms", "leave": "1ms", "between": "1ms", "h2d": "12GB/s", "d2h": "12GB/s"},
            "jobs": jobs,
        },
    )


def files() -> dict[str, str]:
    """{name: text} of the family's files."""
    texts = {}
    for family in FAMILIES:
        for microbatches, gpus in SCALES.items():
            texts[f"main-{family}-{gpus}.yaml"] = main_text(family, microbatches)
            texts[f"{family}-{gpus}.yaml"] = instance(family, microbatches)
    return texts


if __name__ == "__main__":
    main("pipefill", files)
