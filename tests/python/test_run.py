"""hakobi run: which program, which library, what is set; and that nothing else of the program changes."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from hakobi import drop_in, launch, programs
from hakobi.errors import InputError
from running import Result, children_called, start

Command = Callable[..., Result]


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An installation with a drop-in for Open MPI, of which only the names are there; its library folder."""
    folder = tmp_path / "prefix" / "lib"
    folder.mkdir(parents=True)
    for name in ("libhakobi_mpiio.so", "libhakobi_mpiio-libmpi.so.40.so"):
        (folder / name).touch()
    monkeypatch.setenv("HAKOBI_PREFIX", str(folder.parent))
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    monkeypatch.setenv("HAKOBI_MPI", "openmpi")
    return folder


@pytest.fixture
def solver(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], Path]:
    """Makes an executable that ldd is told to be linked with the library of that name ("" for none)."""

    def make(soname: str) -> Path:
        path = tmp_path / "solver"
        path.write_bytes(b"\x7fELF and no more")
        path.chmod(0o755)
        bin_folder = tmp_path / "bin"
        bin_folder.mkdir(exist_ok=True)
        ldd = bin_folder / "ldd"
        ldd.write_text(f"#!/bin/sh\necho '\tlibhdf5.so.103 => /x (0x7)\n\t{soname or 'libm.so.6'} => /x (0x7)'\n")
        ldd.chmod(0o755)
        monkeypatch.setenv("PATH", f"{bin_folder}:{os.environ['PATH']}")
        return path

    return make


def fake_launcher(folder: Path, name: str, version: str) -> Path:
    path = folder / name
    path.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo "{version}" && exit 0\nexit 99\n')
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("mpirun", "-n 8 {} -n test"),
        ("mpirun", "--map-by core --mca io romio321 -x test --host a,b {}"),
        ("mpirun", "-wdir /tmp --some-option-of-tomorrow 3 {} x : -n 1 /bin/true"),
        ("mpiexec.hydra", "-genv test sort -ppn 2 -f sort {}"),
        ("srun", "-p test -t 10 --ntasks=8 -d sort {}"),
        ("srun", "-n8 --mpi pmix {}"),
    ],
)
def test_the_program_is_found_behind_the_launchers_options(
    installed: Path, solver: Callable[[str], Path], tmp_path: Path, name: str, arguments: str
) -> None:
    program = solver("libmpi.so.40")
    launcher = fake_launcher(tmp_path, name, "srun 22" if name == "srun" else "mpirun (Open MPI) 4.1")
    target = drop_in.look_at([str(launcher), *arguments.format(program).split()])
    assert (target.program, target.soname, target.flavour) == (program, "libmpi.so.40", "openmpi")


def test_a_launcher_behind_another_command_is_found(installed: Path, tmp_path: Path) -> None:
    launcher = fake_launcher(tmp_path, "mpiexec", "HYDRA build details: Version 4.0.2")
    target = drop_in.look_at(["timeout", "60", str(launcher), "-n", "2", "sh", "job.sh"])
    assert target.launcher_at == 2
    assert target.name == "sh"
    assert (target.soname, target.flavour) == (None, "mpich")


def test_without_a_launcher_or_mpi_the_users_library_is_meant(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HAKOBI_MPI", "mpich")
    assert drop_in.look_at(["sh", "-c", "true"]).flavour == "mpich"
    assert drop_in.look_at(["no-such-program"]).program is None


@pytest.mark.parametrize(
    ("soname", "flavour"),
    [
        ("libmpich.so.12 (ABI mpich)", "mpich"),
        ("libmpi.so.12 (ABI mpich)", "mpich"),
        ("libmpi.so.20", "openmpi"),
        ("libmpi_cray.so.12 (ABI mpich)", "mpich"),
        ("libmpi_gnu_91.so.12 (ABI mpich)", "mpich"),
        ("libmpi_abi.so.1 (ABI mpi_abi)", "openmpi"),  # that of the launcher, or the user's
        ("libmpt.so", "mpich"),
    ],
)
def test_a_drop_in_for_another_mpi_is_one_line_that_says_what_to_do(
    hakobi: Command, installed: Path, solver: Callable[[str], Path], soname: str, flavour: str
) -> None:
    program = solver(soname.split()[0])
    assert drop_in.look_at([str(program)]).flavour == flavour
    result = hakobi("run", "--print", "--profile", program)
    assert result.status == 2
    assert result.stdout == ""
    assert result.line() == (
        f"hakobi run: solver uses {soname}, and the drop-in here is for libmpi.so.40; "
        "build Hakobi with it (docs/install.md, From source) and set HAKOBI_PREFIX"
    )


def test_without_its_drop_in_a_program_runs_and_a_line_says_so(installed: Path, tmp_path: Path) -> None:
    for name in installed.glob("libhakobi_mpiio-*"):
        name.unlink()
    ldd = tmp_path / "bin" / "ldd"
    ldd.parent.mkdir()
    ldd.write_text("#!/bin/sh\necho '\tlibmpt.so => /x (0x7)'\n")
    ldd.chmod(0o755)
    environment = os.environ | {"PATH": f"{ldd.parent}:{os.environ['PATH']}"}
    process = start("run", "--", "sh", "-c", "exit 7", env=environment)
    stderr = process.communicate(timeout=60)[1]
    assert process.returncode == 7
    assert stderr.startswith("hakobi run: sh uses libmpt.so, and the drop-in here is for none; ")
    assert stderr.endswith("; the program runs without it\n")
    assert stderr.count("\n") == 1


def test_bindings_of_other_languages_are_no_library_of_their_own(
    installed: Path, solver: Callable[[str], Path]
) -> None:
    for soname in ("libmpi_cxx.so.40", "libmpi_usempif08.so.40", "libmpifort.so.12", "libmpi4py.so"):
        assert drop_in.look_at([str(solver(soname))]).soname is None


def test_a_preloaded_library_is_not_taken_for_the_programs_mpi(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ldd = tmp_path / "ldd"
    ldd.write_text("#!/bin/sh\necho \"\t$LD_PRELOAD (0x7)\"; echo '\tlibmpi.so.40 => /x (0x7)'\n")
    ldd.chmod(0o755)
    (tmp_path / "solver").write_bytes(b"\x7fELF and no more")
    (tmp_path / "solver").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("LD_PRELOAD", "/opt/lib/libmpich_trace.so")
    assert drop_in.look_at([str(tmp_path / "solver")]).soname == "libmpi.so.40"


def test_print_gives_the_lines_of_a_job_script(
    hakobi: Command, installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LD_PRELOAD", "/usr/lib/libother.so")
    monkeypatch.setenv("HAKOBI_HINTS", "cb_nodes=2;hakobi_depth=4")
    result = hakobi("run", "--print", "--hint", "cb_nodes=8", "--profile")
    assert result.stdout.splitlines() == [
        f"export LD_PRELOAD=/usr/lib/libother.so:{installed}/libhakobi_mpiio.so",
        "export HAKOBI_HINTS='cb_nodes=8;hakobi_depth=4'",
        "export HAKOBI_PROFILE=1",
        "export PNETCDF_HINTS=nc_driver=mpiio",
        "# to ranks on other nodes: mpirun -x LD_PRELOAD -x HAKOBI_HINTS -x HAKOBI_PROFILE -x PNETCDF_HINTS …   "
        "(srun needs nothing)",
    ]
    done = subprocess.run(["sh", "-eu"], input=result.stdout, text=True, capture_output=True, check=False)
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("option", "hint"),
    [
        ("--hidden", "hakobi_hidden=write"),
        ("--hidden=write", "hakobi_hidden=write"),
        ("--hidden=close", "hakobi_hidden=close"),
    ],
)
def test_hidden_output_is_a_hint_and_its_variable_goes_with_it(
    hakobi: Command, installed: Path, monkeypatch: pytest.MonkeyPatch, option: str, hint: str
) -> None:
    monkeypatch.setenv("HAKOBI_HIDDEN_ERRORS", "warn")
    lines = hakobi("run", "--print", option, "--hint", "cb_nodes=8").stdout.splitlines()
    assert f"export HAKOBI_HINTS='{hint};cb_nodes=8'" in lines
    assert "export HAKOBI_HIDDEN_ERRORS=warn" in lines
    assert "hakobi_hidden=off" in hakobi("run", "--print", option, "--hint", "hakobi_hidden=off").stdout


def test_a_drop_in_that_is_off_is_so_on_other_nodes_and_leaves_pnetcdf_as_it_is(
    hakobi: Command, installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HAKOBI_MPIIO", "off")
    monkeypatch.setenv("HAKOBI_WATCH", "/tmp/left")
    assert hakobi("run", "--print").stdout.splitlines() == [
        f"export LD_PRELOAD={installed}/libhakobi_mpiio.so",
        "export HAKOBI_WATCH=/tmp/left",
        "export HAKOBI_MPIIO=off",
        "# to ranks on other nodes: mpirun -x LD_PRELOAD -x HAKOBI_WATCH -x HAKOBI_MPIIO …   (srun needs nothing)",
    ]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ([], "hakobi run: name the program to run, as in: hakobi run -- mpirun -n 8 ./solver"),
        (["--", "no-such-program"], "hakobi run: cannot start no-such-program: No such file or directory"),
        (["--hint", "cb_nodes", "true"], "hakobi run: --hint takes name=value, not 'cb_nodes'"),
        (["--record", "nowhere/trace", "true"], "hakobi run: cannot write "),
    ],
)
def test_a_mistake_is_one_line_and_status_2(hakobi: Command, installed: Path, arguments: list[str], line: str) -> None:
    result = hakobi("run", *arguments)
    assert result.status == 2
    assert result.line().startswith(line)


def test_a_path_that_the_loader_would_split_is_refused(
    hakobi: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "a b" / "lib"
    folder.mkdir(parents=True)
    for name in ("libhakobi_mpiio.so", "libhakobi_mpiio-libmpi.so.40.so"):
        (folder / name).touch()
    monkeypatch.setenv("HAKOBI_PREFIX", str(folder.parent))
    monkeypatch.setenv("HAKOBI_MPI", "openmpi")
    result = hakobi("run", "--print")
    assert result.status == 2
    assert "has a space or a colon" in result.line()


def test_no_launcher_is_one_line_that_says_how_to_get_one(
    hakobi: Command, installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    result = hakobi("run", "--", "mpirun", "-n", "2", "./solver")
    assert result.status == 2
    assert "no MPI library in PATH; module load one, or get one by apt install openmpi-bin" in result.line()


@pytest.mark.parametrize(
    ("launcher", "system"), [("srun", "Slurm's srun"), ("flux", "Flux's run"), ("jsrun", "IBM's jsrun")]
)
def test_a_scheduler_that_is_not_there_is_named(
    hakobi: Command, installed: Path, monkeypatch: pytest.MonkeyPatch, launcher: str, system: str
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    result = hakobi("run", "--", launcher, "-n", "2", "./solver")
    assert result.status == 2
    assert result.line() == (
        f"hakobi run: cannot start {launcher}: No such file or directory: {system} is not on this machine; load its "
        "module, run where it is, or start with mpirun"
    )


def test_two_installations_at_once_are_named(
    hakobi: Command, installed: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    other = tmp_path / "other" / "libhakobi_mpiio.so"
    monkeypatch.setenv("LD_PRELOAD", f"/usr/lib/libother.so:{other}")
    result = hakobi("run", "--", "true")
    assert result.status == 2
    assert result.line() == (
        f"hakobi run: two installations at once: LD_PRELOAD names {other}, and this command's is "
        f"{installed}/libhakobi_mpiio.so; unset LD_PRELOAD, or use the other installation's command"
    )
    monkeypatch.setenv("LD_PRELOAD", str(installed / "libhakobi_mpiio.so"))  # its own, of the modulefile
    assert hakobi("run", "--print").status == 0


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "nc_driver=mpiio"),
        ("nc_ibuf_size=1048576;", "nc_ibuf_size=1048576;nc_driver=mpiio"),
        ("cb_nodes=2;nc_driver=gio", "cb_nodes=2;nc_driver=gio"),
        ("NC_DRIVER = mpiio", "NC_DRIVER = mpiio"),
        ("nc_driver_of_mine=3", "nc_driver_of_mine=3;nc_driver=mpiio"),
    ],
)
def test_pnetcdf_is_told_to_write_by_mpi_io_unless_the_user_says(
    hakobi: Command, installed: Path, monkeypatch: pytest.MonkeyPatch, before: str, after: str
) -> None:
    monkeypatch.setenv("PNETCDF_HINTS", before)
    printed = hakobi("run", "--print").stdout
    assert f"export PNETCDF_HINTS={shlex.quote(after)}\n" in printed
    assert "PNETCDF" not in hakobi("run", "--print", "--off").stdout
    for asked in ("--profile", "--explain"):
        told = hakobi("run", asked, "--print").stderr
        assert ("by which PnetCDF writes past MPI-IO" in told) == ("nc_driver=gio" in before)
    assert "PnetCDF" not in hakobi("run", "--print").stderr


def test_open_mpis_refusal_of_root_is_one_line_that_says_what_to_set(installed: Path, tmp_path: Path) -> None:
    open_mpi = str(fake_launcher(tmp_path, "mpirun", "mpirun (Open MPI) 4.1.4"))
    hydra = str(fake_launcher(tmp_path, "mpiexec.hydra", "HYDRA build details"))

    def check(*words: str, user: int = 0, **variables: str) -> None:
        drop_in.check_root(drop_in.look_at(words), user, variables)

    with pytest.raises(InputError) as refused:
        check(open_mpi, "-n", "2", "true", OMPI_ALLOW_RUN_AS_ROOT="1")
    assert str(refused.value) == (
        f"{open_mpi} does not run as root unless told: in a container, where that does no harm, set "
        "OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"
    )
    check(open_mpi, "-n", "2", "true", user=1000)
    check(open_mpi, "--allow-run-as-root", "-n", "2", "true")
    check(open_mpi, "-n", "2", "true", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    check(open_mpi, "-n", "2", "true", PRTE_ALLOW_RUN_AS_ROOT="1", PRTE_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    check(open_mpi, "--version")
    check(hydra, "-n", "2", "true")
    check("sh", "-c", "true")


def test_a_folder_of_path_that_may_not_be_looked_into_costs_nothing(
    hakobi: Command, installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HAKOBI_PREFIX")
    glob = Path.glob

    def refused(path: Path, pattern: str) -> Iterator[Path]:
        if path == Path("/secret"):
            raise PermissionError(13, "Permission denied", "/secret")
        return glob(path, pattern)

    monkeypatch.setattr(Path, "glob", refused)
    monkeypatch.setenv("PATH", f"/secret/bin:{os.environ['PATH']}")
    monkeypatch.setattr(programs, "folders", lambda: [Path("/secret/bin"), installed.parent / "bin"])
    assert installed in list(drop_in.library_folders())


def test_no_drop_in_at_all_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HAKOBI_PREFIX", str(tmp_path))
    with pytest.raises(InputError, match=r"no libhakobi_mpiio.so for (mpich|libmpi\.so\.40): "):
        drop_in.find_library(drop_in.look_at(["true"]))


def test_without_any_drop_in_the_program_runs_and_a_sentence_says_so(tmp_path: Path) -> None:
    process = start("run", "--", "sh", "-c", "echo ran; exit 3", env=os.environ | {"HAKOBI_PREFIX": str(tmp_path)})
    stdout, stderr = process.communicate(timeout=60)
    assert (process.returncode, stdout) == (3, "ran\n")
    assert stderr.startswith("hakobi run: no libhakobi_mpiio.so for ")
    assert stderr.endswith("; the program runs without it\n")


@pytest.mark.parametrize("is_container", [True, False])
def test_root_may_start_open_mpi_in_a_container(
    hakobi: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_container: bool
) -> None:
    open_mpi = fake_launcher(tmp_path, "mpirun", "mpirun (Open MPI) 4.1.4")
    started: dict[str, str] = {}
    monkeypatch.setattr(os, "execvpe", lambda _name, _words, environment: started.update(environment))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(launch, "is_in_container", lambda: is_container)
    monkeypatch.delenv("OMPI_ALLOW_RUN_AS_ROOT", raising=False)
    hakobi("run", "--off", "--", open_mpi, "true")
    assert ("OMPI_ALLOW_RUN_AS_ROOT" in started) == is_container


def test_a_container_is_known_by_its_files_or_by_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("container", raising=False)
    assert not launch.is_in_container(tmp_path)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / ".containerenv").touch()
    assert launch.is_in_container(tmp_path)
    monkeypatch.setenv("container", "podman")
    assert launch.is_in_container(tmp_path / "elsewhere")


def test_open_mpi_is_told_to_give_the_variables_to_other_nodes(installed: Path, tmp_path: Path) -> None:
    variables = {"LD_PRELOAD": "/l/libhakobi_mpiio.so", "HAKOBI_PROFILE": "1"}
    open_mpi = str(fake_launcher(tmp_path, "mpirun", "mpirun (Open MPI) 4.1.4"))

    def forwarded(*words: str) -> list[str]:
        return drop_in.forwarded(drop_in.look_at(words), variables)

    assert forwarded(open_mpi, "-n", "2", "true") == [
        *[open_mpi, "-x", "LD_PRELOAD", "-x", "HAKOBI_PROFILE"],
        *["-n", "2", "true"],
    ]
    assert forwarded(open_mpi, "-x", "LD_PRELOAD=/other.so", "true") == [
        *[open_mpi, "-x", "HAKOBI_PROFILE"],
        *["-x", "LD_PRELOAD=/other.so:/l/libhakobi_mpiio.so", "true"],
    ]
    unchanged = [open_mpi, "--mca", "mca_base_env_list", "A", "true"]
    assert forwarded(*unchanged) == unchanged
    hydra = str(fake_launcher(tmp_path, "mpiexec.hydra", "HYDRA build details"))
    assert forwarded(hydra, "-genv", "LD_PRELOAD", "/other.so", "true") == [
        *[hydra, "-genv", "LD_PRELOAD", "/other.so:/l/libhakobi_mpiio.so", "true"]
    ]


def test_status_stdin_and_stdout_are_the_programs(tmp_path: Path) -> None:
    process = start("run", "--off", "--", "sh", "-c", "cat; exit 7", stdin=subprocess.PIPE)
    stdout, stderr = process.communicate("from stdin\n", timeout=60)
    assert (process.returncode, stdout, stderr) == (7, "from stdin\n", "")


def test_off_overrules_a_preload_that_is_there(
    hakobi: Command, monkeypatch: pytest.MonkeyPatch, installed: Path
) -> None:
    monkeypatch.setenv("LD_PRELOAD", "/l/libhakobi_mpiio.so")
    assert hakobi("run", "--off", "--print").stdout.splitlines()[0] == "export HAKOBI_MPIIO=off"


def test_the_program_does_not_inherit_pythons_signals() -> None:
    process = start("run", "--off", "--", "grep", "SigIgn", "/proc/self/status")
    ignored = int(process.communicate(timeout=60)[0].split()[1], 16)
    assert not ignored & (1 << (signal.SIGPIPE - 1))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_program(number: signal.Signals) -> None:
    process = start("run", "--off", "--", "sleep", "100")
    wait_until(lambda: psutil.Process(process.pid).name() == "sleep")
    process.send_signal(number)
    process.communicate(timeout=30)
    assert process.returncode == -number


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


# --- With the built library ---------------------------------------------------------------------------------

FLAVOUR = programs.flavour()
BUILD = Path(__file__).resolve().parents[2] / "build" / FLAVOUR
OTHER = next(name for name in programs.FLAVOURS if name != FLAVOUR)


def built(test: Callable[..., None]) -> Callable[..., None]:
    is_missing = not (BUILD / "lib" / drop_in.LIBRARY).is_file()
    return pytest.mark.programs(pytest.mark.skipif(is_missing, reason="the drop-in is not built")(test))


WRITER = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char** argv) {
    int rank = 0, error = 0;
    MPI_File file;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    error |= MPI_File_open(MPI_COMM_WORLD, "out", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
    error |= MPI_File_write_at_all(file, rank * (MPI_Offset)sizeof rank, &rank, 1, MPI_INT, MPI_STATUS_IGNORE);
    error |= MPI_File_close(&file);
    if (rank == 0) printf("error %d\n", error);
    MPI_Finalize();
    return argc > 1 ? atoi(argv[1]) : 0;
}
"""


def compiled(tmp_path: Path, flavour: str) -> Path:
    compiler = shutil.which(f"mpicc.{flavour}")
    if compiler is None:
        pytest.skip(f"no mpicc.{flavour}")
    (tmp_path / "writer.c").write_text(WRITER)
    subprocess.run([compiler, "-o", "writer", "writer.c"], cwd=tmp_path, check=True, timeout=100)
    return tmp_path / "writer"


def launched(tmp_path: Path, flavour: str, *options: str, arguments: tuple[str, ...] = ()) -> Result:
    """The writer on two ranks under `hakobi run`."""
    line = launch.command_line(programs.Program(tmp_path / "writer", flavour), arguments, 2)
    process = start("run", *options, "--", *line, env=launch.environment(flavour))
    stdout, stderr = process.communicate(timeout=100)
    return Result(process.returncode, stdout, stderr)


@built
def test_a_program_runs_under_the_drop_in(tmp_path: Path) -> None:
    compiled(tmp_path, FLAVOUR)
    result = launched(tmp_path, FLAVOUR, "--profile", "--hint", "hakobi_depth=2", arguments=("5",))
    assert result.stdout == "error 0\n"
    assert result.status == 5
    assert "taken     1 collective writes and 0 collective reads" in result.stderr
    assert (tmp_path / "out").read_bytes() == b"\0\0\0\0\1\0\0\0"


@built
def test_a_bad_hint_is_one_line_that_says_what_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled(tmp_path, FLAVOUR)
    monkeypatch.setenv("HAKOBI_HINTS", "cb_nodes=x;hakobi_dept=3")
    result = launched(tmp_path, FLAVOUR)
    said = [line for line in result.stderr.splitlines() if line.startswith("hakobi")]
    wrong = "hint cb_nodes: 'x' is not a number from 0 (chosen) to 16777216"
    assert said == [f"hakobi: {wrong}; no hint is used, neither of the environment nor of the program"]


@built
def test_off_runs_without_the_drop_in_and_says_nothing(tmp_path: Path) -> None:
    compiled(tmp_path, FLAVOUR)
    result = launched(tmp_path, FLAVOUR, "--off", "--profile")
    assert (result.status, result.stdout) == (0, "error 0\n")
    assert "hakobi" not in result.stderr


@built
def test_record_writes_a_trace_of_the_program(tmp_path: Path) -> None:
    compiled(tmp_path, FLAVOUR)
    result = launched(tmp_path, FLAVOUR, "--record", "trace.jsonl")
    assert (result.status, result.stdout) == (0, "error 0\n")
    assert (tmp_path / "trace.jsonl").stat().st_size > 0
    # A program that leaves no trace does not leave that of another run either.
    assert start("run", "--record", tmp_path / "trace.jsonl", "--", "false").wait(timeout=60) == 1
    assert not (tmp_path / "trace.jsonl").exists()
    (tmp_path / "notes").write_text("precious\n")
    refused = start("run", "--record", tmp_path / "notes", "--", "true")
    assert "is no trace: it is not overwritten" in refused.communicate(timeout=60)[1]
    assert (tmp_path / "notes").read_text() == "precious\n"


@built
def test_a_preload_of_the_wrong_mpi_is_one_line_that_names_both(tmp_path: Path) -> None:
    program = compiled(tmp_path, OTHER)
    library = BUILD / "lib" / drop_in.LIBRARY
    line = launch.command_line(programs.Program(program, OTHER), (), 2)
    environment = launch.environment(OTHER, {"LD_PRELOAD": str(library), "HAKOBI_PROFILE": "1"})
    done = subprocess.run(line, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode, done.stdout) == (0, "error 0\n")
    said = [line for line in done.stderr.splitlines() if "hakobi" in line]
    assert len(said) == 1, done.stderr
    assert "mpich" in said[0]  # libmpich.so.12, or the ABI
    assert "libmpi.so.40" in said[0]
    assert "the program runs without it" in said[0]


@built
@pytest.mark.parametrize("command", ["true", "env", "python3 -c pass", "sh -c true"])
def test_a_preload_into_a_program_without_mpi_is_silent(command: str) -> None:
    environment = os.environ | {"LD_PRELOAD": str(BUILD / "lib" / drop_in.LIBRARY), "HAKOBI_EXPLAIN": "1"}
    done = subprocess.run(command.split(), env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@built
def test_a_static_program_is_told_and_runs(tmp_path: Path) -> None:
    (tmp_path / "static.c").write_text('#include <stdio.h>\nint main(void) { puts("alone"); return 3; }\n')
    compiler = shutil.which("cc")
    if compiler is None or subprocess.run([compiler, "-static", "-o", "static", "static.c"], check=False).returncode:
        pytest.skip("no static C library")
    process = start("run", "--profile", "--", tmp_path / "static")
    stdout, stderr = process.communicate(timeout=60)
    assert (process.returncode, stdout) == (3, "alone\n")
    assert stderr == (
        "hakobi run: static is linked statically, nothing can be preloaded: it runs without the drop-in\n"
    )


@built
def test_sigterm_ends_the_launcher_and_its_ranks(tmp_path: Path) -> None:
    sleeper = Path(shutil.which("sleep") or "/bin/sleep")
    line = launch.command_line(programs.Program(sleeper, FLAVOUR), ("100",), 2)
    process = start("run", "--", *line, env=launch.environment(FLAVOUR))

    wait_until(lambda: len(children_called("sleep", process.pid)) == 2)
    found = children_called("sleep", process.pid)
    process.terminate()
    process.communicate(timeout=60)  # the status says nothing: MPICH's launcher often returns 0 after SIGTERM
    assert psutil.wait_procs(found, timeout=20)[1] == []
