"""`pipefill demo`: solve a real instance, show the plan, write plan and picture. `make demo` runs it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from pipefill_opt.cli.options import add_common, folder_path, seconds

INSTANCE = "freeride/3.6b-m4-demo.yaml"


def register(commands: Any) -> None:
    """Add the command to the parser."""
    demo = commands.add_parser("demo", help="solve a real instance (FreeRide's side tasks), show and draw the plan")
    demo.add_argument(
        "-o", "--output", type=folder_path, default=Path("out/demo"), metavar="DIR", help="default: out/demo"
    )
    demo.add_argument("--time-limit", type=seconds, default=30.0, metavar="S", help="default: 30")
    add_common(demo)
    demo.set_defaults(run=run_demo)


def run_demo(arguments: argparse.Namespace) -> int:
    """Solve, write, read the plan back, certify it again."""
    from pipefill_opt.cli.fill import search, write_picture
    from pipefill_opt.errors import CertificateError
    from pipefill_opt.files import data_folder, write_text
    from pipefill_opt.fill.certify import certify
    from pipefill_opt.fill.plan_file import plan_text, read_plan
    from pipefill_opt.fill.read import read_instance
    from pipefill_opt.report.solution import solution_text

    instance = data_folder("instances") / INSTANCE
    print(f"solving {instance}, for at most {arguments.time_limit:g} s", file=sys.stderr, flush=True)
    problem = read_instance(instance)
    report = search(problem, "auto", time_limit=arguments.time_limit)
    plan_file = arguments.output / "plan.json"
    pictures = [arguments.output / "plan.svg", arguments.output / "plan.png"]
    write_text(plan_file, plan_text(problem, report.plan))
    for picture in pictures:
        write_picture(picture, problem, report.plan)
    verdict = certify(problem, read_plan(plan_file, problem))
    if not verdict.valid or verdict.objective != report.solution.objective:
        raise CertificateError(f"{plan_file}: the written plan is not the one that was found")
    sys.stdout.write(solution_text(report))
    print("\nwritten: " + ", ".join(str(path) for path in (plan_file, *pictures)))
    return 0
