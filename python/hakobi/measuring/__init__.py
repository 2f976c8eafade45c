"""The parts of `tune` and `doctor` that measure, which studies and benchmarks use too: a session of jobs, the
collective call's components, this machine's traps, and a program's messages recorded."""
