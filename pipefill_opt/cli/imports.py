"""`import`: make a MAIN file from another format, one kind of input a subcommand."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from pipefill_opt.cli import flags, traces
from pipefill_opt.cli.options import add_common, output_path

if TYPE_CHECKING:
    from pipefill_opt.schedule.schedule import Schedule

PLACEHOLDERS = {"F": 1, "B": 2, "I": 1, "W": 1, "R": 1}
"""ms; written for the kinds of an imported order, to be replaced by the user."""


def register(commands: Any) -> None:
    """Add `import` and its kinds to the parser."""
    importer = commands.add_parser("import", help="make a MAIN file from another format")
    kinds = importer.add_subparsers(title="kinds", metavar="KIND", required=True)
    order = kinds.add_parser("torch-csv", help="torch.distributed.pipelining's order, compute only or lowered")
    order.add_argument("file", metavar="FILE")
    add_output(order)
    add_common(order)
    order.set_defaults(run=run_torch_csv)
    traces.register_imports(kinds)
    flags.register_imports(kinds)


def add_output(parser: argparse.ArgumentParser) -> None:
    """The option -o of every kind."""
    parser.add_argument("-o", "--output", type=output_path, metavar="MAIN", help="default: stdout")


def run_torch_csv(arguments: argparse.Namespace) -> int:
    """`pipefill import torch-csv FILE -o MAIN`."""
    from pipefill_opt.files import read_text
    from pipefill_opt.schedule.torch_csv import read_torch_csv

    schedule = read_torch_csv(read_text(arguments.file), file=arguments.file)
    write_result(arguments, main_text(schedule))
    print("warning: durations are placeholders, put in your own", file=sys.stderr)
    return 0


def write_result(arguments: argparse.Namespace, text: str) -> None:
    """To -o, or to stdout."""
    if arguments.output is None:
        sys.stdout.write(text)
        return
    from pipefill_opt.files import write_text

    write_text(arguments.output, text)


def main_text(schedule: Schedule) -> str:
    """A MAIN file (JSON, which YAML contains) of a schedule, with placeholder durations."""
    import json

    from pipefill_opt.schedule.actions import Kind

    kinds = [kind.name for kind in Kind if kind.name in PLACEHOLDERS and (schedule.kind == kind).any()]
    durations = {"unit": "ms", **{name: PLACEHOLDERS[name] for name in kinds}}
    rows = ",\n    ".join(json.dumps([str(action) for action in schedule.row(d)]) for d in range(schedule.devices))
    return (
        f'{{"schedule": {{"placement": {json.dumps(list(schedule.placement))}, "actions": [\n    {rows}]}},\n'
        f' "durations": {json.dumps(durations)}}}\n'
    )
