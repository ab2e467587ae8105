"""Crammer, Dredze & Pereira, Confidence-Weighted Linear Classification for Text Categorization, JMLR 2012."""
