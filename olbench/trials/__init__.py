"""Trials and their records: what determines a result, its key, its seeds, and the ledger that keeps it."""
