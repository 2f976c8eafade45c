"""The cases of `hakobi bench collective --suite`.

`regressions`: what a program may ask of MPI-IO where a library that is preloaded is easily slower than what it
replaces. A case is a shape of hakobi-bench-mpi-io (its --help says what the numbers are), or steps of
hakobi-bench-steps.

`overlap`: a program that computes while it writes, hakobi-bench-solver. Ours writes by nonblocking collectives; a
peer by these and, as a contender of its own, by blocking ones.
"""

from __future__ import annotations

from dataclasses import dataclass

#: ROMIO's best on these storages, beside its defaults: several aggregators on a node, or none.
WIDE = "cb_nodes=4;cb_buffer_size=4194304;cb_config_list=*:*"
ALONE = "romio_cb_write=disable;romio_cb_read=disable"

FLOOR = "plain 8 4194304"

MPI_IO, STEPS, SOLVER = "hakobi-bench-mpi-io", "hakobi-bench-steps", "hakobi-bench-solver"
REGRESSIONS, OVERLAP = "regressions", "overlap"
SUITES = (REGRESSIONS, OVERLAP)
MODEL, TMPFS = "model", "tmpfs"


@dataclass(frozen=True)
class Case:
    name: str
    ranks: int
    words: str  #: the shape and its numbers
    on_model: str = ""  #: the same with fewer calls, where each takes the storage's latency
    hints: tuple[str, ...] = ()  #: of the peer, each set a contender beside its defaults
    budget_s: float = 0.25  #: of a contender's repetitions in a job, timed part alone
    least: int = 2  #: repetitions in a job
    program: str = MPI_IO
    storages: tuple[str, ...] = (MODEL, TMPFS)
    floor: str = (
        ""  #: as many bytes or so by plain calls, without MPI-IO: new, dense and large files, whose limit is storage's
    )
    suite: str = REGRESSIONS

    def arguments(self, storage: str) -> list[str]:
        return (self.on_model or self.words if storage == MODEL else self.words).split()


def _with_ranks(counts: tuple[int, ...], case: Case) -> list[Case]:
    return [Case(**{**case.__dict__, "name": f"{case.name}-{ranks}", "ranks": ranks}) for ranks in counts]


CASES: tuple[Case, ...] = (
    Case("interior130", 8, "block 130 3 8 1", hints=(WIDE,)),
    Case("holes512", 4, "pieces 5000 512 1024", hints=(WIDE,)),
    Case("holes512-many", 4, "pieces 20000 512 1024", hints=(WIDE,)),
    *_with_ranks((1, 2, 8), Case("holes8", 0, "pieces 100000 8 16", hints=(WIDE,))),
    Case("one-rank512", 8, "one 20000 512 1024", hints=(ALONE,)),
    Case("memory-gaps", 8, "gaps 1000000 8 16", hints=(ALONE,)),
    *_with_ranks((2, 8), Case("sparse4k", 0, "pieces 64 4096 8388608", hints=(ALONE,))),
    Case("small-calls", 2, "calls 10000 1024", "calls 100 1024", hints=(ALONE,)),
    *_with_ranks((1, 2, 8), Case("ior64k", 0, "segments 512 65536", "segments 32 65536", hints=(ALONE,))),
    Case("ior64k-independent", 2, "independent 512 65536", "independent 32 65536"),
    *_with_ranks((1, 8), Case("open-close", 0, "opens 100 4096", "opens 20 4096")),
    Case("flash", 8, "pieces 24 2621440 2621440", hints=(ALONE,)),
    Case("flash-calls", 8, "calls 24 2621440", hints=(ALONE,)),
    Case("block3d", 8, "block 320 3 8 0", hints=(WIDE,), floor=FLOOR),
    Case("cyclic512", 8, "pieces 65536 512 512", hints=(WIDE,), floor=FLOOR),
    Case("tile2d", 8, "block 5792 2 8 0", hints=(WIDE,), floor=FLOOR),
    Case("lattice4d", 8, "block 34 4 192 0", hints=(WIDE,), floor=FLOOR),
    # Rows of thresholds (src/io/policy.cpp) that no case above has.
    Case("rows300k", 8, "pieces 40 300000 300000", hints=(ALONE,)),
    Case("opens47k", 8, "opens 100 47008", "opens 20 47008", hints=(ALONE,)),
    Case("pieces2k", 8, "pieces 64 2048 2048", hints=(ALONE,)),
    Case("pieces4k", 4, "pieces 64 4096 4096", hints=(ALONE,)),
    Case("cyclic4k", 8, "pieces 2000 4096 4096", hints=(ALONE,)),
    Case("mail8", 8, "pieces 60 200 3000", hints=(ALONE,)),
    Case("calls256k", 8, "calls 64 262144", hints=(ALONE,)),
    *_with_ranks((64, 128, 256), Case("steps", 0, "2 1000 1500", program=STEPS, storages=(TMPFS,))),
    Case("solver-small", 2, "48 20 3", hints=(WIDE,), program=SOLVER, storages=(MODEL,), suite=OVERLAP),
    # 1.6 GB: what the model takes 0.8 s for.
    Case("solver", 2, "585 1000 3", hints=(WIDE,), program=SOLVER, storages=(MODEL,), suite=OVERLAP),
)
