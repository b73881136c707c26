"""Write instances/deadline/queue-*: a queue of jobs over time, three instances an objective: `python instances/make_queue.py [FOLDER]`."""

from __future__ import annotations

from compose import Draw, Fields, config, instance_text, main

SEED = 4700
OBJECTIVES = ("makespan", "weighted-completion", "on-time-value")
NUMBER = 4
"""Of each objective."""
PERIOD = 200
"""ms."""


def job(draw: Draw, k: int, objective: str) -> Fields:
    """A job that takes about ten to sixty periods alone; every third comes later."""
    if k % 2:
        chain = draw.training(2, (1500, 4000), work=(100, 300), saved=(50, 200))
    else:
        chain = draw.inference(draw.between((1, 3)), (2000, 8000), work=(100, 500), carry=(0, 80))
    fields: Fields = {"name": f"job{k}", "copies": draw.between((1, 4)), "iterations": draw.between((20, 150))}
    if objective != "makespan":
        fields["weight"] = draw.pick((1, 1, 2, 3))
    if k % 3 == 2:
        fields["release"] = f"{PERIOD * draw.between((2, 20))}ms"
    if objective == "on-time-value":
        fields["deadline"] = f"{PERIOD * draw.between((25, 90))}ms"
    if k % 4 == 3:
        fields["keep"] = False
    resident = draw.between((40, 120), 10) if k % 4 == 3 else draw.between((600, 1600), 100)
    return fields | {"configs": [config("bs4", 4, resident, chain)]}


def instance(number: int, objective: str) -> str:
    """Two or three classes of few devices, four to six jobs."""
    draw = Draw(SEED + number)
    kinds = (("fill-drain", (20_000, 45_000)), ("inner", (8_000, 18_000)), ("fwd-bwd", (15_000, 40_000)))
    devices = [
        {
            "name": f"stage{c}",
            "count": draw.between((1, 3)),
            "resident_free": f"{draw.between((1800, 3200), 100)}MB",
            "bubbles": draw.bubbles(kinds[: 2 + number % 2], (3500, 5000)),
        }
        for c in range(2 + number % 2)
    ]
    fields: Fields = {
        "period": f"{PERIOD}ms",
        "iterations": (1, 2)[number % 2],
        "devices": devices,
        "switch": {"enter": "500us", "leave": "300us", "between": "400us", "h2d": "24GB/s", "d2h": "24GB/s"},
        "jobs": [job(draw, k, objective) for k in range(draw.between((4, 6)))],
        "objective": objective,
    }
    if number % 3 == 0:
        fields["migrate"] = True
    return instance_text([f"A queue of jobs over time: {objective}. Drawn, seed {SEED + number}."], fields)


def files() -> dict[str, str]:
    """{name: text} of these files."""
    texts, number = {}, 0
    for objective in OBJECTIVES:
        for k in range(1, NUMBER + 1):
            texts[f"queue-{objective}-{k}.yaml"] = instance(number, objective)
            number += 1
    return texts


if __name__ == "__main__":
    main("deadline", files)
