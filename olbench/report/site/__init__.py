"""A static site over many runs: leaderboards, and a page per algorithm and per data set."""
