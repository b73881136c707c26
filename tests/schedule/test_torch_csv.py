from __future__ import annotations

import json
import logging
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipefill_opt.errors import InputError, ScheduleError
from pipefill_opt.files import read_text
from pipefill_opt.schedule.actions import COMPUTE, Kind, Pair, parse_action
from pipefill_opt.schedule.families import FAMILIES, build_family
from pipefill_opt.schedule.messages import with_messages, without_messages
from pipefill_opt.schedule.schedule import Schedule, same_order
from pipefill_opt.schedule.torch_csv import read_torch_csv, write_torch_csv
from tests.cases import ROOT, cases_folder
from tests.schedule.simulation import peak_in_flight, replay

SAMPLES = ROOT / "tests" / "data" / "torch_csv"
TORCH_NAMES = {
    "GPipe": "gpipe",
    "1F1Bruntime": "1f1b",
    "LoopedBFS": "looped-bfs",
    "Interleaved1F1B": "interleaved-1f1b",
    "ZBVZeroBubble": "zbv",
    "InterleavedZeroBubble": "interleaved-zero-bubble",
    "DualPipeV": "dualpipev",
}


def read(path: Path) -> Schedule:
    return read_torch_csv(read_text(path), file=path.name)


def refusal(text: str) -> ScheduleError:
    with pytest.raises(ScheduleError) as caught:
        read_torch_csv(text, file="order.csv")
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    ("file", "family", "devices", "microbatches", "options"),
    [
        ("gpipe_2_3.csv", "gpipe", 2, 3, {"reduce": True}),
        ("1f1b_3_4.csv", "1f1b", 3, 4, {}),
        ("looped-bfs_2_3.csv", "looped-bfs", 2, 3, {}),
        ("interleaved-1f1b_3_6.csv", "interleaved-1f1b", 3, 6, {}),
        ("interleaved-zero-bubble_3_3.csv", "interleaved-zero-bubble", 3, 3, {}),
        ("zbv_3_5.csv", "zbv", 3, 5, {}),
        ("dualpipev_3_6.csv", "dualpipev", 3, 6, {}),
        ("forward-only_3_2.csv", "forward-only", 3, 2, {}),
    ],
)
def test_own_samples(file: str, family: str, devices: int, microbatches: int, options: dict[str, bool]) -> None:
    """Files of our own writer hold their order, byte for byte."""
    schedule = build_family(family, devices, microbatches, **options)
    assert same_order(read(SAMPLES / file), schedule)
    assert write_torch_csv(schedule).encode() == (SAMPLES / file).read_bytes()


def test_every_sample_is_tested() -> None:
    assert len(list(SAMPLES.glob("*.csv"))) == 8


def test_idle_cells_and_line_ends_do_not_count() -> None:
    expected = read_torch_csv("0F0,0B0\r\n1F0,1B0\r\n")
    for text in ("0F0,0B0\n1F0,1B0\n", "0F0,0B0\n1F0,1B0", "0F0,,,0B0\r\n,1F0,1B0,\r\n", ",,0F0,0B0,,,\n1F0,1B0\r\n"):
        assert same_order(read_torch_csv(text), expected)


def test_placement_comes_from_the_rows() -> None:
    assert read_torch_csv("0F0,3F0\n1F0,2F0\n").placement == (0, 1, 1, 0)
    assert read_torch_csv("1F0\n0F0\n").placement == (1, 0)
    assert read_torch_csv("0F0\n,\n1F0\n").placement == (0, 2)


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("0F0,0B0junk\n", "grammar", "order.csv: row 1 (rank 0), column 2: 0B0junk: expected an action such as 3F7, "),
        ("0F0\n,1F0 \n", "grammar", "order.csv: row 2 (rank 1), column 2: '1F0 ': expected an action such as 3F7, "),
        ("0F0,0B", "grammar", "order.csv: row 1 (rank 0), column 2: 0B: expected an action such as 3F7, "),
        ('"0F0"\n', "grammar", 'order.csv: row 1 (rank 0), column 1: "0F0": expected an action such as 3F7, '),
        ("0F0;0B0\n", "grammar", "order.csv: row 1 (rank 0), column 1: 0F0;0B0: expected an action such as 3F7, "),
        ("0F0\r\r\n", "grammar", r"order.csv: row 1 (rank 0), column 1: '0F0\r': expected an action such as 3F7, "),
        ("0F0\n\n", "grammar", "order.csv: row 2 (rank 1): expected a row of actions, found a blank line"),
        ("0F0\r\n\r\n", "grammar", "order.csv: row 2 (rank 1): expected a row of actions, found a blank line"),
        ("\n0F0\n", "grammar", "order.csv: row 1 (rank 0): expected a row of actions, found a blank line"),
        ("", "grammar", "order.csv: expected one row of actions for each rank, found an empty file"),
        (",,\n,\n", "missing", "order.csv: expected at least one action"),
        ("0F0,0SEND_F0\n1F0\n", "missing", "order.csv: rank 1: 1RECV_F0: missing, expected in this row, rank 0 has 0SEND_F0"),
        ("0F0,0SEND_F\n1F0\n", "grammar", "order.csv: row 1 (rank 0), column 2: 0SEND_F: expected an action such as 3F7, "),
        ("0UNSHARD0,0F0\n", "grammar", "order.csv: row 1 (rank 0), column 1: 0UNSHARD0: expected an action such as 3F7, "),
        ("0F0\n2F0\n", "unknown", "order.csv: stage 1: stage without a device: expected actions of every stage up to 2 in some row"),
        ("0F0\n999999999F0\n", "unknown", "order.csv: stage 1: stage without a device: "),
        ("0F0,0B0,1B0\n1F0,1I0,1W0\n", "misplaced", "order.csv: rank 0, position 2: 1B0: misplaced, stage 1 lies on rank 1"),
        ("0F0,0B0\n1F0\n", "missing", "order.csv: rank 1: 1B0: missing, expected in this row"),
        ("0F0,0B0,0F0\n1F0,1B0\n", "doubled", "order.csv: rank 0, position 2: 0F0: doubled, 0F0 at position 0 does the same"),
        (
            "0F0,0F1,0B0,0B1\n1F1,1B0,1F2,1B1\n",
            "missing",
            "order.csv: rank 1: 1F0: missing, expected in this row; "
            "1F2 at position 2: past the last micro-batch, which is 1 in the other rows",
        ),
    ],
)  # fmt: skip
def test_refused_files(text: str, code: str, message: str) -> None:
    error = refusal(text)
    assert str(error).startswith(message)
    assert error.code == code


@settings(max_examples=100, deadline=None)
@given(
    name=st.sampled_from(sorted(set(FAMILIES) - {"chimera", "dualpipe"})),  # these have two pipes
    devices=st.integers(1, 8),
    rounds=st.integers(2, 4),
    reduce=st.booleans(),
)
def test_round_trip(name: str, devices: int, rounds: int, reduce: bool) -> None:
    schedule = build_family(name, devices, devices * rounds, reduce=reduce)
    text = write_torch_csv(schedule)
    assert same_order(read_torch_csv(text), schedule)
    assert write_torch_csv(read_torch_csv(text)) == text


def test_round_trip_beyond_torch_warns(caplog: pytest.LogCaptureFixture) -> None:
    """R, STEP and parts are ours; an idle device keeps its row."""
    rows = [["0F0.0", "0F0.1", "0R0.1", "0B0.1", "0R0.0", "0B0.0", "STEP"], [], ["1F0.0", "1F0.1", "1B0.1", "1B0.0"]]
    schedule = Schedule.from_rows([[parse_action(text) for text in row] for row in rows], (0, 2))
    with caplog.at_level(logging.WARNING):
        text = write_torch_csv(schedule)
    assert "torch itself has no action such as 0F0.0" in caplog.text
    assert text.split("\r\n")[1] == ","
    assert same_order(read_torch_csv(text), schedule)


def test_what_a_csv_cannot_say_is_not_written() -> None:
    schedule = build_family("gpipe", 2, 2)
    with pytest.raises(InputError, match="expected one pipe"):
        write_torch_csv(replace(schedule, pipes=((0,), (1,))))


@given(st.text(alphabet="01FBIW,\r\n.xSTEP", max_size=40))
def test_any_text_is_a_schedule_or_one_error_line(text: str) -> None:
    try:
        schedule = read_torch_csv(text, file="order.csv")
    except ScheduleError as error:
        line = str(error)
    else:
        line = ""
        assert same_order(read_torch_csv(write_torch_csv(schedule)), schedule)
    assert "\n" not in line
    assert line == "" or line.startswith("order.csv: ")


def test_torch_orders_equal_the_families() -> None:
    """Every compute-only file of the cases: family, times, busy time and activations in flight."""
    folder = cases_folder("torch_csv")
    checked = 0
    for entry in json.loads((folder / "index.json").read_text())["schedules"]:
        if entry["schedule"] not in TORCH_NAMES:
            continue
        schedule = read(folder / entry["file"])
        family = build_family(
            TORCH_NAMES[entry["schedule"]],
            entry["pp"],
            entry["m"],
            chunks=entry["v"],
            reduce=entry["has_reduce_grad"],
        )
        assert same_order(schedule, family), entry["file"]
        assert list(schedule.placement) == entry["stage_to_rank"]
        expected = entry["expected_F1_I1_W1_B2"]
        result = replay(schedule, {"F": 1, "B": 2, "I": 1, "W": 1})
        assert (result.makespan, result.busy) == (expected["makespan"], expected["busy"]), entry["file"]
        assert peak_in_flight(schedule) == entry["peak_inflight_activations"], entry["file"]
        checked += 1
    assert checked == 76


def test_torch_invalid_1f1b_dumps_are_refused() -> None:
    """One message names the row, the missing F0 and the F past the end."""
    folder = cases_folder("torch_csv")
    files = sorted(folder.glob("1F1B_*.csv"))
    assert len(files) == 6
    for path in files:
        _, devices, _, microbatches = path.stem.split("_")
        last, end = int(devices) - 1, int(microbatches)
        with pytest.raises(ScheduleError) as caught:
            read(path)
        assert str(caught.value) == (
            f"{path.name}: rank {last}: {last}F0: missing, expected in this row; {last}F{end} at position {2 * end - 2}: "
            f"past the last micro-batch, which is {end - 1} in the other rows"
        )


def test_lowered_order_is_read_and_written() -> None:
    text = (
        "0UNSHARD,0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1,0REDUCE_GRAD,0RESHARD\r\n"
        "1UNSHARD,1RECV_F0,1F0,1RECV_F1,1B0,1SEND_B0,1F1,1B1,1SEND_B1,1REDUCE_GRAD,1RESHARD\r\n"
    )
    schedule = read_torch_csv(text)
    assert write_torch_csv(schedule) == text
    compute = without_messages(schedule)
    plain = build_family("1f1b", 2, 2, reduce=True)
    bare = (compute.kind != Kind.UNSHARD) & (compute.kind != Kind.RESHARD)
    assert compute.kind[bare].tolist() == plain.kind.tolist()
    assert compute.microbatch[bare].tolist() == plain.microbatch.tolist()


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(sorted(set(FAMILIES) - {"chimera", "dualpipe"})),
    devices=st.integers(1, 6),
    rounds=st.integers(2, 3),
    block=st.booleans(),
)
def test_round_trip_of_lowered_orders(name: str, devices: int, rounds: int, block: bool) -> None:
    lowered = with_messages(build_family(name, devices, devices * rounds), block=block)
    assert same_order(read_torch_csv(write_torch_csv(lowered)), lowered)


def test_lowered_files_hold_the_compute_order() -> None:
    """Every lowered file of the cases is read and written as it is, and holds the order of its compute-only twin or of a family."""
    folder = cases_folder("torch_csv")
    files = sorted(folder.glob("*.comms*.csv"))
    assert len(files) == 41
    for path in files:
        lowered = read(path)
        assert write_torch_csv(lowered) == read_text(path), path.name
        name, devices, chunks, microbatches = path.name.split(".")[0].split("_")
        compute = build_family(TORCH_NAMES[name], int(devices), int(microbatches), chunks=int(chunks))
        rows = [
            [entry for entry in lowered.row(rank) if isinstance(entry, Pair) or entry.kind in COMPUTE]
            for rank in range(lowered.devices)
        ]
        assert same_order(Schedule.from_rows(rows, lowered.placement), compute), path.name
