"""How much of an application's run is output, by method, rank count and storage.

    plan.py     what is run, in which order                      (pure)
    runner.py   runs it: one record a run, checksums, clean-up
    summary.py  records -> medians, output times, verdicts       (pure)
    tables.py   summary -> the table and its notes               (pure)
    result.py   what came of it, for whoever shows it
    wave.py     NetCDF files -> frames of the field; pictures.py draws them
    gauges.py   arrival times, computed and observed
    pages.py    all of this -> the HTML report; figures.py draws its plots
    session.py  the above in order, with progress and exit status

Output time of a method = (time of the run with it) - (time of the same run with `none`), both from the same round,
at the same rank count and storage: never a stopwatch around a call.
"""
