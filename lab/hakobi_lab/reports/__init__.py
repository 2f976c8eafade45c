"""`hakobi report NAME`: what a published report measured, measured here, on one page beside what the report found.

    published.py   the five reports: title, source, every figure and table, what they found
    page.py        a page: findings, where each figure and table stands, the items in the report's order
    running.py     the time that a report may take, shared between its parts
    NAME.py        `measure(order)`: runs the studies, returns the page's content

A report has no way of measuring of its own: it plans studies (hakobi_lab.studies) and benchmarks, and their tables and
figures become the report's.
"""
