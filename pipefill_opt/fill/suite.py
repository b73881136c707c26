"""The instance suite: `instances/index.json` with the best known value of each instance, the proven bound, and who proved it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from pathlib import Path
from typing import Any

from pipefill_opt.errors import InputError
from pipefill_opt.files import data_folder, read_text
from pipefill_opt.fill.certify import certify
from pipefill_opt.fill.hash import instance_hash
from pipefill_opt.fill.plan_file import read_plan
from pipefill_opt.fill.problem import FillProblem, Objective
from pipefill_opt.fill.read import read_instance
from pipefill_opt.parse import parse_json
from pipefill_opt.units import exact

INDEX = "index.json"
MINIMISED = (Objective.MAKESPAN, Objective.COMPLETION)


@dataclass(frozen=True, slots=True)
class Entry:
    """One instance. file, plan: relative to the suite's folder; plan: a plan of value `best`. best, bound: exact.

    sense: `max` or `min`. proved_by: what proved the bound; date: when. instance: the hash for which all this holds. greedy: value of
    PipeFill's plan on contiguous bubbles; pattern_bound: the per-bubble pattern bound; None where it is not known. traits: see `traits`.
    """

    file: str
    family: str
    objective: str
    sense: str
    instance: str
    best: Fraction
    bound: Fraction
    proved_by: str
    date: str
    plan: str
    greedy: Fraction | None
    pattern_bound: Fraction | None
    traits: str

    @property
    def proved(self) -> bool:
        """True if the best known value is known to be the optimum."""
        return self.best == self.bound

    @property
    def gap(self) -> Fraction:
        """|bound - best| / max(1, |best|)."""
        return abs(self.bound - self.best) / max(Fraction(1), abs(self.best))


NEEDED = ("best", "bound")
OPTIONAL = ("greedy", "pattern_bound")


def traits(problem: FillProblem, iterations: int) -> str:
    """What an instance has, of `carry` (bytes carried between bubbles), `swap` (swapped jobs), `H>1` (a plan of several iterations)."""
    operators = (o for job in problem.jobs for c in job.configurations for o in c.operators)
    has = {
        "carry": any(operator.carry for operator in operators),
        "swap": any(not job.keep for job in problem.jobs),
        "H>1": iterations > 1,
    }
    return " ".join(name for name, holds in has.items() if holds)


def read_suite(folder: Path | None = None) -> tuple[Entry, ...]:
    """All entries of the index in `folder`, by default the suite that comes with the package. Raises InputError."""
    path = (folder or data_folder("instances")) / INDEX
    document = parse_json(read_text(path), file=str(path))
    if not isinstance(document, list):
        raise InputError("expected a list of entries", file=str(path))
    return tuple(_entry(entry, f"[{index}]", str(path)) for index, entry in enumerate(document))


def _entry(document: Any, where: str, file: str) -> Entry:
    texts: Mapping[str, Any] = document if isinstance(document, dict) else {}
    names = {field.name for field in fields(Entry)}
    if set(texts) != names or not all(isinstance(value, str) for value in texts.values()):
        raise InputError(f"expected an entry of texts {', '.join(sorted(names))}", where=where, file=file)
    numbers: dict[str, Fraction | None] = {}
    for key in (*NEEDED, *OPTIONAL):
        try:
            numbers[key] = None if key in OPTIONAL and not texts[key] else fraction(texts[key])
        except InputError as error:
            raise error.located(where=f"{where}.{key}", file=file) from None
    return Entry(**{**texts, **numbers})


def fraction(text: str) -> Fraction:
    """The number written as `7/2` or `3`. Raises InputError."""
    numerator, _, denominator = text.partition("/")
    try:
        return exact(numerator) / exact(denominator or "1")
    except (InputError, ZeroDivisionError):
        raise InputError("expected a fraction, such as 7/2", value=text) from None


def suite_text(entries: tuple[Entry, ...]) -> str:
    """The text of an index file."""
    names = [field.name for field in fields(Entry)]
    documents = [
        {name: "" if getattr(entry, name) is None else str(getattr(entry, name)) for name in names} for entry in entries
    ]
    return json.dumps(documents, indent=1) + "\n"


def check_suite(folder: Path | None = None) -> Iterator[tuple[str, tuple[str, ...]]]:
    """(file, what is wrong with its entry) of each instance, indexed or not. Every stored plan is certified again."""
    folder = folder or data_folder("instances")
    entries = read_suite(folder)
    for entry in entries:
        yield entry.file, tuple(_faults(entry, folder))
    known = {entry.file for entry in entries}
    for file in instance_files(folder):
        if file not in known:
            yield file, ("is not in the index",)


def instance_files(folder: Path) -> list[str]:
    """The INSTANCE files of the suite: all YAML files of its families but main jobs (`main-...`)."""
    return sorted(
        path.relative_to(folder).as_posix() for path in folder.glob("*/*.yaml") if not path.name.startswith("main-")
    )


def _faults(entry: Entry, folder: Path) -> Iterator[str]:
    try:
        problem = read_instance(folder / entry.file)
        plan = read_plan(folder / entry.plan, problem)
    except InputError as error:
        yield str(error)
        return
    if instance_hash(problem) != entry.instance:
        yield f"its hash is {instance_hash(problem)}, the index says {entry.instance}"
    if problem.objective.value != entry.objective:
        yield f"its objective is {problem.objective.value}, the index says {entry.objective}"
    minimised = problem.objective in MINIMISED
    if entry.sense != ("min" if minimised else "max"):
        yield f"the sense of {entry.objective} is not {entry.sense}"
    if entry.best < entry.bound if minimised else entry.best > entry.bound:
        yield f"the best value {entry.best} is beyond the bound {entry.bound}"
    found = traits(problem, problem.iterations or plan.iterations or 1)
    if entry.traits != found:
        yield f"its traits are {found!r}, the index says {entry.traits!r}"
    verdict = certify(problem, plan)
    for violation in verdict.violations:
        yield f"its plan breaks a rule: {violation.code}: {violation.place}: {violation.message}"
    if verdict.valid and verdict.objective != entry.best:
        yield f"its plan has the value {verdict.objective}, the index says {entry.best}"
