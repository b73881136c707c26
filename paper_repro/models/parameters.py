"""Parameters of every network in models/networks, counted from its layers, against the published number: within 2 %."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from paper_repro.targets import Target, report
from pipefill_opt.workload.model.catalog import network_names, read_network

TOLERANCE = 0.02


def targets() -> list[Target]:
    """In millions. Each network's file names the source of its number."""
    rows = []
    for name in network_names():
        network = read_network(name)
        published = network.published / 1e6
        quantity = f"parameters of {name}, millions"
        rows.append(Target(quantity, published, network.parameters / 1e6, TOLERANCE * published, network.provenance))
    return rows


def main(argv: list[str] | None = None) -> int:
    """Print, write CSV; 1 on drift."""
    parser = argparse.ArgumentParser(description="parameter counts of all networks")
    parser.add_argument("-o", "--output", type=Path, default=Path("out/repro"), metavar="DIR")
    return report(targets(), parser.parse_args(argv).output / "parameters.csv")


if __name__ == "__main__":
    sys.exit(main())
