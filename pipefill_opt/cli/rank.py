"""`pipefill rank`: every schedule family for one job."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from pipefill_opt.cli.options import add_common, picture_path


def register(commands: Any) -> None:
    """Add the command to the parser."""
    rank = commands.add_parser("rank", help="all schedule families for given devices, micro-batches, costs, memory")
    rank.add_argument("spec", metavar="SPEC", help="SPEC file (YAML or JSON; `pipefill schema rank`)")
    rank.add_argument("--picture", type=picture_path, metavar="FILE", help="also draw it, .svg or .png")
    add_common(rank, ("text", "json", "csv"))
    rank.set_defaults(run=run_rank)


def run_rank(arguments: argparse.Namespace) -> int:
    """`pipefill rank SPEC`: exit code 1 if nothing fits."""
    from pipefill_opt.errors import InfeasibleError
    from pipefill_opt.report import ranking
    from pipefill_opt.timeline.rank import rank
    from pipefill_opt.workload.rank_file import read_rank

    spec = read_rank(arguments.spec)
    entries = rank(spec)
    if arguments.picture:
        from pipefill_opt.files import write_bytes
        from pipefill_opt.report.ranking_picture import draw_ranking

        write_bytes(arguments.picture, draw_ranking(spec, entries, arguments.picture.suffix[1:].lower()))
    text = {
        "text": lambda: ranking.ranking_text(spec, entries),
        "json": lambda: ranking.ranking_json(spec, entries),
        "csv": lambda: ranking.ranking_csv(entries),
    }[arguments.format]()
    sys.stdout.write(text)
    return 0 if any(entry.fits for entry in entries) else InfeasibleError.exit_code
