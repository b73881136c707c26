"""`pipefill import flags`: a training program's command line as a MAIN file."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from pipefill_opt.cli.options import add_common, output_path


def register_imports(kinds: Any) -> None:
    """Add the kind `flags` to the parser of `import`."""
    flags = kinds.add_parser(
        "flags", help="flags of Megatron-LM (script or command line), settings of torchtitan (TOML)"
    )
    flags.add_argument("flags", metavar="FILE|FLAGS", help='a file, or the flags in quotes, which begin with " --"')
    flags.add_argument("--hardware", required=True, metavar="NAME", help="a device of models/hardware, or a file")
    flags.add_argument(
        "--gpus", type=int, metavar="N", help="devices of the whole job (default: one replica, or torchrun's)"
    )
    flags.add_argument("-o", "--output", type=output_path, metavar="MAIN", help="default: stdout")
    add_common(flags)
    flags.set_defaults(run=run_flags)


def run_flags(arguments: argparse.Namespace) -> int:
    """`pipefill import flags FILE|FLAGS --hardware NAME`."""
    import json

    from pipefill_opt.errors import InputError
    from pipefill_opt.workload.flags.document import flags_document

    if arguments.gpus is not None and arguments.gpus < 1:
        raise InputError("expected a whole number from 1 on", value=arguments.gpus, where="--gpus")
    document, ignored = flags_document(arguments.flags, arguments.hardware, arguments.gpus)
    text = json.dumps(document, indent=1) + "\n"
    if ignored:
        print(f"ignored: {', '.join(f'--{name}' for name in ignored)}", file=sys.stderr)
    if arguments.output is None:
        sys.stdout.write(text)
    else:
        from pipefill_opt.files import write_text

        write_text(arguments.output, text)
    return 0
