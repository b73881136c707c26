"""Shadow prices: as text, as plain data, as CSV."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from pipefill_opt.fill.problem import FillProblem
from pipefill_opt.report.solution import value_text
from pipefill_opt.report.tables import csv_text, exact_number, text_table
from pipefill_opt.solve.prices import Change, Price, Prices, Scarce

HEADER = ("what", "of", "kind", "units", "found", "least", "most", "each")


def prices_text(problem: FillProblem, prices: Prices) -> str:
    """A line for each change, the one that is worth most for each unit first."""
    base = prices.base
    rows = [
        (
            change_text(price.change),
            str(price.change.units),
            _worth(problem, price.each),
            _worth(problem, price.found),
            "proved" if price.proved else f"{_worth(problem, price.least)} to {_worth(problem, price.most)}",
        )
        for price in sorted(prices.prices, key=lambda price: -price.each)
    ]
    lines = [
        f"what one more is worth, against {value_text(problem, base.objective)} ({base.outcome}), each solved again:",
        *text_table(("change", "units", "for each unit", "in all", "true worth"), rows, indent="  "),
    ]
    lines += [f"  no plan found for {change_text(change)}: its worth is unknown" for change in prices.without_plan]
    if prices.left_out:
        lines.append(f"  stopped: {prices.left_out} more changes were not tried")
    return "\n".join(lines) + "\n"


def change_text(change: Change) -> str:
    """`1 ms more in each fwd-bwd bubble of stage0`."""
    if change.what is Scarce.TIME:
        return f"1 ms more in each {change.kind} bubble of {change.of}"
    if change.what is Scarce.MEMORY:
        return f"1 GiB more on each {change.of}"
    if change.what is Scarce.DEVICE:
        return f"one more device {change.of}"
    if change.what is Scarce.COPY:
        return f"one more copy of {change.of}"
    return f"1 ms less of {change.of}"


def _worth(problem: FillProblem, worth: Fraction) -> str:
    return f"-{value_text(problem, -worth)}" if worth < 0 else value_text(problem, worth)


def _row(price: Price) -> tuple[Any, ...]:
    change = price.change
    worth = (exact_number(number) for number in (price.found, price.least, price.most, price.each))
    return (change.what.value, change.of, change.kind, change.units, *worth)


def prices_document(prices: Prices) -> dict[str, Any]:
    """Exact numbers as text. found, least, most: of the whole change; each: found for one of its units."""
    base = prices.base
    return {
        "base": {
            "outcome": base.outcome.value,
            "objective": exact_number(base.objective),
            "bound": exact_number(base.bound),
        },
        "prices": [dict(zip(HEADER, _row(price), strict=True)) for price in prices.prices],
        "left_out": prices.left_out,
        "without_plan": [change_text(change) for change in prices.without_plan],
    }


def prices_csv(prices: Prices) -> str:
    """One row for each change."""
    return csv_text(HEADER, [_row(price) for price in prices.prices])
