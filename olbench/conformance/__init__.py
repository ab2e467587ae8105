"""Whether an implementation is the algorithm of its paper: subjects, replicas, known defects, verdicts."""
