"""Load `module.py:factory`, and read what the factory returns."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipefill_opt.errors import InputError

EXPECTED = "expected (module, make_inputs) or (module, make_inputs, loss) from the factory"


@dataclass(frozen=True, slots=True)
class Made:
    """A torch module, its inputs by batch size, and the loss of its output (None: the mean of all outputs)."""

    module: Any
    make_inputs: Callable[[int], Any]
    loss: Callable[[Any], Any] | None


def load_factory(reference: str) -> Callable[[], Any]:
    """The function `factory` of the file of `module.py:factory`. Raises InputError."""
    file, colon, name = reference.rpartition(":")
    if not colon or not name.isidentifier() or not file.endswith(".py"):
        raise InputError("expected module.py:factory", value=reference)
    path = Path(file)
    if not path.is_file():
        raise InputError("expected a readable file", file=file)
    spec = importlib.util.spec_from_file_location(path.stem, path.resolve())
    assert spec is not None
    assert spec.loader is not None, "a name that ends in .py has one"
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise InputError(f"expected Python that runs ({type(error).__name__}: {error})", file=file) from error
    finally:
        sys.path.pop(0)
    factory = getattr(module, name, None)
    if not callable(factory):
        raise InputError("expected a function of that file", value=name, file=file)
    return factory  # type: ignore[no-any-return]  # any callable will do


def make(factory: Callable[[], Any], is_module: Callable[[Any], bool]) -> Made:
    """Call it, and check what comes. Raises InputError."""
    try:
        made = factory()
    except Exception as error:
        raise InputError(
            f"expected a factory that runs ({type(error).__name__}: {error})", where="factory()"
        ) from error
    if not isinstance(made, tuple) or len(made) not in (2, 3):
        raise InputError(EXPECTED, value=type(made).__name__, where="factory()")
    module, make_inputs, *rest = made
    if not is_module(module):
        raise InputError(f"{EXPECTED}, a torch.nn.Module first", value=type(module).__name__, where="factory()")
    for part in (make_inputs, *rest):
        if not callable(part):
            raise InputError(f"{EXPECTED}, functions after the module", value=type(part).__name__, where="factory()")
    return Made(module, make_inputs, rest[0] if rest else None)
