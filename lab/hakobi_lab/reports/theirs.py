"""Values that the published reports print, to stand under ours, place by place. The words are ours.

A place without values has the reason instead. Where only numbers of a graph could be read off, nothing is given.
"""

from __future__ import annotations

from hakobi.table import Table


def _table(title: str, columns: str, rows: str, *notes: str, words: int = 0) -> Table:
    """Columns and cells are separated by `|`; the first `words` columns hold words. A line is a row."""
    headings = [cell.strip() for cell in columns.split("|")]
    table = Table(title, [f"<{name}" if i < words else name for i, name in enumerate(headings)], notes=list(notes))
    for line in rows.strip().splitlines():
        table.add(*[cell.strip() for cell in line.split("|")])
    return table


_CLUSTER = (
    "4 nodes of 2 x Xeon E5-2690, MPI over FDR InfiniBand; a file server with 4 PCIe SSDs, reached over InfiniBand "
    "(SMB Direct) or 1 Gigabit Ethernet; August 2013"
)
_STREAM_TIMES = _table(
    "Theirs: seconds of a run, STREAM, a tsunami, 10 cycles",
    "ranks | no output | rank 0, InfiniBand | a file a process, InfiniBand | rank 0, 1 GbE",
    """
     1 | 5235.4 | 6405.0 | 6583.3 | 6679.4
     2 | 2694.4 | 3184.3 | 3296.9 | 3358.6
     4 | 1403.7 | 1730.1 | 1799.3 | 1899.8
     8 |  873.1 |  989.2 | 1049.3 | 1174.9
    16 |  579.5 |  676.8 |  727.2 |  861.4
    32 |  341.8 |  433.3 |  477.4 |  606.1
    48 |  238.9 |  315.7 |  359.1 |  502.3
    64 |  185.0 |  262.2 |  298.6 |  441.8
    """,
    _CLUSTER,
)
_STREAM_OUTPUT = _table(
    "Theirs: seconds of output, and its share of the run, STREAM, a tsunami",
    "ranks | rank 0, InfiniBand | a file a process, InfiniBand | rank 0, 1 GbE | share, 1 GbE",
    """
     1 | 1169.7 | 1347.9 | 1444.0 | 22 %
     2 |  489.9 |  602.4 |  664.2 | 20 %
     4 |  326.5 |  395.7 |  496.1 | 26 %
     8 |  116.1 |  176.2 |  301.7 | 26 %
    16 |   97.3 |  147.7 |  281.9 | 33 %
    32 |   91.5 |  135.7 |  264.3 | 44 %
    48 |   76.8 |  120.2 |  263.4 | 52 %
    64 |   77.2 |  113.6 |  256.8 | 58 %
    """,
    "output: the run less the run without; the share is of their times",
)
_PROPELLER = _table(
    "Theirs: seconds of output, SCRYU/Tetra, a propeller, 10 cycles",
    "ranks | no output (run) | parallel, InfiniBand | rank 0, InfiniBand | parallel, 1 GbE | rank 0, 1 GbE",
    """
     1 | 109017.0 | 218.0 | 783.0 | 296.0 | 402.4
     2 |  39953.4 | 240.6 | 310.9 | 287.4 | 337.5
     4 |  21197.0 | 151.4 | 207.7 | 255.5 | 324.3
     8 |  13092.1 |  76.0 | 111.4 | 248.1 | 337.3
    16 |   8659.7 |  56.7 |  99.9 | 209.7 | 290.5
    32 |   4338.8 |  19.9 |  87.8 | 188.4 | 212.0
    48 |   2916.9 |  18.1 |  89.8 | 184.1 | 207.7
    64 |   2238.3 |  17.9 | 102.1 | 182.7 | 205.8
    """,
    "output is .2 to .8 % of the run by MPI-IO and .7 to 4.4 % by rank 0, over InfiniBand",
)
_OPENIFS_SIZES = _table(
    "Theirs: resolutions on HECToR (Cray XE6, Lustre with 84 OSTs)",
    "case | ranks x threads | MB a step, grid + spectral | MB in all | days per day, files | with the FDB | minutes",
    """
    T159     |  16 x 8 | 14 + 31       |     315 | 3372 | 3347 |  5
    T511     | 128 x 8 | 133 + 248     |   2,600 |  679 |  691 |  9
    T1279    | 512 x 8 | 800 + 1,600   |  16,000 |  284 |  292 | 17
    T1279_op | 512 x 8 |               | 324,000 |      |  193 | 26
    """,
    words=2,
)
_OPENIFS_STRIDES = _table(
    "Theirs: stride of the writers, T1279_op, 512 ranks x 8 threads, 218 GB, two directories",
    "stride | files | GB a file | A: minutes | A: peak days/day | A: mean | B: minutes | B: peak days/day | B: mean",
    """
     1 | 512 | 1.9 | 16.0 | 216 | 198 | 14.3 | 233 | 221
     2 | 256 | 2.2 | 15.8 | 216 | 203 | 14.5 | 238 | 220
     4 | 128 | 2.0 | 16.5 | 215 | 192 | 14.5 | 229 | 219
     6 |  86 | 3.8 | 17.6 | 203 | 193 | 14.5 | 238 | 220
     8 |  64 | 4.5 | 16.5 | 202 | 191 | 15.8 | 212 | 202
    16 |  32 | 7.5 | 20.1 | 173 | 153 | 19.5 | 188 | 160
    """,
)

#: By report and place: tables of theirs, or why there is none.
TABLES: dict[str, dict[str, tuple[Table, ...] | str]] = {
    "stream": {
        "Table of times": (_STREAM_TIMES,),
        "Table of output times": (_STREAM_OUTPUT,),
        "Speed-up figure": "its graphs are of its table of times: 28.3 times on 64 ranks without output, 24.4 through "
        "rank 0 over InfiniBand, 15.1 over 1 GbE",
        "Share figure": "its graphs are of its table of output times",
        "Question 1": (_PROPELLER,),
        "Question 2": "it asks for a RAID of cheap disks in place of SSDs, and has no value",
        "Question 3": "it asks for 256 processes and more, and has no value",
    },
    "openifs": {
        "Table 1": (
            _table(
                "Theirs: files of a run with the FDB, T511",
                "bytes | <file",
                """
                165,953,536 | ….dat
                     65,536 | ….idx
                        267 | ….idx.files
                165,953,536 | ….dat
                """,
            ),
        ),
        "Table 2": (_OPENIFS_SIZES,),
        "Tables 3 and 4": (
            _table(
                "Theirs: slowest and fastest files of T159",
                "how | seconds | MB | MB/s | calls | bytes/call",
                """
                files, slowest of 14 | 27.281 | 30.28 |   1.110 |  77 | 412,463
                files, fastest       |  0.041 | 13.82 | 336.466 |  41 | 353,639
                FDB, slowest         |  0.103 | 19.89 | 191.99  | 812 |  25,696
                FDB, fastest         |  0.052 | 18.13 | 347.52  |     |
                """,
                words=1,
            ),
        ),
        "Tables 5 and 6": "its tables list page sizes of 128 KiB to 64 MiB and their variables; its recommendation, "
        "2 MiB, is the finding above",
        "Table 7": (_OPENIFS_STRIDES,),
        "Table 8": (
            _table(
                "Theirs: parameters of the FDB on HECToR",
                "parameter | value",
                """
                fdbAsyncWrite       | False
                fdbNbAsyncBuffers   | 4
                fdbSizeAsyncBuffer  | 64 MiB
                doubleBuffer        | 0
                bufferSize          | 67,108,864
                doubleBufferSize    | 524,288
                doubleBufferCount   | 20
                blockSize           | -1
                syncDirOnFileFlush  | True
                """,
                words=2,
            ),
        ),
        "Figure 1": "a graph of T1279; threads bring it near the ideal line",
        "Figure 2": "a graph; it dips every 24 hours of the forecast, when more is written",
        "Figures 3 and 4": "profiles by function of T159 and T511",
        "Figures 6, 7 and 9": "graphs; number and size of stripes matter less than the variation between runs",
        "Figure 8": "a graph of page sizes with 4 and 8 stripes",
        "Threads": "its runs have 8 threads a rank; Table 2 has them",
        "Bit identity": "it found the same bits and the same total of bytes",
    },
    "ha8000": {
        "Figure 1": (
            _table(
                "Theirs: caches of the Opteron 8356 (4 cores)",
                "cache | size | shared by",
                """
                L1 | 64 KiB  | a core
                L2 | 512 KiB | a core
                L3 | 2 MiB   | a socket
                """,
                "the peak lies at 128 KiB; from 1 MiB on, two processes on one socket are slower than on two; from "
                "2 MiB on it is memory's rate",
                words=3,
            ),
        ),
        "Figure 2": (
            _table(
                "Theirs: how messages travel within a node",
                "sizes | way | what a benchmark of one buffer sees",
                """
                to 16 KiB        | a shared buffer         | the rate of copies, as applications see it
                32 to 128 KiB    | one copy by the driver  | buffers in L2: not to be had in applications
                256 KiB to 1 MiB | one copy by the driver  | falls as L2 overflows
                from 2 MiB       | one copy by the driver  | memory
                """,
                words=3,
            ),
        ),
        "Figure 3": "its graph without shared memory is Figure 4's here; cold buffers are its advice, not its graph",
        "Figure 4": "its graph (its Figure 3) is a smooth curve without the peak",
    },
    "pacs-cs": {
        "Table 1": (
            _table(
                "Theirs: neighbours on 4 nodes, MB/s and per cent of the links (250 MB/s a dimension)",
                "dimensions | send | % | receive | % | both | %",
                """
                1 | 247.6 | 99.0 | 247.5 | 99.0 |  481.1 | 96.2
                2 | 493.6 | 98.7 | 494.9 | 99.0 |  951.3 | 95.1
                3 | 741.3 | 98.8 | 742.3 | 99.0 | 1401.3 | 93.4
                """,
            ),
        ),
        "Figure 1": "a graph",
        "Table 2": (
            _table(
                "Theirs: 10,000 exchanges by MB/s",
                "MB/s | alone | with computing",
                """
                0 to 20    |    0 |    4
                20 to 40   |    0 |   22
                40 to 60   |    0 |    6
                60 to 80   |    3 |    0
                80 to 100  |    1 |    4
                100 to 120 |    1 |    0
                120 to 140 |    1 |    0
                140 to 160 |  728 |  135
                160 to 180 | 9230 | 8579
                180 to 200 |   34 |  420
                200 to 220 |    0 |  113
                220 to 240 |    2 |  671
                240 to 260 |    0 |   46
                """,
                words=1,
            ),
        ),
        "Table 3": (
            _table(
                "Theirs: functions of PMvX",
                "function",
                """
                pmGetSendBufferArray
                pmSendBufferArray
                pmReceiveBufferArray
                pmReleaseReceiveBufferArray
                pmReleaseSendBufferArray
                pmSendDoneBufferArray
                """,
                words=1,
            ),
        ),
        "Question 1": "it leaves the comparison of its libraries open; copies were a large share of one way in one "
        "dimension by MPI",
    },
    "two-phase": {
        "Figure 1": "graphs of PVFS2 with 8 data servers and of Lustre at about 3 GB/s: threads best, asynchronous "
        "between, both above the original",
        "Figure 2": "a graph of Lustre: better at small buffers, the original better at 32 MiB",
        "Writes": "another report of the group has up to 60 % for writes on Lustre",
        "Figure 3": "a drawing of its two ways, without values",
        "Trace": "it has no trace of one call",
    },
}
