"""Why a program failed, and what it warned of, out of what it and its launcher wrote to stderr."""

from __future__ import annotations

import re
import signal

#: Launchers' long messages, in one line each.
_CAUSES = (
    (
        r'direct launched using "srun"',
        "srun gave the ranks no process manager that their MPI library knows: put one of `srun --mpi=list` into "
        'HAKOBI_MPIEXEC, as in HAKOBI_MPIEXEC="srun --mpi=pmix"',
    ),
    (
        r"not enough slots available",
        "mpiexec has no slots for so many ranks: start fewer, ask the scheduler for more tasks, or put --oversubscribe "
        "into HAKOBI_MPIEXEC",
    ),
)
#: How a rank's end by a signal is told: by Open MPI and MPICH with its number, by Slurm in the C library's
#: words. MPICH gives an exit code in the same words ("Hangup (signal 1)" for 1), but is then itself ended
#: with that code.
_SIGNAL_NUMBER = r"exited on signal (\d+)|EXIT CODE: (\d+)"
_SIGNAL_WORDS = {
    text: number for number in signal.valid_signals() if number < signal.SIGRTMIN and (text := signal.strsignal(number))
}
_WARNING = r"hakobi[\w-]*: warning: (.*)"
_SRUN_TASK = re.compile(r"srun: error: [^:]+: tasks? [\d,-]+: (.+)")


def reason_of(stderr: str, status: int) -> str:
    """One line out of a failed program's stderr: the first error that one of Hakobi's programs wrote ("hakobi-x: …"),
    else a signal, else the last line that is not the launcher's, else the launcher's, else the exit status. What the
    library says ("hakobi: …") may be an explanation, and counts like any other line."""
    lines = [line for line in _without_launcher(stderr) if not re.match(_WARNING, line)]
    own = next((line for line in lines if re.match(r"hakobi-[\w-]+: ", line)), None)
    if own:
        return own.split(": ", 1)[1]
    if cause := next((text for pattern, text in _CAUSES if re.search(pattern, stderr)), ""):
        return cause
    if (number := _signal_in(stderr)) and number != status:
        text = f"a rank ended by signal {signal.Signals(number).name}"
        if number == signal.SIGKILL:
            text += ", which the system sends when memory runs out"
        return f"{text} ({lines[-1]})" if lines else text
    if lines:
        return lines[-1].removeprefix("hakobi: ")
    if refused := re.search(r"^srun: (?:error|fatal): (?!.*: tasks? [\d,-]+: )(.+)", stderr, re.MULTILINE):
        return f"srun: {refused.group(1).strip()}"
    return f"ended by signal {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"


def _signal_in(stderr: str) -> int:
    """The signal that a launcher says to have ended a rank; 0 where it says of none."""
    if found := re.search(_SIGNAL_NUMBER, stderr):
        number = int(found.group(1) or found.group(2))
        return number if number in signal.valid_signals() else 0
    words = [match.group(1).removesuffix(" (core dumped)").strip() for match in _SRUN_TASK.finditer(stderr)]
    return next((_SIGNAL_WORDS[text] for text in words if text in _SIGNAL_WORDS), 0)


def warnings_of(stderr: str) -> list[str]:
    """Warnings of Hakobi's library or of one of its programs, each once.

    >>> warnings_of("hakobi: warning: bytes may be lost\\nhakobi: f: 2 aggregators\\n")
    ['bytes may be lost']
    """
    found = [re.match(_WARNING, line) for line in stderr.splitlines()]
    return list(dict.fromkeys(match.group(1) for match in found if match))


def _without_launcher(stderr: str) -> list[str]:
    """The lines that are not Open MPI's (boxed in dashes), MPICH's (boxed in equal signs) or Slurm's about the job."""
    result: list[str] = []
    boxed = False
    for line in stderr.splitlines():
        if re.fullmatch(r"-{20,}", line.strip()):
            boxed = not boxed
        elif (
            not boxed
            and line.strip()
            and not re.match(r"={10,}|=   |YOUR APPLICATION TERMINATED|\[proxy:|\[mpiexec@|srun: |slurmstepd: ", line)
        ):
            result.append(" ".join(line.split()))
    return result
