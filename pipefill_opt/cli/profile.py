"""`pipefill profile`: a torch module, measured on the device that is there, as a fill job."""

from __future__ import annotations

import argparse
import sys
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from pipefill_opt.cli.options import add_common, output_path

if TYPE_CHECKING:
    from pipefill_opt.workload.profile.records import Profile

TRUSTED: Final = Fraction(1, 10)
"""A larger error of the replay is warned of."""


def register(commands: Any) -> None:
    """Add `profile` to the parser."""
    profile = commands.add_parser("profile", help="measure a torch module, and write it as a fill job")
    profile.add_argument(
        "factory",
        metavar="MODULE.PY:FACTORY",
        help="factory() returns (module, make_inputs), and (..., loss) if it likes: make_inputs(batch) is what the module "
        "is called with, loss(output) what is trained",
    )
    profile.add_argument("--batch", type=_batches, default=(1,), metavar="1,4,16", help="batch sizes; default: 1")
    profile.add_argument("--kind", choices=("inference", "training"), default="inference", help="default: inference")
    cut = profile.add_mutually_exclusive_group()
    cut.add_argument(
        "--blocks", dest="leaves", action="store_false", help="an operator for each top-level block (the default)"
    )
    cut.add_argument("--operators", dest="leaves", action="store_true", help="an operator for each childless module")
    profile.set_defaults(leaves=False)
    profile.add_argument("--optimizer", choices=("adam", "adamw", "sgd"), default="adam", help="default: adam")
    profile.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto", help="default: what is there")
    profile.add_argument("--repeats", type=_count, default=20, metavar="N", help="iterations measured; default: 20")
    profile.add_argument(
        "--processor-time",
        action="store_true",
        help="on a CPU that others use too: one thread, and the processor's time instead of the clock's",
    )
    profile.add_argument("--name", help="of the job; default: that of the module's class, and the kind")
    profile.add_argument("--main", metavar="MAIN", help="write a whole INSTANCE, with this file as its main job")
    profile.add_argument(
        "-o", "--output", type=output_path, metavar="JOB", help="default: stdout, the report on stderr"
    )
    add_common(profile, ("text", "json", "csv"))
    profile.set_defaults(run=run_profile)


def run_profile(arguments: argparse.Namespace) -> int:
    """`pipefill profile MODULE.PY:FACTORY -o JOB`: with -o the report goes to stdout."""
    from pipefill_opt.report import profiled as report
    from pipefill_opt.workload.profile.document import job_document, job_text
    from pipefill_opt.workload.profile.profiler import Manner, profile_module

    manner = Manner(
        training=arguments.kind == "training",
        leaves=arguments.leaves,
        device=arguments.device,
        optimizer=arguments.optimizer,
        repeats=arguments.repeats,
        processor_time=arguments.processor_time,
    )
    profile = profile_module(
        arguments.factory,
        arguments.batch,
        manner,
        name=arguments.name,
        tell=lambda text: print(f"measuring {text} ...", file=sys.stderr, flush=True),
    )
    render = {"text": report.profile_text, "json": report.profile_json, "csv": report.profile_csv}[arguments.format]
    _warn(profile)
    text = job_text(job_document(profile, arguments.main))
    if arguments.output is None:
        sys.stdout.write(text)
        sys.stderr.write(render(profile))
        return 0
    from pipefill_opt.files import write_text

    write_text(arguments.output, text)
    sys.stdout.write(render(profile))
    return 0


def _warn(profile: Profile) -> None:
    for found in profile.configurations:
        if found.replay_error > TRUSTED:
            print(
                f"warning: bs{found.batch}: replayed durations differ by {100 * float(found.replay_error):.0f} % in the median: "
                "operators too short, or a machine that others use (more --repeats may help)",
                file=sys.stderr,
            )


def _count(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or not 1 <= int(text[:9]) <= 10**6:
        raise argparse.ArgumentTypeError(f"{text}: expected a whole number from 1 to 1000000")
    return int(text)


def _batches(text: str) -> tuple[int, ...]:
    found = tuple(_count(part) for part in text.split(","))
    if len(set(found)) < len(found):
        raise argparse.ArgumentTypeError(f"{text}: expected different batch sizes")
    return found
