"""Profiles of real modules on the processor; skipped without torch, which is an extra."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from pipefill_opt.cli.run import main
from pipefill_opt.errors import InputError
from pipefill_opt.workload.profile.profiler import Manner, profile_module
from pipefill_opt.workload.profile.records import Profile

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'pipefill_opt[torch]'")
NETS = Path(__file__).parent / "nets.py"
PARAMETERS = 256 * 512 + 512 + 512 * 16 + 16


def profiled(factory: str, batch: int = 4, repeats: int = 1, **manner: Any) -> Profile:
    how = Manner(device="cpu", repeats=repeats, warmup=1, processor_time=True, **manner)
    return profile_module(f"{NETS}:{factory}", [batch], how)


def test_memory_of_a_chain_is_exact() -> None:
    (found,) = profiled("chain", 64).configurations
    hidden, out = 64 * 512 * 4, 64 * 16 * 4
    assert found.resident == 4 * PARAMETERS + 64 * 256 * 4
    assert [(op.name, op.memory, op.carry) for op in found.operators] == [
        ("0", hidden, hidden),
        ("1", 2 * hidden, 2 * hidden),  # the caller drops a unit's inputs after its hook
        ("2", max(2 * hidden, hidden + out), 0),
    ]
    assert [op.flops for op in found.operators] == [2 * 64 * 256 * 512, 0, 2 * 64 * 512 * 16]


@pytest.mark.parametrize(("optimizer", "states"), [("sgd", 2), ("adam", 4), ("adamw", 4)])
def test_training_holds_gradients_states_and_saved_tensors(optimizer: str, states: int) -> None:
    (found,) = profiled("chain", 64, training=True, optimizer=optimizer).configurations
    counters = 4 * 4 if states == 4 else 0  # the step of each of four parameters
    assert found.resident == 4 * states * PARAMETERS + 64 * 256 * 4 + counters
    operators = {op.name: op for op in found.operators}
    assert list(operators) == ["0", "1", "2", "2 backward", "1 backward", "0 backward", "optimizer"]
    hidden = 64 * 512 * 4
    assert operators["2"].carry == hidden + 4  # of the two outputs only that of the ReLU is saved; and the loss
    assert 2 * hidden <= operators["2 backward"].carry < 2 * hidden + 64  # saved, and its gradient; two numbers
    assert operators["0 backward"].memory >= hidden + 4 * 256 * 512  # gradients are made, then added up
    assert operators["0 backward"].carry == operators["optimizer"].carry == 0


def test_blocks_and_operators() -> None:
    blocks = [op.name for op in profiled("net").configurations[0].operators]
    assert blocks == ["embed", "layers.0", "layers.1", "layers.2", "head"]
    leaves = [op.name for op in profiled("net", leaves=True).configurations[0].operators]
    assert leaves[:4] == ["embed", "layers.0.norm", "layers.0.up", "layers.0.down"]
    assert len(leaves) == 11


def test_recomputed_blocks_carry_less() -> None:
    again = {op.name: op for op in profiled("recomputed", training=True).configurations[0].operators}
    plain = {op.name: op for op in profiled("net", training=True).configurations[0].operators}
    leaves = [op.name for op in profiled("recomputed", training=True, leaves=True).configurations[0].operators]
    assert "layers.1.up again" in leaves
    assert 2 * again["head"].carry < plain["head"].carry


@pytest.mark.parametrize("training", [False, True])
def test_durations_hold_when_replayed(training: bool) -> None:
    (found,) = profiled("net", 8, repeats=30, training=training).configurations
    assert found.replay_error <= Fraction(1, 10)
    assert found.duration > 10**6


@pytest.mark.parametrize(
    ("factory", "message", "manner"),
    [
        ("moody", "same calls of units in every iteration", {}),
        ("wrong_inputs", "expected a module that runs .RuntimeError", {}),
        ("frozen", "expected parameters to train", {"training": True}),
        ("tokens", "expected a factory that runs", {}),
    ],
)
def test_what_cannot_be_profiled(factory: str, message: str, manner: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=message):
        profiled(factory, **manner)


MAIN = """
schedule: {family: gpipe, devices: 2, microbatches: 2}
durations: {unit: ms, F: 100, B: 200}
memory: {capacity: 1GiB, static: 100MiB, activation: 10MiB}
"""


def test_solve_takes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.yaml").write_text(MAIN, encoding="utf-8")
    words = ["--batch", "1,2", "--repeats", "3", "--processor-time", "--main", "main.yaml", "-o", "instance.yaml"]
    assert main(["profile", f"{NETS}:net", *words]) == 0
    assert "Net-inference on cpu" in capsys.readouterr().out
    assert main(["solve", "instance.yaml", "-o", "plan.json"]) == 0
    assert main(["certify", "instance.yaml", "plan.json"]) == 0
