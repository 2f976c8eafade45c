"""Starts MPI programs, by the user's launcher or the MPI library's own: time limits, and an end that leaves nothing.

1. A program runs in a session of its own, so that a Ctrl-C on the terminal reaches Hakobi alone and Hakobi decides.
2. Whatever ends the wait (Ctrl-C, a time limit, any exception), every process of the session and every descendant is
   told to end (SIGTERM), given GRACE_S seconds, then killed, and waited for. Ranks of Open MPI have process groups of
   their own, therefore the descendants are listed before the launcher is told; ranks on other nodes are the launcher's
   to end.
3. Where this process is killed, which leaves it no time, the launcher is told by the kernel to end, and where the
   launcher is killed, the ranks end with it: hakobi-with-parent starts all of them.
4. A failed program's reason is one line: its own first line of error, not the launcher's paragraph about it.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hakobi import allocation, files, launchers, programs
from hakobi.errors import InputError, RunError, TimeLimitError
from hakobi.launchers import Kind
from hakobi.programs import Program
from hakobi.reasons import reason_of

#: Seconds between SIGTERM and SIGKILL.
GRACE_S = 5.0


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


@dataclass(frozen=True)
class Launcher:
    """The words that start a program on ranks, but for their number: words[at] is the launcher, of that kind."""

    words: tuple[str, ...]
    at: int
    kind: Kind

    @property
    def path(self) -> Path:
        return Path(shutil.which(self.words[self.at]) or self.words[self.at])

    def is_told(self, *options: str) -> bool:
        """Whether the user's words have one of these options, in any of the ways to write one."""
        return any(word.lstrip("-").partition("=")[0] in options for word in self.words[self.at + 1 :])

    def shares_processors(self) -> bool:
        """Whether it is told to start more ranks than there are processors."""
        is_told = self.is_told("O", "overcommit", "oversubscribe") or "SLURM_OVERCOMMIT" in os.environ
        return is_told or any("OVERSUBSCRIBE" in word for word in self.words)


@functools.cache
def launcher(flavour: str) -> Launcher:
    """The launcher of an MPI library's programs: the words of $HAKOBI_MPIEXEC, or `mpiexec(flavour)`. Raises
    InputError."""
    chosen = os.environ.get("HAKOBI_MPIEXEC", "").strip()
    if not chosen:
        path = mpiexec(flavour)
        return Launcher((str(path),), 0, launchers.kind_of(path))
    try:
        words = (chosen,) if shutil.which(chosen) else tuple(shlex.split(chosen))
    except ValueError as error:
        raise InputError(f"HAKOBI_MPIEXEC={chosen}: {str(error).lower()}") from error
    if shutil.which(words[0]) is None:
        what = "" if len(words) == 1 else f": {words[0]}"
        raise InputError(f"HAKOBI_MPIEXEC={chosen}{what} is no program")
    at = launchers.position(words) or 0
    return Launcher(words, at, launchers.kind_of(Path(shutil.which(words[at]) or words[at])))


@functools.cache
def mpiexec(flavour: str) -> Path:
    """The launcher that an MPI library brings: that of $HAKOBI_MPIEXEC or the `mpiexec` of PATH where it says to be of
    this flavour (also in front of a system's `mpiexec.<flavour>`: a user's own library is in PATH), or
    `mpiexec.<flavour>`. Raises InputError when there is none."""
    if os.environ.get("HAKOBI_MPIEXEC") and (chosen := launcher(flavour)).kind.flavour == flavour:
        return chosen.path
    for name in ("mpiexec", "mpirun"):
        path = shutil.which(name)
        if path and flavour_of(Path(path)) == flavour:
            return Path(path)
    for name in (f"mpiexec.{flavour}", f"mpirun.{flavour}"):
        if path := shutil.which(name):
            return Path(path)
    raise InputError(f"no mpiexec of {flavour} in PATH: install it, or name it in HAKOBI_MPIEXEC")


def flavour_of(launcher: Path) -> str | None:
    """The MPI library that a launcher says it belongs to; None for those of batch systems (srun) and unknown ones."""
    return launchers.kind_of(launcher).flavour


#: Programs that tell the version of an MPI library whose launcher is not the one that starts programs.
_VERSION_TOOLS = {"openmpi": ("ompi_info.openmpi", "ompi_info"), "mpich": ("mpichversion.mpich", "mpichversion")}


def mpi_version(flavour: str) -> str:
    """ "Open MPI 4.1.4", "MPICH 4.0.2 by srun (slurm 22.05.8)"; the library's name alone where nothing tells its
    version. Raises InputError where there is no launcher."""
    name = {"openmpi": "Open MPI", "mpich": "MPICH"}.get(flavour, flavour)
    started = launcher(flavour)
    text = launchers.version_text(started.path) if started.kind.flavour == flavour else ""
    for tool in _VERSION_TOOLS.get(flavour, ()):
        if not text and (path := shutil.which(tool)):
            text = launchers.version_text(Path(path))
    found = re.search(r"\bv?(\d+\.\d+(?:\.\d+)?\w*)", text)
    library = f"{name} {found.group(1)}" if found else name
    if started.kind.flavour == flavour:
        return library
    said = (launchers.version_text(started.path).strip().splitlines() or [""])[0]
    return f"{library} by {started.path.name}" + (f" ({said})" if started.kind.is_schedulers and said else "")


#: For more ranks than processors on this machine: Open MPI would refuse them, bind them to the same core, and
#: poll.
_CROWDED = (
    (("--oversubscribe",), ("oversubscribe", "map-by", "host", "hostfile")),
    (("--bind-to", "none"), ("bind-to", "map-by", "cpu-set")),
    (("--mca", "mpi_yield_when_idle", "1"), ("mpi_yield_when_idle",)),
    (("--mca", "btl_base_warn_component_unused", "0"), ("btl_base_warn_component_unused",)),
)


def command_line(
    program: Program,
    arguments: Sequence[str],
    ranks: int,
    *,
    ranks_each: int = 0,
    variables: Mapping[str, str] | None = None,
) -> list[str]:
    """The command line that starts `program` on `ranks` ranks, `ranks_each` of them on a node where that is not 0, with
    what makes the launcher pass `variables` on, which are in its environment.

    Without a batch system the ranks are on this machine, also more than it has cores. Raises InputError for more than
    its memory holds, or than the allocation has processors."""
    started, place = launcher(program.flavour), allocation.current()
    check_ranks(program.flavour, ranks)
    options: list[str] = []
    if place is None and started.kind is launchers.OPEN_MPI:
        options = [word for words, unless in _CROWDED if not started.is_told(*unless) for word in words]
    words = [*started.words[: started.at + 1], *options, *started.words[started.at + 1 :]]
    words += launchers.rank_words(started.kind, ranks, ranks_each)
    if variables and (place is not None or started.kind is not launchers.OPEN_MPI):
        words = launchers.passing_on(started.kind, words, started.at, variables)
    return [*words, *_with_parent(signal.SIGKILL), str(program.path), *arguments]


def check_ranks(flavour: str, ranks: int) -> None:
    """Raises InputError where there is no launcher, or for more ranks than there is room for: this machine's memory, or
    the allocation's processors unless the launcher is told to share them."""
    started, place = launcher(flavour), allocation.current()
    if place is None and not started.kind.is_schedulers:
        allocation.check_ranks(ranks)
    elif place is not None and not started.shares_processors():
        allocation.check_ranks_in(place, ranks)


def reaches_other_nodes(flavour: str) -> bool:
    """Whether ranks may be started on other nodes, which do not see this one's folder for temporary files."""
    place = allocation.current()
    return launcher(flavour).kind.is_schedulers or (place is not None and place.num_nodes != 1)


def chooses_nodes(flavour: str) -> bool:
    """Whether `ranks_each` places ranks on several nodes of an allocation. Raises InputError without a launcher."""
    place = allocation.current()
    return place is not None and place.num_nodes > 1 and launcher(flavour).kind.ranks_each is not None


#: Memory that only the ranks of a node share.
_OF_A_NODE = Path("/dev/shm")


def check_folder(flavour: str, folder: Path) -> None:
    """Raises InputError for a folder that ranks on several nodes do not have in common."""
    if folder.resolve().is_relative_to(_OF_A_NODE) and reaches_other_nodes(flavour):
        raise InputError(
            f"{folder} is each node's own memory, and the ranks may be on several: name a folder that all nodes see"
        )


def own_folder(flavour: str, folder: Path | None = None) -> tempfile.TemporaryDirectory[str]:
    """As files.own_folder, for what ranks write and we read. Without a `folder` in the system's for temporary files,
    or, where ranks may be on other nodes, in the current one, which these see as they see the program. Raises
    InputError as check_folder, StorageError."""
    if folder is None and reaches_other_nodes(flavour):
        folder = Path.cwd()
    if folder is not None:
        check_folder(flavour, folder)
    return files.own_folder(folder)


def _with_parent(number: signal.Signals) -> list[str]:
    """The words that start a program so that it gets a signal when its parent ends (rule 3); none where that is not
    built."""
    try:
        return [str(programs.find("hakobi-with-parent").path), str(int(number))]
    except InputError:
        return []


#: Without them Open MPI starts nothing for root.
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def environment(flavour: str, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process's environment with what the launcher needs (Open MPI refuses root unless told) and `extra`."""
    result = dict(os.environ)
    if flavour == "openmpi" and os.geteuid() == 0:
        result |= AS_ROOT
    return result | dict(extra or {})


def is_in_container(root: Path = Path("/")) -> bool:
    """Whether this is a container of Docker, Podman or one that says so in `container`, as systemd's do."""
    files = (root / ".dockerenv", root / "run" / ".containerenv")
    return "container" in os.environ or any(path.exists() for path in files)


#: Variables that tell the command something, and the ranks nothing.
_OF_THE_COMMAND = {"HAKOBI_MPIEXEC", "HAKOBI_MPI", "HAKOBI_PREFIX"}


def run(
    program: Program,
    arguments: Sequence[str],
    ranks: int,
    *,
    timeout_s: float | None = None,
    extra_environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    capture: bool = True,
    ranks_each: int = 0,
    command: Sequence[str] = (),
) -> Finished:
    """Runs a program to its end and returns what came of it; its failure is a status, not an exception.

    With `capture` its output is returned, else it goes to this process's stdout and stderr. `command` starts it
    otherwise than `command_line` does. Raises TimeLimitError when `timeout_s` passed, InputError when the launcher is
    missing. Rule 2 holds for every way out.
    """
    if not command:
        own = {name for name in os.environ if name.startswith("HAKOBI_")} - _OF_THE_COMMAND
        variables = {name: os.environ[name] for name in sorted(own)} | dict(extra_environment or {})
        command = command_line(program, arguments, ranks, ranks_each=ranks_each, variables=variables)
        if not reaches_other_nodes(program.flavour):
            allocation.warn_of_crowd(ranks, len(os.sched_getaffinity(0)), program.flavour)
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
        on = f" on {ranks} ranks" if ranks else ""  # 0: the user's own command says
        raise TimeLimitError(f"{program.name}{on} took longer than {timeout_s:g} s and was ended") from error
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


#: Shared memory that killed ranks leave: Open MPI 4 and 5, MPICH, UCX.
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
