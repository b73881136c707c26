"""Write instances/memory: memory decides what runs where: `python instances/make_memory.py [FOLDER]`.

Free bytes differ from bubble to bubble, training steps carry their activations from bubble to bubble, and configurations trade
memory for time (recomputation, state in host memory, smaller batches). Two residents fit if one of them rests at a light place.
"""

from __future__ import annotations

from compose import Draw, Fields, config, instance_text, main

SEED = 4200
NUMBER = 10
PERIOD = "450ms"
LENGTHS = (
    ("fill-drain", (30_000, 70_000)),
    ("inner", (10_000, 20_000)),
    ("fwd-bwd", (25_000, 60_000)),
    ("inner", (10_000, 20_000)),
)


def training(draw: Draw, name: str, blocks: int) -> Fields:
    """A training job: plain, with recomputation, and with its optimizer's state in host memory, which makes the update slow."""
    state = draw.between((1000, 1800), 100)
    seed = draw.between((0, 10**6))
    chains = [
        Draw(seed).training(blocks, (2500, 7000), work=(150, 400), saved=(250, 700), recompute=recompute)
        for recompute in (False, True, False)
    ]
    chains[2][-1]["duration"] = f"{draw.between((6, 12))}ms"
    return {
        "name": name,
        "copies": draw.between((2, 6)),
        "configs": [
            config("plain", 2, state, chains[0]),
            config("recompute", 2, state, chains[1]),
            config("offload", 2, state // 3, chains[2]),
        ],
    }


def instance(number: int) -> str:
    """Two or three classes, two training jobs and an inference job with two batch sizes."""
    draw = Draw(SEED + number)
    devices = []
    for c in range(2 + number % 2):
        bubbles = draw.bubbles(LENGTHS, (2500, 6000))
        least = min(int(bubble["free"][:-2]) for bubble in bubbles)
        devices.append(
            {"name": f"stage{c}", "count": draw.between((1, 4)), "resident_free": f"{least}MB", "bubbles": bubbles}
        )
    resident = draw.between((500, 1200), 100)
    small, large = draw.batches(3, (3000, 6000), work=(200, 700), carry=(50, 300))
    infer = {
        "name": "infer",
        "copies": draw.between((2, 6)),
        "configs": [config("bs4", 4, resident, small), config("bs8", 8, resident, large)],
    }
    jobs = [training(draw, "train1", 2), training(draw, "train2", 2 + number % 2), infer]
    return instance_text(
        [
            f"Memory decides: carried activations, configurations, bubbles with more and less room. Drawn, seed {SEED + number}."
        ],
        {
            "period": PERIOD,
            "iterations": (1, 2)[number % 2],
            "devices": devices,
            "switch": {"enter": "500us", "leave": "300us", "between": "300us"},
            "jobs": jobs,
        },
    )


def files() -> dict[str, str]:
    """{name: text} of the family's files."""
    return {f"memory-{number:02}.yaml": instance(number) for number in range(1, NUMBER + 1)}


if __name__ == "__main__":
    main("memory", files)
