"""The parts of the measuring commands: transports and their controls, a program's recorded trace, predictions from
figures, this machine's traps, and the comparison of two files of records."""
