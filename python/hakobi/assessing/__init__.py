"""`hakobi assess`: figures.py is what the ranks leave, session.py runs the program, page.py shows what came of it."""
