"""What the measuring commands are made of: transports and their controls, a program's recorded trace, predictions from
figures, this machine's traps, and the comparison of two files of records."""
