"""From flags to a MAIN document that is known to resolve."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pipefill_opt.errors import InputError
from pipefill_opt.files import check, read_text
from pipefill_opt.workload.flags.megatron import is_megatron, megatron_document
from pipefill_opt.workload.flags.torchtitan import is_torchtitan, torchtitan_document
from pipefill_opt.workload.flags.words import Flags, read_flags, read_toml
from pipefill_opt.workload.model.main_model import read_model_job


def flags_document(given: str, hardware: str, gpus: int | None = None) -> tuple[dict[str, Any], tuple[str, ...]]:
    """MAIN, and the names of flags that it has no use for. given: flags, or the name of a file with them (TOML, or a shell script).

    Raises InputError: for flags that contradict each other, and for a job that cannot be built.
    """
    file = "" if given.lstrip().startswith("--") else given
    flags = _read(given, file)
    try:
        if is_torchtitan(flags):
            document = torchtitan_document(flags, hardware, gpus)
        elif is_megatron(flags):
            document = megatron_document(flags, hardware, gpus)
        else:
            raise InputError("expected flags of Megatron-LM (--num-layers ...) or torchtitan (parallelism, training)")
        check(document, "main")
        read_model_job(document, Path())
    except InputError as error:
        raise error.located(file=file or "flags") from None
    return document, flags.ignored()


def _read(given: str, file: str) -> Flags:
    try:
        if not file:
            return read_flags(given)
        text = read_text(file)
        return read_toml(text) if Path(file).suffix == ".toml" else read_flags(text)
    except InputError as error:
        raise error.located(file=file or "flags") from None
