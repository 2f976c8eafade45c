"""Steps that end_step has accepted: however the run ends, each is whole, completed by the next opener, or named.

A slow storage keeps them on their way when the program ends. HAKOBI_ENDINGS=200 runs so many, drawn at random; without
it the suite runs those of ENDINGS.
"""

from __future__ import annotations

import os
import random
import re
import sys
from pathlib import Path

import netCDF4
import numpy as np
import pytest

from hakobi import launch, programs
from hakobi.measuring.storage_model import StorageModel
from hakobi.programs import Program
from running import run_python

pytestmark = pytest.mark.programs

ROOT = Path(__file__).resolve().parents[2]
FLAVOUR = programs.flavour()
PROGRAMS = ROOT / "build" / FLAVOUR / "tests"
SLOW = StorageModel(servers=1, bandwidth_mb_s=20)
LANGUAGES = ["cpp", "c", "fortran", "python"]
METHODS = ["pipelined", "root", "writers", "per-process", "auto", "parallel"]
#: Ways in which a program ends that still reaches MPI_Finalize, and others.
FINALIZING = ["close", "drop", "forget", "exception"]
DYING = ["exit", "abort", "terminate", "kill"]
OPENERS = ["input", "resume", "gather"]
ENDINGS = [
    *[("cpp", method, "exception", "input") for method in ("pipelined", "writers", "per-process", "auto")],
    *[("cpp", method, "kill", opener) for method, opener in zip(METHODS, [*OPENERS, "resume"], strict=False)],
    *[("cpp", "pipelined", ending, "input") for ending in ("drop", "exit", "abort")],
    *[(language, "pipelined", "forget", "input") for language in LANGUAGES[1:]],
    *[(language, "root", "terminate", "resume") for language in LANGUAGES[1:]],
    ("python", "pipelined", "exception", "input"),
]
NUM_DRAWN = int(os.environ.get("HAKOBI_ENDINGS", "0"))
if NUM_DRAWN > 0:
    DRAW = random.Random(int(os.environ.get("HAKOBI_SEED", "1")))
    ENDINGS = [
        (
            DRAW.choice(LANGUAGES[:3] if DRAW.random() < 0.7 else LANGUAGES),
            DRAW.choice(METHODS),
            DRAW.choice(FINALIZING + DYING),
            DRAW.choice(OPENERS),
        )
        for _ in range(NUM_DRAWN)
    ]

if not (PROGRAMS / "ending_cpp").is_file():
    pytest.skip(f"{PROGRAMS}/ending_cpp is not built", allow_module_level=True)

OPEN = {
    "input": "import sys, hakobi; hakobi.Input.open(sys.argv[1]).close()",
    "resume": "import sys; from hakobi import Comm, Output; "
    "Output.create(Comm.duplicate(), sys.argv[1], if_exists='resume').close()",
    "gather": "import sys, hakobi; print(hakobi.gather_pieces(sys.argv[1]).incomplete, file=sys.stderr)",
}


def run_to_its_end(language: str, arguments: list[str], environment: dict[str, str], ranks: int = 2) -> launch.Finished:
    program = Program(PROGRAMS / f"ending_{language}", FLAVOUR)
    if language == "python":
        program = Program(Path(sys.executable), FLAVOUR)
        arguments = [str(ROOT / "tests" / "endings" / "ending.py"), *arguments]
    slow = SLOW.environment(Program(PROGRAMS.parent / "bin" / "hakobi-gather", FLAVOUR), Path(arguments[-3]).parent)
    return launch.run(program, arguments, ranks, timeout_s=60, extra_environment=environment | slow)


def whole_steps(folder: Path) -> set[int]:
    """The steps that have their name; a wrong value in one of them is an error."""
    found = set()
    for path in folder.glob("run_??????.nc"):
        step = int(path.stem[-6:])
        with netCDF4.Dataset(path) as data:
            values = np.ma.filled(data["eta"][0], np.nan)
        assert values.shape == (256, 512), path
        assert np.all(values == step + 0.5), f"{path.name} is not whole"
        found.add(step)
    return found


def unfinished_steps(folder: Path) -> list[Path]:
    """Files under temporary names."""
    return [path for path in folder.iterdir() if path.suffix in (".part", ".whole")]


def named_steps(text: str) -> set[int]:
    """The steps that lines of Hakobi's name: "step 3", "steps 2 to 4", or a folder of pieces."""
    named = set()
    for first, last in re.findall(r"steps? (\d+)(?: to (\d+))?", text):
        named |= set(range(int(first), int(last or first) + 1))
    return named | {int(number) for number in re.findall(r"run_(\d{6})\.nc", text)}


@pytest.mark.parametrize(
    ("language", "method", "ending", "opener"), ENDINGS, ids=lambda value: value if isinstance(value, str) else None
)
def test_accepted_steps_are_whole_completed_or_named(
    tmp_path: Path, mpi4py_environment: dict[str, str], language: str, method: str, ending: str, opener: str
) -> None:
    prefix = tmp_path / "run"
    finished = run_to_its_end(language, [str(prefix), method, ending], mpi4py_environment)
    accepted = {int(line) for line in Path(f"{prefix}.accepted").read_text().split()}
    # A rank may die before rank 0 has noted the last one.
    assert accepted == set(range(5)) or (accepted and ending in DYING), finished.stderr
    whole = whole_steps(tmp_path)
    if ending in FINALIZING:
        assert whole == accepted, finished.stderr
        assert not unfinished_steps(tmp_path), finished.stderr
        if ending == "close":
            assert "close" not in finished.stderr
        elif method not in ("parallel", "auto"):  # whose last step need not be on its way
            assert "run: the program did not close its output" in finished.stderr
        return
    if language == "python" and ending == "exit":  # mpi4py calls MPI_Finalize
        assert whole == accepted, finished.stderr
        return
    opened = run_python(OPEN[opener], tmp_path, str(tmp_path if opener == "gather" else prefix))
    told = opened.stderr if accepted - whole_steps(tmp_path) else ""
    named = named_steps(told)
    missing = accepted - whole_steps(tmp_path) - named
    if opener == "input" and method == "per-process":  # reads pieces where they are
        missing -= {int(path.name[4:10]) for path in tmp_path.glob("run_??????.nc.pieces")}
    assert not missing, f"steps {missing} have vanished\n{finished.stderr}\n{opened.stdout}\n{opened.stderr}"
    if opener in ("resume", "gather"):
        assert not unfinished_steps(tmp_path), opened.stderr


@pytest.mark.parametrize(("ending", "ranks"), [("terminate", 1), ("exit", 2)])
def test_the_last_line_names_the_steps(tmp_path: Path, ending: str, ranks: int) -> None:
    """Rank 0 prints it, unless the launcher kills it at once, as MPICH's does when another rank gets a signal."""
    finished = run_to_its_end("cpp", [str(tmp_path / "run"), "pipelined", ending], {}, ranks)
    line = re.search(r"run: the program ends before steps? \d.*completes what is stored whole", finished.stderr)
    assert line, finished.stderr


@pytest.mark.parametrize(
    ("ending", "line"),
    [
        ("error", "hakobi: no whole step of "),
        ("local_error", "hakobi: rank 1: no whole step of "),
    ],
)
def test_an_error_that_nobody_catches_is_one_line_and_status_1(
    tmp_path: Path, mpi4py_environment: dict[str, str], ending: str, line: str
) -> None:
    finished = run_to_its_end("cpp", [str(tmp_path / "run"), "root", ending], mpi4py_environment)
    assert finished.status == 1, finished.stderr
    told = [text for text in finished.stderr.splitlines() if "run.none" in text]
    assert len(told) == 1, finished.stderr
    assert told[0].startswith(line)
    assert "terminate called" not in finished.stderr


RAISES = """
import sys
import hakobi
hakobi.report_errors()
from mpi4py import MPI
comm = hakobi.Comm.duplicate(MPI.COMM_WORLD)
print("before", flush=False)
if sys.argv[1] == "everybody":
    hakobi.Input.open("none", comm)
if comm.rank == 1:
    raise hakobi.InputError("the solver's own")
MPI.COMM_WORLD.Barrier()
"""


@pytest.mark.parametrize(
    ("who", "line"), [("everybody", "hakobi: no whole step of none"), ("one", "hakobi: rank 1: the solver's own")]
)
def test_python_ends_all_ranks_with_one_line(
    tmp_path: Path, mpi4py_environment: dict[str, str], who: str, line: str
) -> None:
    (tmp_path / "run.py").write_text(RAISES)
    program = Program(Path(sys.executable), FLAVOUR)
    arguments = [str(tmp_path / "run.py"), who]
    finished = launch.run(program, arguments, 2, timeout_s=60, extra_environment=mpi4py_environment)
    assert finished.status == 1, finished.stderr
    assert len([text for text in finished.stderr.splitlines() if text.startswith(line)]) == 1, finished.stderr
    assert "Traceback" not in finished.stderr
    assert "before" in finished.stdout


@pytest.mark.parametrize(("ranks", "lines"), [(1, 0), (3, 1)])
def test_python_ends_all_ranks_with_any_exception_of_one(
    tmp_path: Path, mpi4py_environment: dict[str, str], ranks: int, lines: int
) -> None:
    """Without it the others wait in the barrier until somebody kills the job."""
    (tmp_path / "run.py").write_text(
        RAISES.replace("comm.rank == 1", "comm.rank == comm.size - 1").replace("hakobi.InputError", "ValueError")
    )
    program = Program(Path(sys.executable), FLAVOUR)
    finished = launch.run(
        program, [str(tmp_path / "run.py"), "one"], ranks, timeout_s=60, extra_environment=mpi4py_environment
    )
    assert finished.status == 1, finished.stderr
    assert finished.stderr.count("Traceback") == 1, finished.stderr
    told = f"hakobi: rank {ranks - 1}: ValueError: the solver's own"
    assert finished.stderr.splitlines().count(told) == lines, finished.stderr
