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
        "Table S1": "a tsunami over the fast network, by a file a process and through rank 0",
        "Table S2": "the same through rank 0 over both networks",
        "Tables S3 and S4": "a propeller, by parallel MPI-IO and through rank 0, over both networks",
        "Output time figure": "seconds of output by method",
        "Speed-up figures": "speed-up over ranks by method, with the ideal line",
        "Share figures": "output's share of the run over ranks",
        "Item P": "loading of results for post-processing, over both networks",
        "Question 1": "an unstructured case that is heavy on output: a propeller",
        "Question 2": "storage of cheap disks, which seek",
        "Question 3": "more ranks, 256, and whether they are stable",
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
        "Table 3": "writing of each file, without the store",
        "Table 4": "writing of each file, with the store",
        "Table 5": "page sizes",
        "Table 6": "combinations of layouts",
        "Table 7": "stride of the writers in two directories: data files, size of each, minutes, days per day",
        "Table 8": "parameters of the store",
        "Figure 1": "forecast days per day over ranks, and ranks x threads",
        "Figure 2": "forecast days per day during the forecast: now, mean, peak",
        "Figures 3 and 4": "where the time goes",
        "Figure 6": "forecast days per day over the number of stripes",
        "Figure 7": "forecast days per day over the size of stripes",
        "Figure 8": "page sizes over the forecast",
        "Figure 9": "forecast days per day over the stride of the writers",
        "Bit identity": "fields by either way compared",
    },
)

HA8000 = Published(
    name="ha8000",
    title="What MPI benchmarks that reuse one buffer do not say",
    question="How much of an MPI benchmark's figure comes from the cache?",
    source="a computing centre's note on MPI benchmarks within a node of the Hitachi HA8000 (T2K, University of Tokyo)",
    items={
        "Table 1": "caches",
        "Figure 1": "bandwidth over message size, one reused buffer: same core complex, other socket, other node",
        "Figure 2": "regions: through shared memory, single copy in the cache, memory",
        "Figure 3": "shared memory off",
        "Advice": "buffers that are not in the cache",
    },
)

PACS_CS = Published(
    name="pacs-cs",
    title="A 3-D hyper-crossbar's links, in all directions at once",
    question="How much of its links does a node fill, and how steadily?",
    source="PACS-CS, University of Tsukuba: 16 x 16 x 10 nodes, in each dimension a crossbar of two Gigabit links",
    items={
        "Table 1": "1, 2 and 3 dimensions x send, receive, both: MB/s and per cent of the links",
        "Sizes": "bandwidth over message size, both ways",
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
        "Figures 1 and 2": "exchange and file access of one call over time: one after the other, and at once",
        "Figure 3": "throughput of collective reads over the collective buffer's size, 8 processes, 8 data servers",
        "Figure 4a": "throughput of collective reads over the collective buffer's size, 8 processes, Lustre",
        "Figure 4b": "throughput of collective reads over the collective buffer's size, 64 processes, Lustre",
        "Writes": "the same for collective writes",
        "Slow processes": "buffers in flight x delay, and what is lost",
        "Traces": "MPI, MPI-IO and the storage servers in one trace",
    },
)

#: By the word behind `hakobi report`, in the order of the documentation.
REPORTS = {report.name: report for report in (STREAM, OPENIFS, HA8000, PACS_CS, TWO_PHASE)}
