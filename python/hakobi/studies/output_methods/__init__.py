"""How much of an application's run is output, by method, rank count and storage.

    plan.py     what is run, in which order                      (pure)
    runner.py   runs it: one record a run, checksums, clean-up
    summary.py  records -> medians, output times, verdicts       (pure)
    tables.py   summary -> the table and its notes               (pure)
    wave.py     NetCDF files -> frames of the field, pictures
    pages.py    summary + frames -> the HTML report

Output time of a method = (time of the run with it) - (time of the same run with `none`), both from the same round,
at the same rank count and storage: never a stopwatch around a call.
"""
