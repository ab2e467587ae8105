"""Figures of results, the page that they are drawn on, and the looks of algorithms."""
