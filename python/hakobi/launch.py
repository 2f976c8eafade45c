"""Starts MPI programs: the launcher's command line for each MPI library, time limits, and an end that leaves nothing.

1. A program runs in a session of its own, so that a Ctrl-C on the terminal reaches Hakobi alone and Hakobi decides.
2. Whatever ends the wait (Ctrl-C, a time limit, any exception), every process of the session and every descendant is
   told to end (SIGTERM), given GRACE_S seconds, then killed, and waited for. Ranks of Open MPI have process groups of
   their own, therefore the descendants are listed before the launcher is told.
3. Where this process is killed, which leaves it no time, the launcher is told by the kernel to end, and where the
   launcher is killed, the ranks end with it: hakobi-with-parent starts all of them.
4. A failed program's reason is one line: its own first line of error, not the launcher's paragraph about it.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hakobi import programs
from hakobi.errors import InputError, RunError
from hakobi.programs import Program
from hakobi.words import bytes_text, count_text

#: Seconds between SIGTERM and SIGKILL.
GRACE_S = 5.0

#: How each library's launcher names itself in `--version`.
_SIGNATURES = {"openmpi": ("Open MPI", "OpenRTE"), "mpich": ("HYDRA", "MPICH")}


@dataclass(frozen=True)
class Finished:
    """A program that has ended: `wall_s` is launch to exit, the launcher's own start-up included."""

    command: Sequence[str]
    status: int  #: exit status; negative: the signal that ended the launcher
    stdout: str
    stderr: str
    wall_s: float

    def reason(self) -> str:
        """Why it failed, in one line."""
        return reason_of(self.stderr, self.status)


@functools.cache
def mpiexec(flavour: str) -> Path:
    """The launcher of an MPI library: $HAKOBI_MPIEXEC, the `mpiexec` of PATH where it says that it is of this flavour
    (also in front of a system's `mpiexec.<flavour>`: a user's own library is in PATH), or `mpiexec.<flavour>`. Raises
    InputError when there is none."""
    if chosen := os.environ.get("HAKOBI_MPIEXEC"):
        path = shutil.which(chosen)
        if path is None:
            raise InputError(f"HAKOBI_MPIEXEC={chosen} is no program")
        return Path(path)
    for name in ("mpiexec", "mpirun"):
        path = shutil.which(name)
        if path and flavour_of(Path(path)) == flavour:
            return Path(path)
    for name in (f"mpiexec.{flavour}", f"mpirun.{flavour}"):
        if path := shutil.which(name):
            return Path(path)
    raise InputError(f"no mpiexec of {flavour} in PATH: install it, or name it in HAKOBI_MPIEXEC")


@functools.cache
def version_text(launcher: Path) -> str:
    """What a launcher prints with --version, or "" when it cannot be run."""
    try:
        done = subprocess.run([launcher, "--version"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout + done.stderr


def flavour_of(launcher: Path) -> str | None:
    """The MPI library that a launcher says it belongs to; None for those of batch systems (srun) and unknown ones."""
    text = version_text(launcher)
    return next((name for name, words in _SIGNATURES.items() if any(word in text for word in words)), None)


def mpi_version(flavour: str) -> str:
    """ "Open MPI 4.1.4", "MPICH 4.0.2"; the flavour alone when the launcher does not say."""
    name = {"openmpi": "Open MPI", "mpich": "MPICH"}.get(flavour, flavour)
    found = re.search(r"\b(\d+\.\d+(?:\.\d+)?\w*)", version_text(mpiexec(flavour)))
    return f"{name} {found.group(1)}" if found else name


def command_line(program: Program, arguments: Sequence[str], ranks: int) -> list[str]:
    """The command line that starts `program` on `ranks` ranks of this machine, also more ranks than cores. Raises
    InputError for more than its memory holds."""
    check_ranks(ranks)
    launcher = [str(mpiexec(program.flavour))]
    if program.flavour == "openmpi":
        launcher += ["--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"]
        launcher += ["--mca", "btl_base_warn_component_unused", "0"]
    return [*launcher, "-n", str(ranks), *_with_parent(signal.SIGKILL), str(program.path), *arguments]


def _with_parent(number: signal.Signals) -> list[str]:
    """What starts a program so that it gets a signal when its parent ends (rule 3); nothing where that is not built."""
    try:
        return [str(programs.find("hakobi-with-parent").path), str(int(number))]
    except InputError:
        return []


def environment(flavour: str, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process's environment with what the launcher needs (Open MPI refuses root unless told) and `extra`."""
    result = dict(os.environ)
    if flavour == "openmpi" and os.geteuid() == 0:
        result |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return result | dict(extra or {})


def run(
    program: Program,
    arguments: Sequence[str],
    ranks: int,
    *,
    timeout_s: float | None = None,
    extra_environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    capture: bool = True,
    command: Sequence[str] = (),
) -> Finished:
    """Runs a program to its end and returns what came of it; its failure is a status, not an exception.

    With `capture` its output is returned, else it goes to this process's stdout and stderr. `command` starts it
    elsewhere than on this machine alone. Raises RunError when `timeout_s` passed, InputError when the launcher is
    missing. Rule 2 holds for every way out.
    """
    if not command:
        command = command_line(program, arguments, ranks)
        warn_of_crowd(ranks, len(os.sched_getaffinity(0)), program.flavour)
    begin_s = time.time()
    pipe = subprocess.PIPE if capture else None
    begin = time.perf_counter()
    process = None
    try:
        with uninterrupted():  # or it would go on unknown to us
            try:
                process = subprocess.Popen(
                    [*_with_parent(signal.SIGTERM), *command],
                    stdin=subprocess.DEVNULL,
                    stdout=pipe,
                    stderr=pipe,
                    text=True,
                    errors="replace",
                    cwd=folder,
                    env=environment(program.flavour, extra_environment),
                    start_new_session=True,
                )
            except OSError as error:
                raise InputError(f"cannot start {command[0]}: {error.strerror}") from error
        stdout, stderr = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired as error:
        raise RunError(f"{program.name} on {ranks} ranks took longer than {timeout_s:g} s and was ended") from error
    finally:
        if process is not None:
            end_session(process)
            if process.returncode != 0:
                remove_leftovers(begin_s)
    return Finished(command, process.returncode, stdout or "", stderr or "", time.perf_counter() - begin)


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Holds SIGINT and SIGTERM back; the first of them arrives when the block has ended. Programs started in it
    inherit nothing of that. In another thread than the main one, which gets no signals, it does nothing."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    held: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM)
    handled = {number: handler for number in numbers if callable(handler := signal.getsignal(number))}
    for number in handled:
        signal.signal(number, lambda arrived, _frame: held.append(arrived))
    try:
        yield
    finally:
        for number, handler in handled.items():
            signal.signal(number, handler)
        if held:
            signal.raise_signal(held[0])


#: Ranks of a core from which on starting them takes longer than anybody expects.
CROWD = 32
#: What a rank takes of memory before the program has begun: Open MPI 4 and MPICH 4 with a handful of ranks on a node.
RANK_BYTES = 20 << 20


def check_ranks(ranks: int) -> None:
    """Raises InputError for more ranks than this machine's memory holds: the launcher alone would take all of it."""
    import psutil

    total = psutil.virtual_memory().total + psutil.swap_memory().total
    if ranks * RANK_BYTES > total:
        raise InputError(
            f"{count_text(ranks, 'rank')} take about {bytes_text(ranks * RANK_BYTES)} of memory before they begin, and "
            f"this machine has {bytes_text(total)}: at most {total // RANK_BYTES} can be started"
        )


@functools.cache
def warn_of_crowd(ranks: int, cores: int, flavour: str) -> None:
    """One line on stderr, once, for a job that this machine can hardly start."""
    if ranks <= CROWD * cores:
        return
    import psutil

    needed, has = ranks * RANK_BYTES / 1e9, psutil.virtual_memory().available / 1e9
    what = f"{ranks} ranks on {cores} cores"
    if needed > has:
        what += f", which take about {needed:.0f} GB of memory before they begin ({has:.0f} GB are available)"
    more = ", and MPICH spins while it waits" if flavour == "mpich" else ""
    sys.stderr.write(
        f"hakobi: warning: {what}: starting them may take minutes and fail{more}. Ctrl-C ends it; "
        f"--ranks {2 * cores} is what this machine can serve\n"
    )
    sys.stderr.flush()


#: What ranks that were killed leave of their shared memory: Open MPI 4 and 5, MPICH, UCX.
_SEGMENTS = re.compile(r"(vader_segment|sm_segment|mpich_shar_tmp|ucx_shm|osc_rdma|psm2_shm)[\w.-]*")


def remove_leftovers(begin_s: float, folder: Path = Path("/dev/shm")) -> None:
    """Removes the MPI libraries' segments of shared memory that are this user's, were made since `begin_s` (seconds of
    the system's clock) and that no process has mapped or open: what a job that failed to start leaves."""
    found = []
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            info = path.lstat()
            if _SEGMENTS.fullmatch(path.name) and info.st_uid == os.getuid() and info.st_ctime >= begin_s - 1:
                found.append(path)
    for path in found:
        if not _is_in_use(path):
            with contextlib.suppress(OSError):
                path.unlink()


def _is_in_use(path: Path) -> bool:
    """Whether a process has the file mapped or open. Processes that may not be looked at are not this user's."""
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        try:
            if str(path) in (process / "maps").read_text(errors="replace"):
                return True
            if any(entry.exists() and entry.samefile(path) for entry in (process / "fd").iterdir()):
                return True
        except OSError:
            continue
    return False


def check(finished: Finished, what: str) -> Finished:
    """`finished` itself when its status is 0. Raises RunError "`what`: reason" otherwise."""
    if finished.status != 0:
        raise RunError(f"{what}: {finished.reason()}")
    return finished


def end_session(process: subprocess.Popen[str]) -> None:
    """Ends a process that was started in its own session, and all its descendants, and waits for it (rule 2).

    A second Ctrl-C during the grace period shortens it to nothing. Does nothing for what has ended.
    """
    if process.poll() is not None:
        return
    import psutil

    try:
        family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
    except psutil.NoSuchProcess:
        family = []
    _signal_all(family[:1], signal.SIGTERM)
    try:
        _gone, alive = psutil.wait_procs(family, timeout=GRACE_S)
    except KeyboardInterrupt:
        alive = family
    _signal_all(alive, signal.SIGKILL)
    psutil.wait_procs(alive, timeout=GRACE_S)
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
    process.wait()


def _signal_all(processes: Sequence[object], number: int) -> None:
    import psutil

    for process in processes:
        assert isinstance(process, psutil.Process)
        try:
            process.send_signal(number)
        except psutil.NoSuchProcess:
            continue


def reason_of(stderr: str, status: int) -> str:
    """One line out of a failed program's stderr: the first line that one of Hakobi's programs wrote ("hakobi-x: …" or
    "hakobi: …"), else the last line that is not the launcher's, else the signal or exit status."""
    lines = _without_launcher(stderr)
    own = [line for line in lines if re.match(r"hakobi[\w-]*: ", line)]
    if own:
        return own[0].split(": ", 1)[1]
    if by_signal := re.search(r"exited on signal (\d+)|EXIT CODE: (\d+)", stderr):
        number = int(by_signal.group(1) or by_signal.group(2))
        if number in signal.valid_signals():
            text = f"a rank ended by signal {signal.Signals(number).name}"
            if number == signal.SIGKILL:
                text += ", which the system sends when memory runs out"
            return f"{text} ({lines[-1]})" if lines else text
    if lines:
        return lines[-1]
    return f"ended by signal {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"


def warnings_of(stderr: str) -> list[str]:
    """What Hakobi's library or a program of its warned of, each once.

    >>> warnings_of("hakobi: warning: bytes may be lost\\nhakobi: f: 2 aggregators\\n")
    ['bytes may be lost']
    """
    found = [re.match(r"hakobi[\w-]*: warning: (.*)", line) for line in stderr.splitlines()]
    return list(dict.fromkeys(match.group(1) for match in found if match))


def _without_launcher(stderr: str) -> list[str]:
    """The lines that are not Open MPI's (boxed in dashes) or MPICH's (boxed in equal signs) about the job's end."""
    result: list[str] = []
    boxed = False
    for line in stderr.splitlines():
        if re.fullmatch(r"-{20,}", line.strip()):
            boxed = not boxed
        elif (
            not boxed
            and line.strip()
            and not re.match(r"={10,}|=   |YOUR APPLICATION TERMINATED|\[proxy:|\[mpiexec@", line)
        ):
            result.append(" ".join(line.split()))
    return result
