"""Protocols: a config in, trials out; a trial in, its outcome out. One file per protocol."""

from collections.abc import Sequence
from functools import cache

from olbench.config.specs import Config
from olbench.data.source import Source
from olbench.discovery import import_all, load_entry_points
from olbench.errors import UserError, show_name, suggest
from olbench.protocols.definition import REGISTRY, Cell, Protocol, protocol

__all__ = ["Protocol", "cells_of", "get_protocol", "protocol", "protocols"]

FIRST = ("online", "crossval", "fresh", "advice", "shards")
ENTRY_POINTS = "olbench.protocols"


@cache
def _load_installed() -> dict[str, int]:
    built_in = import_all("olbench.protocols", FIRST)
    load_entry_points(ENTRY_POINTS, "the protocol")
    return {module: place for place, module in enumerate(built_in)}


def protocols() -> list[Protocol]:
    place = _load_installed()
    return sorted(REGISTRY.values(), key=lambda each: place.get(type(each).__module__, len(place)))


def get_protocol(id: str) -> Protocol:
    _load_installed()
    if id not in REGISTRY:
        known = [each.id for each in protocols()]
        raise UserError(f"unknown protocol {show_name(id)}{suggest(id, known)}; there are {', '.join(known)}")
    return REGISTRY[id]


def cells_of(config: Config, sources: Sequence[Source]) -> list[Cell]:
    return get_protocol(config.protocol).configured(config).cells(config, sources)
