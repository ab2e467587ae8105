"""What a run leaves on disk: trials, records, arrays, the ledger, run.json and bundles.

In: a trial (everything that decides a result, and its key) and its measurements.
Out: one line of the ledger with a checksum, and back; a comparison of two records of one trial.
"""

#: The form of every JSON that a run leaves on disk: records, run.json, baselines, bundles.
FORMAT = 2
