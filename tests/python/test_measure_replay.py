"""`hakobi bench replay` of programs that were recorded, and hakobi-replay by itself."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from hakobi import launch, programs
from hakobi.errors import FormatError, InputError
from hakobi.measuring import recorder
from hakobi_lab.measuring import prediction, replay, trace
from hakobi_lab.measuring.prediction import Figures
from running import Result
from traces import halo, write_trace


def has_programs() -> bool:
    try:
        return bool(programs.find("hakobi-replay") and programs.find("hakobi-bench-mpi") and recorder.library())
    except InputError:
        return False


pytestmark = [
    pytest.mark.programs,
    pytest.mark.skipif(not has_programs(), reason="hakobi-replay, hakobi-bench-mpi or the recorder is not built"),
]


def test_a_real_program_is_recorded_predicted_and_replayed(hakobi: Callable[..., Result], tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    program = programs.find("hakobi-bench-mpi")
    arguments = ["--pattern", "exchange,allreduce", "--sizes", "8K", "--budget", "0.01", "--window", "1M"]
    environment = recorder.record_environment(file)
    launch.check(launch.run(program, arguments, 2, timeout_s=60, extra_environment=environment), "recording")
    recorded = trace.read(file)
    assert len(recorded.ranks) == 2
    assert recorded.message_sizes()[8192] > 100
    assert any(call == "allreduce" and size == 8192 for call, _ranks, size in recorded.collectives())
    waits = [event for event in recorded.ranks[0] if event.call == "wait"]
    assert {len(event.requests) for event in waits} == {4}
    assert min(recorded.communication_s()) > 0
    result = hakobi("bench", "replay", file, "--budget", "0.05", "--repetitions", "1", "--json", tmp_path / "r.jsonl")
    assert result.status == 0, result.stderr
    assert "nearest to the application" in result.stdout
    summary = json.loads((tmp_path / "r.jsonl").read_text().splitlines()[-1])
    assert summary["kind"] == "summary"
    assert summary["replay_s"] > 0


# The events kept of a call, by the first argument of the program below.
RECORDED = {
    "issend": {"isend": 10, "ireceive": 10, "wait": 10},
    "bsend": {"isend": 10, "receive": 10},
    "replace": {"sendrecv": 10},
    "mrecv": {"isend": 10, "receive": 10, "wait": 10},
    "waitany": {"isend": 10, "ireceive": 10, "wait": 20},
    "scatter": {"scatter": 10},
    "iallreduce": {},
    "rput": {},
    "atomic": {},
    "send_init_c": {"isend": 10, "ireceive": 10, "wait": 10},
    "isendrecv": {},
    "allreduce_init": {},
    "iallreduce_c": {},
    "allgatherv_c": {},
}
# Those whose messages are not kept, and how often two ranks make each.
NAMED = {
    "iallreduce": {"MPI_Iallreduce": 10},
    "rput": {"MPI_Rput": 10, "MPI_Rget": 10, "MPI_Raccumulate": 10, "MPI_Win_lock_all": 10, "MPI_Win_unlock_all": 10},
    "atomic": {
        "MPI_Compare_and_swap": 10,
        "MPI_Fetch_and_op": 10,
        "MPI_Win_lock_all": 10,
        "MPI_Win_flush_local_all": 10,
        "MPI_Win_unlock_all": 10,
    },
    "isendrecv": {"MPI_Isendrecv": 10},
    "allreduce_init": {"MPI_Allreduce_init": 10},
    "iallreduce_c": {"MPI_Iallreduce_c": 10},
    "allgatherv_c": {"MPI_Allgatherv_c": 10},
}
SINCE_4 = ("send_init_c", "isendrecv", "allreduce_init", "iallreduce_c", "allgatherv_c")
PROGRAM = """
#include <mpi.h>
#include <stdio.h>
#include <string.h>
static char a[10000], b[10000], room[200000];
int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const char* what = argv[1];
    MPI_Comm world = MPI_COMM_WORLD;
    int rank, length, place;
    void* detached;
    MPI_Request two[2];
    MPI_Message message;
    MPI_Status status;
    MPI_Win window;
    long one = 1, none = 0, found;
    MPI_Comm_rank(world, &rank);
    if (rank == 0) printf("MPI_VERSION %d\\n", MPI_VERSION);
    MPI_Win_create(b, sizeof b, 1, MPI_INFO_NULL, world, &window);
    MPI_Buffer_attach(room, sizeof room);
    for (int i = 0; i < 5; ++i) {
        if (!strcmp(what, "issend")) {
            MPI_Irecv(b, 10000, MPI_BYTE, 1 - rank, 0, world, &two[0]);
            MPI_Issend(a, 10000, MPI_BYTE, 1 - rank, 0, world, &two[1]);
            MPI_Waitall(2, two, MPI_STATUSES_IGNORE);
        } else if (!strcmp(what, "bsend")) {
            MPI_Bsend(a, 10000, MPI_BYTE, 1 - rank, 0, world);
            MPI_Recv(b, 10000, MPI_BYTE, 1 - rank, 0, world, &status);
        } else if (!strcmp(what, "replace")) {
            MPI_Sendrecv_replace(a, 10000, MPI_BYTE, 1 - rank, 0, 1 - rank, 0, world, &status);
        } else if (!strcmp(what, "mrecv")) {
            MPI_Isend(a, 10000, MPI_BYTE, 1 - rank, 0, world, &two[0]);
            MPI_Mprobe(MPI_ANY_SOURCE, 0, world, &message, MPI_STATUS_IGNORE);
            MPI_Mrecv(b, 10000, MPI_BYTE, &message, &status);
            MPI_Wait(&two[0], &status);
        } else if (!strcmp(what, "waitany")) {
            MPI_Recv_init(b, 10000, MPI_BYTE, 1 - rank, 0, world, &two[0]);
            MPI_Send_init(a, 10000, MPI_BYTE, 1 - rank, 0, world, &two[1]);
            MPI_Startall(2, two);
            for (int j = 0; j < 2; ++j) MPI_Waitany(2, two, &place, &status);
            MPI_Request_free(&two[0]);
            MPI_Request_free(&two[1]);
        } else if (!strcmp(what, "scatter")) {
            if (rank == 0) MPI_Scatter(a, 4000, MPI_BYTE, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, 0, world);
            else MPI_Scatter(0, 0, MPI_DATATYPE_NULL, b, 4000, MPI_BYTE, 0, world);
        } else if (!strcmp(what, "rput")) {
            MPI_Win_lock_all(0, window);
            MPI_Rput(a, 10000, MPI_BYTE, 1 - rank, 0, 10000, MPI_BYTE, window, &two[0]);
            MPI_Wait(&two[0], &status);
            MPI_Rget(a, 10000, MPI_BYTE, 1 - rank, 0, 10000, MPI_BYTE, window, &two[0]);
            MPI_Wait(&two[0], &status);
            MPI_Raccumulate(a, 10, MPI_INT, 1 - rank, 0, 10, MPI_INT, MPI_SUM, window, &two[0]);
            MPI_Wait(&two[0], &status);
            MPI_Win_unlock_all(window);
        } else if (!strcmp(what, "atomic")) {
            MPI_Win_lock_all(0, window);
            MPI_Compare_and_swap(&one, &none, &found, MPI_LONG, 1 - rank, 0, window);
            MPI_Fetch_and_op(&one, &found, MPI_LONG, 1 - rank, 0, MPI_SUM, window);
            MPI_Win_flush_local_all(window);
            MPI_Win_unlock_all(window);
#if MPI_VERSION >= 4
        } else if (!strcmp(what, "send_init_c")) {
            MPI_Recv_init_c(b, 10000, MPI_BYTE, 1 - rank, 0, world, &two[0]);
            MPI_Send_init_c(a, 10000, MPI_BYTE, 1 - rank, 0, world, &two[1]);
            MPI_Startall(2, two);
            MPI_Waitall(2, two, MPI_STATUSES_IGNORE);
            MPI_Request_free(&two[0]);
            MPI_Request_free(&two[1]);
        } else if (!strcmp(what, "isendrecv")) {
            MPI_Isendrecv(a, 10000, MPI_BYTE, 1 - rank, 0, b, 10000, MPI_BYTE, 1 - rank, 0, world, &two[0]);
            MPI_Wait(&two[0], &status);
        } else if (!strcmp(what, "allreduce_init")) {
            MPI_Allreduce_init(a, b, 10, MPI_INT, MPI_SUM, world, MPI_INFO_NULL, &two[0]);
            MPI_Start(&two[0]);
            MPI_Wait(&two[0], &status);
            MPI_Request_free(&two[0]);
        } else if (!strcmp(what, "iallreduce_c")) {
            MPI_Iallreduce_c(a, b, 10, MPI_INT, MPI_SUM, world, &two[0]);
            MPI_Wait(&two[0], &status);
        } else if (!strcmp(what, "allgatherv_c")) {
            const MPI_Count counts[2] = {5000, 5000};
            const MPI_Aint offsets[2] = {0, 5000};
            MPI_Allgatherv_c(a, 5000, MPI_BYTE, b, counts, offsets, MPI_BYTE, world);
#endif
        } else {
            MPI_Iallreduce(a, b, 10, MPI_INT, MPI_SUM, world, &two[0]);
            MPI_Wait(&two[0], &status);
        }
    }
    MPI_Buffer_detach(&detached, &length);
    MPI_Barrier(world);
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
"""


@pytest.mark.parametrize("what", RECORDED)
def test_calls_of_a_program_are_recorded_and_replayed(hakobi: Callable[..., Result], tmp_path: Path, what: str) -> None:
    compiler = shutil.which(f"mpicc.{programs.flavour()}")
    if compiler is None:
        pytest.skip("no MPI compiler")
    (tmp_path / "program.c").write_text(PROGRAM)
    subprocess.run([compiler, "-o", tmp_path / "program", tmp_path / "program.c"], check=True)
    program = programs.Program(tmp_path / "program", programs.flavour())
    file = tmp_path / "trace.jsonl"
    # The last argument is no UTF-8: it must not end the program.
    arguments = [what, os.fsdecode(b"\xff")]
    finished = launch.run(program, arguments, 2, timeout_s=60, extra_environment=recorder.record_environment(file))
    launch.check(finished, "recording")
    recorded = trace.read(file)
    if what in SINCE_4 and "MPI_VERSION 3" in finished.stdout:
        pytest.skip("this MPI library has no such call")
    calls = Counter(event.call for events in recorded.ranks for event in events)
    assert {call: count for call, count in calls.items() if call not in ("other", "barrier")} == RECORDED[what]
    assert {event.bytes for event in recorded.ranks[0] if event.call == "scatter"} <= {4000}
    if what in NAMED:
        assert recorded.not_replayed == NAMED[what]
    result = hakobi("bench", "replay", file, "--whole", "--budget", "0.01", "--repetitions", "2", "--timeout", "60")
    assert result.status == 0, result.stderr
    assert "failed" not in result.stdout


Ranks = list[list[list[object]]]


def both(partner: int, size: int) -> list[object]:
    return ["sendrecv", partner, 0, 0, size, 4096, 0, 1, partner, size, 16384, 0]


def endless() -> dict[str, Ranks]:
    """Traces of two ranks, by what keeps one of them from its end."""
    barrier: list[object] = ["barrier", -1, -1, 0, 0, 0, 0, 1]
    send: list[object] = ["send", 1, 0, 0, 100_000, 4096, 0, 1]
    return {
        "a receive without its message": [[["receive", 1, 0, 0, 8, 4096, 0, 1]], []],
        "a wait for it": [halo(1, 8, 1), halo(0, 8, 1)[:1]],
        "a message without its receive": [[send], []],
        "a wait for that": [[*halo(1, 100_000, 1)], halo(0, 100_000, 1)[1:2]],
        "half a sendrecv": [[both(1, 8)], [["receive", 0, 0, 0, 8, 4096, 0, 1]]],
        "another tag": [[send], [["receive", 0, 1, 0, 100_000, 4096, 0, 1]]],
        "a collective that a member lacks": [[barrier, barrier], [barrier]],
        "a broadcast without its root": [[], [["bcast", 0, -1, 0, 8, 4096, 0, 1]]],
        "a wait for each other": [2 * [["receive", 1 - rank, 0, 0, 8, 4096, 0, 1]] for rank in range(2)],
        "large sends at once": [
            [["send", 1 - rank, 0, 0, 8192, 4096, 0, 1], ["receive", 1 - rank, 0, 0, 8192, 4096, 0, 1]]
            for rank in range(2)
        ],
    }


#: Events that the prediction passes over: it goes on where no later repetition is to be thought of.
LEFT_OVER: dict[str, Ranks] = {
    "a small message": [[["send", 1, 0, 0, 8, 4096, 0, 1]], []],
    "a root's broadcast": [[["bcast", 0, -1, 0, 8, 4096, 0, 1]], []],
    "two collectives": [[["barrier", -1, -1, 0, 0, 0, 0, 1]], [["allreduce", -1, -1, 0, 8, 4096, 0, 1]]],
}


def by_hand(path: Path, ranks: int) -> launch.Finished:
    return launch.run(programs.find("hakobi-replay"), [str(path)], ranks, timeout_s=30)


def is_refused(path: Path, ranks: int) -> bool:
    """Whether hakobi-replay refuses the trace in one line, or replays it whole. A hang ends in RunError."""
    finished = by_hand(path, ranks)
    said = [line for line in finished.stderr.splitlines() if line.startswith("hakobi-replay: ")]
    if finished.status == 0:
        assert finished.stdout.count('"replay"') == 3
        assert not said
        return False
    assert finished.status == 2, finished.stderr
    assert len(said) == 1
    assert str(path) in said[0]
    return True


def is_stuck(recorded: trace.Trace) -> bool:
    """Whether the prediction finds that ranks wait for ever."""
    try:
        prediction.predict(recorded, Figures({0: 1e-6}), lambda *_: 1e-6)
    except FormatError:
        return True
    return False


@pytest.mark.parametrize("what", endless())
def test_a_replay_that_would_hang_is_refused(tmp_path: Path, what: str) -> None:
    path = write_trace(tmp_path / "t", endless()[what])
    assert is_stuck(trace.read(path))
    assert is_refused(path, 2)


@pytest.mark.parametrize("what", LEFT_OVER)
def test_what_a_later_repetition_would_meet_is_refused(tmp_path: Path, what: str) -> None:
    assert is_refused(write_trace(tmp_path / "t", LEFT_OVER[what]), 2)


def test_a_receive_that_nobody_waits_for_frees_its_sender(tmp_path: Path) -> None:
    ranks: Ranks = [
        [["send", 1, 0, 0, 500_000, 4096, 20_000, 20_001]],
        [["ireceive", 0, 0, 0, 500_000, 4096, 0, 1]],
    ]
    assert not is_refused(write_trace(tmp_path / "t", ranks), 2)


def test_a_recorded_trace_may_end_anywhere(tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    arguments = ["--pattern", "exchange,allreduce", "--sizes", "8,8K", "--budget", "0.001", "--window", "64K"]
    launch.check(
        launch.run(
            programs.find("hakobi-bench-mpi"),
            arguments,
            2,
            timeout_s=60,
            extra_environment={**recorder.record_environment(file), "HAKOBI_RECORD_EVENTS": "400"},
        ),
        "recording",
    )
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    num_refused = 0
    for kept in (1, 2, 39, 40, 41, 42, 397):
        for line in lines:
            if line.get("rank") == 1 and line["kind"] == "trace-rank":
                line["num_events"] = min(kept, line["num_events"])
            elif line.get("rank") == 1:
                line["events"] = line["events"][:kept]
        cut = tmp_path / f"cut-{kept}"
        cut.write_text("".join(json.dumps(line) + "\n" for line in lines))
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        num_refused += is_refused(cut, 2)
    assert num_refused > 0


def test_what_is_predicted_but_not_replayed_is_said(tmp_path: Path) -> None:
    ranks: Ranks = [[*halo(1, 8, 1), ["send", 1, 0, 0, 8, 4096, 20, 21]], halo(0, 8, 1)]
    recorded = trace.read(write_trace(tmp_path / "t", ranks))
    common = {"kind": "measurement", "benchmark": "mpi", "pattern": "bidirectional", "ranks": 2, "bytes": 8}
    lines: list[dict[str, object]] = [
        {**common, "contender": contender, "median": 1e-6} for contender in ("hot", "cold")
    ]
    outcome = replay.evaluate(recorded, lines, repetitions=1, eager_bytes=4096, timeout_s=30)
    assert set(outcome.predicted_s) == {"cold", "hot"}
    text = "the program ran with MPICH 4.0.2"
    other = replay.other_libraries(dataclasses.replace(recorded, mpi_library="MPICH Version: 4.0.2"), lines)
    assert all(note.startswith(text) for note in other)
    assert len(other) == (0 if programs.flavour() == "mpich" else 1)
    (note,) = outcome.notes
    assert note.startswith(f"not replayed: {recorded.path}")
    assert "received by nobody" in note
