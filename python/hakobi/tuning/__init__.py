"""`hakobi tune`: candidates.py says what is tried, race.py judges it, session.py runs it, pages.py shows it."""
