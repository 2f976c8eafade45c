"""The study `mpi-cache`: session.py runs it, pages.py shows it."""
