"""Write instances/large: 16 to 64 classes, 16,384 GPUs, 200 job kinds, 10,000 copies: `python instances/make_large.py [FOLDER]`.

- `1f1b-16`, `gpipe-32`, `1f1b-64`: the devices of one main job, as many pipelines of it as 16,384 GPUs hold.
- `mixed-48`: 48 classes of three GPU generations, short bubbles, less memory, some jobs swapped.
"""

from __future__ import annotations

from compose import Draw, Fields, config, instance_text, main, operator, size, train

SEED = 4600
KINDS = 200
COPIES = 10_000
DEVICES = 16_384
MAINS = {
    "1f1b-16": ("1f1b", 16, 8, (60, 120), "capacity: 16GB, reserve: 1GB, static: 9GB, activation: 100MB"),
    "gpipe-32": ("gpipe", 32, 32, (24, 48), "capacity: 16GB, reserve: 1GB, static: [STATIC], activation: 40MB"),
    "1f1b-64": ("1f1b", 64, 8, (18, 36), "capacity: 16GB, reserve: 1GB, static: 10GB, activation: 200MB"),
}
"""Name: family, devices, micro-batches, ms of a forward and a backward, memory."""


def main_text(name: str, draw: Draw) -> str:
    """The MAIN file of an instance."""
    family, devices, microbatches, (forward, backward), memory = MAINS[name]
    static = ", ".join(size(draw.between((9000, 12500), 500)) for _ in range(devices))
    return f"""\
# The main job of {name}.yaml: {DEVICES // devices} pipelines. All figures are illustrative.
schedule: {{family: {family}, devices: {devices}, microbatches: {microbatches}, step: true}}
durations: {{unit: ms, F: {forward}, B: {backward}, STEP: 50}}
communication: {{mode: lag, lag: 0}}
memory: {{{memory.replace("STATIC", static)}}}
"""


def blocks(draw: Draw, scale: int) -> list[Fields]:
    """One to four different blocks of a net."""
    return draw.inference(draw.between((1, 4)), (12 * scale, 80 * scale), work=(100, 900), carry=(0, 150))


def layers(draw: Draw, scale: int) -> list[Fields]:
    """Equal layers, then a head. What is carried after any layer is the same."""
    number, carry = draw.between((6, 24), 6), draw.between((0, 60), 10)
    work = draw.between((100, 600), 10)
    return [
        operator("layer", draw.between((3 * scale, 20 * scale), 100), carry + work, carry, repeat=number),
        operator("head", draw.between((3 * scale, 12 * scale), 100), carry + work),
    ]


def step(draw: Draw, scale: int) -> list[Fields]:
    """A training step over two to five blocks."""
    number = draw.between((2, 5))
    forward = [draw.between((8 * scale, 30 * scale), 100) for _ in range(number)]
    saved = [draw.between((40, 250), 10) for _ in range(number)]
    return train(forward, saved, draw.between((100, 400), 10))


def job(draw: Draw, k: int, copies: int, *, scale: int, most: int, swaps: bool) -> Fields:
    """A job kind; a third of those without a training step have a second, larger batch."""
    chain = draw.pick((blocks, blocks, blocks, layers, layers, step))
    resident = draw.between((200, most), 50)
    swapped = swaps and k % 10 == 0
    if swapped:
        resident = draw.between((20, 80), 10)
    fields: Fields = {"name": f"kind{k:03}", "copies": copies}
    if swapped:
        fields["keep"] = False
    if chain is blocks and draw.pick((True, False, False)):
        small, large = draw.batches(draw.between((1, 3)), (12 * scale, 60 * scale), work=(100, 500), carry=(0, 80))
        fields["configs"] = [config("bs8", 8, resident, small), config("bs16", 16, resident, large)]
    else:
        fields["configs"] = [config("bs8", 8, resident, chain(draw, scale))]
    return fields


def jobs(draw: Draw, *, scale: int, most: int, swaps: bool = False) -> list[Fields]:
    """All kinds, with 10 copies each and the others of the 10,000 drawn one by one. scale: us; most: MB resident."""
    copies = [10] * KINDS
    for _ in range(COPIES - sum(copies)):
        copies[draw.between((0, KINDS - 1))] += 1
    return [job(draw, k, number, scale=scale, most=most, swaps=swaps) for k, number in enumerate(copies)]


def of_main(name: str, draw: Draw) -> str:
    """An instance on the devices of a main job."""
    _, devices, microbatches, _, _ = MAINS[name]
    scale = 100 if devices < 64 else 60
    return instance_text(
        [
            f"Large: {devices} classes of {DEVICES // devices} devices, {KINDS} job kinds, {COPIES} copies "
            f"({MAINS[name][0]}, m = {microbatches})."
        ],
        {
            "main": {"file": f"main-{name}.yaml", "count": DEVICES // devices},
            "guard": {"fraction": 0.9},
            "switch": {"enter": "1ms", "leave": "500us", "between": "500us"},
            "jobs": jobs(draw, scale=scale, most=3500),
        },
    )


def mixed(draw: Draw) -> str:
    """48 classes, drawn one by one; the counts sum to 16,384."""
    counts = [draw.between((200, 480)) for _ in range(47)]
    counts.append(DEVICES - sum(counts))
    kinds = (
        ("fill-drain", (15_000, 70_000)),
        ("inner", (10_000, 30_000)),
        ("fwd-bwd", (15_000, 70_000)),
        ("inner", (10_000, 30_000)),
    )
    devices = []
    for c, count in enumerate(counts):
        speed, room = ((1.0, (1500, 4500)), (1.6, (2000, 6000)), (2.4, (2500, 9000)))[c % 3]
        bubbles = draw.bubbles(kinds[: draw.between((2, 4))], room)
        least = min(int(bubble["free"][:-2]) for bubble in bubbles)
        devices.append(
            {"name": f"class{c:02}", "count": count, "speed": speed, "resident_free": f"{least}MB", "bubbles": bubbles}
        )
    assert counts[-1] > 0
    return instance_text(
        [
            f"Large: 48 classes of three GPU generations, {DEVICES} devices, {KINDS} job kinds, {COPIES} copies, every tenth kind swapped."
        ],
        {
            "period": "350ms",
            "devices": devices,
            "switch": {"enter": "800us", "leave": "400us", "between": "400us", "h2d": "24GB/s", "d2h": "24GB/s"},
            "jobs": jobs(draw, scale=60, most=3000, swaps=True),
        },
    )


def files() -> dict[str, str]:
    """{name: text} of the family's files."""
    texts = {}
    for number, name in enumerate(MAINS):
        draw = Draw(SEED + number)
        texts[f"main-{name}.yaml"] = main_text(name, draw)
        texts[f"{name}.yaml"] = of_main(name, draw)
    texts["mixed-48.yaml"] = mixed(Draw(SEED + len(MAINS)))
    return texts


if __name__ == "__main__":
    main("large", files)
