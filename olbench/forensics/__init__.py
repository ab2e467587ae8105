"""Forensics: which settings could have produced the numbers that a paper reports."""
