"""The published reports whose measurements `hakobi report` repeats: what they show and what they found.

Only what a report says of itself is here, in our words, with its source. Values of theirs stand under ours: theirs.py.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Published:
    """`items`: the report's figures, tables and open questions in its order, and what each shows."""

    name: str
    title: str
    question: str
    source: str
    items: dict[str, str]


STREAM = Published(
    name="stream",
    title="Output methods of a flow solver",
    question="What does output cost a flow solver by pieces and gather, through rank 0, and by parallel MPI-IO?",
    source="a CFD vendor's comparison of output methods (SCRYU/Tetra, STREAM) on slow and fast storage networks",
    items={
        "Table of times": "time of the run, by output method and ranks",
        "Table of output times": "time of the run less that of the run without output; the gather apart",
        "Speed-up figure": "speed-up over ranks by method, with the ideal line",
        "Share figure": "output's share of the run over ranks",
        "Question 1": "an unstructured case that is heavy on output: a propeller",
        "Question 2": "storage of cheap disks, which seek",
        "Question 3": "more ranks: 256",
    },
)

OPENIFS = Published(
    name="openifs",
    title="A weather model's output through a field store",
    question="What does output cost a spectral weather model, in two files a step and through a field store?",
    source="M. Richardson, G. Lister, G. Carver: Supporting Build of OpenIFS on HECToR, final report of a dCSE project "
    "and its summary on hector.ac.uk",
    items={
        "Table 1": "files of a run with the store",
        "Table 2": "resolutions with and without the store: forecast days per day, MB a step",
        "Tables 3 and 4": "writing of each file, without and with the store",
        "Tables 5 and 6": "page sizes",
        "Table 7": "stride of the writers in two directories: data files, size of each, minutes, days per day",
        "Table 8": "parameters of the store",
        "Figure 1": "forecast days per day over ranks",
        "Figure 2": "forecast days per day during the forecast: now, mean, peak",
        "Figures 3 and 4": "where the time goes",
        "Figures 6, 7 and 9": "forecast days per day over number and size of stripes and stride of the writers, in two "
        "directories",
        "Figure 8": "page sizes over the forecast",
        "Threads": "ranks x threads",
        "Bit identity": "fields by either way compared",
    },
)

HA8000 = Published(
    name="ha8000",
    title="What MPI benchmarks that reuse one buffer do not say",
    question="How much of an MPI benchmark's figure comes from the cache?",
    source="a computing centre's note on MPI benchmarks within a node of the Hitachi HA8000 (T2K, University of Tokyo)",
    items={
        "Figure 1": "bandwidth over message size, one reused buffer: same core complex, other socket, other node",
        "Figure 2": "regions: through shared memory, single copy in the cache, memory",
        "Figure 3": "the same with buffers that are not in the cache",
        "Figure 4": "shared memory off",
    },
)

PACS_CS = Published(
    name="pacs-cs",
    title="A 3-D hyper-crossbar's links, in all directions at once",
    question="How much of its links does a node fill, and how steadily?",
    source="PACS-CS, University of Tsukuba: 16 x 16 x 10 nodes, in each dimension a crossbar of two Gigabit links",
    items={
        "Table 1": "1, 2 and 3 dimensions x send, receive, both: MB/s and per cent of the links",
        "Figure 1": "bandwidth over message size, both ways",
        "Table 2": "stability of 10,000 exchanges, alone and with computing",
        "Table 3": "functions of the buffer arrays, theirs and ours",
        "Question 1": "MPI, halo and buffer arrays compared: what packing costs",
    },
)

TWO_PHASE = Published(
    name="two-phase",
    title="Pipelined two-phase collective I/O",
    question="What does overlapping the exchange with the file access gain, over the size of the collective buffer?",
    source="Y. Tsujita and others, Kindai University: two-phase I/O by asynchronous I/O or threads, several buffers",
    items={
        "Figure 1": "throughput of collective reads over the collective buffer's size, 8 processes",
        "Figure 2": "throughput of collective reads over the collective buffer's size, 64 processes",
        "Writes": "the same for collective writes",
        "Figure 3": "slow processes: buffers in flight x delay, and what is lost",
        "Trace": "exchange and file access beside each other, over time",
    },
)

#: By the word behind `hakobi report`, in the order of the documentation.
REPORTS = {report.name: report for report in (STREAM, OPENIFS, HA8000, PACS_CS, TWO_PHASE)}
