"""Commands on networks, their layers on stages, and memory: `models`, `split`, `memory`."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipefill_opt.cli.options import add_common

if TYPE_CHECKING:
    from pipefill_opt.timeline.fits import Remedy
    from pipefill_opt.workload.costs import MainJob


class Teller:
    """Says on stderr how far something is, once it has taken two seconds, and then every two."""

    def __init__(self) -> None:
        self._said = time.monotonic()

    def __call__(self, text: str) -> None:
        if time.monotonic() - self._said >= 2:
            self._said = time.monotonic()
            print(f"{text} ...", file=sys.stderr, flush=True)


def register(commands: Any) -> None:
    """Add the commands of this module to the parser."""
    split = commands.add_parser("split", help="put layers on stages, the slowest device as fast as can be")
    split.add_argument("spec", metavar="SPEC", help="SPEC file (YAML or JSON; `pipefill schema split`)")
    add_common(split, ("text", "json", "csv"))
    split.set_defaults(run=run_split)

    memory = commands.add_parser("memory", help="memory of a main job by device; what would fit where it does not")
    memory.add_argument("main", metavar="MAIN", help="MAIN file (YAML or JSON; `pipefill schema main`)")
    add_common(memory, ("text", "json", "csv"))
    memory.set_defaults(run=run_memory)

    models = commands.add_parser("models", help="list the networks and the hardware that come along")
    add_common(models, ("text", "json", "csv"))
    models.set_defaults(run=run_models)


def run_split(arguments: argparse.Namespace) -> int:
    """`pipefill split SPEC`: exit code 1 if memory allows no split."""
    from pipefill_opt.report import split as report
    from pipefill_opt.workload.model.split_file import read_split
    from pipefill_opt.workload.model.split_problem import Objective
    from pipefill_opt.workload.model.split_stages import split_layers

    spec = read_split(arguments.spec)
    equal = None
    if spec.objective is Objective.PERIOD:
        from pipefill_opt.timeline.split_period import shortest_period

        found, equal = shortest_period(spec, Teller())
    else:
        found = split_layers(spec.problem, spec.objective)
    text = {
        "text": lambda: report.split_text(spec, found, equal),
        "json": lambda: report.split_json(spec, found, equal),
        "csv": lambda: report.split_csv(found),
    }[arguments.format]()
    sys.stdout.write(text)
    return 0


def run_memory(arguments: argparse.Namespace) -> int:
    """`pipefill memory MAIN`: exit code 1 if it does not fit."""
    from pipefill_opt.errors import InfeasibleError, InputError
    from pipefill_opt.report import memory as report
    from pipefill_opt.timeline.fits import needs
    from pipefill_opt.workload.main_file import read_main

    main = read_main(arguments.main)
    if main.memory is None:
        raise InputError("expected memory, or a model by name", file=arguments.main, where="memory")
    devices = needs(main)
    fits = all(need.lacking <= 0 for need in devices)
    ways = () if fits else _ways(main, arguments.main)
    text = {
        "text": lambda: report.memory_text(main, devices, ways),
        "json": lambda: report.memory_json(main, devices, ways),
        "csv": lambda: report.memory_csv(main, devices),
    }[arguments.format]()
    sys.stdout.write(text)
    return 0 if fits else InfeasibleError.exit_code


def warn_of_memory(main: MainJob, file: str) -> None:
    """On stderr: by how much a job by model name does not fit, on which stage, and what would fit."""
    from pipefill_opt.report.memory import fit_lines
    from pipefill_opt.timeline.fits import needs

    devices = needs(main) if main.memory is not None else ()
    if any(need.lacking > 0 for need in devices):
        print("\n".join(fit_lines(devices, _ways(main, file), by_name=True)), file=sys.stderr)


def _ways(main: MainJob, file: str) -> tuple[Remedy, ...]:
    from pipefill_opt.files import read_document
    from pipefill_opt.timeline.fits import remedies

    if main.derived is None:
        return ()
    return remedies(read_document(file, "main"), Path(file).parent, Teller())


def run_models(arguments: argparse.Namespace) -> int:
    """`pipefill models`."""
    from pipefill_opt.report import models as report
    from pipefill_opt.workload.model import catalog

    networks = [catalog.read_network(name) for name in catalog.network_names()]
    hardware = [catalog.read_hardware(name) for name in catalog.hardware_names()]
    text = {
        "text": lambda: report.models_text(networks, hardware),
        "json": lambda: report.models_json(networks, hardware),
        "csv": lambda: report.models_csv(networks),
    }[arguments.format]()
    sys.stdout.write(text)
    return 0
