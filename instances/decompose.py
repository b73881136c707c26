"""How much more than PipeFill's greedy the optimum recovers, and what it comes from: `python instances/decompose.py [FAMILY ...]`.

A ladder of problems, each with one freedom more than the one below; a rung may keep what the rung below does, so none is worth less.

1. greedy: PipeFill's plan algorithm, contiguous bubbles, one job a device, the best pair of class and job first.
2. packing: each device keeps greedy's job and configuration, and runs the best plan in its contiguous bubbles.
3. inner: the same in all bubbles, for the jobs that greedy chooses there where that is better.
4. devices: one job a device; which job runs on which class is chosen jointly. Each job has one configuration (see `one_configuration`).
5. mixing: any jobs on a device, several of them too; still one configuration a job.
6. configurations: the whole problem.

Rungs 2 to 4 are solved by the exact device solver and a minimum-cost flow in whole numbers; rung 5 by `solve`, within the time
limit; rung 6 is the index. Each rung has its bound; a share is `proved` where value and bound of both its rungs agree. Writes
ladder.csv (by instance), ladder.md (by family) and the picture; a row stays as long as its instance, best value and bound do.
"""

from __future__ import annotations

import argparse
import csv
import io
import logging
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent))

from pipefill_opt.files import write_bytes, write_text  # noqa: E402
from pipefill_opt.fill.fits import misfit  # noqa: E402
from pipefill_opt.fill.problem import DeviceClass, FillProblem, Objective  # noqa: E402
from pipefill_opt.fill.read import read_instance  # noqa: E402
from pipefill_opt.fill.suite import Entry, fraction, read_suite  # noqa: E402
from pipefill_opt.fill.values import operator_values  # noqa: E402
from pipefill_opt.solve.device import Compiled, DeviceResult, Residents, compile_problem  # noqa: E402
from pipefill_opt.solve.exact import solve_exact  # noqa: E402
from pipefill_opt.solve.greedy import Choice, contiguous, every_kind, greedy, pack  # noqa: E402
from pipefill_opt.solve.result import Limits  # noqa: E402
from pipefill_opt.solve.watch import Watch  # noqa: E402

RUNGS = ("greedy", "packing", "inner", "devices", "mixing", "configurations")
DEVICE_SECONDS = 20.0


@dataclass(frozen=True)
class Rung:
    """The best value known and a bound on the best there is, both exact, per main iteration."""

    value: Fraction
    bound: Fraction

    @property
    def closed(self) -> bool:
        """Whether the value is proved to be the best."""
        return self.value == self.bound

    def either(self, other: Rung) -> Rung:
        """The better of two problems."""
        return Rung(max(self.value, other.value), max(self.bound, other.bound))

    def above(self, below: Rung) -> Rung:
        """This rung, if it may keep what the one below does."""
        return Rung(max(self.value, below.value), max(self.bound, below.value))


def without_inner(problem: FillProblem) -> FillProblem:
    """Contiguous bubbles only."""

    def cut(device: DeviceClass) -> DeviceClass:
        return replace(device, bubbles=tuple(bubble for bubble in device.bubbles if contiguous(bubble)))

    return replace(problem, devices=tuple(cut(device) for device in problem.devices))


def one_configuration(problem: FillProblem, choices: Sequence[Choice], iterations: int) -> FillProblem:
    """Each job with one configuration: greedy's on most devices; of a job that greedy does not use, the one with greedy's best plan."""
    compiled = compile_problem(problem)
    jobs = []
    for j, job in enumerate(problem.jobs):
        used = [0] * len(job.configurations)
        for choice in choices:
            ((owner, k),) = choice.device.residents
            if owner == j:
                used[k] += choice.multiplicity
        if not any(used) and len(used) > 1:
            for k, configuration in enumerate(job.configurations):
                for c, device in enumerate(problem.devices):
                    if device.name in job.devices and not misfit(problem, device, job, configuration):
                        alone = compiled.device(c, ((j, k),), iterations)
                        used[k] = max(used[k], pack(alone).value(alone))
        best = job.configurations[max(range(len(used)), key=lambda k: used[k])]
        worth = zip(
            best.operators, operator_values(job, best), strict=True
        )  # stated, or it would change with the other ones gone
        chain = tuple(replace(operator, value=value) for operator, value in worth)
        jobs.append(replace(job, configurations=(replace(best, operators=chain),)))
    return replace(problem, jobs=tuple(jobs))


class Devices:
    """Exact results of single devices with one job, each computed once."""

    def __init__(self, compiled: Compiled, iterations: int) -> None:
        self.compiled = compiled
        self.iterations = iterations
        self._known: dict[object, DeviceResult] = {}

    def result(self, class_index: int, residents: Residents) -> DeviceResult:
        """The optimum of a device, or value and bound."""
        device = self.compiled.device(class_index, residents, self.iterations)
        key = replace(device, class_index=0)
        if key not in self._known:
            self._known[key] = solve_exact(device, Limits(time=DEVICE_SECONDS), hint=pack(device))
        return self._known[key]


def greedy_rungs(problem: FillProblem, iterations: int) -> tuple[list[Choice], Rung, Rung, Rung]:
    """Greedy's choices, and the rungs greedy, packing, inner."""
    compiled, short = compile_problem(problem), compile_problem(without_inner(problem))
    assert short.unit == compiled.unit
    unit = compiled.unit / iterations
    choices, every = (greedy(compiled, iterations, kinds, Watch(Limits())) for kinds in (contiguous, every_kind))
    value = sum((choice.value * choice.multiplicity for choice in choices), 0) * unit
    first = Rung(value, value)
    packing = packed(Devices(short, iterations), choices, unit).above(first)
    devices = Devices(compiled, iterations)
    inner = packed(devices, choices, unit).either(packed(devices, every, unit)).above(packing)
    return choices, first, packing, inner


def packed(devices: Devices, choices: Sequence[Choice], unit: Fraction) -> Rung:
    """The best plan on each device for the job and configuration chosen."""
    found = [(devices.result(x.device.class_index, x.device.residents), x.multiplicity) for x in choices]
    value = sum((result.value * number for result, number in found), 0)
    bound = sum((result.bound * number for result, number in found), 0)
    return Rung(value * unit, bound * unit)


def assigned(problem: FillProblem, iterations: int) -> Rung:
    """One job a device, classes and jobs matched jointly: a transportation problem, whose linear program has whole vertices."""
    compiled = compile_problem(problem)
    devices = Devices(compiled, iterations)
    pairs: list[tuple[int, int]] = []
    results: list[DeviceResult] = []
    for c, device in enumerate(problem.devices):
        for j, job in enumerate(problem.jobs):
            for k, configuration in enumerate(job.configurations):
                if device.name in job.devices and not misfit(problem, device, job, configuration):
                    pairs.append((c, j))
                    results.append(devices.result(c, ((j, k),)))
    if not pairs:
        return Rung(Fraction(0), Fraction(0))
    limits = [device.count for device in problem.devices] + [job.copies for job in problem.jobs]
    unit = compiled.unit / iterations
    value = transport(pairs, [result.value for result in results], limits, len(problem.devices))
    bound = transport(pairs, [result.bound for result in results], limits, len(problem.devices))
    return Rung(value * unit, bound * unit)


def transport(pairs: Sequence[tuple[int, int]], values: Sequence[int], limits: Sequence[int], classes: int) -> int:
    """The most that a whole assignment is worth: a minimum-cost circulation, in whole numbers throughout."""
    import networkx as nx

    graph = nx.DiGraph()
    for node, limit in enumerate(limits):
        graph.add_edge("begin", node, capacity=limit) if node < classes else graph.add_edge(node, "end", capacity=limit)
    for (c, j), value in zip(pairs, values, strict=True):
        edge = graph.get_edge_data(c, classes + j, {"weight": 0})
        graph.add_edge(c, classes + j, weight=min(-value, edge["weight"]))
    graph.add_edge("end", "begin", weight=0)
    cost, _ = nx.network_simplex(graph)
    return -int(cost)


def mixed(problem: FillProblem, solver: str, seconds: float) -> Rung:
    """Any jobs on a device."""
    from pipefill_opt.solve.facade import solve

    found = solve(problem, solver=solver, limits=Limits(time=seconds))
    assert found.objective is not None
    assert found.bound is not None
    return Rung(found.objective, found.bound)


def ladder(entry: Entry, seconds: float, solver: str = "auto") -> list[Rung]:
    """All rungs of one instance of fixed H."""
    problem = read_instance(FOLDER / entry.file)
    iterations = problem.iterations
    assert iterations is not None
    choices, *rungs = greedy_rungs(problem, iterations)
    single = one_configuration(problem, choices, iterations)
    rungs.append(assigned(single, iterations).above(rungs[-1]))
    whole = Rung(entry.best, entry.bound)
    same = all(len(job.configurations) == 1 for job in problem.jobs)
    rungs.append((whole if same else mixed(single, solver, seconds)).above(rungs[-1]))
    rungs[-1] = Rung(rungs[-1].value, min(rungs[-1].bound, whole.bound))
    rungs.append(whole.above(rungs[-1]))
    return rungs


@dataclass(frozen=True)
class Row:
    """The ladder of an instance."""

    file: str
    instance: str
    best: Fraction
    rungs: tuple[Rung, ...]

    @property
    def family(self) -> str:
        return self.file.split("/")[0]

    def gain(self, k: int) -> Fraction:
        """What rung k adds, as a share of greedy's value."""
        return (self.rungs[k].value - self.rungs[k - 1].value) / self.rungs[0].value

    def proved(self, k: int) -> bool:
        """Whether that is exact."""
        return all(rung.closed for rung in self.rungs[k - 1 : k + 1])

    def merged(self, old: Row) -> Row:
        """The better of two values and of two bounds on each rung but the last."""
        pairs = zip(self.rungs[:-1], old.rungs[:-1], strict=True)
        rungs = [Rung(max(a.value, b.value), min(a.bound, b.bound)) for a, b in pairs]
        return replace(self, rungs=(*rungs, self.rungs[-1]))


def to_csv(rows: Sequence[Row]) -> str:
    """One row an instance."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["file", "instance", "best", *(f"{name}_{part}" for name in RUNGS for part in ("value", "bound"))])
    for row in rows:
        writer.writerow(
            [row.file, row.instance, row.best, *(x for rung in row.rungs for x in (rung.value, rung.bound))]
        )
    return stream.getvalue()


def from_csv(text: str) -> Iterator[Row]:
    """The rows of `to_csv`."""
    for row in list(csv.reader(io.StringIO(text)))[1:]:
        numbers = [fraction(cell) for cell in row[3:]]
        rungs = tuple(Rung(*numbers[k : k + 2]) for k in range(0, len(numbers), 2))
        yield Row(row[0], row[1], fraction(row[2]), rungs)


def mean(numbers: Sequence[Fraction]) -> float:
    return float(sum(numbers, Fraction(0)) / len(numbers)) if numbers else 0.0


def markdown(rows: Sequence[Row]) -> str:
    """By family: the mean over its instances of what each rung adds, in per cent of greedy's value."""
    lines = [
        f"| family | instances | more than greedy | at most | {' | '.join(RUNGS[1:])} |",
        "|---" * (len(RUNGS) + 3) + "|",
    ]
    families = list(dict.fromkeys(row.family for row in rows))
    for family in [*families, "all"]:
        own = [row for row in rows if family in (row.family, "all") and row.rungs[0].value]
        cells = []
        for k in range(1, len(RUNGS)):
            proved = sum(row.proved(k) for row in own)
            share = "" if proved == len(own) else f" ({proved} of {len(own)} proved)"
            cells.append(f"{100 * mean([row.gain(k) for row in own]):.1f} %{share}")
        gain = mean([row.rungs[-1].value / row.rungs[0].value - 1 for row in own])
        most = mean([row.rungs[-1].bound / row.rungs[0].value - 1 for row in own])
        lines.append(f"| {family} | {len(own)} | {100 * gain:.1f} % | {100 * most:.1f} % | {' | '.join(cells)} |")
    left = [row.file for row in rows if not row.rungs[0].value]
    if left:
        lines += ["", f"Left out, greedy recovers nothing there: {', '.join(left)}."]
    return "\n".join(lines) + "\n"


def picture(rows: Sequence[Row]) -> bytes:
    """Stacked bars by family."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    families = list(dict.fromkeys(row.family for row in rows))
    figure = Figure(figsize=(8, 4), dpi=120)
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    bottom = [0.0] * len(families)
    for k, colour in enumerate(("#1F3F77", "#33BBEE", "#009988", "#EE7733", "#CC3311"), 1):
        heights = [
            100 * mean([row.gain(k) for row in rows if row.family == family and row.rungs[0].value])
            for family in families
        ]
        axes.bar(families, heights, bottom=bottom, color=colour, label=RUNGS[k])
        bottom = [below + height for below, height in zip(bottom, heights, strict=True)]
    axes.set_ylabel("more than PipeFill's greedy, %")
    axes.legend(frameon=False, ncols=5, loc="upper center", bbox_to_anchor=(0.5, 1.12))
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.tight_layout()
    stream = io.BytesIO()
    figure.savefig(stream, format="png", metadata={"Software": None})
    return stream.getvalue()


def main() -> int:
    """Complete ladder.csv, then write table and picture."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--time-limit", type=float, default=20.0, help="seconds for the rung mixing (default: 20)")
    parser.add_argument("--solver", default="auto", help="for the rung mixing (default: auto)")
    parser.add_argument("--again", action="store_true", help="repeat rows whose rung mixing is not proved")
    parser.add_argument("families", metavar="FAMILY", nargs="*")
    options = parser.parse_args()
    logging.basicConfig(level=logging.ERROR)
    path = FOLDER / "ladder.csv"
    known = {row.file: row for row in from_csv(path.read_text(encoding="utf-8"))} if path.exists() else {}
    entries = [e for e in read_suite(FOLDER) if e.objective == Objective.THROUGHPUT and e.family != "tiny"]
    known = {e.file: known[e.file] for e in entries if e.file in known and known[e.file].instance == e.instance}
    for entry in entries:
        old = known.get(entry.file)
        if options.families and entry.family not in options.families:
            continue
        if (
            old
            and (old.best, old.rungs[-1].bound) == (entry.best, entry.bound)
            and (old.rungs[4].closed or not options.again)
        ):
            continue
        row = Row(entry.file, entry.instance, entry.best, tuple(ladder(entry, options.time_limit, options.solver)))
        known[entry.file] = row = row if old is None else row.merged(old)
        gains = ", ".join(
            f"{name} {100 * float(row.gain(k)):.2f} %" for k, name in enumerate(RUNGS) if k and row.rungs[0].value
        )
        print(f"{entry.file}: {gains}", flush=True)
        write_text(path, to_csv([known[file] for file in sorted(known)]))
    rows = [known[file] for file in sorted(known)]
    write_text(FOLDER / "ladder.md", markdown(rows))
    write_bytes(FOLDER.parent / "docs" / "images" / "suite_ladder.png", picture(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
