"""MAIN files: what they mean, and one clear line for each way to get them wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipefill_opt.errors import InputError, ScheduleError
from pipefill_opt.files import schema_text
from pipefill_opt.parse import parse_yaml
from pipefill_opt.schedule.actions import Action, Kind
from pipefill_opt.schedule.families import FAMILIES, build_family
from pipefill_opt.schedule.torch_csv import write_torch_csv
from pipefill_opt.timeline.compute import timeline
from pipefill_opt.units import BYTE_UNITS, TIME_UNITS
from pipefill_opt.workload.costs import Boundary, Communication, MainJob, Memory, Mode
from pipefill_opt.workload.main_file import BY_NAME, main_from_document, read_main
from pipefill_opt.workload.weights import action_durations

BASE = "schedule: {family: 1f1b, devices: 4, microbatches: 8}\ndurations: {unit: ms, F: 10, B: [20, 20, 20, 26]}\n"
SHORT = "schedule: {actions: [[0F0, 0B0], [1F0, 1B0]]}\n"
TIMES = "durations: {F: 1ms, B: 2ms}\n"
MS = 10**6


def read(text: str) -> MainJob:
    return main_from_document(parse_yaml(text, file="main.yaml"), file="main.yaml")


def refused(text: str) -> str:
    with pytest.raises(InputError) as caught:
        timeline(read(text))
    line = str(caught.value)
    assert "\n" not in line
    return line


def test_the_example_of_the_design() -> None:
    main = read("""
schedule: {family: 1f1b, devices: 4, microbatches: 8}
durations: {unit: ms, F: 10, B: [20, 20, 20, 26], STEP: 15, actions: {0F0: 12}}
overlap: sequential
communication: {mode: lag, unit: ms, lag: 0.6}
memory: {capacity: 16GiB, reserve: 1GiB, static: [9GiB, 8GiB, 8GiB, 9GiB], activation: 300MiB, freed_by_I: 100MiB,
         checkpoint: 20MiB, workspace: 0}
boundary: barrier
""")
    gib, mib = 2**30, 2**20
    assert main.durations.by_stage[Kind.F] == (10 * MS,) * 4
    assert main.durations.by_stage[Kind.B] == (20 * MS, 20 * MS, 20 * MS, 26 * MS)
    assert main.durations.step == (15 * MS,) * 4
    assert main.durations.actions == {Action(Kind.F, 0, 0): 12 * MS}
    assert main.durations.overlap_length is None
    assert main.communication == Communication(600_000)
    assert main.memory == Memory(
        capacity=(16 * gib,) * 4,
        reserve=(gib,) * 4,
        static=(9 * gib, 8 * gib, 8 * gib, 9 * gib),
        activation=(300 * mib,) * 4,
        freed_by_input=(100 * mib,) * 4,
        checkpoint=(20 * mib,) * 4,
        workspace=(0,) * 4,
    )
    assert (main.source, main.global_norm) == ("main.yaml", False)
    assert action_durations(main)[:2].tolist() == [12 * MS, 10 * MS]


def test_units_and_derived_durations() -> None:
    main = read(SHORT + "durations: {unit: us, F: 1.5, I: 2ms, W: [3, 4], STEP: [1, 2], R: 1s}\noverlap: {length: 7}\n")
    assert main.durations.by_stage[Kind.F] == (1500, 1500)
    assert main.durations.by_stage[Kind.B] == (2 * MS + 3000, 2 * MS + 4000)
    assert main.durations.step == (1000, 2000)
    assert main.durations.overlap_length == 7000
    assert read(SHORT + TIMES + "overlap: {length: 7, unit: s}").durations.overlap_length == 7 * 10**9


def test_lag_from_latency_and_bandwidth() -> None:
    text = SHORT + TIMES + "communication: {latency: 20us, bandwidth: 3GB/s, bytes: 10B}"
    assert read(text).communication == Communication(20_000 + 4)
    assert read(SHORT + TIMES).communication == Communication(0)


def test_modes_of_communication_and_boundaries() -> None:
    sized = "latency: 20us, bandwidth: 3GB/s, bytes: 10B}"
    assert read(SHORT + TIMES + "communication: {mode: link, " + sized).communication == Communication(
        20_004, Mode.LINK, 4
    )
    assert read(SHORT + TIMES + "communication: {mode: blocking, " + sized).communication == Communication(
        20_004, Mode.BLOCKING
    )
    text = SHORT + TIMES + "communication: {mode: blocking, unit: us, lag: 3}"
    assert read(text).communication == Communication(3_000, Mode.BLOCKING)
    assert read(SHORT + TIMES).boundary is Boundary.BARRIER
    assert read(SHORT + TIMES + "boundary: flow").boundary is Boundary.FLOW


def test_a_pair_as_a_block_needs_no_other_duration() -> None:
    rows = "schedule: {actions: [[0F0, (0F1;0B0)OVERLAP_F_B, 0B1]]}\n"
    main = read(rows + "durations: {F: 1ns, actions: {0B1: 2ns}}\noverlap: {length: 5ns}")
    assert action_durations(main).tolist() == [1, 5, 5, 2]


def test_actions_with_placement_pipes_and_devices() -> None:
    main = read(
        "schedule: {actions: [[0F0, 2F0, 2B0, 0B0], [1F0, 1B0, 3F0, 3B0]], placement: [0, 1, 0, 1], pipes: [[0, 1], [3, 2]],"
        " devices: 3}\n" + TIMES
    )
    assert main.schedule.pipes == ((0, 1), (3, 2))
    assert main.schedule.placement == (0, 1, 0, 1)
    assert (main.schedule.devices, main.schedule.size) == (3, 8)
    inferred = read("schedule: {actions: [[0F0, 2F0, 2B0, 0B0], [1F0, 1B0]]}\n" + TIMES)
    assert inferred.schedule.placement == (0, 1, 0)


def test_a_csv_lies_beside_the_file(tmp_path: Path) -> None:
    order = build_family("zbv", 2, 4)
    (tmp_path / "order.csv").write_text(write_torch_csv(order), encoding="utf-8")
    (tmp_path / "main.yaml").write_text("schedule: {csv: order.csv}\ndurations: {F: 1ms, I: 1ms, W: 1ms}\n")
    main = read_main(tmp_path / "main.yaml")
    assert main.source == str(tmp_path / "main.yaml")
    assert main.schedule.kind.tolist() == order.kind.tolist()
    assert timeline(main).makespan == (6 * 4 + 1) * MS
    (tmp_path / "order.csv").write_text("0F0,0B0\r\n1F0,1Q0\r\n")
    with pytest.raises(ScheduleError, match=r"order\.csv: row 2 \(rank 1\), column 2: 1Q0"):
        read_main(tmp_path / "main.yaml")


def test_json_is_read_as_well(tmp_path: Path) -> None:
    path = tmp_path / "main.json"
    document = {
        "schedule": {"family": "gpipe", "devices": 2, "microbatches": 3, "reduce": True},
        "durations": {"unit": "ms", "F": 0.25, "B": 1, "REDUCE": 2},
        "global_norm": True,
    }
    path.write_text(json.dumps(document))
    main = read_main(path)
    assert main.durations.by_stage[Kind.F] == (250_000, 250_000)
    assert main.global_norm
    assert (main.schedule.kind == Kind.REDUCE).sum() == 2


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_can_be_named(name: str) -> None:
    main = read(
        f"schedule: {{family: {name}, devices: 2, microbatches: 4}}\ndurations: {{F: 1ms, I: 1ms, W: 1ms, R: 0}}\n"
    )
    assert main.schedule.name == name
    assert timeline(main).makespan > 0


def test_units_of_the_schema_are_those_we_parse() -> None:
    schema = json.loads(schema_text("main"))
    assert schema["$defs"]["timeUnit"]["enum"] == list(TIME_UNITS)
    assert set(schema["properties"]["memory"]["properties"]["unit"]["enum"]) == set(BYTE_UNITS)
    for part in _objects(schema):
        assert part.get("additionalProperties") is not None or "allOf" in part or "if" in part, part


def test_keys_that_need_a_model_are_those_of_the_schema() -> None:
    schema = json.loads(schema_text("main"))
    needing = {key for key, part in schema["properties"].items() if "With model" in part.get("description", "")}
    assert needing == set(BY_NAME)


def _objects(schema: Any) -> list[dict[str, Any]]:
    """Every schema of a mapping in a schema; conditions (`if`) apart, which only look."""
    if isinstance(schema, list):
        return [part for item in schema for part in _objects(item)]
    if not isinstance(schema, dict):
        return []
    own = [schema] if schema.get("type") == "object" or "properties" in schema else []
    return own + [part for key, item in schema.items() if key != "if" for part in _objects(item)]


BAD = {
    "": "main.yaml: top level: nothing: expected a mapping",
    "[]": "main.yaml: top level: []: expected a mapping",
    BASE + "boundry: barrier": "main.yaml: boundry: barrier: unknown key, expected one of async_tensor, attention, ",
    BASE + "boundary: none": 'main.yaml: boundary: "none": expected barrier or flow',
    BASE + "durations: {}": "main.yaml: line 3, column 1: durations: expected each key once",
    BASE[:40]: "main.yaml: line 2, column 1: expected YAML",
    "durations: {F: 1ms}": "main.yaml: top level: missing key 'schedule'",
    # schedule
    "schedule: 5\n" + TIMES: "main.yaml: schedule: 5: expected a mapping with one of the keys family, csv or actions",
    "schedule: {}\n" + TIMES: "main.yaml: schedule: {}: expected a mapping with one of the keys family, csv or actions",
    "schedule: {family: 1f1b, csv: a, devices: 2, microbatches: 2}\n"
    + TIMES: "expected a mapping with one of the keys",
    "schedule: {family: x, devices: 2, microbatches: 2}\n"
    + TIMES: "main.yaml: schedule.family: x: expected one of gpipe, 1f1b,",
    "schedule: {family: 1f1b, microbatches: 2}\n" + TIMES: "main.yaml: schedule: missing key 'devices'",
    "schedule: {family: 1f1b, devices: 0, microbatches: 2}\n"
    + TIMES: "main.yaml: schedule.devices: 0: expected a whole number from 1",
    "schedule: {family: 1f1b, devices: 2.5, microbatches: 2}\n" + TIMES: "main.yaml: schedule.devices: ",
    "schedule: {family: 1f1b, devices: 2, microbatches: 9999999}\n"
    + TIMES: "schedule.microbatches: 9999999: expected a whole",
    "schedule: {family: 1f1b, devices: 2, microbatches: 2, chunks: 3}\n"
    + TIMES: "main.yaml: schedule.chunks: 3: expected 1",
    "schedule: {family: 1f1b, devices: 2, microbatches: 2, color: 3}\n"
    + TIMES: "main.yaml: schedule.color: 3: unknown key",
    "schedule: {csv: nowhere.csv}\n" + TIMES: "nowhere.csv: expected a readable file (No such file or directory)",
    "schedule: {actions: []}\n" + TIMES: "main.yaml: schedule.actions: []: expected a list of at least one row",
    "schedule: {actions: [[0F0, 7]]}\n"
    + TIMES: "main.yaml: schedule.actions[0][1]: 7: expected an action, such as 0F0",
    "schedule: {actions: [[0F0], [1F0, 1Q0]]}\n"
    + TIMES: "main.yaml: schedule.actions[1][1]: 1Q0: expected an action such as",
    "schedule: {actions: [[0F0, 0B0], [2F0, 2B0]]}\n" + TIMES: "expected stage 1 on a device, since there is a stage 2",
    "schedule: {actions: [[0F0, 0B0], [1F0]]}\n" + TIMES: "1B0: missing",
    "schedule: {actions: [[0F0, 0F0, 0B0], [1F0, 1B0]]}\n" + TIMES: "0F0: doubled",
    "schedule: {actions: [[0F0, 1F0, 0B0], [1B0]], placement: [0, 1]}\n" + TIMES: "1F0: ",
    "schedule: {actions: [[0F0, 0B0]], placement: [7]}\n"
    + TIMES: "main.yaml: schedule.placement[0]: 7: expected a device",
    "schedule: {actions: [[0F0, 0B0], [1F0, 1B0]], placement: [0]}\n" + TIMES: "1F0: stage without a device",
    "schedule: {actions: [[0F0, 0B0]], pipes: [[5]]}\n" + TIMES: "main.yaml: schedule.pipes[0]: 5: expected stage",
    "schedule: {actions: [[0F0, 0B0], []], devices: 1}\n"
    + TIMES: "main.yaml: schedule.devices: 1: expected at least 2",
    "schedule: {actions: [[0F0, 0SEND_F0, 0B0]]}\n" + TIMES: "0SEND_F0: expected ",
    "schedule: {actions: [[0B0, 0F0]]}\n"
    + TIMES: "main.yaml: expected an order that can run, but there is a deadlock: 0B0 (rank 0,",
    # durations
    BASE.replace(
        "F: 10", "F: 10parsec"
    ): "main.yaml: durations.F: 10parsec: expected a time with its unit, such as 3.2ms (unknown unit",
    BASE.replace(
        "unit: ms", "unit: parsec"
    ): 'main.yaml: durations.unit: "parsec": expected one of ns, us, ms, s, min, h',
    BASE.replace("unit: ms, ", ""): "main.yaml: durations.F: 10: expected a time with its unit",
    BASE.replace("F: 10", "F: -10"): "main.yaml: durations.F: -10: expected a time of 0 or more",
    BASE.replace("F: 10", "F: 0.0000001"): "expected a time that is a whole number of ns",
    BASE.replace("F: 10, ", ""): "main.yaml: durations: missing F, which the schedule uses",
    BASE.replace("F: 10, ", "F: 10, C: 3, "): "main.yaml: durations.C: 3: unknown key",
    BASE.replace("F: 10", "F: .nan"): "main.yaml: line 2, column 26: .nan: expected a finite number",
    BASE.replace("F: 10", "F: 1e300"): "expected a time with its unit, such as 3.2ms of at most 1e30",
    BASE.replace("F: 10", "F: 1e14"): "main.yaml: durations.F: 1E+14: expected a time of at most",
    BASE.replace("F: 10", "F: 2e11"): "expected durations and lags that add up to less than",
    BASE.replace("F: 10", "F: true"): "main.yaml: durations.F: true: expected a time with its unit",
    BASE.replace("F: 10", "F: [1, 2, x, 4]"): "main.yaml: durations.F[2]: x: expected a time",
    BASE.replace(
        "20, 20, ", "20, "
    ): "main.yaml: durations.B: 3 values: expected one value, or a list of 4, one for each stage",
    BASE.replace(
        "F: 10", "F: 10, STEP: [1, 2]"
    ): "main.yaml: durations.STEP: 2 values: expected one value, or a list of 4, one for each device",
    BASE.replace(
        "F: 10", "F: 10, actions: {0F9: 3}"
    ): "main.yaml: durations.actions: 0F9: expected an action of this schedule",
    BASE.replace("F: 10", "F: 10, actions: {0X9: 3}"): "main.yaml: durations.actions: 0X9: expected an action such as",
    BASE.replace("F: 10", "F: 10, actions: {STEP: 3}"): "main.yaml: durations.actions: STEP: expected STEP by device",
    BASE.replace("F: 10", "F: 10, actions: {0F0: x}"): "main.yaml: durations.actions.0F0: x: expected a time",
    BASE.replace("F: 10", "F: 10, actions: {(0F0;0B0)OVERLAP_F_B: 3}"): "expected a single action",
    BASE.replace(
        "B: [20, 20, 20, 26]", "I: 5"
    ): "main.yaml: durations: missing B, since the schedule has full backwards (B, or I and W",
    BASE.replace(
        "B: [20, 20, 20, 26]", "actions: {0B0: 5}"
    ): "main.yaml: durations: missing a duration for B, which the schedule uses (0B1)",
    "schedule: {family: zbv, devices: 2, microbatches: 4}\n"
    + TIMES: "main.yaml: durations: missing I and W, since the schedule splits",
    # the rest
    BASE + "hardware: a100-80gb": "main.yaml: hardware: a100-80gb: expected model with it",
    BASE + "overlap: both": 'main.yaml: overlap: "both": expected sequential, or a mapping {length: time}',
    BASE + "overlap: {len: 3}": "main.yaml: overlap.len: 3: unknown key, expected one of length, unit",
    BASE + "overlap: {length: -3}": "main.yaml: overlap.length: -3: expected a time of 0 or more",
    BASE
    + "communication: {mode: queue, lag: 2us}": 'main.yaml: communication.mode: "queue": expected lag, link or block',
    BASE
    + "communication: {mode: link, latency: 2us}": "main.yaml: communication: missing key 'bandwidth' (expected bandwidth and bytes)",
    BASE
    + "communication: {mode: link, lag: 2us}": "main.yaml: communication.lag: 2us: expected bandwidth and bytes in mode link",
    BASE
    + "communication: {mode: blocking, lag: 2us, bytes: 3B}": "main.yaml: communication.bytes: 3B: expected either lag, or bandwidth and",
    BASE + "communication: {lag: 3}": "main.yaml: communication.lag: 3: expected a time with its unit",
    BASE
    + "communication: {lag: 3ms, bytes: 3B}": "main.yaml: communication.bytes: 3B: expected either lag, or bandwidth and bytes",
    BASE + "communication: {bandwidth: 3GB/s}": "main.yaml: communication: missing key 'bytes'",
    BASE
    + "communication: {bandwidth: 0GB/s, bytes: 3B}": "main.yaml: communication.bandwidth: 0GB/s: expected a bandwidth above 0",
    BASE + "memory: {activation: 3GiB}": "main.yaml: memory: missing key 'capacity'",
    BASE + "memory: {capacity: 3}": "main.yaml: memory.capacity: 3: expected a size with its unit",
    BASE
    + "memory: {capacity: [3GiB, 1GiB]}": "main.yaml: memory.capacity: 2 values: expected one value, or a list of 4, one for each device",
    BASE
    + "memory: {capacity: 3GiB, activation: -1MiB}": "main.yaml: memory.activation: -1MiB: expected a size of 0 or more",
    BASE
    + "memory: {capacity: 3GiB, activation: 1B, freed_by_I: 2B}": "main.yaml: memory.freed_by_I: 2 B: expected at most the activation",
    BASE + "memory: {capacity: 1e17B, activation: 1e17B}": "main.yaml: memory: expected sizes that add up to less than",
}


@pytest.mark.parametrize(("text", "line"), BAD.items(), ids=range(len(BAD)))
def test_bad_input_is_one_clear_line(text: str, line: str) -> None:
    assert line in refused(text)


def test_unreadable_files(tmp_path: Path) -> None:
    path = tmp_path / "main.yaml"
    for data in (b"\xff\xfe\x00", b"schedule: {family", BASE.encode()[:70]):
        path.write_bytes(data)
        with pytest.raises(InputError, match=r"main\.yaml: .*expected"):
            read_main(path)
    for place in (tmp_path, tmp_path / "nowhere.yaml"):
        with pytest.raises(InputError, match="expected a readable file"):
            read_main(place)
