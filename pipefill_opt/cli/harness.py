"""`harness build`, `calibrate`, `replay`, `compare`: the model against a real device."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from fractions import Fraction
from threading import Event
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pipefill_opt.cli.options import add_common, output_path, share
from pipefill_opt.errors import InputError, PipefillError

if TYPE_CHECKING:
    from pipefill_opt.harness.build import Backend
    from pipefill_opt.harness.inject import Injection

Answer = TypeVar("Answer")
FORMATS: Final = ("text", "json", "csv")
BACKENDS: Final = ("auto", "host", "cuda")
NOT_AS_PREDICTED: Final = 4


def register(commands: Any) -> None:
    """Add the commands of this module to the parser."""
    harness = commands.add_parser("harness", help="build the native program of the harness")
    actions = harness.add_subparsers(title="actions", metavar="ACTION", required=True)
    build = actions.add_parser("build", help="build it now, and print where it is (else it is built on first use)")
    build.add_argument("--backend", choices=BACKENDS[1:], default="host", help="default: host")
    build.add_argument("--sanitize", choices=("address", "thread"), help="with a sanitizer (host)")
    add_common(build)
    build.set_defaults(run=run_build)

    calibrate = commands.add_parser("calibrate", help="measure a device: launches, switches, products, copies")
    _add_backend(calibrate)
    calibrate.add_argument("--device", type=int, default=0, metavar="N", help="of several GPUs (default: 0)")
    calibrate.add_argument("--quick", action="store_true", help="fewer sizes and repeats")
    calibrate.add_argument("--name", help="of the hardware (default: after the device)")
    calibrate.add_argument("--like", metavar="HARDWARE", help="whose links to other devices to state")
    calibrate.add_argument(
        "-o", "--output", type=output_path, metavar="HARDWARE", help="write the HARDWARE file (JSON)"
    )
    add_common(calibrate, FORMATS)
    calibrate.set_defaults(run=run_calibrate)

    replay = commands.add_parser("replay", help="run a main job with its fill plan on a device, and keep what happened")
    replay.add_argument("instance", metavar="INSTANCE", help="with main: {file: ...}")
    replay.add_argument("plan", metavar="PLAN")
    replay.add_argument("-o", "--output", type=output_path, metavar="RESULT", required=True, help="JSON, for `compare`")
    _add_backend(replay)
    replay.add_argument(
        "--class", dest="classes", action="append", default=[], metavar="NAME",
        help="device to watch, several times for several (default: the one with most fill work)",
    )  # fmt: skip
    replay.add_argument("--scale", type=share, default="1", metavar="X", help="times on the device (default: 1)")
    replay.add_argument("--work", choices=("tiles", "gemm", "copy", "sleep"), default="tiles", help="default: tiles")
    replay.add_argument("--rounds", type=_count, default=5, metavar="N", help="blocks of each kind (default: 5)")
    replay.add_argument("--block", type=_count, default=3, metavar="N", help="iterations of a block (default: 3)")
    replay.add_argument("--play-switches", action="store_true", help="let switches take what the plan says, by sleep")
    replay.add_argument("--claim", action="store_true", help="take the memory pools as memory of the device")
    replay.add_argument("--apart", action="store_true", help="a process for each watched device, each on a GPU")
    replay.add_argument(
        "--inject", action="append", default=[], metavar="ERROR",
        help="put an error in, for `compare` to find: bubble:1:0.8, switch:2, operator:JOB:INDEX:2, memory:JOB:10",
    )  # fmt: skip
    add_common(replay)
    replay.set_defaults(run=run_replay)

    compare = commands.add_parser("compare", help="prediction against a RESULT of `replay`: table, verdict, guard")
    compare.add_argument("result", metavar="RESULT")
    compare.add_argument("--recalibrate", action="store_true", help="switch costs and the guard for the least loss")
    compare.add_argument("--slowdown", type=share, default="0.02", metavar="X", help="allowed (default: 0.02)")
    compare.add_argument("--html", type=output_path, metavar="FILE", help="also write a page")
    compare.add_argument("--trace", type=output_path, metavar="FILE", help="also write both timelines for Perfetto")
    add_common(compare, FORMATS)
    compare.set_defaults(run=run_compare)


def _add_backend(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--backend", choices=BACKENDS, default="auto", help="auto: cuda where there is a device, else host"
    )


def _count(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) <= 10_000:
        raise argparse.ArgumentTypeError(f"{text}: expected a whole number from 1 to 10000")
    return int(text)


def run_build(arguments: argparse.Namespace) -> int:
    """`pipefill harness build`."""
    from pipefill_opt.harness.build import Backend, Sanitizer, built

    sanitizer = Sanitizer(arguments.sanitize) if arguments.sanitize else None
    sys.stdout.write(f"{built(Backend(arguments.backend), sanitizer=sanitizer)}\n")
    return 0


def run_calibrate(arguments: argparse.Namespace) -> int:
    """`pipefill calibrate`."""
    import json

    from pipefill_opt.files import check, read_document, write_text
    from pipefill_opt.harness.calibrate import calibrate
    from pipefill_opt.harness.hardware_file import default_name, hardware_document
    from pipefill_opt.report import calibration as rendering
    from pipefill_opt.workload.model.catalog import hardware_path

    like = read_document(hardware_path(arguments.like), "hardware") if arguments.like else None
    backend = _backend(arguments.backend)
    found = _watched(
        lambda stop, tell: calibrate(backend, quick=arguments.quick, device=arguments.device, stop=stop, tell=tell)
    )
    document = hardware_document(arguments.name or default_name(backend, found), found, like)
    check(document, "hardware")
    if arguments.output:
        write_text(arguments.output, json.dumps(document, indent=2) + "\n")
    if arguments.format == "json":
        sys.stdout.write(rendering.calibration_json(document))
    else:
        render = {"text": rendering.calibration_text, "csv": rendering.calibration_csv}
        sys.stdout.write(render[arguments.format](found))
    return 0


def run_replay(arguments: argparse.Namespace) -> int:
    """`pipefill replay INSTANCE PLAN -o RESULT`."""
    import json

    from pipefill_opt.files import write_text
    from pipefill_opt.fill.certify import certify
    from pipefill_opt.fill.plan_file import read_plan
    from pipefill_opt.fill.read import read_instance
    from pipefill_opt.harness.inject import parse_injection
    from pipefill_opt.harness.program import Iterations
    from pipefill_opt.harness.replay import ReplayOptions, WorkKind, replay

    problem = read_instance(arguments.instance)
    plan = read_plan(arguments.plan, problem)
    verdict = certify(problem, plan)
    for violation in verdict.violations:
        print(
            f"warning: the plan breaks a rule: {violation.code}: {violation.place}: {violation.message}",
            file=sys.stderr,
        )
    injections: list[Injection] = [_located(parse_injection, text, "--inject") for text in arguments.inject]
    options = ReplayOptions(
        scale=arguments.scale or Fraction(1),
        iterations=Iterations(block=max(2, arguments.block), rounds=arguments.rounds),
        work=WorkKind(arguments.work),
        claim=arguments.claim,
        play_switches=arguments.play_switches,
        apart=arguments.apart,
    )
    backend = _backend(arguments.backend)
    try:
        document = _watched(
            lambda stop, tell: replay(
                problem, plan, backend, options,
                watched=arguments.classes, injections=injections, stop=stop, tell=tell,
            )
        )  # fmt: skip
    except InputError as error:
        raise error.located(file=arguments.instance) from None
    write_text(arguments.output, json.dumps(document) + "\n")
    sys.stdout.write(f"{arguments.output}: {len(document['with_fill'])} iterations\n")
    return 0


def run_compare(arguments: argparse.Namespace) -> int:
    """`pipefill compare RESULT`: exit code 4 if it is not as predicted."""
    from dataclasses import replace

    from pipefill_opt.files import read_text, write_text
    from pipefill_opt.harness.compare import Thresholds, compare
    from pipefill_opt.harness.guard import recalibrate
    from pipefill_opt.harness.overlay import overlay_trace
    from pipefill_opt.parse import parse_json
    from pipefill_opt.report import comparison as rendering
    from pipefill_opt.report.comparison_page import comparison_page

    document = parse_json(read_text(arguments.result), file=arguments.result)
    try:
        if not isinstance(document, dict):
            raise InputError("expected a RESULT of `pipefill replay`")
        allowed = float(arguments.slowdown)
        found = compare(document, replace(Thresholds(), slowdown=allowed))
        guard = recalibrate(document, slowdown=allowed) if arguments.recalibrate else None
        if arguments.html:
            write_text(arguments.html, comparison_page(document, found, guard))
        if arguments.trace:
            write_text(arguments.trace, overlay_trace(document))
    except InputError as error:
        raise error.located(file=arguments.result) from None
    render: dict[str, Callable[[], str]] = {
        "text": lambda: rendering.comparison_text(document, found, guard),
        "json": lambda: rendering.comparison_json(document, found, guard),
        "csv": lambda: rendering.comparison_csv(found),
    }
    sys.stdout.write(render[arguments.format]())
    return 0 if found.holds else NOT_AS_PREDICTED


def _located(parse: Callable[[str], Answer], text: str, where: str) -> Answer:
    try:
        return parse(text)
    except InputError as error:
        raise error.located(where=where) from None


def _backend(name: str) -> Backend:
    """The backend of that name; `auto` says which it took."""
    from pipefill_opt.harness.build import Backend
    from pipefill_opt.harness.run import run

    if name != "auto":
        return Backend(name)
    try:
        run({"mode": "info"}, Backend.CUDA)
    except PipefillError as error:
        print(f"host backend, for there is no CUDA one here ({error})", file=sys.stderr)
        return Backend.HOST
    return Backend.CUDA


def _watched(work: Callable[[Event, Callable[[int, int, str], None]], Answer]) -> Answer:
    """The work with progress on stderr; the first Ctrl-C or SIGTERM ends it, and nothing is left behind."""
    from pipefill_opt.cli.search import Counter, watched

    counter, stop = Counter(), Event()
    return watched(lambda: work(stop, counter.note), counter, stop)
