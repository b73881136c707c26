"""Kineto traces of every style: the actions, their order and times are the true ones."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from pipefill_opt.errors import InputError
from pipefill_opt.traces.importing import measured_trace
from pipefill_opt.traces.kineto import read_kineto
from pipefill_opt.traces.main_document import main_document
from pipefill_opt.traces.measured import Measured
from pipefill_opt.traces.rank_runs import rank_runs
from pipefill_opt.traces.trace_events import Work
from tests.traces.synthetic import BASE, US, Pipeline, cuda_trace, pipeline, write_traces

GPIPE = {"family": "gpipe", "devices": 3, "microbatches": 4}
ONE_F = {"family": "1f1b", "devices": 4, "microbatches": 6}
INTERLEAVED = {"family": "interleaved-1f1b", "devices": 2, "microbatches": 4, "chunks": 2}


def times(measured: Measured) -> list[list[list[tuple[str, int, int]]]]:
    return [[[(str(run.action), run.start, run.end) for run in row] for row in step.rows] for step in measured.steps]


def moved(made: Pipeline, by: int) -> list[list[list[tuple[str, int, int]]]]:
    return [[[(text, start + by, end + by) for text, start, end in row] for row in step] for step in made.truth]


@pytest.mark.parametrize(
    ("schedule", "style"),
    [
        (GPIPE, "gpipe"), (GPIPE, "none"), (ONE_F, "own"), (ONE_F, "runtime"), (ONE_F, "none"), (INTERLEAVED, "runtime"),
        (INTERLEAVED, "own"),
    ],
)  # fmt: skip
def test_host_traces(schedule: dict[str, object], style: str, tmp_path: Path) -> None:
    made = pipeline(schedule)
    measured = measured_trace("kineto", write_traces(tmp_path, made, style))
    assert times(measured) == moved(made, BASE)
    assert measured.notes == ()
    assert [step.number for step in measured.steps] == [0, 1]


@pytest.mark.parametrize(
    ("schedule", "style"),
    [(GPIPE, "gpipe"), (ONE_F, "own"), (ONE_F, "runtime"), (ONE_F, "none"), (INTERLEAVED, "runtime")],
)
def test_cuda_traces(schedule: dict[str, object], style: str, tmp_path: Path) -> None:
    made = pipeline(schedule)
    paths = write_traces(tmp_path, made, style, cuda=True)
    assert times(measured_trace("kineto", paths)) == moved(made, BASE)
    (ranks,) = (rank_runs([read_kineto(path) for path in paths]),)
    assert all(rank.communication for rank in ranks)


@pytest.mark.parametrize(
    ("schedule", "style"), [(ONE_F, "own"), (ONE_F, "none"), (GPIPE, "none"), ({**ONE_F, "microbatches": 1}, "none")]
)
def test_without_marked_steps_an_action_that_comes_again_begins_one(
    schedule: dict[str, object], style: str, tmp_path: Path
) -> None:
    made = pipeline(schedule, steps=3)
    paths = write_traces(tmp_path, made, style)
    for path in paths:
        document = json.loads(path.read_text(), parse_float=str)
        document["traceEvents"] = [e for e in document["traceEvents"] if not e["name"].startswith("step ")]
        path.write_text(json.dumps(document))
    measured = measured_trace("kineto", paths)
    assert times(measured) == moved(made, BASE)


@pytest.mark.parametrize("cuda", [False, True])
@pytest.mark.parametrize("style", ["own", "runtime", "none"])
def test_what_lies_outside_of_marked_steps_does_not_count(cuda: bool, style: str, tmp_path: Path) -> None:
    """The number of ranks is unknown, so that messages are counted: those of the first step, whose mark is gone, are not."""
    made = pipeline(ONE_F, steps=3)
    paths = write_traces(tmp_path, made, style, cuda=cuda)
    for path in paths:
        document = json.loads(path.read_text(), parse_float=str)
        del document["distributedInfo"]
        document["traceEvents"] = [e for e in document["traceEvents"] if e["name"] not in ("step 0", "ProfilerStep#0")]
        path.write_text(json.dumps(document))
    measured = measured_trace("kineto", paths)
    assert [step.number for step in measured.steps] == [1, 2]
    assert times(measured) == moved(made, BASE)[1:]


def test_absolute_times_without_a_base_and_gzip(tmp_path: Path) -> None:
    made = pipeline(ONE_F)
    paths = []
    for path in write_traces(tmp_path, made, "own", base=False):
        paths.append(path.with_suffix(".json.gz"))
        paths[-1].write_bytes(gzip.compress(path.read_bytes()))
    assert times(measured_trace("kineto", paths)) == moved(made, 0)


def test_the_rank_is_in_the_trace_or_the_name_or_the_order(tmp_path: Path) -> None:
    made = pipeline({"family": "1f1b", "devices": 2, "microbatches": 2})
    first, second = write_traces(tmp_path, made, "own")
    assert times(measured_trace("kineto", [second, first])) == moved(made, BASE)
    for path in (first, second):
        path.write_text(path.read_text().replace("distributedInfo", "nothing"))
    assert times(measured_trace("kineto", [second, first])) == moved(made, BASE)
    bare = [path.rename(tmp_path / name) for path, name in ((first, "a.json"), (second, "b.json"))]
    assert times(measured_trace("kineto", bare)) == moved(made, BASE)


def test_one_s_own_prefix_can_be_named(tmp_path: Path) -> None:
    made = pipeline(ONE_F)
    paths = write_traces(tmp_path, made, "own")
    assert times(measured_trace("kineto", paths, label="my/run:")) == moved(made, BASE)
    with pytest.raises(InputError, match="your:: expected labels of actions with this prefix"):
        measured_trace("kineto", paths, label="your:")


def test_columns_of_a_cuda_trace(tmp_path: Path) -> None:
    made = pipeline({"family": "1f1b", "devices": 2, "microbatches": 1}, steps=1)
    events = read_kineto(write_traces(tmp_path, made, "own", cuda=True)[0])
    assert events.device.streams == ((0, 7), (0, 20))
    assert events.rank == 0
    assert events.world == 2
    assert sorted(events.device.kind.tolist()) == [Work.COMPUTE] * 4 + [Work.COMMUNICATION] * 2
    assert (events.device.end > events.device.start).all()
    assert len(events.launches) == 6


def test_memory_as_the_profiler_records_it(tmp_path: Path) -> None:
    """The most that the allocator holds of the device that runs the kernels; memory of the host does not count."""
    made = pipeline({"family": "1f1b", "devices": 2, "microbatches": 1}, steps=1)
    paths = []
    for rank in (0, 1):
        writer = cuda_trace(made, rank, "own")
        writer.device = {"id": 0, "name": "a device", "totalGlobalMem": 85 * 10**9}
        for time, held in ((0, 3 * 10**9), (5, (7 + rank) * 10**9), (9, 2 * 10**9)):
            writer.memory(time, held)
        writer.memory(6, 500 * 10**9, kind=0)
        paths.append(tmp_path / f"trace.rank{rank}.json")
        paths[-1].write_text(writer.text(rank, 2))
    assert measured_trace("kineto", paths).memory == ((85 * 10**9, 7 * 10**9), (85 * 10**9, 8 * 10**9))
    paths[0].write_text(paths[0].read_text().replace("[memory]", "other"))
    assert measured_trace("kineto", paths).memory == ()


def test_a_trace_of_another_number_of_ranks_is_refused(tmp_path: Path) -> None:
    made = pipeline({"family": "1f1b", "devices": 2, "microbatches": 2})
    first, second = write_traces(tmp_path, made, "own")
    second.write_text(second.read_text().replace('"world_size": 2', '"world_size": 4'))
    with pytest.raises(InputError, match="2 and 4: expected traces of one run"):
        measured_trace("kineto", [first, second])


@pytest.mark.parametrize("style", ["gpipe", "none", "own", "runtime"])
def test_a_missing_rank_is_refused(style: str, tmp_path: Path) -> None:
    made = pipeline({"family": "gpipe", "devices": 3, "microbatches": 2})
    paths = write_traces(tmp_path, made, style)
    for given in (paths[:2], paths[1:], paths[:1], [paths[0], paths[2]]):
        with pytest.raises(
            InputError, match=r"expected (all ranks of the pipeline|the ranks of all stages|ranks of one run)"
        ):
            main_document(measured_trace("kineto", given))


def test_a_rank_that_comes_twice_is_refused(tmp_path: Path) -> None:
    first, _ = write_traces(tmp_path, pipeline({"family": "1f1b", "devices": 2, "microbatches": 2}), "own")
    with pytest.raises(InputError, match=r"rank 0: expected each rank once, and .* is of this rank too"):
        measured_trace("kineto", [first, first])


def test_ranks_of_two_runs_are_refused(tmp_path: Path) -> None:
    """The same pipeline twice, with other durations: no clocks make its messages possible."""
    first = write_traces(tmp_path, pipeline(ONE_F, seed=1), "own")
    (tmp_path / "other").mkdir()
    second = write_traces(tmp_path / "other", pipeline(ONE_F, seed=2), "own")
    with pytest.raises(InputError, match="expected ranks of one run: whatever their clocks"):
        measured_trace("kineto", [*first[:2], *second[2:]])


@pytest.mark.parametrize(
    ("event", "problem"),
    [
        ({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "dur": 3}, "missing key 'ts'"),
        ({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": "soon", "dur": 3}, "'soon' is no time"),
        ({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": -3}, "a duration of -3"),
        ({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 10**30, "dur": 3}, "too big"),
        ({"ph": "X", "cat": "cpu_op", "name": 3, "ts": 1, "dur": 3}, "attribute"),
    ],
)
def test_what_is_no_event_is_named(event: dict[str, object], problem: str, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"traceEvents": [{"ph": "M", "name": "process_name"}, event]}))
    with pytest.raises(InputError, match=r"event 2: expected an event of a trace") as caught:
        read_kineto(path)
    assert problem in str(caught.value)


def test_a_trace_without_labels_or_links_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text(
        json.dumps({"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 3}]})
    )
    with pytest.raises(InputError, match="`pipefill idle` tells"):
        measured_trace("kineto", [path])


def test_labels_that_launched_nothing_are_refused(tmp_path: Path) -> None:
    first, second = write_traces(
        tmp_path, pipeline({"family": "1f1b", "devices": 2, "microbatches": 2}), "own", cuda=True
    )
    first.write_text(first.read_text().replace("cuda_runtime", "lost"))
    with pytest.raises(InputError, match="none: expected kernels that labels have launched"):
        measured_trace("kineto", [first, second])


def test_time_between_labels_is_not_work(tmp_path: Path) -> None:
    made = pipeline(ONE_F)
    measured = measured_trace("kineto", write_traces(tmp_path, made, "runtime"))
    assert all(end - start == made.length + 1000 * US for step in measured.steps for start, end in step.windows)


def test_labels_that_begin_as_actions_do_but_are_none_are_told(tmp_path: Path) -> None:
    paths = write_traces(tmp_path, pipeline(ONE_F), "runtime")
    path = Path(paths[0])
    path.write_text(path.read_text(encoding="utf-8").replace("PP:0B", "PP:0FULL_BACKWARD"), encoding="utf-8")
    note, *_ = measured_trace("kineto", paths).notes
    assert note.startswith(f"{path}: 12 ranges such as 'PP:0FULL_BACKWARD0' are no actions and were ignored")


def test_ranges_in_two_events_are_refused(tmp_path: Path) -> None:
    events = [{"ph": "X", "cat": "kernel", "name": "a", "ts": 1, "dur": 1, "pid": 0, "tid": 7},
              {"ph": "B", "cat": "kernel", "name": "b", "ts": 3, "pid": 0, "tid": 7}]  # fmt: skip
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(events), encoding="utf-8")
    with pytest.raises(InputError, match=r"event 2: expected an event of a trace \(a beginning, ph B"):
        read_kineto(path)
