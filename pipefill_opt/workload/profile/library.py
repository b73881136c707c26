"""The one place that imports torch, which is an extra: the rest of the package runs without it."""

from __future__ import annotations

import os
from typing import Any

from pipefill_opt.errors import InputError


def torch_library() -> Any:
    """The module `torch`. Raises InputError with what to install where it is missing."""
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # its profiler would talk on stderr
    try:
        import torch
        import torch.profiler
        import torch.utils.flop_counter
    except ImportError as error:
        raise InputError(
            f"expected torch 2.4 or later ({error}): pip install 'pipefill_opt[torch]', or torch alone", value="torch"
        ) from None
    return torch
