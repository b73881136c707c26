"""Exact pipeline bubbles, and certified, provably good plans for filling them."""

from __future__ import annotations

__version__ = "0.1.0"
