"""How learning runs: compiled loops over examples, by family, with every array owned by the caller."""
