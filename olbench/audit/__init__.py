"""Audits of the papers: which settings could have made a reported number."""
