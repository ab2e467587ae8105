"""Every file of a run on disk: trials, records, arrays, the ledger, run.json, and baselines."""
