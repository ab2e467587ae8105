"""Rows that repeat others: the documented place of what `olbench.data.prepare.duplicates` has."""

from olbench.data.prepare.duplicates import duplicate_groups

__all__ = ["duplicate_groups"]
