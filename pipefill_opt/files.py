"""Read and write files, and check documents against the published JSON Schemas."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pipefill_opt.errors import InputError
from pipefill_opt.parse import parse_json, parse_yaml

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

MAX_FILE_BYTES: Final = 2**30


def read_text(path: Path | str) -> str:
    """The text of a file; an unreadable one is an InputError."""
    try:
        with open(path, "rb") as stream:
            data = stream.read(MAX_FILE_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        problem = getattr(error, "strerror", None) or error
        raise InputError(f"expected a readable file ({problem})", file=str(path) or "''") from None
    if len(data) > MAX_FILE_BYTES:
        raise InputError(f"expected a file of at most {MAX_FILE_BYTES} bytes", file=str(path))
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"expected UTF-8 text (byte {error.start} is not)", file=str(path)) from None


def write_text(path: Path | str, text: str) -> None:
    """Write the whole file or nothing: to a temporary file beside it, then renamed into place.

    A link stays a link, to the new file; what is no regular file (a device, a pipe) is written to as it is.
    """
    write_bytes(path, text.encode())


def write_bytes(path: Path | str, data: bytes) -> None:
    """As `write_text`, for bytes."""
    target = Path(os.path.realpath(path))
    try:
        if target.exists() and not target.is_file():
            with open(target, "wb") as stream:
                stream.write(data)
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(data)
            umask = os.umask(0)
            os.umask(umask)
            os.chmod(name, 0o666 & ~umask)
            os.replace(name, target)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as error:
        raise InputError(f"expected a writable place ({error.strerror or error})", file=str(path)) from None


def read_document(path: Path | str, schema: str) -> Any:
    """Read a YAML or JSON file and check it against the published schema `schema`; returns plain dicts and lists."""
    return parse_document(read_text(path), schema, file=str(path))


def parse_document(text: str, schema: str, *, file: str = "") -> Any:
    """As `read_document`, from text (`file` names its origin in errors)."""
    document = (
        parse_json(text, file=file) if text.lstrip()[:1] in "{[" and _is_json(file) else parse_yaml(text, file=file)
    )
    check(document, schema, file=file)
    return document


def _is_json(file: str) -> bool:
    return file.endswith(".json")


def schema_names() -> tuple[str, ...]:
    """Names of the published schemas."""
    folder = resources.files("pipefill_opt") / "schemas"
    return tuple(sorted(entry.name[: -len(".json")] for entry in folder.iterdir() if entry.name.endswith(".json")))


@cache
def schema_text(name: str) -> str:
    """The JSON text of a published schema. Raises InputError for an unknown name."""
    if name not in schema_names():
        raise InputError(f"expected one of {', '.join(schema_names())}", value=name, where="schema")
    return (resources.files("pipefill_opt") / "schemas" / f"{name}.json").read_text(encoding="utf-8")


@cache
def _validator(name: str) -> Validator:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(json.loads(schema_text(name)))


def check(document: Any, schema: str, *, file: str = "") -> None:
    """Raise InputError (file, path, value, expectation) for the first place where `document` breaks the schema."""
    errors = list(_validator(schema).iter_errors(document))
    if errors:
        error = min(errors, key=lambda e: (len(e.absolute_path), [str(part) for part in e.absolute_path]))
        raise _explained(error, file)


def _explained(error: Any, file: str) -> InputError:
    """One line from a jsonschema error: the deepest branch that fits, and the schema's own `x-expected` where it has one."""
    while error.validator in ("anyOf", "oneOf") and error.context and "x-expected" not in error.schema:
        deepest = max(len(inner.absolute_path) for inner in error.context)
        error = next(inner for inner in error.context if len(inner.absolute_path) == deepest)
    where = path_text(error.absolute_path)
    value: Any = error.instance
    schema: Mapping[str, Any] = error.schema
    if error.validator == "additionalProperties":
        known = sorted(schema.get("properties", {}))
        unknown = sorted(str(key) for key in value if key not in known)
        where = f"{where}.{unknown[0]}" if where else unknown[0]
        return InputError(
            f"unknown key, expected one of {', '.join(known)}", value=value.get(unknown[0]), where=where, file=file
        )
    if error.validator == "required":
        missing = next(key for key in error.validator_value if key not in value)
        return InputError(f"missing key {missing!r}", where=where or "top level", file=file)
    if "x-expected" in schema:
        expected = f"expected {schema['x-expected']}"
    elif error.validator == "enum":
        expected = f"expected one of {', '.join(map(str, error.validator_value))}"
    elif error.validator == "type":
        kinds = error.validator_value if isinstance(error.validator_value, list) else [error.validator_value]
        words = {"object": "a mapping", "array": "a list", "string": "text", "integer": "a whole number"}
        words |= {"number": "a number", "boolean": "true or false", "null": "nothing"}
        expected = f"expected {' or '.join(words[kind] for kind in kinds)}"
    elif error.validator == "minItems":
        expected = f"expected a list of at least {error.validator_value} entries"
    elif error.validator in ("minimum", "exclusiveMinimum"):
        expected = (
            f"expected a number {'above' if error.validator.startswith('e') else 'of at least'} {error.validator_value}"
        )
    elif error.validator in ("maximum", "exclusiveMaximum"):
        expected = (
            f"expected a number {'below' if error.validator.startswith('e') else 'of at most'} {error.validator_value}"
        )
    else:
        expected = f"expected otherwise ({' '.join(str(error.message).split())})"
    shown = "nothing" if value is None else json.dumps(value, default=str)
    return InputError(expected, value=shown, where=where or "top level", file=file)


def path_text(path: Any) -> str:
    """`devices[0].bubbles[2].start` from the parts of a path."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else (f".{part}" if text else str(part))
    return text


def data_folder(name: str) -> Path:
    """The folder `instances` or `models`: inside an installed wheel, or at the top of a checkout."""
    package = Path(__file__).parent
    for place in (package / "_data" / name, package.parent / name):
        if place.is_dir():
            return place
    raise InputError(f"expected the data folder {name!r} beside the package", file=str(package))
