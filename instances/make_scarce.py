"""Write instances/scarce: fewer copies than devices could use, classes that differ: `python instances/make_scarce.py [FOLDER]`.

Classes differ in bubbles, memory and speed; some jobs fit the roomy ones only. Taking the best pair of class and job first leaves the wrong
devices to the others. The last two are larger.
"""

from __future__ import annotations

from compose import Draw, Fields, config, instance_text, main

SEED = 4400
NUMBER = 12
LARGER = 10
"""From this number on."""


def device(draw: Draw, c: int, most: int) -> Fields:
    """A class with two to four bubbles; small, medium or roomy."""
    room = draw.pick(((1200, 2000), (2000, 3200), (3200, 5000)))
    kinds = (
        ("fill-drain", (15_000, 70_000)),
        ("inner", (8_000, 25_000)),
        ("fwd-bwd", (15_000, 60_000)),
        ("inner", (8_000, 25_000)),
    )
    bubbles = draw.bubbles(kinds[: draw.between((2, 4))], room)
    return {
        "name": f"class{c:02}",
        "count": draw.between((1, most)),
        "speed": draw.pick((0.8, 1.0, 1.0, 1.25)),
        "resident_free": f"{min(int(bubble['free'][:-2]) for bubble in bubbles)}MB",
        "bubbles": bubbles,
    }


def job(draw: Draw, k: int, copies: int) -> Fields:
    """Inference with two batch sizes, or training; small or large ones."""
    roomy = draw.pick((False, True))
    resident = draw.between((1800, 3000) if roomy else (400, 1200), 100)
    us = (3000, 9000) if roomy else (1500, 6000)
    if k % 3 == 2:
        chain = draw.training(2, (us[0] // 2, us[1] // 2), work=(100, 300), saved=(50, 300))
        configs = [config("bs2", 2, resident, chain)]
    else:
        small, large = draw.batches(draw.between((2, 5)), us, work=(100, 500), carry=(0, 80))
        configs = [config("bs4", 4, resident, small), config("bs8", 8, resident, large)]
    return {"name": f"job{k:02}", "copies": copies, "weight": draw.pick((1, 1, 1.1, 1.2)), "configs": configs}


def instance(number: int) -> str:
    """Classes, and jobs whose copies are about as many as devices."""
    draw = Draw(SEED + number)
    larger = number > LARGER
    devices = [device(draw, c, 40 if larger else 6) for c in range(12 if larger else draw.between((3, 6)))]
    total = sum(entry["count"] for entry in devices)
    kinds = 14 if larger else draw.between((5, 8))
    most = max(1, 2 * total * draw.between((50, 110)) // 100 // kinds)
    jobs = [job(draw, k, draw.between((1, most))) for k in range(kinds)]
    return instance_text(
        [f"Few copies, classes that differ ({total} devices). Drawn, seed {SEED + number}."],
        {
            "period": "300ms",
            "iterations": (1, 1, 2)[number % 3],
            "devices": devices,
            "switch": {"enter": "500us", "leave": "300us", "between": "400us"},
            "jobs": jobs,
        },
    )


def files() -> dict[str, str]:
    """{name: text} of the family's files."""
    return {f"scarce-{number:02}.yaml": instance(number) for number in range(1, NUMBER + 1)}


if __name__ == "__main__":
    main("scarce", files)
