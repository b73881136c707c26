"""Write instances/switch: changing costs a tenth of a bubble and more: `python instances/make_switch.py [FOLDER]`.

Odd ones have one time for a change of job, even ones a table of every pair, drawn anew for each. Every fourth has a swapped job.
"""

from __future__ import annotations

from compose import Draw, config, instance_text, main, time

SEED = 4300
NUMBER = 10
LENGTHS = (
    ("fill-drain", (22_000, 45_000)),
    ("inner", (8_000, 14_000)),
    ("fwd-bwd", (18_000, 40_000)),
    ("inner", (8_000, 14_000)),
)
NAMES = ("infer1", "infer2", "infer3", "train")


def instance(number: int) -> str:
    """One or two classes, three inference jobs and a training one."""
    draw = Draw(SEED + number)
    devices = [
        {
            "name": f"stage{c}",
            "count": draw.between((1, 4)),
            "resident_free": f"{draw.between((2400, 3600), 100)}MB",
            "bubbles": draw.bubbles(LENGTHS, (4000, 6000)),
        }
        for c in range(1 + number % 2)
    ]
    jobs = []
    for k, name in enumerate(NAMES):
        if name == "train":
            chain = draw.training(2, (1500, 3500), work=(100, 300), saved=(50, 200))
        else:
            chain = draw.inference(draw.between((3, 5)), (1500, 6500), work=(100, 500), carry=(0, 100))
        job = {
            "name": name,
            "copies": draw.between((2, 5)),
            "configs": [config("bs4", 4, draw.between((900, 1500), 100), chain)],
        }
        if k == 0 and number % 4 == 0:
            job = {
                "name": name,
                "copies": job["copies"],
                "keep": False,
                "configs": [config("bs4", 4, 10 * draw.between((1, 4)), chain)],
            }
        jobs.append(job)
    switch = {"enter": time(draw.between((900, 2500), 100)), "leave": time(draw.between((300, 1200), 100))}
    switch["between"] = (
        time(draw.between((600, 2500), 100))
        if number % 2
        else {a: {b: time(draw.between((200, 4000), 100)) for b in NAMES} for a in NAMES}
    )
    if number % 4 == 0:
        switch |= {"h2d": "20GB/s", "d2h": "20GB/s"}
    return instance_text(
        [f"Switching costs a tenth of a bubble and more. Drawn, seed {SEED + number}."],
        {"period": "260ms", "iterations": (1, 2, 1, 3)[number % 4], "devices": devices, "switch": switch, "jobs": jobs},
    )


def files() -> dict[str, str]:
    """{name: text} of the family's files."""
    return {f"switch-{number:02}.yaml": instance(number) for number in range(1, NUMBER + 1)}


if __name__ == "__main__":
    main("switch", files)
