"""Write instances/inner: short bubbles on four devices, one instance for every schedule family: `python instances/make_inner.py [FOLDER]`.

A forward takes 12 ms a device, blocks of fill jobs 1.5 to 9 ms, so that a bubble holds few of them and most bubbles are inner ones.
"""

from __future__ import annotations

from compose import Draw, config, instance_text, main

SEED = 4100
LENGTHS = (1, 2)
"""H of one family after the other; 4 where the backward is split, for these have little idle time an iteration."""
FAMILIES = {
    "gpipe": "m",
    "1f1b": "m",
    "1f1b-overlap": "m",
    "looped-bfs": "mv",
    "interleaved-1f1b": "mv",
    "interleaved-overlap": "mv",
    "zb-h1": "split",
    "zb-h2": "split",
    "zb-greedy": "split",
    "zbv": "split v",
    "v-half": "split v",
    "v-min": "split v",
    "interleaved-zero-bubble": "split mv",
    "hanayo": "mv",
    "chimera": "m",
    "dualpipe": "split",
    "dualpipev": "split v",
    "forward-only": "m",
}
"""Its name and what it takes: two chunks a device that it states (mv) or that are stated (v), split backward."""


def main_text(family: str, takes: str) -> str:
    """A MAIN file of four devices with eight micro-batches."""
    chunked = "v" in takes
    schedule = f"family: {family}, devices: 4, microbatches: 8" + (", chunks: 2" if "mv" in takes else "")
    if family != "forward-only":
        schedule += ", step: true"
    each = 6 if chunked else 12
    split = "split" in takes
    back = f"I: {each}, W: {each}" if split else "" if family == "forward-only" else f"B: {2 * each}"
    step = "" if family == "forward-only" else "STEP: 4"
    durations = ", ".join(part for part in (f"F: {each}", back, step) if part)
    freed = f", freed_by_I: {100 if chunked else 200}MB" if split else ""
    return f"""\
# {family}, four devices, eight micro-batches; a forward takes 12 ms a device, a backward 24 ms. All figures are illustrative.
schedule: {{{schedule}}}
durations: {{unit: ms, {durations}}}
communication: {{mode: lag, lag: 800us}}
memory: {{capacity: 16GB, reserve: 1GB, static: 9GB, activation: {200 if chunked else 400}MB{freed}}}
"""


def instance(number: int, family: str) -> str:
    """The fill jobs of one family: two inference ones, one with carried bytes, a training one."""
    draw = Draw(SEED + number)
    jobs = [
        {
            "name": f"infer{k}",
            "copies": draw.between((3, 9)),
            "configs": [
                config(
                    "bs4", 4, draw.between((500, 1200), 100), draw.inference(blocks, us, work=(100, 500), carry=carry)
                ),
            ],
        }
        for k, blocks, us, carry in (
            (1, draw.between((3, 5)), (1500, 4500), (0, 0)),
            (2, draw.between((4, 6)), (2500, 9000), (40, 200)),
        )
    ]
    resident = draw.between((700, 1500), 100)
    jobs.append(
        {
            "name": "train",
            "copies": draw.between((2, 6)),
            "configs": [config("bs2", 2, resident, draw.training(3, (1500, 4000), work=(100, 300), saved=(100, 400)))],
        }
    )
    comment = f"Short bubbles of {family}: few operators fit each, most bubbles are inner ones. Jobs drawn, seed {SEED + number}."
    return instance_text(
        [comment],
        {
            "main": {"file": f"main-{family}.yaml", "count": 4},
            "iterations": 4 if "split" in FAMILIES[family] else LENGTHS[number % len(LENGTHS)],
            "guard": {"fraction": 0.95},
            "switch": {"enter": "300us", "leave": "200us", "between": "200us"},
            "jobs": jobs,
        },
    )


def files() -> dict[str, str]:
    """{name: text} of the family's files."""
    texts = {}
    for number, (family, takes) in enumerate(FAMILIES.items()):
        texts[f"main-{family}.yaml"] = main_text(family, takes)
        texts[f"{family}.yaml"] = instance(number, family)
    return texts


if __name__ == "__main__":
    main("inner", files)
