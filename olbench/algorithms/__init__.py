"""The algorithms: one short file per family, with rules, parameters, grids and sources.

In: an id and settings, from a config or a caller.
Out: an `Algorithm`, which is data. `definition` lists all, `spec` reads entries of a config.
"""

from olbench.algorithms.definition import definitions, get_definition, load_plugin, title_of

__all__ = ["definitions", "get_definition", "load_plugin", "title_of"]
