"""Fuzzers: each makes inputs from a seed, gives them to one reader of olbench and judges the answer."""
