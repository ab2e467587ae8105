"""What is learned: an Algorithm is data, a rule with its parameters and options set.

One short file per algorithm or family declares the rule, its grid and its source with a decorator of
`definition`; a user's file, an installed package and the papers do the same. In come an id and settings
(`make_algorithm`), out goes an Algorithm, from which `learners.start` makes a learner.
"""

from olbench.algorithms.registry import definitions, get_definition, load_plugin, title_of

__all__ = ["definitions", "get_definition", "load_plugin", "title_of"]
