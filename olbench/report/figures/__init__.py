"""Figures of runs and traces, their pages, and the looks of algorithms."""
