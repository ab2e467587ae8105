"""From the record of a run to tables, figures, verdicts and a page.

In: results and what analysis finds in them. Out: text, Markdown, LaTeX, CSV, JSON, pages, figures. A section
of a report is a file in `sections/`, `tables.py` of a paper, or a user's plugin.
"""
