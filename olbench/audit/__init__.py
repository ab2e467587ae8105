"""Theory checked on runs: lemmas, bounds and closed forms of the papers, as printed and as corrected."""
