"""Runs trials: plans the missing ones, executes them here or on a cluster, and appends the records.

In: cells of an experiment, a folder, and an executor.
Out: a complete ledger, progress on the way, and after a kill nothing that is lost.
"""
