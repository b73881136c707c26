"""Profile what `module.py:factory` makes, at a list of batch sizes."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from pipefill_opt.errors import InputError
from pipefill_opt.workload.profile.factory import Made, load_factory, make
from pipefill_opt.workload.profile.library import torch_library
from pipefill_opt.workload.profile.measure import MEMORY, measured, settled
from pipefill_opt.workload.profile.records import Configuration, Profile
from pipefill_opt.workload.profile.stepper import Stepper
from pipefill_opt.workload.profile.units import blocks_of, leaves_of
from pipefill_opt.workload.profile.walk import Walk

OPTIMIZERS: Final = {"sgd": "SGD", "adam": "Adam", "adamw": "AdamW"}
KINDS: Final = ("inference", "training")
DEVICES: Final = ("auto", "cpu", "cuda")


@dataclass(frozen=True, slots=True)
class Manner:
    """How to profile. `leaves`: operators are modules without children, else top-level blocks.

    `processor_time`: one thread, and the processor's time instead of the clock's, which others who use the machine move less.
    """

    training: bool = False
    leaves: bool = False
    device: str = "auto"
    optimizer: str = "adam"
    repeats: int = 20
    warmup: int = 3
    processor_time: bool = False


def profile_module(
    reference: str,
    batches: Sequence[int],
    manner: Manner,
    *,
    name: str | None = None,
    tell: Callable[[str], None] = lambda _text: None,
) -> Profile:
    """Each batch size in turn; `tell` hears which. Raises InputError for what cannot be run, torch that is missing included."""
    torch = torch_library()
    factory = load_factory(reference)
    device = _device(torch, manner.device)
    if manner.processor_time and device.type != "cpu":
        raise InputError("expected device cpu with processor time", value=device.type)
    made = make(factory, lambda value: isinstance(value, torch.nn.Module))
    made.module.to(device)
    kind = KINDS[manner.training]
    optimizer = _optimizer(torch, made, manner) if manner.training else None
    units = (leaves_of if manner.leaves else blocks_of)(made.module)
    configurations = []
    with _threads(torch, manner):
        machine = _device_name(torch, device)
        for batch in batches:
            tell(f"batch size {batch}")
            configurations.append(_configuration(made, units, batch, device, optimizer, manner))
    title = name or f"{type(made.module).__name__}-{kind}"
    return Profile(title, kind, machine, torch.__version__, MEMORY[device.type], tuple(configurations))


@contextmanager
def _threads(torch: Any, manner: Manner) -> Iterator[None]:
    """One thread, if it is the processor's time that counts."""
    before = torch.get_num_threads()
    torch.set_num_threads(1 if manner.processor_time else before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def job_stepper(reference: str, batch: int, manner: Manner) -> tuple[Stepper, int]:
    """The job at one batch size, to be run an operator at a time, and the number of its operators. Raises InputError."""
    torch = torch_library()
    device = _device(torch, manner.device)
    made = make(load_factory(reference), lambda value: isinstance(value, torch.nn.Module))
    made.module.to(device)
    optimizer = _optimizer(torch, made, manner) if manner.training else None
    walk = Walk(made, (leaves_of if manner.leaves else blocks_of)(made.module), batch, device, optimizer)
    return Stepper(settled(walk, device)), len(walk.names)


def _configuration(
    made: Made, units: dict[str, Any], batch: int, device: Any, optimizer: Any, manner: Manner
) -> Configuration:
    try:
        walk = Walk(made, units, batch, device, optimizer)
        try:
            clock = time.process_time_ns if manner.processor_time else time.perf_counter_ns
            return measured(walk, batch, device, manner.repeats, manner.warmup, clock)
        finally:
            walk.close()
    except InputError:
        raise
    except Exception as error:
        found = f"{type(error).__name__}: {error}"
        raise InputError(f"expected a module that runs ({found})", value=batch, where="batch") from error


def _optimizer(torch: Any, made: Made, manner: Manner) -> Any:
    parameters = [parameter for parameter in made.module.parameters() if parameter.requires_grad]
    if not parameters:
        raise InputError("expected parameters to train", value="none", where="module")
    return getattr(torch.optim, OPTIMIZERS[manner.optimizer])(parameters, lr=1e-6)


def _device(torch: Any, wanted: str) -> Any:
    found = torch.cuda.is_available()
    if wanted == "cuda" and not found:
        raise InputError("expected a device that torch can use (auto takes the one it finds)", value=wanted)
    return torch.device("cpu" if wanted == "cpu" or not found else "cuda")


def _device_name(torch: Any, device: Any) -> str:
    if device.type == "cuda":
        return str(torch.cuda.get_device_name(device))
    return f"cpu ({platform.machine()}, {torch.get_num_threads()} threads)"
