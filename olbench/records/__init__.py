"""The files of a run: records of trials in a ledger, their arrays, run.json, and bundles of these.

Trials and outcomes come in; records and plain mappings go out. Nothing here knows protocols or experiments.
"""
