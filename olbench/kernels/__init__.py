"""How learning runs: one compiled loop over examples per family. The caller owns every array."""
