"""Write instances/deadline/life-*: long queues over time on several classes: `python instances/make_deadline.py [FOLDER]`.

Half of them hold one job at a time on a device, half have memory for several at once.
"""

from __future__ import annotations

from compose import Draw, Fields, config, instance_text, main

SEED = 5200
OBJECTIVES = ("makespan", "weighted-completion", "on-time-value")
NUMBER = 3
"""Of each objective."""
PERIOD = 400
"""ms."""


def job(draw: Draw, k: int, objective: str, *, shared: bool, depth: int) -> Fields:
    """A kind of job with many copies, each of which takes some ten periods alone."""
    chain = draw.inference(draw.between((2, 5)), (1500, 6000), work=(100, 500), carry=(0, 60))
    fields: Fields = {"name": f"job{k}", "copies": draw.between((4, 12)) * depth, "iterations": draw.between((40, 200))}
    if objective != "makespan":
        fields["weight"] = draw.between((1, 9))
    if objective == "weighted-completion" and k % 4 == 3:
        fields["release"] = f"{PERIOD * draw.between((5, 40))}ms"
    if objective == "on-time-value":
        fields["deadline"] = f"{PERIOD * draw.between((10, 40)) * depth}ms"
    resident = draw.between((300, 1500) if shared else (1700, 2400), 100)
    return fields | {"configs": [config("bs8", 8, resident, chain)]}


def instance(number: int, objective: str) -> str:
    """Three to five classes of ten to thirty devices, six to ten kinds of jobs."""
    draw = Draw(SEED + number)
    shared = number % 2 == 1
    kinds = (("fill-drain", (60_000, 110_000)), ("fwd-bwd", (30_000, 90_000)), ("inner", (8_000, 18_000)))
    devices = [
        {
            "name": f"stage{c}",
            "count": draw.between((10, 30)),
            "resident_free": f"{draw.between((2600, 3200), 100)}MB",
            "bubbles": draw.bubbles(kinds, (3600, 4800)),
        }
        for c in range(3 + number % 3)
    ]
    fields: Fields = {
        "period": f"{PERIOD}ms",
        "devices": devices,
        "switch": {"enter": "1ms", "leave": "500us", "between": "500us"},
        "jobs": [
            job(draw, k, objective, shared=shared, depth=1 + 2 * (number % 3)) for k in range(draw.between((6, 10)))
        ],
        "objective": objective,
    }
    return instance_text([f"A long queue over time: {objective}. Drawn, seed {SEED + number}."], fields)


def files() -> dict[str, str]:
    """File names and texts."""
    return {
        f"life-{objective}-{number}.yaml": instance(number + NUMBER * place, objective)
        for place, objective in enumerate(OBJECTIVES)
        for number in range(NUMBER)
    }


if __name__ == "__main__":
    main("deadline", files)
