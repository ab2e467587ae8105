"""Crammer, Dredze & Pereira, Exact Convex Confidence-Weighted Learning (NIPS 2008)."""
