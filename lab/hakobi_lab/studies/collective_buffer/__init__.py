"""The study `collective-buffer`: session.py runs it, result.py sums it up, figures.py and pages.py show it."""
