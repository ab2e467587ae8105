"""Reports of runs: sections, tables and figures, as text, Markdown, LaTeX, CSV, JSON, page and site.

In: the results of a run and, if it repeats a paper, the paper.
Out: documents and figures.
"""
