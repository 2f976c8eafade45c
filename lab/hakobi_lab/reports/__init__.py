"""`hakobi report NAME`: what a published report measured, measured here, on one page beside what the report found.

    published.py   the five reports: title, source, every figure and table by their numbers
    theirs.py      the values that they print, place by place
    claims.py      the sentences that they conclude, each with its rule and their value
    judging.py     the engine: cases of a sentence, and the verdict
    page.py        a page: findings, what became of each place, the items in the report's order
    running.py     the time that a report may take, shared between its parts
    NAME.py        `measure(order)`: runs the studies, returns the page's content; the cases of each sentence are there
                   or beside it (stream_cases.py, pacs_cs_shown.py, openifs/conclusions.py)

A report has no way of measuring of its own: it plans studies (hakobi_lab.studies) and benchmarks, and their tables and
figures become the report's. A new report is an entry in the first three files and a NAME.py.
"""
