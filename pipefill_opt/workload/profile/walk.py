"""Iterations of a torch module, forward only or training, that can pause at the end of each operator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pipefill_opt.errors import InputError
from pipefill_opt.workload.profile.factory import Made
from pipefill_opt.workload.profile.library import torch_library
from pipefill_opt.workload.profile.marks import Course, Event, Mark
from pipefill_opt.workload.profile.units import bytes_of, moved, tensors_of


class Walk:
    """A module at one batch size; its inputs are made once. `optimizer` None: forward only.

    Hooks of the units and of their outputs' gradients call `pause` where an operator ends. Nothing but resident bytes is left
    when an iteration has ended.
    """

    def __init__(self, made: Made, units: Mapping[str, Any], batch: int, device: Any, optimizer: Any = None) -> None:
        self._torch = torch_library()
        self._module, self._loss, self._optimizer = made.module, made.loss or _mean, optimizer
        self._inputs = moved(_inputs(made, batch), device)
        self._course: Course | None = None
        self._marks: list[Mark] = []
        self._pause: Callable[[], None] = _go_on
        self._hooks = [unit.register_forward_hook(self._hook(name)) for name, unit in units.items()]
        self._module.train(optimizer is not None)
        self.iterate(_go_on)
        self._course = Course(self._marks)

    @property
    def names(self) -> tuple[str, ...]:
        """Operators in order."""
        assert self._course is not None
        return self._course.names

    def close(self) -> None:
        """Take the hooks off the module."""
        for hook in self._hooks:
            hook.remove()

    def resident(self) -> int:
        """Bytes of parameters, buffers, gradients, optimizer state and one batch of inputs."""
        parameters = list(self._module.parameters())
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        state = [tensor for values in self._states() for tensor in tensors_of(values)]
        return bytes_of([*parameters, *self._module.buffers(), *gradients, *state, *tensors_of(self._inputs)])

    def iterate(self, pause: Callable[[], None]) -> None:
        """One iteration; calls `pause` at the end of each operator. Raises InputError where it goes another way than the first."""
        self._pause = pause
        if self._course is not None:
            self._course.restart()
        if self._optimizer is None:
            with self._torch.inference_mode():
                self._forward()
            self._mark(Event.OUTPUT)
            return
        loss = self._loss(self._forward())
        self._mark(Event.OUTPUT)
        loss.backward()
        del loss
        self._mark(Event.BACKWARD)
        self._optimizer.step()
        self._optimizer.zero_grad(set_to_none=False)
        self._mark(Event.STEP)

    def _forward(self) -> Any:
        if isinstance(self._inputs, dict):
            return self._module(**self._inputs)
        return self._module(*self._inputs) if isinstance(self._inputs, tuple | list) else self._module(self._inputs)

    def _hook(self, name: str) -> Callable[[Any, Any, Any], None]:
        def ran(_unit: Any, _inputs: Any, output: Any) -> None:
            for tensor in tensors_of(output):
                if tensor.requires_grad:
                    tensor.register_hook(lambda _gradient: self._mark(Event.GRADIENT, name))
                    break
            self._mark(Event.FORWARD, name)

        return ran

    def _mark(self, event: Event, unit: str = "") -> None:
        mark = Mark(event, unit)
        if self._course is None:
            self._marks.append(mark)
        elif self._course.ends_operator(mark):
            self._pause()

    def _states(self) -> list[Any]:
        return [] if self._optimizer is None else list(self._optimizer.state.values())


def _inputs(made: Made, batch: int) -> Any:
    try:
        return made.make_inputs(batch)
    except Exception as error:
        found = f"{type(error).__name__}: {error}"
        raise InputError(f"expected inputs ({found})", value=batch, where="make_inputs(batch)") from error


def _mean(output: Any) -> Any:
    """The loss by default: the sum of the means of all outputs that have a gradient."""
    return sum(tensor.float().mean() for tensor in tensors_of(output) if tensor.requires_grad)


def _go_on() -> None:
    """Do not pause."""
