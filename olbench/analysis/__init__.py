"""What a run shows: results as frames, statistics, comparisons, checks, verdicts and claims about papers.

In: a results folder, and the published numbers of a paper. Out: values that the report puts into tables.
"""
