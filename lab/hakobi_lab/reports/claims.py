"""The sentences that the published reports conclude, each with its rule (judging.py). The words are ours.

A rule speaks of what two machines share: the order of two ways, a share and its growth, a ratio, where curves cross,
where a peak lies in units of the caches. A claim has two lines: its name, its place and the sentence; then what the
value of a case is, the rule, and that value in the report, from the figures that it prints.
"""

from __future__ import annotations

from hakobi_lab.reports.judging import Claim, Rule

#: A twentieth of a run is hardly anything: runs of OpenIFS's Table 7 with strides 1 to 4 differ by as much.
HARDLY = 0.05
#: "About equal", and "as applications see it": a class of PACS-CS's Table 2 is a ninth of its mean.
ABOUT = 0.1

RULES = {
    "less": Rule(high=1),
    "more": Rule(1),
    "mostly less": Rule(high=1, quantity="most"),
    "mostly more": Rule(1, quantity="most"),
    "hardly less": Rule(1 - HARDLY),
    "hardly more": Rule(high=1 + HARDLY),
    "hardly changed": Rule(1 - HARDLY, 1 + HARDLY),
    "mostly changed": Rule(1 + HARDLY / 2, quantity="most"),  # theirs: two directories, at least 1.03 apart
    "about equal": Rule(1 - ABOUT, 1 + ABOUT),
    "no longer more": Rule(high=1 + ABOUT),
    "mostly as cold": Rule(high=1 + ABOUT, quantity="most"),
    "the same": Rule(1, 1),
    "grows": Rule(0, unit="%"),
    "stays": Rule(high=0.01, unit="%"),  # of the run; parallel MPI-IO's share went from .2 to .8 %
    "half": Rule(0.5, unit="%"),  # "dominates": theirs went to 58 %
    "heavy": Rule(0.1, unit="%"),  # a tenth of the run; the report's propeller took 4.4 % at most
    "near": Rule(0.8),  # "scales nearly as": theirs has .86 of the other's speed-up
    "far above": Rule(1.5),  # half as much again
    "mostly far above": Rule(1.5, quantity="most"),
    "not far above": Rule(high=1.5),
    "peak": Rule(1 / 8, 1 / 2),  # theirs at a quarter, to a factor of two: sizes are powers of two
    "one way": Rule(0.9895, unit="%"),  # 99 %, to the digit that is printed
    "both ways": Rule(0.9295, unit="%"),  # 93 %
    "three times": Rule(2.9),  # theirs: 2.91 to 3.00
    "large share": Rule(0.2, unit="%"),  # a fifth
    "every": Rule(1, unit="%"),
}


def _claims(text: str) -> tuple[Claim, ...]:
    lines = [[cell.strip() for cell in line.split("|")] for line in text.strip().splitlines()]
    return tuple(
        Claim(name, place, sentence, value, RULES[rule], theirs)
        for (name, place, sentence), (value, rule, theirs) in zip(lines[::2], lines[1::2], strict=True)
    )


#: By report.
CLAIMS = {
    "stream": _claims("""
        collected first | Table S1 | By rank 0 a run is shorter than by a file a process, on any number of ranks
            time through rank 0 over a file a process, fast network | less | 0.88 to 0.97 on 8 of 8
        collected scales | Table S1 | By rank 0 a run scales better than by a file a process
            speed-up through rank 0 over that by a file a process | more | 24.4 over 22.0: 1.11
        fast network | Table S2 | Through rank 0 a run is shorter over the fast network, on any number of ranks
            time over the fast network over the slow one | less | 0.59 to 0.96 on 8 of 8
        slow dominates | Table S2 | Over 1 Gigabit Ethernet writing dominates on many ranks: 58 % of the run
            output's share through rank 0, slow network, most ranks | half | 58 % on 64 ranks
        slow grows | Share figures | Over 1 Gigabit Ethernet output's share grows with the ranks
            growth of the share through rank 0, slow network | grows | 36 %: from 22 to 58 %
        fast scales | Speed-up figures | Over InfiniBand a run scales nearly as one without output
            speed-up through rank 0, fast network, over that without output | near | 24.4 over 28.3: 0.86
        parallel first | Tables S3 and S4 | Parallel MPI-IO is before rank 0 on any number of ranks, over both networks
            time by parallel over rank 0 | less | 0.964 to 0.999 at 16 of 16
        parallel stays | Tables S3 and S4 | Parallel MPI-IO's share does not grow with the ranks
            growth of the share by parallel, fast network | stays | 0.6 %: from 0.2 to 0.8 %
        root grows | Tables S3 and S4 | Rank 0's share grows with the ranks
            growth of the share through rank 0, fast network | grows | 3.7 %: from 0.7 to 4.4 %
        loading | Item P | Results load sooner over the fast network: look at them near the file server
            loading over the fast network over the slow one | less | 1,138 s over 2,078 s: 0.55
        one fills | Item P | One viewer fills 1 Gigabit Ethernet
            time of two viewers over one's, slow network | far above | said, without a value
        room | Item P | InfiniBand has room for several viewers at once
            time of two viewers over one's, fast network | not far above | said, without a value
        heavy case | Question 1 | Open: an unstructured case in which output is heavy
            output's share of a propeller through rank 0 | heavy | 4.4 % at most
        complete | Question 3 | Open: whether runs are stable on 256 ranks and more
            share of the runs that were complete | every | not tried
        """),
    "openifs": _claims("""
        bits | Bit identity | With and without the FDB the fields are the same, bit for bit
            different digests of the fields of a forecast | the same | 1
        store speed | Table 2 | With the FDB the model is as fast as without
            time with the store over files by one task | hardly more | 0.97 to 1.01
        larger pages | Table 5 | Pages larger than 2 MiB gain nothing
            time with larger pages over 2 MiB | hardly less | a graph
        fewer help | Table 7 | Fewer writers hardly help
            time with a stride over every rank writing | hardly less | 0.99 to 1.36
        fewer cost | Table 7 | Fewer writers often cost
            time with a stride over every rank writing | mostly more | longer in 9 of 10
        directories | Table 7 | The directory matters
            how far the second directory's time is from the first's | mostly changed | 1.03 to 1.21 at 6 strides
        threads | Figure 1 | OpenMP brings the model nearer to the ideal
            time with two threads a rank over one | less | a graph
        variation | Figure 6 | Lustre's parameters matter less than the variation between repeated runs
            change by a layout over the range of repeated runs | hardly more | graphs of repeated runs
        streams | Figure 6 | With as many streams as targets more stripes gain nothing
            time with a stripe on each server over one stripe | hardly less | a graph
        stripe size | Figure 7 | The size of stripes has little effect
            time with stripes of 4 MiB over 1 MiB | hardly changed | a graph
        pages | Figure 8 | Pages of 2 MiB are slightly better than small ones
            time with pages of 2 MiB over small ones | mostly less | a graph
        a writer a node | Figure 9 | One writer a node is enough
            time with one writer on this node over every rank writing | hardly more | stride 4: 1.03 in A, 1.01 in B
        """),
    "ha8000": _claims("""
        peak | Figure 1 | The curve peaks where the buffers still lie in L2
            size at the peak over L2 | peak | 128 KiB over 512 KiB: 0.25
        falls | Figure 1 | Behind the peak the curve falls as L2 overflows
            bandwidth at twice L2 over that at a quarter of it | less | a graph, 1 MiB over 128 KiB
        one socket below | Figure 1 | With messages of half L3 two processes on one socket are slower than on two
            bandwidth on one core complex over two sockets, at half L3 | less | a graph, 1 MiB of 2 MiB
        memory | Figure 1 | From the size of L3 on the rate is that of memory
            cold over hot time, from L3 on | no longer more | from 2 MiB on
        small real | Figure 2 | Small messages travel by a shared buffer at a rate that applications see, too
            cold over hot time, up to the library's eager limit | mostly as cold | to 16 KiB
        cache high | Figure 2 | While buffers lie in L2 the benchmark is extremely fast
            cold over hot time, 1/16 to 1/4 of L2 | mostly far above | 32 to 128 KiB of 512 KiB
        smooth | Figure 3 | Without shared memory the curve is smooth and has no peak
            highest bandwidth over that of the largest message | no longer more | a graph
        agree better | Figure 3 | Without shared memory benchmark and application agree better
            cold over hot time without shared memory over that with it | mostly less | said, without a value
        inflated | Advice | A benchmark of one buffer reports bandwidths that no application sees
            cold over hot time | mostly more | said, without a value
        """),
    "pacs-cs": _claims("""
        one way | Table 1 | A node fills 99 % of its links one way, in 1, 2 and 3 dimensions at once
            share of the links | one way | 98.7 to 99.0 %
        both ways | Table 1 | Both ways at once it fills 93 to 96 %
            share of the links | both ways | 93.4 to 96.2 %
        three times | Table 1 | Three dimensions carry three times one
            rate in three dimensions over one | three times | 2.91 to 3.00
        spread | Table 2 | With computing between them exchanges spread more
            standard deviation with computing over alone | more | 3.2, from the classes
        mean | Table 2 | With computing the mean is about equal
            mean with computing over alone | about equal | 1.04, from the classes
        steady | Table 2 | Over 15 minutes nothing changes
            rate of the second half of the exchanges over the first | hardly changed | said, without a value
        copies | Question 1 | Copies are a large share of an exchange by MPI
            share of an exchange packed by hand that buffer arrays save | large share | said, without a value
        """),
    "two-phase": _claims("""
        threads best | Figure 3 | With 8 processes threads read faster than the original
            throughput of threads over the original | mostly more | a graph
        asynchronous above | Figure 3 | Asynchronous I/O reads faster than the original
            throughput of asynchronous I/O over the original | mostly more | a graph
        asynchronous below | Figure 3 | Asynchronous I/O is between the original and threads
            throughput of asynchronous I/O over threads | mostly less | a graph
        far above | Figure 4a | On Lustre with 8 processes threads are far above the original where buffers are small
            throughput of threads over the original, smaller half of the buffers | mostly far above | a graph
        smaller gap | Figure 4b | With 64 processes the gap is smaller
            gain by threads on the most processes over that on the fewest | mostly less | a graph
        small better | Figure 4b | With 64 processes threads are better where buffers are small
            throughput of threads over the original, smaller half of the buffers | mostly more | a graph
        crossing | Figure 4b | With 64 processes the original is better where a buffer has 32 MiB
            throughput of threads over the original at 32 MiB | less | a graph
        writes | Writes | Threads gain on collective writes, too (PDP 2014, a Lustre file system)
            throughput of threads over the original | mostly more | 1.60 at most
        reserve | Slow processes | Several requests under way dampen delays
            cost of a slow rank with 4 buffers over 1, up to half a cycle late | less | said, without a value
        """),
}
