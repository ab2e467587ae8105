"""How experiments run: executor, ledger, seeds, provenance, progress."""
