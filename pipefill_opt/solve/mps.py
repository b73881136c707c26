"""Write an integer program as an MPS file (free format), in exact integers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from pipefill_opt.solve.program import Program

OBJECTIVE = "value"


def mps_text(program: Program, names: Sequence[str], comments: Sequence[str] = ()) -> str:
    """The program with these names of its variables (no blanks); rows are row_0, row_1, ... It is to be maximised (section OBJSENSE)."""
    entries: dict[int, list[tuple[str, int]]] = defaultdict(list)
    for k, row in enumerate(program.rows):
        for j, a in zip(row.variables, row.coefficients, strict=True):
            entries[j].append((f"row_{k}", a))
    lines = [f"* {' '.join(comment.split())}" for comment in comments]
    lines += ["NAME pipefill", "OBJSENSE", "    MAX", "ROWS", f" N {OBJECTIVE}"]
    lines += [f" {'L' if row.least is None else 'E'} row_{k}" for k, row in enumerate(program.rows)]
    lines += ["COLUMNS", "    INTEGERS 'MARKER' 'INTORG'"]
    for j, (name, value) in enumerate(zip(names, program.value, strict=True)):
        lines += [f"    {name} {row} {a}" for row, a in ((OBJECTIVE, value), *entries[j])]
    lines += ["    INTEGERS 'MARKER' 'INTEND'", "RHS"]
    lines += [f"    RHS row_{k} {row.most}" for k, row in enumerate(program.rows) if row.most]
    lines += ["BOUNDS", *(f" UP BND {name} {most}" for name, most in zip(names, program.upper, strict=True)), "ENDATA"]
    return "\n".join(lines) + "\n"
