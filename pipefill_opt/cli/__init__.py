"""The command line: parse, call, print. One module per group of commands; everything heavy is imported inside a command."""

from __future__ import annotations

import sys
from typing import NoReturn


def entry() -> NoReturn:
    """The console script `pipefill`."""
    from pipefill_opt.cli.run import main

    sys.exit(main())
