"""What may be in a better choice than the incumbent, once the prices are as good as they get: few enough sets to search one by one."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from pipefill_opt.solve.column import Column
from pipefill_opt.solve.columns import MAX_COLUMNS, Choices
from pipefill_opt.solve.generation.groups import Group
from pipefill_opt.solve.generation.prices import Prices
from pipefill_opt.solve.generation.sets import Sets


def list_rest(
    groups: Sequence[Group],
    sets: Sequence[Sets],
    prices: Prices,
    tops: Sequence[Fraction],
    surplus: Fraction,
    classes: int,
) -> Choices | None:
    """All columns with which a choice may be worth more; None if they are too many.

    surplus: bound at these prices - least value of a better choice. A choice with a column of value - price r instead of its group's top is
    worth (top - r) less than the bound, so it needs top - r <= surplus.
    """
    columns: list[tuple[Column, int]] = []
    listed = 0
    for group, own, top in zip(groups, sets, tops, strict=True):
        rows = own.worth_more(prices, top - surplus, MAX_COLUMNS - listed)
        if rows is None:
            return None
        listed += len(rows)
        columns += [(Column(c, own.table.residents(row)), own.upper(row)) for row in rows for c in group.classes]
    columns.sort(key=lambda pair: (pair[0].class_index, len(pair[0].residents), pair[0].residents))
    return Choices(tuple(column for column, _ in columns), tuple(upper for _, upper in columns), (None,) * classes)
