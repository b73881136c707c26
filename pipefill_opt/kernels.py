"""Compiled kernels: plain Python functions over NumPy arrays, run by the interpreter on small inputs, by numba on large ones.

One source for both. Loading numba costs more than interpreting a few thousand steps, so that small commands do without it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cache
from threading import Timer
from time import monotonic
from typing import Any, Final, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

INTERPRETED: Final = 20_000
"""Up to this many steps (actions of a schedule) a kernel is interpreted, unless numba has compiled it already."""
_PATIENCE: Final = 2.0

_log = logging.getLogger(__name__)
_spent = [0.0]
_compiled: dict[Callable[..., Any], Callable[..., Any]] = {}


def kernel(function: Callable[P, T], steps: int) -> Callable[P, T]:
    """`function` itself where it takes few `steps`, else its compiled twin, which gives the same answer."""
    if steps <= INTERPRETED:
        return _compiled.get(function, function)
    return compiled(function)


def compiled(function: Callable[P, T]) -> Callable[P, T]:
    """The numba twin of `function`. Machine code is kept between processes, in the user's cache where the package is read-only."""
    if function not in _compiled:
        _compiled[function] = _announced(_compile(function))
    return _compiled[function]


def _compile(function: Callable[P, T]) -> Callable[P, T]:
    njit = _njit()
    try:
        twin: Callable[P, T] = njit(cache=True)(function)
    except RuntimeError:  # numba found no folder that it may write to
        twin = njit(function)
    return twin


@cache
def _njit() -> Any:
    from numba import njit

    return njit


def _announced(twin: Callable[P, T]) -> Callable[P, T]:
    """`twin`; once all that has been compiled in this process took two seconds, the log says what the wait is for."""

    warm = False

    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        nonlocal warm
        if warm:
            return twin(*args, **kwargs)
        begun = monotonic()
        timer = Timer(max(0.0, _PATIENCE - _spent[0]), _announce)
        timer.daemon = True
        timer.start()
        try:
            return twin(*args, **kwargs)
        finally:
            timer.cancel()
            _spent[0] += monotonic() - begun
            warm = True

    return run


@cache
def _announce() -> None:
    _log.warning("compiling kernels for this machine (some seconds, once)")
