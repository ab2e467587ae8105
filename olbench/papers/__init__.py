"""One folder per paper with all that is its own: numbers and claims, audit, figures, learners, protocols."""
