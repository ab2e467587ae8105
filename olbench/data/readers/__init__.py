"""Readers of data files, one per format, and what they share."""
