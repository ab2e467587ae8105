"""Pairs of variants of an algorithm on all data sets, which several papers print."""
