"""Write instances/freeride/*.yaml from FreeRide's published figures: `python instances/make_freeride.py SIDE_TASKS_CSV`.

The CSV has a row for each profiled side task (columns model, mode, batch_size, mem_bytes, median_step_s), as read
from the FreeRide artifact (github.com/jiashu-z/freeride; Zhang et al., arXiv 2409.06941). The files written are
committed and need nothing else. `# seen`: the number is in the artifact. `# derived`: computed from seen ones, how is said.
`# illustrative`: neither.
"""

from __future__ import annotations

import csv
import sys
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

FOLDER = Path(__file__).parent / "freeride"
STEP = Fraction(4_248_000_000)  # ns; 3.6B, m = 4, implied by the artifact's mix run
CARD_GB = 48  # RTX 6000 Ada, its data sheet
SLEEP = 5_000_000  # ns, per side-task step


@dataclass(frozen=True)
class Model:
    """A main job of the artifact: layers, micro-batch, free GB of the four stages."""

    name: str
    layers: int
    microbatch: int
    free: tuple[int, int, int, int]

    def ticks(self, parts: int) -> int:
        """ns of `parts` forwards: 3.6B from its step time; others by layers x micro-batch (width and sequence are the same)."""
        return round(parts * STEP / 21 * self.layers * self.microbatch / (72 * 3))


@dataclass(frozen=True)
class Task:
    """A side task: resident bytes, ns of a step, items a step, and where the numbers come from."""

    name: str
    memory: int
    step: int
    items: int
    source: str


MODELS = (
    Model("1.2b", 24, 12, (5, 12, 21, 32)),
    Model("3.6b", 72, 3, (3, 9, 16, 24)),
    Model("6.0b", 120, 1, (1, 6, 10, 14)),
)
MIX = ("pagerank", "resnet18", "image", "vgg19")
BATCH = 64
ROWS = {
    "resnet18": ("resnet18", "training"),
    "resnet50": ("resnet50", "training"),
    "vgg19": ("vgg19", "training"),
    "graph-sgd": ("sgd", "graph"),
    "pagerank": ("pr", "graph"),
    "image": ("image", "image"),
}


def read_tasks(path: Path) -> dict[str, Task]:
    """The side tasks that the artifact runs beside a main job, at its batch size of 64."""
    with path.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    tasks = {}
    for name, (model, mode) in ROWS.items():
        (row,) = (r for r in rows if (r["model"], r["mode"]) == (model, mode) and r["batch_size"] in ("", str(BATCH)))
        batched = bool(row["batch_size"])
        step = round(Fraction(row["median_step_s"]) * 10**9)
        source = f"batch {BATCH}, median of measured steps" if batched else "a round constant of the artifact"
        tasks[name] = Task(name, int(row["mem_bytes"]), step, BATCH if batched else 1, source)
    return tasks


def milliseconds(ns: int) -> str:
    whole, rest = divmod(ns, 10**6)
    return f"{whole}.{rest:06d}".rstrip("0").rstrip(".") + "ms"


def main_file(model: Model, microbatches: int) -> str:
    forward, backward = model.ticks(1), model.ticks(2)
    step = (microbatches + 3) * (forward + backward)
    exact = model.name == "3.6b" and microbatches == 4
    scaling = (
        "F + B = 4.248 s / 7, B = 2F; 4.248 s is the step time that the artifact's mix run implies"
        if model.name == "3.6b"
        else f"3.6B's times x ({model.layers} layers x micro-batch {model.microbatch}) / (72 x 3); same width and sequence"
    )
    used = ", ".join(f"{CARD_GB - free}GB" for free in model.free)
    return f"""\
# FreeRide (Zhang et al., arXiv 2409.06941; artifact jiashu-z/freeride): main job {model.name.upper()}, p = 4, m = {microbatches}, 1F1B,
# {model.layers} layers, micro-batch {model.microbatch}, sequence 1024, four RTX 6000 Ada. # seen
# Step time here {step / 10**9:.6f} s{"" if exact else "  # derived: the artifact names no step time for this one"}.
schedule: {{family: 1f1b, devices: 4, microbatches: {microbatches}}}  # seen
durations: {{unit: ms, F: {milliseconds(forward)[:-2]}, B: {milliseconds(backward)[:-2]}}}  # derived: {scaling}
communication: {{mode: lag, lag: 0}}  # derived: inside F and B, no figure is published
memory:
  capacity: {CARD_GB}GB  # the card's data sheet
  # derived: {CARD_GB} GB less the published free memory of the stages, {" / ".join(map(str, model.free))} GB # seen; taken as constant
  static: [{used}]
  activation: 0
"""


def job(task: Task, *, copies: int = 1) -> str:
    duration = milliseconds(task.step + SLEEP)
    return f"""\
  - name: {task.name}
    copies: {copies}
    configs:
      - name: {f"bs{BATCH}" if task.items > 1 else "step"}
        samples: {task.items}  # items a step, seen
        resident: {task.memory}B  # seen: largest use; the process keeps it while it waits
        operators: [{{name: step, duration: {duration}, memory: 0}}]  # seen {milliseconds(task.step)} ({task.source}) + 5 ms sleep
"""


HEAD = """\
# FreeRide side tasks on the bubbles of {file}: {what}.
# Sources and marks as there. An operator is one step of a side task and the 5 ms sleep that follows it in FreeRide's loop, so
# that useful GPU time counts the sleep too; items a second can be compared with the artifact's.
{main}
switch: {{enter: 5ms, leave: 0, between: 5ms{links}}}  # derived: mean wait for the artifact's poll, every 10 ms
jobs:
"""


def instance(model: Model, microbatches: int, what: str, jobs: str, *, links: str = "") -> str:
    file = f"main-{model.name}-m{microbatches}.yaml"
    return HEAD.format(file=file, what=what, main=f"main: {{file: {file}}}", links=links) + jobs


SWAPPED = """\
  - name: lstm-inference  # illustrative as a swapped job: its state lives in host memory between bubbles
    keep: false
    configs:
      - name: bs64
        samples: 64
        resident: 24MB  # illustrative: 6M weights of 4 bytes
        operators: [{name: batch, duration: 6.038189ms, memory: 1574685184B}]  # seen: median step; largest use less resident
"""

BLOCKS = """\
  - name: resnet50-blocks  # a step cut into a chain: sums are the measured step and memory, the cut is illustrative
    configs:
      - name: bs64
        samples: 64
        resident: 1GB  # illustrative: weights, gradients, momentum, context
        # durations sum to 88.944912 ms # seen (median step, batch 64) and the 5 ms sleep; largest memory + resident = 8.0642 GB # seen
        operators:
          - {name: forward1, duration: 7.25ms, memory: 3100MB, carry: 2400MB}
          - {name: forward2, duration: 7.25ms, memory: 5000MB, carry: 4200MB}
          - {name: forward3, duration: 7.25ms, memory: 6300MB, carry: 5500MB}
          - {name: forward4, duration: 7.25ms, memory: 7064204800B, carry: 6300MB}
          - {name: backward4, duration: 14.5ms, memory: 7064204800B, carry: 5500MB}
          - {name: backward3, duration: 14.5ms, memory: 6300MB, carry: 4200MB}
          - {name: backward2, duration: 14.5ms, memory: 5000MB, carry: 2400MB}
          - {name: backward1, duration: 14.5ms, memory: 3100MB, carry: 0}
          - {name: update, duration: 6.944912ms, memory: 300MB, carry: 0}
"""


def write_all(tasks: dict[str, Task]) -> None:
    """All MAIN and INSTANCE files."""
    FOLDER.mkdir(exist_ok=True)
    mix = "".join(job(tasks[name]) for name in MIX)
    for model in MODELS:
        for microbatches in (4, 6, 8):
            stem = f"{model.name}-m{microbatches}"
            (FOLDER / f"main-{stem}.yaml").write_text(main_file(model, microbatches), encoding="utf-8")
            text = instance(model, microbatches, "the artifact's mix of four # seen", mix)
            (FOLDER / f"{stem}-mix.yaml").write_text(text, encoding="utf-8")
    model = MODELS[1]
    for name, task in tasks.items():
        text = instance(model, 4, f"{name} alone, a copy for each stage # seen", job(task, copies=4))
        (FOLDER / f"3.6b-m4-{name}.yaml").write_text(text, encoding="utf-8")
    text = instance(
        model, 4, "the artifact's mix of four # seen, a chain with carried bytes, a swapped job", mix + BLOCKS + SWAPPED,
        links=", h2d: 12GB/s, d2h: 12GB/s",
    )  # fmt: skip
    text = text.replace("every 10 ms\n", "every 10 ms; link: illustrative\n")
    (FOLDER / "3.6b-m4-demo.yaml").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_all(read_tasks(Path(sys.argv[1])))
