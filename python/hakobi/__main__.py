"""`python -m hakobi` is the command `hakobi`."""

from hakobi.cli import main

main()
