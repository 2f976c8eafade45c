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
_S1 = _table(
    "Theirs: STREAM, a tsunami, 10 cycles, over InfiniBand: seconds of a run, and of its output",
    "ranks | no output | rank 0 | a file a process | output, rank 0 | output, a file a process",
    """
     1 | 5235.4 | 6405.0 | 6583.3 | 1169.7 | 1347.9
     2 | 2694.4 | 3184.3 | 3296.9 |  489.9 |  602.4
     4 | 1403.7 | 1730.1 | 1799.3 |  326.5 |  395.7
     8 |  873.1 |  989.2 | 1049.3 |  116.1 |  176.2
    16 |  579.5 |  676.8 |  727.2 |   97.3 |  147.7
    32 |  341.8 |  433.3 |  477.4 |   91.5 |  135.7
    48 |  238.9 |  315.7 |  359.1 |   76.8 |  120.2
    64 |  185.0 |  262.2 |  298.6 |   77.2 |  113.6
    """,
    _CLUSTER,
    "output: the run less the run without, as printed",
)
_S2 = _table(
    "Theirs: STREAM, a tsunami, through rank 0 over both networks: seconds of a run, of its output, and its share",
    "ranks | no output | 1 GbE | InfiniBand | output, 1 GbE | output, InfiniBand | share, 1 GbE | share, InfiniBand",
    """
     1 | 5235.4 | 6679.4 | 6405.0 | 1444.0 | 1169.7 | 22 % | 18 %
     2 | 2694.4 | 3358.6 | 3184.3 |  664.2 |  489.9 | 20 % | 15 %
     4 | 1403.7 | 1899.8 | 1730.1 |  496.1 |  326.5 | 26 % | 19 %
     8 |  873.1 | 1174.9 |  989.2 |  301.7 |  116.1 | 26 % | 12 %
    16 |  579.5 |  861.4 |  676.8 |  281.9 |   97.3 | 33 % | 14 %
    32 |  341.8 |  606.1 |  433.3 |  264.3 |   91.5 | 44 % | 21 %
    48 |  238.9 |  502.3 |  315.7 |  263.4 |   76.8 | 52 % | 24 %
    64 |  185.0 |  441.8 |  262.2 |  256.8 |   77.2 | 58 % | 29 %
    """,
    "the share is of their times",
)
_S3_S4 = _table(
    "Theirs: SCRYU/Tetra, a propeller, 10 cycles: seconds of a run, and of its output (P: parallel MPI-IO, 0: rank 0)",
    "ranks | no output | P, IB | 0, IB | P, 1 GbE | 0, 1 GbE | output P, IB | 0, IB | P, 1 GbE | 0, 1 GbE",
    """
     1 | 109017.0 | 109235.0 | 109800.0 | 109313.0 | 109419.4 | 218.0 | 783.0 | 296.0 | 402.4
     2 |  39953.4 |  40194.0 |  40264.3 |  40240.8 |  40290.9 | 240.6 | 310.9 | 287.4 | 337.5
     4 |  21197.0 |  21348.4 |  21404.7 |  21452.5 |  21521.3 | 151.4 | 207.7 | 255.5 | 324.3
     8 |  13092.1 |  13168.1 |  13203.5 |  13340.2 |  13429.4 |  76.0 | 111.4 | 248.1 | 337.3
    16 |   8659.7 |   8716.5 |   8759.6 |   8869.4 |   8950.2 |  56.7 |  99.9 | 209.7 | 290.5
    32 |   4338.8 |   4358.7 |   4426.6 |   4527.2 |   4550.8 |  19.9 |  87.8 | 188.4 | 212.0
    48 |   2916.9 |   2935.0 |   3006.7 |   3100.9 |   3124.6 |  18.1 |  89.8 | 184.1 | 207.7
    64 |   2238.3 |   2256.2 |   2340.4 |   2421.0 |   2444.1 |  17.9 | 102.1 | 182.7 | 205.8
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
        "Table S1": (_S1,),
        "Table S2": (_S2,),
        "Tables S3 and S4": (_S3_S4,),
        "Output time figure": "its bars are the output times of the tables above",
        "Speed-up figures": "its graphs are of its tables: 28.3 times on 64 ranks without output, 24.4 through rank 0 "
        "over InfiniBand, 15.1 over 1 GbE, 22.0 by a file a process",
        "Share figures": "its graphs are of its tables: 22 to 58 % through rank 0 over 1 GbE",
        "Item P": (
            _table(
                "Theirs: seconds of loading 130 GB of results, transfer and first processing",
                "network | seconds | MB/s",
                """
                1 GbE      | 2078.24 |  63
                InfiniBand | 1138.48 | 114
                """,
                "MB/s: from the time",
                words=1,
            ),
        ),
        "Question 1": "it asks for a case whose output is large; its propeller's takes 4.4 % of the run at most",
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
        "Table 3": (
            _table(
                "Theirs: files of T159 without the FDB, slowest and fastest of 14",
                "seconds | MB | MB/s | calls | bytes/call",
                """
                27.281 | 30.28 |   1.110 | 77 | 412,463
                 5.452 | 30.28 |   5.555 | -  | -
                 3.790 | 13.82 |   3.646 | 41 | 353,639
                 0.062 | 30.28 | 484.929 | -  | -
                 0.041 | 13.82 | 336.466 | -  | -
                """,
                "between them 2.904, 2.753 and 2.071 s; -: not at hand",
            ),
        ),
        "Table 4": (
            _table(
                "Theirs: files of T159 with the FDB",
                "seconds | MB | MB/s | calls | bytes/call",
                """
                0.103 | 19.89 | 191.99 | 812 | 25,696
                0.099 | 18.06 | 181.97 | 756 | 25,058
                0.091 | 20.76 | 220.45 | 826 | 26,366
                0.070 | 20.87 | 295.07 | 840 | 26,063
                0.067 | 19.89 | 296.78 | -   | -
                0.060 | 20.99 | 347.69 | -   | -
                0.054 | 19.26 | 353.77 | -   | -
                0.053 | 19.07 | 357.10 | -   | -
                0.052 | 18.13 | 347.52 | -   | -
                """,
                "-: not at hand",
            ),
        ),
        "Table 5": "it lists page sizes of 128 KiB, 512 KiB, 2 MiB, 8 MiB, 16 MiB and 64 MiB, and their variables",
        "Table 6": "it lists which page sizes and stripes were combined, with 4 stripes, and has no time",
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
        "Figure 1": "a graph of T1279; threads bring it near the ideal line: its runs have 8 a rank (Table 2)",
        "Figure 2": "a graph; it dips every 24 hours of the forecast, when more is written",
        "Figures 3 and 4": "profiles by function of T159 and T511",
        "Figure 6": "a graph; the default of 4 stripes is not the best, and repeated runs get slower",
        "Figure 7": "a graph; the size has little effect",
        "Figure 8": "a graph of page sizes with 4 and 8 stripes",
        "Figure 9": "a graph of Table 7",
        "Bit identity": "it found the same bits and the same total of bytes",
    },
    "ha8000": {
        "Table 1": (
            _table(
                "Theirs: caches of the Opteron 8356 (4 cores)",
                "cache | size | shared by",
                """
                L1 | 64 KiB  | a core
                L2 | 512 KiB | a core
                L3 | 2 MiB   | a socket
                """,
                words=3,
            ),
        ),
        "Figure 1": "a graph; the peak lies at 128 KiB, from 1 MiB on two processes on one socket are slower than on "
        "two, and from 2 MiB on it is memory's rate",
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
        "Figure 3": "a graph: a smooth curve without the peak (MX_DISABLE_SHMEM=1)",
        "Advice": "it advises to shift the buffers, and to repeat the application's pattern; it has no graph of that",
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
        "Sizes": "it has no value of single sizes",
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
        "Figures 1 and 2": "drawings of the flow, and of threads with a queue each for shuffle and I/O",
        "Figure 3": "a graph of PVFS2 with 1 metadata and 8 data servers: threads best, asynchronous I/O between",
        "Figure 4a": "a graph of Lustre at about 3 GB/s, one a node: far above the original at smaller buffers",
        "Figure 4b": "a graph of the same: a smaller gap, better at small buffers, the original better at 32 MiB",
        "Writes": "another report of the group has up to 60 % for writes on Lustre",
        "Slow processes": "it says that several requests under way dampen delays, without a value",
        "Traces": "traces of MPI, MPI-IO and PVFS2 servers together, and disk temperatures, in other reports of theirs",
    },
}
