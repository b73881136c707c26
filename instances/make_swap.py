"""Write instances/swap: long bubbles, little memory between them: `python instances/make_swap.py [FOLDER]`.

Swapped jobs live in host memory and are moved in and out over the link in every bubble they visit; a small kept job may stay.
"""

from __future__ import annotations

from compose import Draw, config, instance_text, main

SEED = 4500
NUMBER = 24
LENGTHS = (
    ("fill-drain", (200_000, 500_000)),
    ("inner", (80_000, 180_000)),
    ("fwd-bwd", (160_000, 400_000)),
    ("inner", (80_000, 180_000)),
)


def instance(number: int) -> str:
    """One to three classes, two swapped jobs, one or two kept ones; carried bytes move too."""
    draw = Draw(SEED + number)
    devices = [
        {
            "name": f"stage{c}",
            "count": draw.between((1, 4)),
            "resident_free": f"{draw.between((600, 1500), 100)}MB",
            "bubbles": draw.bubbles(LENGTHS[: 3 + number % 2], (3000, 6000), gap=(60_000, 120_000)),
        }
        for c in range(1 + number % 3)
    ]
    jobs = []
    for k in range(2):
        resident = draw.between((200, 1100), 50)
        if draw.pick((False, True)):
            chain = draw.training(2, (6_000, 20_000), work=(100, 400), saved=(50, 300))
        else:
            chain = draw.inference(draw.between((3, 5)), (8_000, 45_000), work=(200, 900), carry=(20, 200))
        jobs.append(
            {
                "name": f"swapped{k + 1}",
                "copies": draw.between((1, 4)),
                "keep": False,
                "configs": [config("bs8", 8, resident, chain)],
            }
        )
    for k in range(1 + number % 2):
        chain = draw.inference(draw.between((2, 4)), (5_000, 30_000), work=(100, 500), carry=(0, 100))
        resident = draw.between((300, 900), 50)
        jobs.append(
            {"name": f"kept{k + 1}", "copies": draw.between((1, 3)), "configs": [config("bs4", 4, resident, chain)]}
        )
    link = draw.pick(("12GB/s", "24GB/s"))
    return instance_text(
        [f"Swapped jobs over a link of {link} beside small kept ones. Drawn, seed {SEED + number}."],
        {
            "period": "2s",
            "iterations": (1, 2)[number % 2],
            "devices": devices,
            "guard": {"fraction": 0.9},
            "switch": {"enter": "2ms", "leave": "1ms", "between": "1ms", "h2d": link, "d2h": link},
            "jobs": jobs,
        },
    )


def files() -> dict[str, str]:
    """{name: text} of the family's files."""
    return {f"swap-{number:02}.yaml": instance(number) for number in range(1, NUMBER + 1)}


if __name__ == "__main__":
    main("swap", files)
