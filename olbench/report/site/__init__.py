"""A static site over many runs: an index, leaderboards, and a page per algorithm and per run."""
