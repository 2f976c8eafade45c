"""The parts of the benchmarks: predictions from a program's recorded trace and from figures, replays, several nodes on
one machine, and the comparison of two files of records. hakobi.measuring has what `tune` and `doctor` need too."""
