"""Kunapuli et al., Online Knowledge-Based Support Vector Machines (ECML 2010)."""
