"""hakobi.Output from Python: the bytes of C++, errors on every rank, and a library for the right MPI."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from hakobi import _library, _mpi, launch, programs
from hakobi.errors import InputError
from hakobi.fields import Block, problem_with
from hakobi.programs import Program
from running import run_python

pytestmark = pytest.mark.programs

ROOT = Path(__file__).resolve().parents[2]
FLAVOUR = programs.flavour()
BUILD = ROOT / "build" / FLAVOUR
WAVE_CPP = BUILD / "examples" / "wave_cpp"
WAVE_PY = ROOT / "examples" / "languages" / "wave.py"
#: MPICH spins while it waits: no more ranks than cores.
RANKS = [1, 2, 3] if FLAVOUR == "openmpi" else [1, 2]

if not WAVE_CPP.is_file():
    pytest.skip(f"{WAVE_CPP} is not built", allow_module_level=True)


def run_script(text: str, ranks: int, folder: Path, environment: dict[str, str]) -> launch.Finished:
    script = folder / "script.py"
    script.write_text(text)
    python = Program(Path(sys.executable), FLAVOUR)
    return launch.run(python, [str(script)], ranks, timeout_s=60, extra_environment=environment, folder=folder)


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("method", ["root", "pipelined"])
def test_files_have_the_bytes_that_cpp_writes(
    tmp_path: Path, mpi4py_environment: dict[str, str], ranks: int, method: str
) -> None:
    cpp = launch.run(Program(WAVE_CPP, FLAVOUR), [str(tmp_path / "cpp"), "root"], 1, timeout_s=60)
    assert cpp.status == 0, cpp.stderr
    python = launch.run(
        Program(Path(sys.executable), FLAVOUR),
        [str(WAVE_PY), str(tmp_path / "python"), method],
        ranks,
        timeout_s=60,
        extra_environment=mpi4py_environment,
    )
    assert python.status == 0, python.stderr
    for step in ("000000", "000001"):
        assert (tmp_path / f"python_{step}.nc").read_bytes() == (tmp_path / f"cpp_{step}.nc").read_bytes()


def test_views_make_the_files_that_copies_make(tmp_path: Path, mpi4py_environment: dict[str, str]) -> None:
    finished = run_script(
        """
import hakobi, numpy as np
from mpi4py import MPI
comm = hakobi.Comm.duplicate(MPI.COMM_WORLD)
block = hakobi.split((8, 9), comm.size, comm.rank)
rows, columns = block.count
framed = np.arange((rows + 2) * (columns + 4), dtype=np.int16).reshape(rows + 2, columns + 4) + comm.rank
view = framed[1:-1, 2:-2]
for prefix, values in (("views", view), ("copies", view.copy())):
    out = hakobi.Output.create(comm, prefix)
    out.begin_step(0.0)
    out.put("a", "m", block, values)
    out.put("b", "m", block, np.asfortranarray(values))
    out.end_step()
    out.close()
""",
        2,
        tmp_path,
        mpi4py_environment,
    )
    assert finished.status == 0, finished.stderr
    assert (tmp_path / "views_000000.nc").read_bytes() == (tmp_path / "copies_000000.nc").read_bytes()


def test_a_field_that_one_rank_cannot_lend_raises_on_every_rank(
    tmp_path: Path, mpi4py_environment: dict[str, str]
) -> None:
    finished = run_script(
        """
import hakobi, numpy as np, os
from mpi4py import MPI
comm = hakobi.Comm.duplicate(MPI.COMM_WORLD)
block = hakobi.split((8, 8), comm.size, comm.rank)
out = hakobi.Output.create(comm, "run")
values = np.zeros(block.count)
if comm.rank == 1:
    values = values[:, ::-1]
out.begin_step(0.0)
out.put("a", "m", block, values)
try:
    out.end_step()
except hakobi.InputError as error:
    os.write(1, f"rank {comm.rank}: {error.code} on {error.rank}: {error}\\n".encode())  # one write: lines stay whole
out.close()
""",
        2,
        tmp_path,
        mpi4py_environment,
    )
    assert finished.status == 0, finished.stderr
    lines = sorted(line for line in finished.stdout.splitlines() if line.startswith("rank"))
    assert len(lines) == 2, finished
    for rank, line in enumerate(lines):
        assert line.startswith(f"rank {rank}: invalid_argument on 1: ")
        assert "go backwards or split values" in line
    assert [path.name for path in tmp_path.iterdir()] == ["script.py"]


def test_one_process_needs_neither_launcher_nor_mpi4py(tmp_path: Path) -> None:
    done = run_python(
        """
import hakobi, numpy as np
comm = hakobi.Comm.duplicate()
block = hakobi.split((3, 4), comm.size, comm.rank)
with hakobi.Output.create(comm, "run", title="t") as out:
    out.begin_step(1.5)
    out.put("a", "m", block, np.arange(12, dtype=np.float32).reshape(3, 4))
    out.end_step()
    assert out.times.bytes == 48
print(out.method, comm.size)
comm.free()
""",
        tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[1] == "1"
    import xarray

    with xarray.open_dataset(tmp_path / "run_000000.nc") as data:
        np.testing.assert_array_equal(data["a"].squeeze(), np.arange(12).reshape(3, 4))
        assert data["a"].units == "m"


def test_steps_of_an_earlier_run_are_refused_resumed_or_replaced(tmp_path: Path) -> None:
    done = run_python(
        """
import hakobi, pathlib
comm = hakobi.Comm.duplicate()

def run(time, **options):
    with hakobi.Output.create(comm, "run", **options) as out:
        out.begin_step(time)
        out.end_step()
    return sorted(path.name for path in pathlib.Path().glob("run_*"))

print(run(0.0))
try:
    run(1.0)
except hakobi.ExistsError as error:
    print(error.code)
print(run(1.0, if_exists="resume"))
print(run(2.0, if_exists="replace"))
""",
        tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "['run_000000.nc']",
        "exists",
        "['run_000000.nc', 'run_000001.nc']",
        "['run_000000.nc']",
    ]


def test_a_block_that_raises_abandons_the_step(tmp_path: Path) -> None:
    done = run_python(
        """
import hakobi, numpy as np
comm = hakobi.Comm.duplicate()
try:
    with hakobi.Output.create(comm, "run") as out:
        out.begin_step(0.0)
        raise RuntimeError("the solver diverged")
except RuntimeError as error:
    print(error)
out.close()
""",
        tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "the solver diverged"
    assert list(tmp_path.iterdir()) == []


#: The request of one rank of two, and the answer that every rank then gets.
REFUSED = [
    (r'put(name="a\0b")', r"name 'a\x00b' has a NUL character"),
    (r'put(name="a\udcff")', r"name 'a\udcff' has surrogates"),
    ("put(name=7)", "field 7: name is a int, not text"),
    ("put(units=None)", "field a: units is a NoneType, not text"),
    (r'put(units="m\0")', "field a: units"),
    (r'put(long_name="\0")', "field a: long_name"),
    ("put(standard_name=b'eta')", "standard_name is a bytes, not text"),
    ("put(block=hakobi.Block((2.0, 2), (0, 0), (1, 2)))", "not of whole numbers of 64 bits"),
    ("put(block=hakobi.Block((1 << 64, 2), (0, 0), (1, 2)))", "not of whole numbers of 64 bits"),
    ("put(block=hakobi.Block((2, 2), None, (1, 2)))", "not of whole numbers of 64 bits"),
    ("put(block=hakobi.Block((2, 2), (0,), (1, 2)))", "differ in length"),
    ("put(block=None)", "it has no block: None is for fields on a mesh"),
    ("put(values=np.ma.masked_array(np.zeros((1, 2)), mask=True))", "put values.filled("),
    ("give(values=np.zeros((2, 2)))", "field a: the array's shape (2, 2) is not the block's (1, 2)"),
    ("give(values=np.zeros((1, 2), 'f4'))", "field a: its values are float, and it is defined as double"),
    ("give(block=hakobi.Block((3, 2), (0, 0), (1, 2)))", "its block is of an array of 3 x 2, and it is defined"),
    ("give(block=None)", "it has no block: None is for fields on a mesh"),
    ("give(field=hakobi.FieldId('b', 7))", "none that this output's define has returned"),
    ("define(units=None)", "field a: units is a NoneType, not text"),
    ("define(dtype='complex64')", "field a: dtype <c8, not native"),
    ("define(dtype='no')", "field a: its dtype is 'no'"),
    ("define(on='sky')", "field a: it is on 'sky', not on grid, points or cells"),
    ("define(global_=(2.5, 2))", "field a: "),
    ("define(global_=(2, 0))", "field a: an array of 2 x 0 cannot be stored"),
    ("define(compression='zip')", "field a: unknown compression 'zip'"),
    ("define(fill_value='x')", "field a: "),
    ("define(dims=('y',))", "field a names 1 dimensions and has 2"),
    ("define(name='b')", "is called 'b', not 'a'"),
    (r'create(prefix="run\0x")', r"prefix 'run\x00x' has a NUL character"),
    ("create(prefix=7)", "int"),
    (r'create(method="root\0x")', r"method 'root\x00x' has a NUL character"),
    (r'create(title="\udcff")', "title"),
    (r'create(hints={"cb_nodes\0": "1"})', "a hint's name"),
    (r'create(hints={"cb_nodes": "1\0"})', "hint cb_nodes"),
    (r'create(axes=[hakobi.Axis("x\0", "m", [0.0])])', "an axis's name"),
    ('create(axes=[hakobi.Axis("x", None, [0.0])])', "axis x: units is a NoneType"),
]


def test_what_one_rank_cannot_give_to_c_every_rank_refuses(tmp_path: Path, mpi4py_environment: dict[str, str]) -> None:
    finished = run_script(
        f"""
import hakobi, numpy as np, os
from mpi4py import MPI
comm = hakobi.Comm.duplicate(MPI.COMM_WORLD)

def create(prefix="run", **other):
    return hakobi.Output.create(comm, prefix, **other)

def put(name="a", units="m", block=hakobi.split((2, 2), 2, comm.rank), values=np.zeros((1, 2)), **other):
    out.put(name, units, block, values, **other)

def define(name="a", units="m", global_=(2, 2), **other):
    return out.define(name, units, global_, **other)

def give(block=hakobi.split((2, 2), 2, comm.rank), values=np.zeros((1, 2)), **other):
    out.put(other.get("field", field), block, values)

for number, call in enumerate({[call for call, _ in REFUSED]!r}):
    try:
        if not call.startswith("create"):
            out = create()
        if call.startswith("give"):
            field = define()
        if call.startswith(("put", "give")):
            out.begin_step(0.0)
        eval(call if comm.rank == 1 else call.split("(")[0] + "()")
        out.end_step()
    except hakobi.InputError as error:
        text = str(error).replace("\\n", " ")
        os.write(1, f"{{number:02}} {{comm.rank}}: {{error.code}} on {{error.rank}}: {{text}}\\n".encode())
        if not call.startswith("create"):
            out.close()
    except Exception as error:
        os.write(2, f"{{call}}: {{error!r}}".encode())
        MPI.COMM_WORLD.Abort(1)
""",
        2,
        tmp_path,
        mpi4py_environment,
    )
    assert finished.status == 0, finished.stderr
    lines = sorted(line for line in finished.stdout.splitlines() if " on 1: " in line)
    assert len(lines) == 2 * len(REFUSED), finished
    for index, line in enumerate(lines):
        assert line.startswith(f"{index // 2:02} {index % 2}: invalid_argument on 1: ")
        assert REFUSED[index // 2][1] in line
    assert [path.name for path in tmp_path.iterdir()] == ["script.py"]


def test_a_put_outside_a_step_raises_at_once(tmp_path: Path) -> None:
    done = run_python(
        """
import hakobi, numpy as np
comm = hakobi.Comm.duplicate()
block = hakobi.split((2, 2), 1, 0)
out = hakobi.Output.create(comm, "run")

def put(when):
    try:
        out.put("a", "m", block, np.zeros((2, 2)))
        print(when, "taken")
    except hakobi.InputError as error:
        print(when, error.code, error)

put("before")
out.begin_step(0.0)
try:
    out.begin_step(1.0)
except hakobi.InputError:
    put("inside")
out.end_step()
put("between")
out.close()
put("closed")
""",
        tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "before invalid_argument put: no step is open (begin_step)",
        "inside taken",
        "between invalid_argument put: no step is open (begin_step)",
        "closed invalid_argument put: no step is open (begin_step): the output is closed",
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.series.nc", "run_000000.nc"]


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ('hakobi.Output.create(comm, "run", method="pipelind")', "InputError invalid_argument"),
        ('hakobi.Output.create(comm, "run", writer_stride="two")', "InputError invalid_argument"),
        ('hakobi.Output.create(comm, "run", axes=[hakobi.Axis("x", "m", ["a"])])', "InputError invalid_argument"),
        ('hakobi.Output.create(comm, "in_the_way/run")', "ExistsError exists"),
        ('hakobi.Output.create(comm, "run", if_exists="resum")', "InputError invalid_argument"),
        ('hakobi.gather_pieces("nowhere")', "InputError not_found"),
        ("hakobi.Comm.duplicate(-77)", "InputError invalid_argument"),
        ("hakobi.split((2, 2), 5, 0)", "InputError invalid_argument"),
    ],
)
def test_errors_are_those_of_the_tree(tmp_path: Path, call: str, error: str) -> None:
    if FLAVOUR == "mpich" and "duplicate(-77)" in call:
        pytest.skip("MPICH ends the program for a handle that names nothing")
    (tmp_path / "in_the_way").write_text("a file")
    done = run_python(
        f"""
import hakobi
comm = hakobi.Comm.duplicate()
try:
    {call}
except hakobi.HakobiError as error:
    print(type(error).__name__, error.code, error)
""",
        tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(error), done.stdout
    assert done.stdout.count("\n") == 1


def test_a_library_of_another_mpi_is_refused(tmp_path: Path) -> None:
    other = "mpich" if FLAVOUR == "openmpi" else "openmpi"
    done = run_python(
        "import hakobi\ntry:\n    hakobi.output_methods()\nexcept hakobi.InputError as error:\n    print(error)",
        tmp_path,
        HAKOBI_MPI=other,
        HAKOBI_LIBRARY=str(BUILD / "lib" / "libhakobi.so.0"),
    )
    assert done.returncode == 0, done.stderr
    assert f"is built with {FLAVOUR}, but this process runs with {other}" in done.stdout


def test_a_missing_library_is_one_line_that_helps(tmp_path: Path) -> None:
    done = run_python(
        "import hakobi\ntry:\n    hakobi.output_methods()\nexcept hakobi.InputError as error:\n    print(error)",
        tmp_path,
        HAKOBI_LIBRARY="/nowhere/libhakobi.so.0",
    )
    assert done.stdout.count("\n") == 1
    assert "/nowhere/libhakobi.so.0" in done.stdout
    assert f"make HAKOBI_MPI={FLAVOUR}" in done.stdout


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        (np.zeros((2, 3)), ""),
        (np.zeros(6, dtype=np.int64), ""),
        (np.zeros((3, 2)), "shape (3, 2) is not the block's (2, 3)"),
        (np.zeros((3, 2)).T, ""),
        (np.zeros((2, 6))[:, ::2], ""),
        (np.zeros((2, 3), dtype=np.uint16), ""),
        (np.zeros((2, 3))[:, ::-1], "go backwards"),
        (np.zeros(12)[::2], "a flat array is contiguous"),
        (np.zeros((2, 3), dtype=np.float16), "dtype <f2"),
        (np.zeros((2, 3), dtype=">f8"), "dtype >f8"),
        (np.ma.masked_less(np.arange(6.0), 3), "put values.filled("),
        (np.ma.masked_array(np.zeros((2, 3))), "put values.filled("),
    ],
)
def test_what_cannot_be_lent_is_said(values: np.ndarray, problem: str) -> None:
    said = problem_with(Block((4, 3), (0, 0), (2, 3)), values)
    assert problem in said
    assert bool(said) == bool(problem)


def test_a_block_of_lists_is_one_of_tuples() -> None:
    block = Block([4, 3], [0, 0], [2, 3])  # type: ignore[arg-type]
    assert problem_with(block, np.zeros((2, 3))) == ""
    assert "shape (3, 2) is not the block's (2, 3)" in problem_with(block, np.zeros((3, 2)))


def test_the_launchers_variables_name_the_mpi(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "mpi4py.MPI", raising=False)
    monkeypatch.setattr(_mpi, "loaded", list)  # earlier tests of this process may have loaded one
    monkeypatch.delenv("OMPI_COMM_WORLD_SIZE", raising=False)
    monkeypatch.setenv("HAKOBI_MPI", "openmpi")
    monkeypatch.setenv("PMI_SIZE", "2")
    assert _library.mpi_in_use() == "mpich"
    monkeypatch.delenv("PMI_SIZE")
    assert _library.mpi_in_use() == "openmpi"
    monkeypatch.setenv("HAKOBI_MPI", "lam")
    with pytest.raises(InputError, match="lam"):
        _library.mpi_in_use()


def test_split_covers_the_grid_once(tmp_path: Path) -> None:
    done = run_python(
        """
import hakobi, numpy as np
owner = np.zeros((7, 5), dtype=int)
for rank in range(6):
    owner[hakobi.split((7, 5), 6, rank).slices] += 1
print((owner == 1).all())
""",
        tmp_path,
    )
    assert done.stdout == "True\n", done.stderr
