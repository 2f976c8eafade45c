"""`hakobi demo --quick`: a run, its picture, what its output costs, and a kill that loses nothing, in a minute.

It needs what every installation has, a wheel too: numpy, and an MPI launcher only for more than one rank.
"""
