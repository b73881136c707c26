"""One source for both: interpreted on small inputs, compiled on large ones."""

from __future__ import annotations

import subprocess
import sys

import numba.core.caching
import numpy as np
import pytest

from pipefill_opt import kernels
from pipefill_opt.kernels import compiled, kernel
from pipefill_opt.schedule.schedule import Int64


def total(values: Int64) -> int:
    """A kernel to test with."""
    sum_ = 0
    for value in values:
        sum_ += value
    return sum_


def test_small_inputs_are_interpreted_until_there_is_a_compiled_twin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "_compiled", {})
    assert kernel(total, kernels.INTERPRETED) is total
    twin = kernel(total, kernels.INTERPRETED + 1)
    assert twin is not total
    assert kernel(total, 1) is twin
    assert compiled(total) is twin
    values = np.arange(10, dtype=np.int64)
    assert twin(values) == total(values) == 45


def test_a_long_compilation_is_announced(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(kernels, "_compiled", {})
    monkeypatch.setattr(kernels, "_spent", [kernels._PATIENCE])
    kernels._announce.cache_clear()
    for _ in range(2):
        compiled(total)(np.arange(3, dtype=np.int32))
    assert [record.message for record in caplog.records] == ["compiling kernels for this machine (some seconds, once)"]


def test_small_commands_do_not_load_numba() -> None:
    code = (
        "import sys\n"
        "from pipefill_opt.timeline.compute import timeline\n"
        "from pipefill_opt.workload.main_file import main_from_document as read\n"
        "job = {'schedule': {'family': '1f1b', 'devices': 4, 'microbatches': 8}, 'durations': {'F': '1ms', 'B': '2ms'}}\n"
        "assert timeline(read(job)).makespan == 33 * 10**6\n"
        "assert 'numba' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_kernels_run_where_nothing_can_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: object, function: object) -> None:
        raise RuntimeError(f"cannot cache function {function}: no locator available")

    monkeypatch.setattr(kernels, "_compiled", {})
    monkeypatch.setattr(numba.core.caching.FunctionCache, "__init__", refuse)
    assert compiled(total)(np.arange(4, dtype=np.int64)) == 6
