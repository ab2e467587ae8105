"""Hoi, Wang & Zhao, LIBOL: A Library for Online Learning Algorithms, the manual (2013)."""
