"""Read YAML and JSON exactly, and check them against the published JSON Schemas.

Numbers come out as int or Decimal, never as binary floats. YAML is read by its 1.2 core rules, so that `1e12` is a
number, and `0F0` and `on` are text. A doubled key, NaN or infinity is an error.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from pipefill_opt.errors import InputError

if TYPE_CHECKING:
    import yaml
    from jsonschema.protocols import Validator

MAX_FILE_BYTES = 2**30
MAX_VALUES = 1_000_000
"""Most values of a YAML document that uses aliases, all of them written out."""


def read_text(path: Path | str) -> str:
    """The text of a file; an unreadable one is an InputError."""
    try:
        data = Path(path).read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        problem = getattr(error, "strerror", None) or error
        raise InputError(f"expected a readable file ({problem})", file=str(path)) from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"expected UTF-8 text (byte {error.start} is not)", file=str(path)) from None


def write_text(path: Path | str, text: str) -> None:
    """Write the whole file or nothing: to a temporary file beside it, then renamed into place."""
    write_bytes(path, text.encode())


def write_bytes(path: Path | str, data: bytes) -> None:
    """As `write_text`, for bytes."""
    target = Path(path)
    try:
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


def parse_json(text: str, *, file: str = "") -> Any:
    """Exact JSON: Decimal for fractions, no NaN, no doubled keys."""

    def no_constant(name: str) -> NoReturn:
        raise InputError("expected a finite number", value=name, file=file)

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        table = dict(pairs)
        if len(table) != len(pairs):
            keys = [key for key, _ in pairs]
            raise InputError("expected each key once", value=next(k for k in keys if keys.count(k) > 1), file=file)
        return table

    try:
        return json.loads(text, parse_float=Decimal, parse_constant=no_constant, object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise InputError(f"expected JSON ({error.msg})", where=place, file=file) from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"expected JSON ({error})", file=file) from None


def parse_yaml(text: str, *, file: str = "") -> Any:
    """Exact YAML by the 1.2 core rules, no doubled keys, no aliases that grow, no NaN."""
    import yaml

    try:
        document = yaml.load(text, Loader=_loader())
        if "&" in text:
            _refuse_growth(document)
        return document
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        problem = " ".join(str(error.problem or error.context or "").split())
        raise InputError(f"expected YAML ({problem})", where=place, file=file) from None
    except (yaml.YAMLError, RecursionError) as error:
        raise InputError(f"expected YAML ({' '.join(str(error).split())})", file=file) from None
    except InputError as error:
        raise error.located(file=file) from None


def _refuse_growth(document: Any) -> None:
    """InputError for aliases that contain themselves, or that write out to more than MAX_VALUES values."""
    waiting, values = [document], 0
    while waiting:
        values += 1
        if values > MAX_VALUES:
            raise InputError(f"expected aliases that write out to at most {MAX_VALUES} values, none inside itself")
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value


@cache
def _loader() -> Any:
    import yaml

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class ExactLoader(base):  # type: ignore[misc]
        yaml_implicit_resolvers: dict[str, list[Any]] = {}  # noqa: RUF012  (PyYAML's own protocol)

    tags = [
        ("tag:yaml.org,2002:bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
        ("tag:yaml.org,2002:null", r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
        ("tag:yaml.org,2002:int", r"^[-+]?[0-9]+$", "-+0123456789"),
        (
            "tag:yaml.org,2002:float",
            r"^(?:[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$",
            "-+0123456789.",
        ),
        ("tag:yaml.org,2002:merge", r"^<<$", "<"),
    ]
    for tag, pattern, first in tags:
        ExactLoader.add_implicit_resolver(tag, re.compile(pattern), list(first))

    def place(node: yaml.Node) -> str:
        return f"line {node.start_mark.line + 1}, column {node.start_mark.column + 1}"

    def integer(loader: Any, node: Any) -> int:
        text = loader.construct_scalar(node)
        if len(text) > 400:
            raise InputError("expected a number of at most 400 digits", value=text, where=place(node))
        return int(text)

    def number(loader: Any, node: Any) -> Decimal:
        text = loader.construct_scalar(node)
        if "inf" in text.lower() or "nan" in text.lower():
            raise InputError("expected a finite number", value=text, where=place(node))
        return Decimal(text)

    def mapping(loader: Any, node: Any) -> dict[Any, Any]:
        loader.flatten_mapping(node)
        table: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            key = loader.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                key = loader.construct_scalar(key_node) if hasattr(key_node, "value") else key
            if not isinstance(key, str):
                raise InputError("expected a key that is text", value=key, where=place(key_node))
            if key in table:
                raise InputError("expected each key once", value=key, where=place(key_node))
            table[key] = loader.construct_object(value_node, deep=True)
        return table

    ExactLoader.add_constructor("tag:yaml.org,2002:int", integer)
    ExactLoader.add_constructor("tag:yaml.org,2002:float", number)
    ExactLoader.add_constructor("tag:yaml.org,2002:map", mapping)
    return ExactLoader


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
