"""`pipefill roofline`: what decides how long each operator takes."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from pipefill_opt.cli.options import add_common, picture_path


def register(commands: Any) -> None:
    """Add the command to the parser."""
    roofline = commands.add_parser("roofline", help="which operators are bound by compute, memory, overhead or network")
    roofline.add_argument("main", metavar="MAIN|NETWORK", help="MAIN file by model name, or a network with --hardware")
    roofline.add_argument("--hardware", metavar="NAME", help="for a network: a device of models/hardware, or a file")
    roofline.add_argument("--microbatch", type=int, metavar="N", help="for a network: samples (default: 1)")
    roofline.add_argument("--sequence", type=int, metavar="N", help="for a network: tokens (default: the network's)")
    roofline.add_argument("--picture", type=picture_path, metavar="FILE", help="also draw it, .svg or .png")
    add_common(roofline, ("text", "json", "csv"))
    roofline.set_defaults(run=run_roofline)


def run_roofline(arguments: argparse.Namespace) -> int:
    """`pipefill roofline MAIN|NETWORK`."""
    from pathlib import Path

    from pipefill_opt.errors import InputError
    from pipefill_opt.files import check, read_document
    from pipefill_opt.report import roofline
    from pipefill_opt.workload.model.main_model import read_model_job
    from pipefill_opt.workload.model.roofline_view import view

    if arguments.microbatch is not None and arguments.microbatch < 1:
        raise InputError("expected a whole number from 1 on", value=arguments.microbatch, where="--microbatch")
    if arguments.hardware is not None:
        samples = arguments.microbatch or 1
        document: dict[str, Any] = {"model": arguments.main, "hardware": arguments.hardware}
        document |= {"microbatch": samples, "global_batch": samples}
        document |= {"sequence": arguments.sequence} if arguments.sequence is not None else {}
        check(document, "main")
        job = read_model_job(document, Path())
    else:
        for name in ("microbatch", "sequence"):
            if getattr(arguments, name) is not None:
                expected = "expected --hardware with it: a MAIN file states its own"
                raise InputError(expected, value=getattr(arguments, name), where=f"--{name}")
        path = Path(arguments.main)
        document = read_document(path, "main") if path.suffix else {}
        if "model" not in document:
            expected = "expected a MAIN file with model, or a network together with --hardware"
            raise InputError(expected, value=arguments.main)
        job = read_model_job(document, path.parent)
    found = view(job.network, job.clock)
    if arguments.picture:
        from pipefill_opt.files import write_bytes
        from pipefill_opt.report.roofline_picture import draw_roofline

        write_bytes(arguments.picture, draw_roofline(found, arguments.picture.suffix[1:].lower()))
    render = {"text": roofline.roofline_text, "json": roofline.roofline_json, "csv": roofline.roofline_csv}
    sys.stdout.write(render[arguments.format](found))
    return 0
