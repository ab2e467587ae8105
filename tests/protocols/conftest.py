"""A protocol for tests is a user's file: it is loaded as a plugin, and forgotten after each test."""

import sys

import pytest

from olbench.protocols import protocols
from olbench.protocols.definition import REGISTRY

collect_ignore = ["halves.py"]


@pytest.fixture(autouse=True)
def forget_plugins():
    ids, modules = {each.id for each in protocols()}, set(sys.modules)
    yield
    for id in set(REGISTRY) - ids:
        del REGISTRY[id]
    for name in set(sys.modules) - modules:
        if name.startswith("olbench_plugin_"):
            del sys.modules[name]
