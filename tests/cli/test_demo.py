"""The demo end to end: what it prints, what it writes."""

from __future__ import annotations

import json
import re

from tests.cli.samples import Shell


def test_demo(shell: Shell) -> None:
    ran = shell("demo", "-o", "out/demo")
    assert ran.code == 0
    for part in ("before", "after", "recovered useful time", "greedy, contiguous bubbles", "greedy, all bubbles", "bound",
                 "0.000 % by re-timing at the stated durations", "jittered by 5 % (seed 0", "stays empty"):  # fmt: skip
        assert part in ran.out, part
    gap = re.search(r"gap +([\d.]+) %", ran.out)
    assert gap is not None
    assert "optimal (proved)" in ran.out or float(gap.group(1)) < 1
    folder = shell.folder / "out" / "demo"
    assert sorted(path.name for path in folder.iterdir()) == ["plan.json", "plan.png", "plan.svg"]
    assert (folder / "plan.png").stat().st_size > 20_000
    plan = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
    jobs = {slot["job"] for pattern in plan["patterns"] for slot in pattern["slots"]}
    assert {"resnet50-blocks", "lstm-inference"} <= jobs  # the chain with carried bytes and the swapped job
