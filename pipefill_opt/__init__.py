"""Exact pipeline bubbles, and certified, provably good plans for filling them. Start from `pipefill_opt.api`."""

from __future__ import annotations

__version__ = "0.1.0"
