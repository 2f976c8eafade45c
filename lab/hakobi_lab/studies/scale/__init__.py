"""The study `scale`: machine.py reads what a machine costs, simulation.py has hakobi-scale run the planner's own code
with these costs, pages.py and figures.py show it, checking.py holds it against runs here and published figures."""
