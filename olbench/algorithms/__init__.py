"""What is learned: one short file per algorithm or family of algorithms, and the list of all of them."""

from olbench.algorithms.plugins import load_plugin
from olbench.algorithms.registry import definitions, get_definition, title_of

__all__ = ["definitions", "get_definition", "load_plugin", "title_of"]
