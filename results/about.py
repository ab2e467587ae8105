"""Reference runs of olbench beyond those of the papers; `olbench report streams` finds them by name."""
