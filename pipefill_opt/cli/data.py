"""Commands on data that come with the package: `schema`, `versions`."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from pipefill_opt import __version__
from pipefill_opt.cli.options import add_common

LIBRARIES = ("numpy", "numba", "scipy", "networkx", "pulp", "highspy", "ortools", "PyYAML", "jsonschema", "matplotlib")


def register(commands: Any) -> None:
    """Add the commands of this module to the parser."""
    schema = commands.add_parser("schema", help="print a published JSON Schema")
    schema.add_argument("name", metavar="NAME", nargs="?", help="without it: list the names")
    add_common(schema)
    schema.set_defaults(run=run_schema)

    versions = commands.add_parser("versions", help="versions of this program and of what it uses")
    add_common(versions, ("text", "json"))
    versions.set_defaults(run=run_versions)


def run_schema(arguments: argparse.Namespace) -> int:
    """`pipefill schema [NAME]`."""
    from pipefill_opt.files import schema_names, schema_text

    sys.stdout.write(schema_text(arguments.name) if arguments.name else "\n".join(schema_names()) + "\n")
    return 0


def run_versions(arguments: argparse.Namespace) -> int:
    """`pipefill versions`."""
    import platform
    from importlib.metadata import PackageNotFoundError, version

    versions = {"pipefill_opt": __version__, "python": platform.python_version()}
    for name in LIBRARIES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "not installed"
    if arguments.format == "json":
        import json

        print(json.dumps(versions, indent=2))
    else:
        print("\n".join(f"{name:13}{number}" for name, number in versions.items()))
    return 0
