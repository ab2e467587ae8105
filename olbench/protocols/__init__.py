"""Protocols: a config in, trials out; a trial in, its outcome out. One file per protocol."""

import importlib
import warnings
from functools import cache

from olbench.errors import UserError, describe_error, show_name, suggest
from olbench.protocols.definition import REGISTRY, Protocol, protocol

__all__ = ["Protocol", "get_protocol", "protocol", "protocols"]

FILES = ("online", "crossval", "fresh", "advice", "shards")
ENTRY_POINTS = "olbench.protocols"


@cache
def _load_installed() -> None:
    from importlib.metadata import entry_points

    for name in FILES:
        importlib.import_module(f"olbench.protocols.{name}")
    for point in entry_points(group=ENTRY_POINTS):
        try:
            point.load()
        except (Exception, SystemExit) as error:
            warnings.warn(
                f"the protocol of {point.value} cannot be loaded: {describe_error(error)}", stacklevel=2
            )


def protocols() -> list[Protocol]:
    """Return every protocol: the built-in ones in one order whatever was imported before, then others."""
    _load_installed()
    built_in = [REGISTRY[name] for name in FILES]
    return built_in + [each for name, each in REGISTRY.items() if name not in FILES]


def get_protocol(id: str) -> Protocol:
    """Return the protocol of this id."""
    known = {each.id: each for each in protocols()}
    if id not in known:
        raise UserError(
            f"unknown protocol {show_name(id)}{suggest(id, list(known))}; there are {', '.join(known)}"
        )
    return known[id]
