"""What is learnt: one short file per algorithm or family, with its rule, parameters, grid and source.

In: an id and settings, from a config or a caller.
Out: an `Algorithm`, which is data; `registry` lists them, and `spec` reads entries of a config.
"""

from olbench.algorithms.definition import definitions, get_definition, load_plugin, title_of

__all__ = ["definitions", "get_definition", "load_plugin", "title_of"]
