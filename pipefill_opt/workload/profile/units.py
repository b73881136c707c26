"""The parts of a module at whose ends it can pause."""

from __future__ import annotations

from typing import Any

from pipefill_opt.workload.profile.library import torch_library


def leaves_of(module: Any) -> dict[str, Any]:
    """All modules without children, by name; each once."""
    found = {name: unit for name, unit in module.named_modules() if name and not list(unit.children())}
    return found or {type(module).__name__: module}


def blocks_of(module: Any) -> dict[str, Any]:
    """Top-level blocks by name. A mere container, and a child with over half of all parameters, is taken apart in turn."""
    nn = torch_library().nn
    total = _parameters(module)

    def parts(unit: Any, prefix: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, child in unit.named_children():
            large = 2 * _parameters(child) > total
            container = isinstance(child, nn.Sequential | nn.ModuleList | nn.ModuleDict)
            if (container or large) and list(child.children()):
                found |= parts(child, f"{prefix}{name}.")
            else:
                found[f"{prefix}{name}"] = child
        return found

    return parts(module, "") or {type(module).__name__: module}


def tensors_of(value: Any) -> list[Any]:
    """All tensors in tuples, lists, mappings."""
    if isinstance(value, torch_library().Tensor):
        return [value]
    if isinstance(value, dict):
        value = tuple(value.values())
    return [tensor for part in value for tensor in tensors_of(part)] if isinstance(value, tuple | list) else []


def moved(value: Any, device: Any) -> Any:
    """The same structure with its tensors on a device."""
    if isinstance(value, torch_library().Tensor):
        return value.to(device)
    if isinstance(value, dict):
        return {key: moved(part, device) for key, part in value.items()}
    return type(value)(moved(part, device) for part in value) if isinstance(value, tuple | list) else value


def bytes_of(tensors: Any) -> int:
    """Bytes of what the tensors lie in, each storage once."""
    storages = [tensor.untyped_storage() for tensor in tensors]
    return sum({storage.data_ptr(): storage.nbytes() for storage in storages}.values())


def _parameters(module: Any) -> int:
    return sum(parameter.numel() for parameter in module.parameters())
