"""Build the native program on first use, into a cache; one source for both backends."""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from pipefill_opt.errors import PipefillError

LOG = logging.getLogger(__name__)
NATIVE: Final = Path(__file__).parent / "native"
COMMON: Final = ("json.cpp", "work.cpp", "calibrate.cpp", "tune.cpp", "replay.cpp", "main.cpp")
WARNINGS: Final = ("-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror")
OLD_TARGET: Final = "70"
TARGETS: Final = ("75", "80", "90")
"""Compute capabilities that the CUDA program is compiled for, the last one also as PTX for newer devices."""


class Backend(StrEnum):
    """What runs the work: processor threads, or a CUDA device."""

    HOST = "host"
    CUDA = "cuda"


class Sanitizer(StrEnum):
    """Checks that the host program can be built with."""

    ADDRESS = "address"
    THREAD = "thread"


class BuildError(PipefillError):
    """The native program cannot be built here."""


@dataclass(frozen=True, slots=True)
class Compiler:
    """A compiler, by its path, with the first lines that it says of itself."""

    path: str
    version: str


def built(backend: Backend, *, sanitizer: Sanitizer | None = None) -> Path:
    """The program for a backend, built if the cache does not hold it yet. Raises BuildError, in one line."""
    compiler = find_compiler(backend)
    command = build_command(backend, compiler, sanitizer)
    place = cache_folder() / _key(backend, compiler, command) / f"harness-{backend}"
    if not place.is_file():
        _build(command, place)
    return place


def find_compiler(backend: Backend) -> Compiler:
    """nvcc, or a C++17 compiler: what NVCC or CXX name, else what the search path holds. Raises BuildError where there is none."""
    variable = "NVCC" if backend is Backend.CUDA else "CXX"
    usual = ("nvcc", "/usr/local/cuda/bin/nvcc") if backend is Backend.CUDA else ("c++", "g++", "clang++")
    asked = os.environ.get(variable)
    for name in (asked,) if asked else usual:
        path = shutil.which(name)
        if path is not None:
            said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
            return Compiler(path, said.stdout.strip())
    what = "the CUDA compiler nvcc" if backend is Backend.CUDA else "a C++17 compiler"
    raise BuildError(
        f"expected {what} ({asked or ' or '.join(usual)}) to build the {backend} harness: install it, or set {variable}"
    )


def build_command(backend: Backend, compiler: Compiler, sanitizer: Sanitizer | None = None) -> tuple[str, ...]:
    """The command without its output, which comes last."""
    if backend is Backend.CUDA:
        if sanitizer is not None:
            raise BuildError(
                f"expected the host backend for the {sanitizer} sanitizer (for CUDA use compute-sanitizer)"
            )
        return (
            *(compiler.path, "-std=c++17", "-O3", "-Werror", "all-warnings"),
            *("-Xcompiler", ",".join(WARNINGS)),
            *_targets(compiler),
            *(str(NATIVE / name) for name in (*COMMON, "cuda.cu")),
            *("-lpthread", "-ldl", "-o"),
        )
    checks = ("-O3", "-march=native") if sanitizer is None else ("-O1", "-g", f"-fsanitize={sanitizer}")
    return (
        *(compiler.path, "-std=c++17", *checks, *WARNINGS, "-Wpedantic"),
        *(str(NATIVE / name) for name in (*COMMON, "host.cpp")),
        *("-pthread", "-o"),
    )


def _targets(compiler: Compiler) -> Sequence[str]:
    """Options for every target that this toolkit knows."""
    listed = subprocess.run([compiler.path, "--list-gpu-code"], capture_output=True, text=True, check=False).stdout
    old = [OLD_TARGET] if f"sm_{OLD_TARGET}" in listed.split() else []
    options = []
    for target in (*old, *TARGETS):
        code = f"[sm_{target},compute_{target}]" if target == TARGETS[-1] else f"sm_{target}"
        options += ["-gencode", f"arch=compute_{target},code={code}"]
    return options


def cache_folder() -> Path:
    """Where built programs are kept: XDG_CACHE_HOME or ~/.cache, below it pipefill_opt/harness."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "pipefill_opt" / "harness"


def _key(backend: Backend, compiler: Compiler, command: Sequence[str]) -> str:
    """Another source, compiler, option or processor is another program."""
    digest = hashlib.sha256()
    for text in (backend, compiler.version, *command, _processor()):
        digest.update(text.encode() + b"\0")
    for path in sorted(NATIVE.iterdir()):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:24]


def _processor() -> str:
    """What `-march=native` depends on."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    return next((line for line in lines if line.startswith("flags")), "")


def _build(command: Sequence[str], place: Path) -> None:
    """Compile beside the place, then move there, so that nobody ever sees half a program."""
    LOG.info("building %s", place.name)
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent) as folder:
        output = Path(folder) / place.name
        done = subprocess.run([*command, str(output)], capture_output=True, text=True, check=False, cwd=folder)
        if done.returncode != 0 or not output.is_file():
            said = next(
                (line for line in (done.stderr + done.stdout).splitlines() if "error" in line), "no reason given"
            )
            raise BuildError(f"{command[0]} failed on the harness ({said.strip()})")
        os.replace(output, place)
