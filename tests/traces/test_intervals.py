"""One's own timers as a CSV."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pipefill_opt.errors import InputError
from pipefill_opt.report.measured import measured_csv
from pipefill_opt.traces.importing import measured_intervals
from pipefill_opt.traces.intervals import read_intervals
from tests.traces.synthetic import pipeline

ROWS = """\
rank,action,start,end
0,0F0,0,10
1,1F0,12,20
1,1B0,20,36
0,0B0,37,48.0005
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "intervals.csv"
    path.write_text(text)
    return path


def test_a_small_file(tmp_path: Path) -> None:
    measured = measured_intervals(write(tmp_path, ROWS), unit="us")
    (step,) = measured.steps
    assert [[(str(run.action), run.start, run.end) for run in row] for row in step.rows] == [
        [("0F0", 0, 10_000), ("0B0", 37_000, 48_000)],
        [("1F0", 12_000, 20_000), ("1B0", 20_000, 36_000)],
    ]
    assert step.windows == ((0, 48_000), (0, 48_000))
    assert measured.notes == ()


def test_columns_in_any_order_times_with_units_steps_and_other_rows(tmp_path: Path) -> None:
    text = (
        "end, note ,rank,start,action,step\n"
        "2ms,,0,1ms,0F0,7\n4 ms,x,0,2ms,0B0,7\n5ms,,0,0,step,7\n9ms,,0,6ms,optimizer,7\n12ms,,0,11ms,0F0,8\n13ms,,0,12.5ms,0B0,8\n"
    )
    measured = measured_intervals(write(tmp_path, text))
    assert [step.number for step in measured.steps] == [7, 8]
    assert measured.steps[0].windows == ((0, 5_000_000),)
    assert measured.steps[1].windows == ((11_000_000, 13_000_000),)
    assert measured.notes == (f"{tmp_path / 'intervals.csv'}: 1 rows of 'optimizer' are no actions and were ignored",)


def test_marked_steps_hold_their_actions(tmp_path: Path) -> None:
    text = "rank,action,start,end\n" + "".join(
        f"0,step,{at},{at + 50}\n0,0F0,{at + 5},{at + 10}\n0,0F1,{at + 10},{at + 20}\n" for at in (0, 60)
    )
    measured = measured_intervals(write(tmp_path, text + "0,0F0,200,210\n"))
    assert [step.windows for step in measured.steps] == [((0, 50),), ((60, 110),)]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "expected a first row with the columns rank, action, start, end"),
        ("rank,action,start\n0,0F0,1\n", "rank,action,start: expected a first row"),
        ("rank,action,start,end\n", "none: expected rows with actions"),
        ("rank,action,start,end\n0,hello,1,2\n", "none: expected rows with actions"),
        ("rank,action,start,end\nx,0F0,1,2\n", r"row 2\.rank: x: expected a whole number"),
        ("rank,action,start,end\n0,0F0,1\n", r"row 2\.end: expected a time"),
        ("rank,action,start,end\n0,0F0,3,2\n", r"row 2\.end: 2: expected an end at or after the start"),
        ("rank,action,start,end\n0,0F0,soon,2\n", r"row 2\.start: soon: expected a time"),
        ("rank,action,start,end\n0,0F0,1,9e29\n", r"row 2\.end: 9e29: expected a time of less"),
    ],
)
def test_errors_name_row_and_column(text: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"intervals\.csv: ") as caught:
        read_intervals(write(tmp_path, text))

    assert re.search(problem, str(caught.value)), str(caught.value)


def test_a_report_s_csv_reads_back(tmp_path: Path) -> None:
    made = pipeline({"family": "1f1b", "devices": 3, "microbatches": 5})
    rows = "".join(
        f"{rank},{text},{start},{end},{number}\n"
        for number, step in enumerate(made.truth)
        for rank, row in enumerate(step)
        for text, start, end in row
    )
    measured = measured_intervals(write(tmp_path, "rank,action,start,end,step\n" + rows))
    again = measured_intervals(write(tmp_path, measured_csv(measured)))
    assert again == measured
