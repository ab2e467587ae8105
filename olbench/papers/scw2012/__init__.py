"""Wang, Zhao & Hoi, Exact Soft Confidence-Weighted Learning (ICML 2012)."""
