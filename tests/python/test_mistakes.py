"""Typical mistakes, each made in an empty folder: one exact sentence says what is wrong.

Whoever makes one more that is answered by a traceback, a crash or a riddle adds it here, and mends the answer.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from building import FLAVOUR, build, needs_build
from hakobi import launch
from hakobi.programs import Program
from running import Result, run_python

pytestmark = [needs_build, pytest.mark.programs, pytest.mark.once]

#: Words of the command -> its sentence.
COMMANDS = {
    "gater": "hakobi: unknown command 'gater': did you mean 'gather'?",
    "ls none": "hakobi ls: {folder}/none: there is no such file, nor steps none_….nc",
    "post none": "hakobi post: {folder}/none: there is no such file, nor steps none_….nc",
    "run": "hakobi run: name the program to run, as in: hakobi run -- mpirun -n 8 ./solver",
    "run ./solver": "hakobi run: cannot start ./solver: No such file or directory",
    "gather .": "hakobi gather: cannot gather .: no *.pieces folder and no step is in it",
    "store list none": "hakobi store list: no field store at none",
}

#: Calls of one process, in a folder with the series "run" of 3 steps in NetCDF-4, and "map" in Zarr -> the
#: sentence.
CALLS = {
    'Input.open("rnu")': "no whole step of rnu is there: did you mean 'run'?",
    'Input.open("run.series.nc")': "run.series.nc shows all steps of the series run: open that",
    'Input.open("map.zarr")': "map.zarr shows all steps of the series map: open that",
    'Input.open("run_000001.nc")': "run_000001.nc names step 1 of the series run: open that, and read this step of it",
    'Input.open(".")': ". is a folder: a prefix is one and how the steps' names begin, as ./map, ./run",
    'Input.open("none/run")': "no whole step of none/run is there (there is no such folder)",
    'Input.open("run").read("etta")': "step 2 of run has no field 'etta': did you mean 'eta'? (it has eta)",
    'Input.open("run").read("eta", step=7)': "run has no whole step 7: it has 3, from 0 to 2",
    'Input.open("run").read("eta", block=split((5, 6), 1, 0))': "field eta: its block is of an array of (5, 6), but "
    "its shape is (4, 6)",
    'Output.create(comm, "run")': "run holds files of 3 steps (run_000000.nc to run_000002.nc) already: set if_exists "
    "to resume (continue after the last complete step) or to replace (remove them)",
    'Output.create(comm, "new", method="pipelind")': "unknown output method 'pipelind': did you mean 'pipelined'?",
    'Output.create(comm, "new", format="netcdf")': "unknown format 'netcdf': did you mean 'netcdf4'?",
    'Output.create(comm, "new", hints="cb_nodes=2")': "hints are a dictionary such as {'cb_nodes': '2'}, not str",
    'Output.create(comm, "new", stage="none")': "stage none: there is no such folder",
    'Output.create(sys, "new")': "comm is a module, not a hakobi.Comm: hakobi.Comm.duplicate(comm) makes one",
    "split((4, 6), 0, 0)": "a block is split over 1 rank or more, not 0",
    'out().put("eta", "m", block, zeros)': "put: no step is open (begin_step)",
    "out().end_step()": "end_step: no step is open (begin_step)",
    "closed().begin_step(0.0)": "begin_step: the output is closed",
    "begun().begin_step(1.0)": "begin_step: the previous step has not been ended (end_step)",
    "begun().close()": "close: the step of time 0.000000 was not ended (end_step): its fields are not written",
    'step("eta", "m", block, zeros[1:])': "field eta: the array's shape (3, 6) is not the block's (4, 6)",
    'step("eta", "m", block, zeros + 1j)': "field eta: dtype <c16, not native float64, float32, int32, int64, int8, "
    "uint8, int16, uint16, uint32, uint64",
    'step("eta", "m", block, zeros, dims=["y"])': "field eta names 1 dimensions and has 2",
    'step("eta", "m", block, zeros, compression="gzip")': "field eta: unknown compression 'gzip'; there are none, "
    "deflate and zstd, with a level as in deflate:1",
    "steps(float64=0.0, float32=1.0)": "field eta: its values are float, and those of earlier steps double: all steps "
    "have one type",
    'open_store("none")': "no field store at none",
    'open_store("fields").list("parma=t")': "the store's schema has no keyword 'parma': did you mean 'param' (field "
    "level)?",
    'open_store("fields").list("levelist=501")': "no field has levelist=501 (field level): did you mean 500?",
}

MAKE = """
import json, os, sys
import numpy as np
import hakobi
from hakobi import Input, Output, open_store, split

comm = hakobi.Comm.duplicate()
block, zeros = split((4, 6), 1, 0), np.zeros((4, 6))
num_made = 0

def out(name=None, **options):
    global num_made
    num_made += 1
    return Output.create(comm, name or f"out{num_made}", **options)

def closed():
    made = out()
    made.close()
    return made

def begun():
    made = out()
    made.begin_step(0.0)
    return made

def step(*given, **named):
    made = begun()
    made.put(*given, **named)
    made.end_step()

def steps(name=None, format="netcdf4", **times):
    with out(name, format=format) as made:
        for dtype, time in times.items():
            made.begin_step(time)
            made.put("eta", "m", block, zeros.astype(dtype.rstrip("_")))
            made.end_step()

steps("run", float64=0.0, float64_=1.0, float64__=2.0)
steps("map", "zarr", float64=0.0)
with open_store("fields", schema="weather", sync=False) as store:
    for level in (500, 850):
        key = "class=od,expver=1,stream=oper,date=20260101,time=0,type=fc,levtype=pl,step=0,param=t"
        store.archive(f"{key},levelist={level}", b"x")
    store.flush()
"""

TRY = """
said = {}
for call in json.loads(sys.argv[1]):
    try:
        eval(call)
        said[call] = "nothing"
    except hakobi.HakobiError as error:
        said[call] = str(error)
    except Exception as error:
        said[call] = repr(error)
print(json.dumps(said))
"""


@pytest.mark.parametrize("words", COMMANDS)
def test_the_command_says_what_is_wrong_in_one_line(
    hakobi: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    result = hakobi(*words.split())
    assert result.status == 2
    assert result.line().partition(" (known: ")[0] == COMMANDS[words].format(folder=tmp_path)


def test_calls_say_what_is_wrong_in_one_sentence(tmp_path: Path) -> None:
    done = run_python(MAKE + TRY, tmp_path, json.dumps(list(CALLS)))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == CALLS


def test_what_is_gathered_and_what_is_left_are_json_lines(
    hakobi: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pieces = MAKE.partition('steps("run"')[0] + (
        'made = out("run", method="per-process", keep_pieces=True)\n'
        'for time in (0.0, 1.0):\n    made.begin_step(time); made.put("eta", "m", block, zeros); made.end_step()\n'
        "made.close()"
    )
    assert run_python(pieces, tmp_path).returncode == 0
    monkeypatch.chdir(tmp_path)
    next(Path("run_000001.nc.pieces").iterdir()).unlink()
    result = hakobi("gather", "--json", ".")
    assert result.status == 1
    gathered, left = map(json.loads, result.stdout.splitlines())
    assert gathered == {"file": "./run_000000.nc", "state": "gathered", "reason": ""}
    assert (left["file"], left["state"]) == (None, "left")
    assert result.line() == f"hakobi gather: not gathered: {left['reason']}"


def test_a_time_that_goes_back_is_one_warning(tmp_path: Path) -> None:
    done = run_python(MAKE + 'steps("back", float64=2.0, float64_=0.5, float64__=0.25)', tmp_path)
    assert done.stderr.splitlines() == [
        "hakobi: warning: back: step 1 has the time 0.5, and the step before it 2: times go back, and readers that "
        "expect them in order find other steps"
    ]
    resumed = (
        'steps_ = out("back", if_exists="resume"); steps_.begin_step({}); steps_.put("eta", "m", block, zeros); '
        + ("steps_.end_step(); steps_.close()")
    )
    again = MAKE.partition('steps("run"')[0] + resumed
    assert run_python(again.replace("{}", "0.25"), tmp_path).stderr == ""
    told = run_python(again.replace("{}", "0.125"), tmp_path).stderr
    assert "step 4 has the time 0.125, and the step before it 0.25" in told


RANKS = """
import sys
import numpy as np
import hakobi

comm = hakobi.Comm.duplicate()
mistake, told = sys.argv[1], []
block = hakobi.split((4, 6), comm.size, 0 if mistake == "overlap" else comm.rank)
is_last = comm.rank == comm.size - 1
try:
    with hakobi.Output.create(comm, "run") as out:
        for step in range(2):
            out.begin_step(step + (1.0 if mistake == "time" and is_last else 0.0))
            if not (mistake == "missing" and is_last):
                out.put("etta" if mistake == "name" and is_last else "eta", "m", block, np.zeros(block.count))
            out.end_step()
except hakobi.HakobiError as error:
    print(f"{error}\\n", end="", flush=True)
"""


@pytest.mark.parametrize(
    ("mistake", "sentence"),
    [
        ("overlap", "field eta: the blocks of ranks 0 and 1 overlap"),
        ("name", "rank 1: field 1 is called 'etta', not 'eta' as on rank 0"),
        ("missing", "rank 1: 0 fields were put, not 1 as on rank 0"),
        ("time", "rank 1: the time is 1.000000, not 0.000000 as on rank 0"),
    ],
)
def test_all_ranks_hear_of_one_ranks_mistake(tmp_path: Path, mistake: str, sentence: str) -> None:
    script = tmp_path / "run.py"
    script.write_text(RANKS)
    arguments: list[Any] = [str(script), mistake]
    finished = launch.run(Program(Path(sys.executable), FLAVOUR), arguments, 2, timeout_s=60, folder=tmp_path)
    assert finished.stdout.splitlines() == [sentence, sentence], finished.stderr


C = r"""
#include <hakobi.h>
#include <stdio.h>
#define SAY(call) do { if ((call) != HAKOBI_OK) puts(hakobi_error_text()); else puts("nothing"); } while (0)

int main(void) {
    hakobi_comm* comm = NULL;
    hakobi_output* out = NULL;
    hakobi_block block;
    double eta[24] = {0};
    MPI_Init(NULL, NULL);
    hakobi_comm_duplicate(MPI_COMM_WORLD, &comm);
    SAY(hakobi_output_begin_step(NULL, 0.0));
    SAY(hakobi_output_create(comm, "run", &(hakobi_output_options){.method = "root"}, &out));
    SAY(hakobi_split(9, (int64_t[9]){4, 6, 1, 1, 1, 1, 1, 1, 1}, 1, 0, &block));
    hakobi_split(2, (int64_t[2]){4, 6}, 1, 0, &block);
    hakobi_output_create(comm, "run", NULL, &out);
    hakobi_output_begin_step(out, 0.0);
    hakobi_output_put(out, &(hakobi_field){.struct_size = sizeof(hakobi_field), .name = "eta", .block = block,
                                           .type = HAKOBI_FLOAT64, .data = eta, .num_values = 23});
    SAY(hakobi_output_end_step(out));
    hakobi_output_close(out);
    MPI_Finalize();
    return 0;
}
"""


def test_c_says_what_is_wrong(tmp_path: Path) -> None:
    program = build(
        "c", C.replace("#include <hakobi.h>", "#include <mpi.h>\n#include <hakobi.h>"), tmp_path / "mistakes"
    )
    finished = launch.run(Program(program, FLAVOUR), [], 1, timeout_s=60, folder=tmp_path)
    assert finished.stdout.splitlines() == [
        "hakobi_output_begin_step: out is NULL",
        "hakobi_output_options: its struct_size is 0, and this library's is 200: HAKOBI_INIT sets it",
        "hakobi_split: num_dims is 9, not 1 to 8",
        "field eta: its block has 24 elements, but 23 values were given",
    ], finished.stderr


FORTRAN = """
program mistakes
    use mpi
    use hakobi
    implicit none
    type(hakobi_comm) :: comm
    type(hakobi_output) :: out
    type(hakobi_block) :: block
    real(8) :: eta(5, 4)
    character(len=200) :: told
    integer :: error, stat
    call MPI_Init(error)
    call comm%duplicate(MPI_COMM_WORLD)
    eta = 0
    block = hakobi_split([6_8, 4_8], 1, 0)
    call out%create(comm, "run")
    call out%begin_step(0d0)
    call out%put("eta", "m", block, eta)
    call out%end_step(stat=stat, errmsg=told)
    print "(a)", trim(told)
    call out%begin_step(1d0)
end program
"""


def test_fortran_says_what_is_wrong_and_ends(tmp_path: Path) -> None:
    program = build("fortran", FORTRAN, tmp_path / "mistakes")
    finished = launch.run(Program(program, FLAVOUR), [], 1, timeout_s=60, folder=tmp_path)
    assert finished.status == 1
    refused = "field eta: the array's shape is (5, 4), and not the block's (6, 4)"
    assert finished.stdout.splitlines() == [refused], finished.stderr
    assert f"hakobi: rank 0: the output has failed before: {refused}" in finished.stderr.splitlines()
