"""The recorder keeps programs' calls: as they went, so that the prediction and hakobi-replay can follow, and without
changing what the programs do."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from hakobi import launch, programs
from hakobi.errors import InputError
from hakobi.measuring import recorder
from hakobi_lab.measuring import prediction, trace
from hakobi_lab.measuring.prediction import Figures
from hakobi_lab.measuring.trace import Event, Trace

# 2 ranks; the first argument is the case. Its output must not depend on the recorder.
PROGRAM = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static char a[1000000], b[1000000];
static double room[8];
int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const char* what = argv[1];
    const MPI_Comm world = MPI_COMM_WORLD;
    MPI_Comm other, parent, same;
    MPI_Request request, more;
    MPI_Status status;
    MPI_Datatype huge;
    int rank, flag = 0, error = 0, length;
    void* buffer;
    MPI_Comm_rank(world, &rank);
    if (!strcmp(what, "wildcard")) {  // each way to end a receive; messages are shorter than the room
        if (rank == 0) {
            for (int i = 0; i < 7; ++i) MPI_Send(a, 100, MPI_BYTE, 1, 10 + i, world);
        } else {
            MPI_Recv(b, 1000, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, world, MPI_STATUS_IGNORE);
            MPI_Irecv(b, 1000, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, world, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            MPI_Irecv(b, 1000, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, world, &request);
            MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
            MPI_Irecv(b, 1000, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, world, &request);
            MPI_Waitany(1, &request, &length, &status);
            MPI_Irecv(b, 1000, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, world, &request);
            MPI_Waitsome(1, &request, &flag, &length, MPI_STATUSES_IGNORE);
            MPI_Irecv(b, 1000, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, world, &request);
            for (flag = 0; !flag;) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
            MPI_Sendrecv(a, 0, MPI_BYTE, MPI_PROC_NULL, 0, b, 1000, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, world,
                         &status);
            printf("%d %d\\n", status.MPI_SOURCE, status.MPI_TAG);
        }
    } else if (!strcmp(what, "duplicate")) {  // a library's receive of any tag beside the program's own
        for (int i = 0; i < 3; ++i) {
            MPI_Comm_dup(world, &other);
            MPI_Comm_split(world, 0, rank, &same);
            if (rank == 0) {
                MPI_Send(a, 50000, MPI_BYTE, 1, 5, world);
                MPI_Send(a, 8, MPI_BYTE, 1, 5, other);
                MPI_Send(a, 4, MPI_BYTE, 1, 5, same);
            } else {
                MPI_Irecv(b, 8, MPI_BYTE, 0, MPI_ANY_TAG, other, &request);
                MPI_Irecv(a, 4, MPI_BYTE, 0, MPI_ANY_TAG, same, &more);
                MPI_Recv(b + 1000, 50000, MPI_BYTE, 0, 5, world, &status);
                MPI_Wait(&more, &status);
                MPI_Wait(&request, &status);
            }
            MPI_Comm_free(&other);
            MPI_Comm_free(&same);
        }
    } else if (!strcmp(what, "nobody")) {  // the open edge of a halo exchange
        MPI_Irecv(b, 1000, MPI_BYTE, MPI_PROC_NULL, 0, world, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Sendrecv(a, 8, MPI_BYTE, MPI_PROC_NULL, 0, b, 8, MPI_BYTE, MPI_PROC_NULL, 0, world, MPI_STATUS_IGNORE);
    } else if (!strcmp(what, "nonsense")) {
        MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
        printf("%d\\n", MPI_Send(a, -1, MPI_BYTE, 0, 0, world) != MPI_SUCCESS);
        printf("%d\\n", MPI_Send(a, 1, MPI_BYTE, 99, 0, world) != MPI_SUCCESS);
        printf("%d\\n", MPI_Send(a, 1, MPI_DATATYPE_NULL, 0, 0, world) != MPI_SUCCESS);
        printf("%d\\n", MPI_Send(a, 1, MPI_BYTE, 0, 0, MPI_COMM_NULL) != MPI_SUCCESS);
    } else if (!strcmp(what, "room")) {  // for more than an int counts, by a count and by a type
        MPI_Type_contiguous(1 << 30, MPI_DOUBLE, &huge);
        MPI_Type_commit(&huge);
        if (rank == 0) {
            MPI_Send(room, 8, MPI_DOUBLE, 1, 0, world);
            MPI_Send(room, 8, MPI_DOUBLE, 1, 0, world);
        } else {
            MPI_Recv(room, 400000000, MPI_DOUBLE, 0, 0, world, &status);
            MPI_Recv(room, 1, huge, 0, 0, world, &status);
        }
    } else if (!strcmp(what, "pending")) {
        MPI_Irecv(a, sizeof a, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, world, &request);
        MPI_Request_free(&request);
    } else if (!strcmp(what, "cancelled")) {  // too late, and in time
        if (rank == 0) MPI_Send(a, sizeof a, MPI_BYTE, 1, 0, world);
        if (rank == 1) {
            MPI_Irecv(b, sizeof b, MPI_BYTE, 0, 0, world, &request);
            MPI_Irecv(b, 1, MPI_BYTE, 0, 1, world, &more);
            usleep(50000);
            MPI_Iprobe(0, 99, world, &flag, &status);
            MPI_Cancel(&request);
            MPI_Cancel(&more);
            MPI_Wait(&request, &status);
            MPI_Test_cancelled(&status, &flag);
            if (flag) MPI_Recv(b, sizeof b, MPI_BYTE, 0, 0, world, &status);
            MPI_Wait(&more, &status);
        }
    } else if (!strcmp(what, "buffered")) {  // started again while Open MPI still sends what was started before
        MPI_Buffer_attach(malloc(8000000), 8000000);
        if (rank == 0) {
            MPI_Bsend_init(a, sizeof a, MPI_BYTE, 1, 0, world, &request);
            for (int i = 0; i < 5; ++i) {
                const MPI_Request before = request;
                memset(a, 'a' + i, sizeof a);
                MPI_Start(&request);
                printf("%d\\n", before == request);
                MPI_Wait(&request, &status);
            }
        } else {
            usleep(100000);
            for (int i = 0; i < 5; ++i) {
                MPI_Recv(b, sizeof b, MPI_BYTE, 0, 0, world, &status);
                printf("%c\\n", b[sizeof b / 2]);
            }
        }
        MPI_Barrier(world);
        if (rank == 0) MPI_Request_free(&request);
        MPI_Buffer_detach(&buffer, &length);
    } else if (!strcmp(what, "truncated")) {  // a failed test's handle is another request's later
        MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
        for (int i = 0; i < 3; ++i) {
            if (rank == 0) MPI_Send(a, 100, MPI_BYTE, 1, 0, world);
            if (rank == 0) MPI_Ssend(a, 100, MPI_BYTE, 1, 1, world);
            if (rank == 1) {
                MPI_Irecv(b, 10, MPI_BYTE, 0, 0, world, &request);
                for (flag = 0, error = 0; !flag && !error;) error = MPI_Test(&request, &flag, &status);
                printf("%d\\n", error != MPI_SUCCESS);
                if (request != MPI_REQUEST_NULL) MPI_Wait(&request, &status);
                MPI_Irecv(b, 100, MPI_BYTE, 0, 1, world, &request);
                MPI_Wait(&request, &status);
            }
            MPI_Barrier(world);
        }
    } else {  // spawn
        MPI_Comm_get_parent(&parent);
        if (parent == MPI_COMM_NULL)
            MPI_Comm_spawn(argv[0], argv + 1, 1, MPI_INFO_NULL, 0, world, &other, MPI_ERRCODES_IGNORE);
        else
            other = parent;
        MPI_Intercomm_merge(other, parent != MPI_COMM_NULL, &same);
        MPI_Allreduce(MPI_IN_PLACE, &rank, 1, MPI_INT, MPI_MAX, same);
        printf("%d\\n", rank);
        MPI_Comm_free(&same);
        MPI_Comm_disconnect(&other);
    }
    MPI_Barrier(world);
    MPI_Finalize();
    return 3;
}
"""


def is_built() -> bool:
    try:
        return bool(programs.find("hakobi-replay") and recorder.library())
    except InputError:
        return False


pytestmark = [
    pytest.mark.programs,
    pytest.mark.skipif(not is_built(), reason="hakobi-replay or the recorder is not built"),
]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> programs.Program:
    compiler = shutil.which(f"mpicc.{programs.flavour()}")
    if compiler is None:
        pytest.skip("no MPI compiler")
    folder = tmp_path_factory.mktemp("program")
    (folder / "program.c").write_text(PROGRAM)
    subprocess.run([compiler, "-w", "-o", folder / "program", folder / "program.c"], check=True)
    return programs.Program(folder / "program", programs.flavour())


def output(finished: launch.Finished) -> list[str]:
    # UCX warns on stdout of requests that were left.
    return sorted(line for line in finished.stdout.splitlines() if "UCX" not in line)


@pytest.fixture
def record(program: programs.Program, tmp_path: Path) -> Callable[[str], Trace]:
    """Runs a case with and without the recorder, which must be alike, and reads its trace."""

    def run(what: str) -> Trace:
        file = tmp_path / "trace.jsonl"
        alone = launch.run(program, [what], 2, timeout_s=60)
        if what == "spawn" and alone.status != 3:
            pytest.skip("this MPI library's launcher spawns nothing")
        recorded = launch.run(program, [what], 2, timeout_s=60, extra_environment=recorder.record_environment(file))
        assert recorded.status == alone.status == 3, recorded.stderr
        assert output(recorded) == output(alone)
        return trace.read(file)

    return run


def events(recorded: Trace, rank: int, *calls: str) -> list[Event]:
    return [event for event in recorded.ranks[rank] if event.call in calls]


def num_failed_calls(recorded: Trace) -> int:
    """The number in a prediction and two replays, which must come to their ends."""
    prediction.predict(recorded, Figures({0: 1e-6}), lambda *_: 1e-6)
    replay = programs.find("hakobi-replay")
    finished = launch.run(replay, [str(recorded.path), "--repetitions", "2"], 2, timeout_s=30)
    launch.check(finished, "replaying")
    lines = [json.loads(line) for line in finished.stdout.splitlines() if line.startswith("{")]
    assert len(lines) == 2
    return sum(int(line["num_failed_calls"]) for line in lines)


def test_a_wildcard_is_kept_as_whom_it_met_and_what_came(record: Callable[[str], Trace]) -> None:
    recorded = record("wildcard")
    received = events(recorded, 1, "receive", "ireceive")
    assert [(event.partner, event.tag, event.bytes) for event in received] == [(0, 10 + i, 100) for i in range(6)]
    (both,) = events(recorded, 1, "sendrecv")
    assert (both.source, both.receive_tag, both.receive_bytes) == (0, 16, 100)
    assert num_failed_calls(recorded) == 0


def test_messages_of_communicators_with_the_same_ranks_do_not_meet(record: Callable[[str], Trace]) -> None:
    recorded = record("duplicate")
    # Those that were freed make room for the next: no more communicators than there were at once.
    assert [event.copy for event in events(recorded, 0, "send")] == 3 * [0, 1, 2]
    assert num_failed_calls(recorded) == 0


def test_a_receive_from_nobody_stays_one(record: Callable[[str], Trace]) -> None:
    recorded = record("nobody")
    assert [event.partner for event in events(recorded, 1, "ireceive", "sendrecv")] == [-2, -2]
    assert [event.source for event in events(recorded, 1, "sendrecv")] == [-2]
    assert num_failed_calls(recorded) == 0


def test_arguments_that_the_library_refuses_do_not_spoil_the_trace(record: Callable[[str], Trace]) -> None:
    recorded = record("nonsense")
    assert not events(recorded, 0, "send")
    assert num_failed_calls(recorded) == 0


def test_room_for_more_than_an_int_counts_is_no_message(record: Callable[[str], Trace]) -> None:
    recorded = record("room")
    assert [event.bytes for event in events(recorded, 1, "receive")] == [64, 64]
    assert num_failed_calls(recorded) == 0


def test_a_receive_that_is_left_over_takes_nothing_of_the_trace(record: Callable[[str], Trace]) -> None:
    assert num_failed_calls(record("pending")) == 0


def test_a_receive_that_was_cancelled_too_late_has_its_sender(record: Callable[[str], Trace]) -> None:
    recorded = record("cancelled")
    assert [event.partner for event in events(recorded, 1, "receive", "ireceive") if event.bytes] == [0]
    assert num_failed_calls(recorded) == 0


def test_the_program_has_the_request_that_the_library_put_in_anothers_place(record: Callable[[str], Trace]) -> None:
    recorded = record("buffered")
    assert len(events(recorded, 0, "isend")) == 5
    assert sorted(len(event.requests) for event in events(recorded, 0, "wait")) == 5 * [1]


def test_a_test_that_failed_leaves_its_handle_to_the_next_request(record: Callable[[str], Trace]) -> None:
    recorded = record("truncated")
    waited = [request for event in events(recorded, 1, "wait") for request in event.requests]
    made = [i for i, event in enumerate(recorded.ranks[1]) if event.call == "ireceive"]
    assert waited == made
    assert num_failed_calls(recorded) == 2 * 3  # those that failed in the program


def test_what_a_program_spawns_has_no_trace_and_is_not_replayed(record: Callable[[str], Trace]) -> None:
    recorded = record("spawn")
    assert len(recorded.ranks) == 2
    assert not events(recorded, 0, "allreduce")
    assert len(events(recorded, 0, "barrier")) == 1
    assert num_failed_calls(recorded) == 0
