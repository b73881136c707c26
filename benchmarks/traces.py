"""Import of a large profiler trace: memory of the command on 500 MB of text, and its CPU time against `json.load` of a part.

The trace is made up: kernels on three streams with the calls that launched them, operators on the host, labels, in Kineto's layout.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.line import Line, seconds

GIB = 2**30
TEXT = 500_000_000
"""Bytes of the large trace."""
ACTION = """\
  {{"ph": "X", "cat": "user_annotation", "name": "PP:0{kind}{microbatch}", "pid": 9, "tid": 1, "ts": {host}.125, "dur": 390.5,
    "args": {{"External id": {serial}, "Record function id": 0, "Ev Idx": {serial}}}}},
"""
EVENTS = """\
  {{
    "ph": "X", "cat": "cpu_op", "name": "aten::addmm", "pid": 9, "tid": 1, "ts": {host}.125, "dur": 11.250,
    "args": {{
      "External id": {serial}, "Sequence number": {serial}, "Fwd thread id": 0, "Ev Idx": {serial}
    }}
  }},
  {{
    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 1, "ts": {host}.500, "dur": 4.096,
    "args": {{
      "External id": {serial}, "cbid": 211, "correlation": {serial}
    }}
  }},
  {{
    "ph": "X", "cat": "kernel",
    "name": "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x256_32x3_tn_align8>(Params)",
    "pid": 0, "tid": {stream}, "ts": {device}.750, "dur": 3.875,
    "args": {{
      "External id": {serial}, "queued": 0, "device": 0, "context": 1, "stream": {stream}, "correlation": {serial},
      "registers per thread": 230, "shared memory": 73728, "blocks per SM": 1.939394, "grid": [128, 2, 1], "block": [256, 1, 1],
      "est. achieved occupancy %": 48
    }}
  }},
"""
MICROBATCHES, KERNELS = 32, 40


def lines() -> Iterator[Line]:
    """Memory and speed of an import."""
    with tempfile.TemporaryDirectory() as folder:
        large, part = Path(folder) / "large.rank0.json", Path(folder) / "part.json"
        size = write_trace(large, TEXT)
        write_trace(part, TEXT // 10)
        found = {
            "import kineto": command(["import", "kineto", str(large), "-o", str(Path(folder) / "main.json")]),
            "idle kineto": command(["idle", "kineto", str(large)]),
        }  # first, since the system counts this process's memory to that of its children
        by_json, _ = seconds(lambda: len(json.loads(part.read_text(encoding="utf-8"))["traceEvents"]), repeats=1)
        for name, (cpu, peak) in found.items():
            note = f"{size / 1e6:.0f} MB, {cpu:.1f} s of CPU"
            ratio = cpu / size / (by_json / part.stat().st_size)
            yield Line(f"{name}, 500 MB of text, memory", peak / GIB, 1, unit="GiB", note=note)
            yield Line(f"{name}, CPU a byte, against json.loads", ratio, 4, note=note)


def write_trace(path: Path, size: int) -> int:
    """A trace of at least so many bytes: GPipe on one device, step after step. How many it has."""
    serial, host, number, done = 0, 5_190_672_929_000, 0, 0
    with path.open("w", encoding="utf-8") as out:
        out.write(
            '{"schemaVersion": 1, "distributedInfo": {"rank": 0, "world_size": 1}, "baseTimeNanoseconds": 1790857026000000000,\n'
        )
        out.write('"traceEvents": [\n')
        while done < size:
            pieces = []
            for kind in "FB":
                for microbatch in range(MICROBATCHES):
                    pieces.append(ACTION.format(kind=kind, microbatch=microbatch, host=host, serial=serial))
                    for _ in range(KERNELS):
                        serial, host = serial + 1, host + 9
                        stream = 7 + serial % 3
                        pieces.append(EVENTS.format(host=host, device=host + 40, serial=serial, stream=stream))
                    host += 40
            number += 1
            done += out.write("".join(pieces))
        out.write(
            '  {"ph": "M", "name": "process_name", "pid": 9, "tid": 0, "ts": 5190672929000.125, "args": {"name": "python"}}\n]}\n'
        )
    return path.stat().st_size


def command(words: list[str]) -> tuple[float, int]:
    """CPU seconds and peak bytes of a command in a process of its own."""
    process = subprocess.Popen([sys.executable, "-m", "pipefill_opt.cli", *words], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"pipefill {words[0]} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024
