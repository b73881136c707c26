"""`python -m pipefill_opt.cli`."""

from pipefill_opt.cli import entry

entry()
