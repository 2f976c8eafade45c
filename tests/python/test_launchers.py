"""Launchers known by what they are: their flags, what they pass on, what they are called wrongly."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from hakobi import allocation, conditions, drop_in, launch, launchers, reasons
from hakobi.errors import InputError
from hakobi.measuring import machine
from hakobi.programs import Program
from running import Result, launcher_that_records, run_python

VARIABLES = {"LD_PRELOAD": "/l/libhakobi_mpiio.so", "HAKOBI_HINTS": "a=1;b=2"}
SAYS = {
    "openmpi": ("mpiexec", "mpiexec (Open MPI) 5.0.11"),
    "hydra": ("mpiexec", "HYDRA build details:"),
    "intel": ("mpiexec", "Intel(R) MPI Library for Linux* OS, Version 2021.14"),
    "pals": ("mpiexec", "mpiexec: PALS version 1.2.12"),
    "srun": ("srun", "slurm-wlm 22.05.8"),
    "flux": ("flux", "commands: 0.60.0"),
    "jsrun": ("jsrun", ""),
    "aprun": ("aprun", ""),
    "own": ("start-ranks", "start-ranks 3"),
}
#: Words that a user puts behind the launcher in HAKOBI_MPIEXEC.
OWN_WORDS = {"srun": "--mpi=pmix", "flux": "run -o mpi=none", "openmpi": "--map-by core"}


@pytest.fixture
def chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Names a launcher of a kind in HAKOBI_MPIEXEC, with words behind it; its folder is the first of PATH."""
    monkeypatch.setenv("HAKOBI_PREFIX", str(tmp_path))  # no hakobi-with-parent between launcher and program

    def choose(kind: str, words: str | None = None) -> Path:
        name, version = SAYS[kind]
        path = launcher_that_records(tmp_path / "bin", name, version)
        monkeypatch.setenv("PATH", f"{path.parent}:/usr/bin:/bin")
        words = OWN_WORDS.get(kind, "") if words is None else words
        monkeypatch.setenv("HAKOBI_MPIEXEC", f"{name} {words}".strip())
        launch.launcher.cache_clear()
        launchers.version_text.cache_clear()
        return path

    return choose


def recorded(launcher: Path) -> list[str]:
    return (launcher.parent / "words").read_text().splitlines()


@pytest.mark.parametrize(
    ("kind", "words", "on_nodes"),
    [
        ("openmpi", "--mca {yields} --map-by core -n 6", "--map-by ppr:2:node"),
        ("hydra", "-n 6", "-ppn 2"),
        ("intel", "-n 6", "-ppn 2"),
        ("pals", "-n 6", "--ppn 2"),
        ("srun", "--mpi=pmix -n 6", "-N 3 -n 6 --ntasks-per-node=2"),
        ("flux", "run -o mpi=none -n 6", "-N 3 -n 6"),
        ("jsrun", "--np 6", "-r 2"),
        ("aprun", "-n 6", "-N 2"),
        ("own", "-n 6", "-n 6"),
    ],
)
def test_each_launcher_gets_its_own_flags_and_no_others(
    chosen: Callable[..., Path], tmp_path: Path, kind: str, words: str, on_nodes: str
) -> None:
    launcher = chosen(kind)
    program = tmp_path / "solver"
    program.write_text("#!/bin/sh\nexit 5\n")
    program.chmod(0o755)
    done = launch.run(Program(program, "openmpi"), ["in put"], 6)
    yields = "mpi_yield_when_idle 1 --mca btl_base_warn_component_unused 0"
    assert done.status == 5
    assert recorded(launcher) == [*words.format(yields=yields).split(), str(program), "in put"]
    line = launch.command_line(Program(program, "openmpi"), [], 6, ranks_each=2)
    assert line[-1] == str(program)
    assert " ".join(line[:-1]).endswith(on_nodes)


def test_a_path_with_spaces_is_one_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = launcher_that_records(tmp_path / "my mpi", "mpiexec", "HYDRA")
    monkeypatch.setenv("HAKOBI_MPIEXEC", str(path))
    assert launch.launcher("mpich").words == (str(path),)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("srun --mpi=pmix", "HAKOBI_MPIEXEC=srun --mpi=pmix: srun is no program"),
        ("/nowhere/mpiexec", "HAKOBI_MPIEXEC=/nowhere/mpiexec is no program"),
        ("mpiexec 'a", "HAKOBI_MPIEXEC=mpiexec 'a: no closing quotation"),
        ("''", "HAKOBI_MPIEXEC='' is no program"),
    ],
)
def test_a_value_that_names_no_program_is_one_sentence(
    hakobi: Callable[..., Result], monkeypatch: pytest.MonkeyPatch, value: str, text: str
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("HAKOBI_MPIEXEC", value)
    with pytest.raises(InputError) as raised:
        launch.launcher("openmpi")
    assert str(raised.value) == text


def test_the_librarys_own_launcher_is_still_found_beside_a_schedulers(
    chosen: Callable[..., Path], tmp_path: Path
) -> None:
    chosen("srun")
    own = launcher_that_records(tmp_path / "bin", "mpiexec", "mpiexec (Open MPI) 5.0.11")
    assert launch.mpiexec("openmpi") == own


def test_conditions_name_the_library_and_what_starts_it(
    chosen: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen("srun")
    launcher_that_records(tmp_path / "bin", "ompi_info", "Open MPI v5.0.11")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}")
    assert conditions.collect("openmpi")["mpi"] == "Open MPI 5.0.11 by srun (slurm-wlm 22.05.8)"
    chosen("openmpi")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}")
    assert conditions.collect("openmpi")["mpi"] == "Open MPI 5.0.11"
    assert conditions.collect("mpich")["mpi"] == "MPICH by mpiexec"  # not Open MPI's version under MPICH's name


# --- what is passed on --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "given", "expected"),
    [
        ("openmpi", "-n 2", "-x LD_PRELOAD -x HAKOBI_HINTS -n 2"),
        ("openmpi", "-x HAKOBI_HINTS -n 2", "-x LD_PRELOAD -x HAKOBI_HINTS -n 2"),
        ("hydra", "-n 2", "-n 2"),
        ("hydra", "-genvnone -n 2", "-genv LD_PRELOAD {preload} -genv HAKOBI_HINTS {hints} -genvnone -n 2"),
        ("srun", "-n 2 --mpi=pmix", "-n 2 --mpi=pmix"),
        ("srun", "--export=ALL,A=1 -n 2", "--export=ALL,A=1 -n 2"),
        ("srun", "-n 2 --export=NONE", "--export=LD_PRELOAD,HAKOBI_HINTS -n 2"),
        ("srun", "--export PATH,HAKOBI_HINTS -n 2", "--export=PATH,HAKOBI_HINTS,LD_PRELOAD -n 2"),
        ("srun", "--export=ALL,LD_PRELOAD=/o.so,A=1", "--export=ALL,LD_PRELOAD=/o.so:{preload},A=1"),
        ("flux", "run -n 2", "run -n 2"),
        ("flux", "run --env=-* -n 2", "run --env=-* --env=LD_PRELOAD --env=HAKOBI_HINTS -n 2"),
        ("flux", "run --env-remove * -n 2", "run --env-remove * --env=LD_PRELOAD --env=HAKOBI_HINTS -n 2"),
        ("jsrun", "-n 2", "-E LD_PRELOAD={preload} -E HAKOBI_HINTS={hints} -n 2"),
        ("jsrun", "-E LD_PRELOAD=/o.so -n 2", "-E HAKOBI_HINTS={hints} -E LD_PRELOAD=/o.so:{preload} -n 2"),
        ("aprun", "-n 2", "-e LD_PRELOAD={preload} -e HAKOBI_HINTS={hints} -n 2"),
        ("pals", "-n 2", "--env LD_PRELOAD={preload} --env HAKOBI_HINTS={hints} -n 2"),
        ("pals", "--env=LD_PRELOAD=/o.so -n 2", "--env HAKOBI_HINTS={hints} --env=LD_PRELOAD=/o.so:{preload} -n 2"),
        ("own", "-n 2", None),
    ],
)
def test_hakobi_run_passes_the_preload_on_as_the_launcher_needs(
    chosen: Callable[..., Path], kind: str, given: str, expected: str | None
) -> None:
    launcher = chosen(kind)
    command = [str(launcher), *given.split(), "/bin/true", "--export=NONE"]
    target = drop_in.look_at(command)
    if expected is None:  # no name that a launcher has: it is taken for the program
        assert (target.launcher, target.name) == (None, launcher.name)
        return
    assert target.program == Path("/bin/true")
    words = [word.format(preload=VARIABLES["LD_PRELOAD"], hints=VARIABLES["HAKOBI_HINTS"]) for word in expected.split()]
    assert drop_in.forwarded(target, VARIABLES) == [str(launcher), *words, "/bin/true", "--export=NONE"]


def test_a_job_that_exports_nothing_exports_the_preload(
    chosen: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a script with #SBATCH --export=NONE, where srun reads SLURM_EXPORT_ENV."""
    monkeypatch.setenv("SLURM_EXPORT_ENV", "NONE")
    launcher = chosen("srun")
    words = drop_in.forwarded(drop_in.look_at([str(launcher), "/bin/true"]), VARIABLES)
    assert words == [str(launcher), "--export=LD_PRELOAD,HAKOBI_HINTS", "/bin/true"]
    assert "--export=HAKOBI_X" in launch.command_line(
        Program(Path("/p"), "openmpi"), [], 2, variables={"HAKOBI_X": "1"}
    )


def test_a_program_called_flux_is_no_launcher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = launcher_that_records(tmp_path, "flux")
    assert drop_in.look_at([str(program), "input.nml"]).program == program


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("srun -n 2 ./solver", "cannot start srun: No such file or directory: Slurm's srun is not on this machine"),
        ("flux run ./solver", "cannot start flux: No such file or directory: Flux's run is not on this machine"),
    ],
)
def test_a_scheduler_that_is_not_there_is_one_sentence(
    hakobi: Callable[..., Result], monkeypatch: pytest.MonkeyPatch, command: str, text: str
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    result = hakobi("run", "--off", "--", *command.split())
    assert result.status == 2
    assert text in result.line()


# --- allocations --------------------------------------------------------------------------------------------


def in_slurm(monkeypatch: pytest.MonkeyPatch, cpus: str = "2(x4)") -> None:
    for name, value in {"JOB_ID": "12", "JOB_NUM_NODES": "4", "JOB_CPUS_PER_NODE": cpus}.items():
        monkeypatch.setenv(f"SLURM_{name}", value)


def test_more_ranks_than_the_allocation_has_are_refused(
    chosen: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    in_slurm(monkeypatch)
    program = Program(Path("/p"), "openmpi")
    chosen("srun")
    assert launch.command_line(program, [], 8)[-3:] == ["-n", "8", "/p"]
    with pytest.raises(
        InputError, match=r"^9 ranks are more than the allocation has \(Slurm job 12: 4 nodes, 8 proces"
    ):
        launch.command_line(program, [], 9)
    monkeypatch.setenv("SLURM_CPUS_PER_TASK", "2")
    with pytest.raises(InputError, match=r"^5 ranks with 2 processors each are more"):
        launch.command_line(program, [], 5)
    chosen("srun", "-O")
    assert launch.command_line(program, [], 9)


def test_in_an_allocation_open_mpi_places_ranks_as_the_batch_system_says(
    chosen: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not as many as one likes, unbound, on this machine; variables go to the other nodes."""
    in_slurm(monkeypatch)
    chosen("openmpi", "")
    line = launch.command_line(Program(Path("/p"), "openmpi"), [], 8, variables={"HAKOBI_TRACE": "t"})
    assert line[1:] == ["-x", "HAKOBI_TRACE", "-n", "8", "/p"]


def test_a_jobs_ranks_are_not_held_against_this_machines_memory(
    chosen: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen("srun")
    assert launch.command_line(Program(Path("/p"), "openmpi"), [], 1_000_000)
    with launch.own_folder("openmpi") as folder:
        assert Path(folder).parent == Path.cwd()
    chosen("openmpi")
    with launch.own_folder("openmpi") as folder:
        assert Path(folder).parent == Path(tempfile.gettempdir())
    with pytest.raises(InputError, match="of memory before they begin"):
        launch.command_line(Program(Path("/p"), "openmpi"), [], 100_000_000)


@pytest.mark.parametrize(
    "words",
    [
        ("study", "output-methods", "--app", "waves", "--storage", "memory=/dev/shm/out"),
        ("bench", "collective", "--dir", "/dev/shm"),
    ],
)
def test_a_nodes_own_memory_is_no_folder_for_several_nodes(
    hakobi: Callable[..., Result], waves: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    (waves / "hakobi-bench-collective").symlink_to("hakobi-waves")
    launcher_that_records(waves, "srun", "slurm-wlm 22.05.8")
    monkeypatch.setenv("PATH", f"{waves}:/usr/bin:/bin")
    monkeypatch.setenv("HAKOBI_MPIEXEC", "srun")
    result = hakobi(*words)
    assert result.status == 2
    assert "is each node's own memory, and the ranks may be on several: name a folder that all" in result.stderr
    assert not Path("/dev/shm/out").exists()


def test_other_batch_systems_are_known_by_their_variables(tmp_path: Path) -> None:
    hosts = tmp_path / "hosts"
    hosts.write_text("a\na\nb\n")
    found = [
        allocation.current({"PBS_JOBID": "7.server", "PBS_NODEFILE": str(hosts)}),
        allocation.current({"LSB_JOBID": "8", "LSB_DJOB_HOSTFILE": str(hosts)}),
        allocation.current({"FLUX_ENCLOSING_ID": "ƒ9"}),
        allocation.current({"SLURM_JOB_ID": "1"}),
    ]
    assert [place.words() for place in found if place] == [
        "PBS job 7.server: 2 nodes",
        "LSF job 8: 2 nodes",
        "Flux job ƒ9",
        "Slurm job 1",
    ]


def test_the_doctor_looks_at_the_allocation(chosen: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    assert machine.batch_system() == []
    in_slurm(monkeypatch)
    chosen("srun")
    facts = machine.batch_system()
    assert [(fact.verdict, fact.finding) for fact in facts] == [
        ("good", "Slurm job 12: 4 nodes, 8 processors"),
        ("good", "Slurm's srun: srun --mpi=pmix"),
    ]
    chosen("srun", "")
    manager = machine.batch_system(lambda _words: "Licenses = (null)\nMpiDefault              = none\n")[-1]
    assert (manager.verdict, manager.finding) == ("trap", "srun's default: none")
    monkeypatch.setenv("HAKOBI_MPIEXEC", "no-such-srun")
    launch.launcher.cache_clear()
    assert machine.batch_system()[-1].advice == "HAKOBI_MPIEXEC=no-such-srun is no program"


# --- why it failed ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stderr", "status", "reason"),
    [
        ("srun: job 3 queued\nhakobi-x: bad\nsrun: error: n1: task 0: Exited with exit code 3",
         3, "bad"),
        ("srun: error: n2: tasks 0-1: Segmentation fault", 139, "a rank ended by signal SIGSEGV"),
        ("srun: error: n2: task 0: Aborted (core dumped)\nslurmstepd: error: *** STEP 5.0 ON n1 CANCELLED AT x ***",
         134, "a rank ended by signal SIGABRT"),
        ("srun: error: n[1-4]: tasks 0-7: Exited with exit code 2", 2, "exit status 2"),
        ("srun: error: Unable to create step for job 11: More processors requested than permitted", 1,
         "srun: Unable to create step for job 11: More processors requested than permitted"),
        ("srun: error: Unable to allocate resources: Unable to contact slurm controller (connect failure)", 1,
         "srun: Unable to allocate resources: Unable to contact slurm controller (connect failure)"),
        ('-----------------------\nThe application appears to have been direct launched using "srun",\n', 1,
         "srun gave the ranks no process manager that their MPI library knows: put one of `srun --mpi=list` into "
         'HAKOBI_MPIEXEC, as in HAKOBI_MPIEXEC="srun --mpi=pmix"'),
        ("-----------------------\nThere are not enough slots available in the system to satisfy the 9\n", 1,
         "mpiexec has no slots for so many ranks: start fewer, ask the scheduler for more tasks, or put "
         "--oversubscribe into HAKOBI_MPIEXEC"),
    ],
)  # fmt: skip
def test_the_reason_is_not_the_batch_systems_chatter(stderr: str, status: int, reason: str) -> None:
    assert reasons.reason_of(stderr, status) == reason


def test_a_study_runs_by_srun(
    hakobi: Callable[..., Result], waves: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The launcher's words, the record that comes back through the current folder, and what is left there: nothing."""
    folder = tmp_path / "bin"
    launcher = launcher_that_records(folder, "srun", "slurm-wlm 22.05.8")
    launcher.write_text(launcher.read_text().replace("exec ", "FAKE_RANKS=$FAKE exec "))
    monkeypatch.setenv("FAKE", "2")
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setenv("HAKOBI_MPIEXEC", "srun --mpi=pmix")
    result = hakobi(
        "study", "output-methods", "--app", "waves", "--ranks", 2, "--methods", "root", "--repetitions", 1,
        "--storage", f"here={tmp_path / 'out'}", "--json", "study.jsonl",
    )  # fmt: skip
    assert result.status == 0, result.stderr
    assert recorded(launcher)[:3] == ["--mpi=pmix", "-n", "2"]
    assert "by srun (slurm-wlm 22.05.8)" in Path("study.jsonl").read_text()
    assert list(Path.cwd().glob("hakobi-run-*")) == []


def test_processes_that_are_alone_are_told_so_once(tmp_path: Path) -> None:
    script = "import hakobi; comm = hakobi.Comm.duplicate(); hakobi.Comm.duplicate().free(); comm.free()"
    step = {"SLURM_NTASKS": "2", "SLURM_STEP_NUM_TASKS": "2"}
    told = [run_python(script, tmp_path, **step, SLURM_PROCID=rank) for rank in "01"]
    assert [done.returncode for done in told] == [0, 0], told
    assert told[0].stderr.startswith("hakobi: SLURM_NTASKS is 2, but MPI says 1 rank: each process is alone.")
    assert told[0].stderr.count("\n") == 1
    assert told[1].stderr == ""
