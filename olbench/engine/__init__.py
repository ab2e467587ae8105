"""How experiments run: one run context, executors, progress, provenance. It knows Protocol and Cell only."""
