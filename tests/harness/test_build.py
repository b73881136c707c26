"""The native program: found, built once, with clear errors where it cannot be."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from pipefill_opt.harness.build import (
    COMMON,
    NATIVE,
    TARGETS,
    Backend,
    BuildError,
    Sanitizer,
    build_command,
    built,
    find_compiler,
)


def test_a_second_use_builds_nothing() -> None:
    first = built(Backend.HOST)
    written = first.stat().st_mtime_ns
    assert built(Backend.HOST) == first
    assert first.stat().st_mtime_ns == written
    assert os.access(first, os.X_OK)
    assert [path.name for path in first.parent.iterdir()] == [first.name]


def test_a_missing_compiler_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(BuildError, match=r"expected a C\+\+17 compiler \(no-such-compiler\).*set CXX"):
        built(Backend.HOST)
    monkeypatch.setenv("NVCC", str(tmp_path / "nvcc"))
    with pytest.raises(BuildError, match="the CUDA compiler nvcc"):
        built(Backend.CUDA)


def test_a_compiler_that_fails_leaves_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fails = tmp_path / "cxx"
    fails.write_text("#!/bin/sh\necho 'x.cpp:1: error: out of luck' >&2\nexit 1\n", encoding="utf-8")
    fails.chmod(0o755)
    monkeypatch.setenv("CXX", str(fails))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(BuildError, match="out of luck"):
        built(Backend.HOST)
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]


def test_every_source_is_built() -> None:
    listed = {path.name for path in NATIVE.iterdir() if path.suffix in (".cpp", ".cu")}
    assert listed == {*COMMON, "host.cpp", "cuda.cu"}


def test_sanitizers_are_for_the_host() -> None:
    compiler = find_compiler(Backend.HOST)
    assert "-fsanitize=thread" in build_command(Backend.HOST, compiler, Sanitizer.THREAD)
    with pytest.raises(BuildError, match="compute-sanitizer"):
        build_command(Backend.CUDA, compiler, Sanitizer.ADDRESS)


def test_the_cuda_program_compiles_for_all_targets() -> None:
    """Warnings are errors in the command itself; the cache's key holds source and command."""
    if shutil.which("nvcc") is None and not Path("/usr/local/cuda/bin/nvcc").exists():
        pytest.skip("no nvcc here: the CUDA source was not compiled")
    program = built(Backend.CUDA)
    lister = shutil.which("cuobjdump") or "/usr/local/cuda/bin/cuobjdump"
    if not Path(lister).exists():
        pytest.skip("compiled; no cuobjdump here to list its targets")
    listed = subprocess.run([lister, "-lelf", "-lptx", str(program)], capture_output=True, text=True, check=True).stdout
    for target in TARGETS:
        assert f"sm_{target}.cubin" in listed
    assert f"sm_{TARGETS[-1]}.ptx" in listed
